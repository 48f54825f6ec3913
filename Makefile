# Two commands: `make demo` shows what the library does, `make test` checks it.
# Each creates .venv on first use, and starts immediately afterwards.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-browser test-experiments test-minimum test-spark release-check
.PHONY: lint types imports unit faults theory recipes bench picture clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("structsmooth needs Python 3.11 or newer, found " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# One stamp file per set of packages, which is reinstalled only when the lists change.
$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[report]'
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[test]'
	@touch $(VENV)/.core $@

demo: $(VENV)/.core ## fit a data set that ships with scikit-learn
	$(BIN)/structsmooth demo
	$(BIN)/structsmooth report structsmooth-demo

test: lint types imports unit ## lint, types, import contract, tests and doctests

lint: $(VENV)/.test ## style and formatting of code and pages, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/rumdl check --quiet .
	$(BIN)/codespell

types: $(VENV)/.test ## mypy
	$(BIN)/mypy

imports: $(VENV)/.test ## import-linter: layers import only from those below
	$(BIN)/lint-imports

unit: $(VENV)/.test ## the tests and the doctests
	$(BIN)/python -m pytest -n 2 -q

faults: $(VENV)/.test ## thousands of damaged files, kills at every step, races, full disks
	STRUCTSMOOTH_FAULTS=full $(BIN)/python -m pytest -q tests/faults

theory: $(VENV)/.test ## statistical tests on larger samples, and the compiled loss
	STRUCTSMOOTH_THEORY=full $(BIN)/python -m pytest -n 2 -q tests/theory tests/pytorch/test_functional.py
	STRUCTSMOOTH_THEORY=full $(BIN)/python -m pytest -n 2 -q tests --ignore tests/theory -m statistical

test-experiments: $(VENV)/.test ## the tests of experiments/, on toy data
	$(BIN)/python -m pytest -n 2 -q tests/reproduction

$(VENV)/.release: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[release]'
	@touch $(VENV)/.core $@

# Without torch: its old releases are on PyPI only with gigabytes of GPU libraries.
test-minimum: $(VENV)/.release ## the oldest versions that pyproject.toml allows
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) $(VENV)/minimum
	$(BIN)/uv pip install --quiet --python $(VENV)/minimum/bin/python --resolution lowest-direct \
	  '.[boosting,parquet,report]' --group installed
	$(VENV)/minimum/bin/python -m pytest -q tests --ignore tests/theory --ignore tests/test_docs.py

release-check: $(VENV)/.release ## build, check, install, test and uninstall what is published
	PYTHON=$(PYTHON) .ci/release-check

$(VENV)/.browser: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[browser]'
	@touch $(VENV)/.core $@

# Debian's browser and its driver, only where they are missing.
test-browser: $(VENV)/.browser ## open reports in headless Chromium
	@if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then \
	  if [ "$$(id -u)" != 0 ]; then \
	    echo "test-browser needs chromium and chromedriver; install them as root: apt-get install chromium chromium-driver" >&2; exit 1; \
	  fi; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver; \
	fi
	$(BIN)/python -m pytest -q tests/browser

$(VENV)/.recipes: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[recipes]'
	@touch $(VENV)/.core $@

recipes: $(VENV)/.recipes ## run the recipes for PyTorch, Keras, JAX and others
	$(BIN)/python -m pytest -q tests/test_recipes.py

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[docs]'
	@touch $(VENV)/.core $@

.PHONY: docs
docs: $(VENV)/.docs ## the documentation, into docs/_build/html; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -c docs . docs/_build/html

$(VENV)/.spark: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[spark]' pytest hypothesis
	@touch $(VENV)/.core $@

test-spark: $(VENV)/.spark ## Spark with two workers in separate processes; needs Java 17
	$(BIN)/python -m pytest -q tests/spark

$(VENV)/.bench: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[bench]'
	@touch $(VENV)/.core $@

bench: $(VENV)/.bench ## compare speed with other libraries, into benchmarks/results (30 min)
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.crossover | tee benchmarks/results/crossover.md
	$(BIN)/python -m benchmarks.outofcore

picture: $(VENV)/.test ## draw the first figure of the README
	$(BIN)/python examples/plot_map.py docs/map.png

clean: ## remove everything that these targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .rumdl_cache dist structsmooth-demo
	rm -rf docs/_build docs/gallery docs/generated
