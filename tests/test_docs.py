"""The documentation: its code runs, its names exist, its numbers are recorded."""

import importlib
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import structsmooth
from structsmooth.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("[a-z]*.md"))]
PAGES += sorted((ROOT / "docs" / "howto").glob("*.md"))
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="no documentation here"
)


def blocks(page, language):
    return [
        code for found, code in FENCE.findall(page.read_text()) if found == language
    ]


def what_readers_have(n_classes):
    """Return the names that pages use without defining them: data and a model."""
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    return {
        "X": X,
        "y": y,
        "embeddings": X,
        "my_classifier": LogisticRegression(max_iter=200),
        "model": lambda inputs: inputs[:, :10],
    }


# This page needs large files, Dask and Spark; other tests run its code.
NOT_HERE = "docs/scaling.md"
WITH_CODE = [n for n in NAMES if n != NOT_HERE and blocks(ROOT / n, "python")]


@pytest.mark.parametrize("name", WITH_CODE)
@pytest.mark.filterwarnings("ignore::structsmooth.errors.StructsmoothWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_python_on_a_page_runs_from_top_to_bottom(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of it writes files
    has_model = "images" in name or "pytorch" in name  # with ten outputs
    given = what_readers_have(n_classes=10 if has_model else 3)
    with threadpool_limits(1):  # with so little data, threads only wait for each other
        for code in blocks(ROOT / name, "python"):
            exec(compile(code, name, "exec"), given)  # noqa: S102 (our own pages)


def test_a_number_in_a_comment_is_what_the_code_gives():
    code = "\n".join(blocks(ROOT / "docs" / "training.md", "python"))
    shown = re.findall(r"^(\w+\(.*\))  # ([\d.]+)$", code, re.MULTILINE)
    assert len(shown) == 2
    for call, value in shown:
        public = {name: getattr(structsmooth, name) for name in structsmooth.__all__}
        assert eval(call, public) == pytest.approx(float(value))  # noqa: S307


def command_lines():
    for page in PAGES:
        for code in blocks(page, ""):
            for line in code.splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] == ["structsmooth"] and words[1:] != ["COMMAND", "--help"]:
                    yield page.name, words[1:]


def test_commands_on_a_page_exist_with_their_options():
    commands = typer.main.get_command(app).commands
    lines = list(command_lines())
    assert len(lines) > 8
    for page, (command, *arguments) in lines:
        known = {
            option for param in commands[command].params for option in param.opts
        } | {option for p in commands[command].params for option in p.secondary_opts}
        used = {word for word in arguments if word.startswith("-")}
        assert used <= known, f"{page}: {command} has no {used - known}"


def listed_names(reference):
    """Return the names that the reference lists, by module."""
    listed, module = {}, None
    for line in reference.splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            listed.setdefault(module, []).append(line.strip())
    return listed


def test_reference_lists_every_public_name_once():
    listed = listed_names((ROOT / "docs" / "reference.md").read_text())
    # The pages of Spark's classes would need Spark to be built.
    names = [name for name in structsmooth._MODULES if name != "spark"]
    modules = [f"structsmooth.{name}" for name in names]
    for module in ("structsmooth", *modules):
        public = importlib.import_module(module).__all__
        assert sorted(listed[module]) == sorted(public), module
    assert set(listed) == {"structsmooth", *modules}


def statements(page):
    """Return the items and paragraphs of a page."""
    text = FENCE.sub("", page.read_text())
    return re.split(r"\n\n|\n(?=- )", text)


def test_every_number_on_the_honest_page_is_a_recorded_one():
    page = ROOT / "docs" / "when-not.md"
    n_checked = 0
    for statement in statements(page):
        links = re.findall(r"\]\((\.\./[^)#]+)\)", statement)
        recorded = "".join((page.parent / link).read_text() for link in links)
        words = re.sub(r"\]\([^)]*\)|`[^`]*`|alpha [\d.]+", "", statement)
        for number in re.findall(r"(?<![\w.])-?\d+\.\d+", words):
            pattern = rf"(?<![\d.-]){re.escape(number)}(?!\d)"
            assert re.search(pattern, recorded), f"{number} in: {statement}"
            n_checked += 1
    assert n_checked > 30


def test_every_number_beside_a_truth_is_a_recorded_one():
    text = (ROOT / "docs" / "estimate.md").read_text()
    results = ROOT / "experiments" / "results" / "truths.md"
    numbers = re.findall(r"(?<![\w.])\d+\.\d+", re.sub(r"\]\([^)]*\)", "", text))
    assert len(numbers) > 100
    recorded = results.read_text()
    for number in numbers:
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", recorded), number
    # Ranges of bounds must be copied as a whole.
    for bounds in re.findall(r"\| (\d+\.\d+ to \d+\.\d+) (?=\|)", text):
        assert f"| {bounds} |" in recorded, bounds


def test_every_number_on_selective_prediction_is_a_recorded_one():
    text = (ROOT / "docs" / "selective.md").read_text()
    results = ROOT / "experiments" / "results"
    pages = [*results.glob("selective*.md"), *results.glob("choice-*.md")]
    recorded = "".join(page.read_text() for page in pages)
    words = re.sub(r"\]\([^)]*\)|`[^`]*`", "", text)
    numbers = re.findall(r"(?<![\w.])-?\d+\.\d+", words)
    assert len(numbers) > 60
    for number in numbers:
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", recorded), number


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name):
    page = ROOT / name
    text = FENCE.sub("", page.read_text())
    for link in re.findall(r"\]\(([^)]+)\)", text):
        target, _, anchor = link.partition("#")
        if link.startswith("http"):
            continue
        place = (page.parent / target) if target else page
        assert place.exists(), link
        if anchor:
            assert anchor in anchors(place), link


def anchors(page):
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def test_every_gallery_example_has_a_place_in_the_order():
    order = (ROOT / "docs" / "_ext" / "order.py").read_text()
    examples = {path.stem for path in (ROOT / "examples").glob("plot_*.py")}
    assert examples == set(re.findall(r'"(plot_\w+)"', order))


def test_numbers_are_found_only_as_a_whole():
    # The check above would be useless if 1.5 were found in 11.53.
    assert not re.search(r"(?<![\d.-])1\.5(?!\d)", "11.53 -1.5 1.53")
    assert np.isclose(float(re.findall(r"(?<![\w.])-?\d+\.\d+", "of -0.03.")[0]), -0.03)
