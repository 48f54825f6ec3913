"""A comparison as a page: what it shows, and its risk-coverage curves."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

from structsmooth.cli import app
from structsmooth.compare import compare
from structsmooth.compare.measures import COVERAGES
from structsmooth.compare.page import curve_of, page_of

pytestmark = pytest.mark.filterwarnings(
    "ignore::structsmooth.errors.StructsmoothWarning"
)
FAST = {"alpha": 0.1, "beta": "auto", "n_seeds": 3}


@pytest.fixture
def runs(overlapping, tmp_path):
    path = tmp_path / "runs.jsonl"
    return compare(*overlapping, **FAST, results=path), path


def test_the_curves_are_those_of_the_runs_with_corrected_intervals(runs):
    result, _ = runs
    mean, half = curve_of(result, "none")
    assert mean[-1] == pytest.approx(result.values("none", "error").mean())
    risks = np.array([r["risks"] for r in result.chosen if r["method"] == "none"])
    # 400 rows: 100 test, and of the 300 others 60 validate and 240 train. Three seeds
    # have two degrees of freedom, whose 97.5 % point is 4.302653.
    expected = 4.302652729696142 * risks.std(axis=0, ddof=1)
    np.testing.assert_allclose(half, expected * np.sqrt(1 / 3 + 100 / 240))
    assert len(mean) == len(COVERAGES)


def test_the_page_has_decision_verdict_curves_and_tables(runs):
    result, _ = runs
    page = page_of(result)
    assert result.choice.headline in page
    assert result.verdict in page
    assert page.count("<polyline") == page.count("<polygon") == 4  # without controls
    for method in result.methods:
        assert f"<td>{method}</td>" in page
    assert not re.search(r"(src|href)=|<script|https?://", page)  # works offline


def test_names_cannot_break_the_page(runs):
    result, _ = runs
    result.description["settings"]["classifier"] = "<script>alert(1)</script>"
    assert "<script>" not in page_of(result)


def test_report_makes_a_page_of_a_file_of_runs(runs, tmp_path):
    _, path = runs
    shown = CliRunner().invoke(app, ["report", str(path)])
    assert shown.exit_code == 0, shown.stderr
    assert path.with_suffix(".html").read_text().startswith("<!doctype html>")
    other = tmp_path / "notes.txt"
    other.write_text("dear diary\n")
    refused = CliRunner().invoke(app, ["report", str(other)])
    assert refused.exit_code == 3
    assert "not a file of results" in refused.stderr
