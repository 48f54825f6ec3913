"""``import structsmooth`` loads no heavy library, and this test can fail."""

import subprocess
import sys

import pytest

import structsmooth

FRAMEWORKS = "torch pyspark matplotlib jinja2 catboost lightgbm xgboost"
# What a fit needs is loaded by the first fit.
COMPILERS = "numba llvmlite"
SLOW = "sklearn.cluster sklearn.decomposition sklearn.mixture sklearn.neighbors"
SCRIPT = """
import sys
{statement}
heavy = [m for m in "{heavy}".split() if m in sys.modules]
sys.exit(f"loaded {{heavy}}" if heavy else 0)
"""


def exit_code(statement, heavy=FRAMEWORKS):
    script = SCRIPT.format(statement=statement, heavy=heavy)
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True).returncode


@pytest.mark.parametrize(
    "statement",
    [
        "import structsmooth",
        "from structsmooth import StructuralSmoother, SmoothedClassifier",
        "import structsmooth.cli, structsmooth.io.results, structsmooth.io.readers",
        "import structsmooth.boosting, structsmooth.compare, structsmooth.metrics",
        "import structsmooth.report, structsmooth.report.notebook",
    ],
)
def test_no_heavy_framework_is_loaded(statement):
    assert exit_code(statement) == 0


def test_the_test_above_can_fail():
    assert exit_code("import structsmooth, matplotlib") == 1
    assert exit_code("import structsmooth.plot") == 1


NAMED = "from structsmooth import StructuralSmoother; s = StructuralSmoother()"
FITTED = NAMED + "; s.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])"


@pytest.mark.parametrize("heavy", [COMPILERS, SLOW])
@pytest.mark.parametrize(
    "statement",
    [
        NAMED,
        "from structsmooth import SmoothedClassifier, euclidean_mst, find_suspects",
        "import structsmooth.cli, structsmooth.outofcore.fit",
    ],
)
def test_naming_the_smoother_does_not_load_what_only_a_fit_needs(statement, heavy):
    assert exit_code(statement, heavy) == 0


def test_the_test_above_can_fail_too():
    assert exit_code("import structsmooth, numba", COMPILERS) == 1
    assert exit_code(FITTED, COMPILERS) == 1
    assert exit_code(FITTED, SLOW) == 1


def test_every_public_name_is_there_and_documented():
    for name in structsmooth.__all__:
        assert getattr(structsmooth, name).__doc__, name
    assert set(structsmooth.__all__) <= set(dir(structsmooth))
    assert structsmooth.__version__


def test_rooms_open_on_first_use():
    statement = "import structsmooth; structsmooth.metrics.evaluate"
    assert exit_code(statement) == 0
    assert exit_code("import structsmooth; structsmooth.torch") == 1


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'unknown'"):
        _ = structsmooth.unknown


@pytest.mark.parametrize("before", ["", "import structsmooth.compare; "])
def test_compare_is_a_function_wherever_it_comes_from(before):
    statement = before + (
        "from structsmooth import compare; "
        "from sklearn.datasets import load_iris; X, y = load_iris(return_X_y=True); "
        "a = compare(X, y, alpha=0.1, beta='auto', n_seeds=3); "
        "from structsmooth.compare import compare; "
        "b = compare(X, y, alpha=0.1, beta='auto', n_seeds=3); "
        "assert a.verdict == b.verdict"
    )
    assert exit_code(statement) == 0
