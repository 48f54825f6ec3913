"""``structsmooth compare``: what it prints, writes and refuses."""

import json
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from structsmooth.cli import app
from structsmooth.compare import choice
from structsmooth.metrics.preference import preferred

FAST = ["--seeds", "3", "--alpha", "0.1", "--beta", "auto"]


def run(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


@pytest.fixture
def data(overlapping, tmp_path):
    path = tmp_path / "d.npz"
    X, y = overlapping
    np.savez(path, X=X, y=np.array(["no", "yes"])[y], who=np.arange(len(y)) // 10)
    return path


@pytest.fixture
def table(overlapping, tmp_path):
    path = tmp_path / "d.csv"
    X, y = overlapping
    rows = [
        f"{a:.9g},{b:.9g},speaker {number // 10},{['no', 'yes'][label]}"
        for number, ((a, b), label) in enumerate(zip(X, y, strict=True))
    ]
    path.write_text("\n".join(["left,right,who,answer", *rows]) + "\n")
    return path


def test_prints_a_table_findings_and_a_verdict(data):
    result = run(data, *FAST)
    assert result.exit_code == 0
    for method in ("none", "uniform", "structural", "reversed", "shuffled"):
        assert method in result.stdout
    assert "400 rows, 2 classes, 3 seeds" in result.stdout
    assert "structural against uniform: " in result.stdout
    assert "structural - shuffled" in result.stdout
    assert "Structural smoothing " in result.stdout
    assert "compare" in result.stderr  # the progress bar


def test_json_is_one_object_and_quiet_is_silent(data):
    result = run(data, *FAST, "--json")
    found = json.loads(result.stdout, parse_constant=pytest.fail)  # no NaN
    assert found["data"] == "d.npz"
    assert len(found["methods"]["structural"]["aurc"]) == 3
    assert run(data, *FAST, "--quiet").stdout == ""


@pytest.fixture
def hard(tmp_path, rng):
    """A table on which a forest is far too confident."""
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] + 2.0 * rng.normal(size=300) > 0, "yes", "no")
    path = tmp_path / "hard one.csv"
    rows = [f"{a},{b},{label}" for (a, b), label in zip(X, y, strict=True)]
    path.write_text("\n".join(["left,right,answer", *rows]) + "\n")
    return path


def test_it_ends_with_a_decision_and_a_line_that_runs(hard, tmp_path, monkeypatch):
    # The decision must be to smooth, whatever that costs.
    monkeypatch.setattr(choice, "preferred", lambda *given: preferred(*given[:2]))
    options = ["--label", "answer", "--alpha", "0.3", "--beta", "0.5", "--seeds", "3"]
    options += ["--classifier", "forest", "--clusters", "3"]
    result = run(hard, *options)
    assert result.exit_code == 0, result.stderr
    _, decision = result.stdout.split("Decision: ")
    assert decision.startswith("Smooth")
    (line,) = (line for line in decision.splitlines() if "structsmooth fit" in line)
    assert "'hard one.csv' --label answer --clusters 3 --alpha" in line
    assert "StructuralSmoother(alpha=" in decision
    found = json.loads(run(hard, *options, "--json").stdout)["decision"]
    assert found["smooth"] is True
    assert found["command"] == line.strip()
    words = shlex.split(line)[1:]
    words[words.index("hard one.csv")] = str(hard)
    words[words.index("OUT")] = str(tmp_path / "out")
    fitted = CliRunner().invoke(app, words)
    assert fitted.exit_code == 0, fitted.stderr
    lines = [line.strip() for line in decision.splitlines()]
    code = "\n".join(lines[lines.index("or in Python") + 1 :])
    names = {"X": np.random.default_rng(0).normal(size=(90, 2)), "y": np.arange(90) % 2}
    exec(code, names)  # noqa: S102 (our own lines)
    assert names["soft_labels"].shape == (90, 2)


def test_the_column_of_groups_is_no_feature_of_the_line_to_paste(hard, monkeypatch):
    # The decision must be to smooth, whatever that costs.
    monkeypatch.setattr(choice, "preferred", lambda *given: preferred(*given[:2]))
    lines = hard.read_text().splitlines()
    grouped = [f"{line},{number // 5}" for number, line in enumerate(lines[1:])]
    hard.write_text("\n".join([lines[0] + ",who", *grouped]) + "\n")
    options = ["--label", "answer", "--alpha", "0.3", "--beta", "0.5", "--seeds", "3"]
    result = run(hard, *options, "--classifier", "forest", "--groups", "who", "--json")
    assert result.exit_code == 0, result.output
    command = json.loads(result.stdout)["decision"]["command"]
    assert "--label answer --drop who --alpha" in command


def test_do_not_smooth_is_a_decision_too(data):
    result = run(data, *FAST, "--json")
    found = json.loads(result.stdout)["decision"]
    if not found["smooth"]:
        assert found["command"] is None
    assert found["method"] in ("none", "uniform", "structural", "default")


def test_arms_rows_and_time_can_be_given(data):
    options = ["--arms", "points,shrink+overlap", "--max-rows", "200"]
    result = run(data, *FAST, *options, "--budget", "10min", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert {"points", "shrink+overlap", "default"} <= set(found["methods"])
    assert found["description"]["n_rows"] == 200
    assert len(found["after_training"]["temperature"]["none"]["nll"]) == 3


def test_the_file_of_runs_is_gone_on_with(data, tmp_path):
    runs = tmp_path / "runs.jsonl"
    first = json.loads(run(data, *FAST, "-o", runs, "--json").stdout)
    before = runs.read_bytes()
    assert json.loads(run(data, *FAST, "-o", runs, "--json").stdout) == first
    assert runs.read_bytes() == before


@pytest.mark.parametrize("name", ["forest", "gradient-boosting", "lightgbm"])
def test_classifiers_by_name(data, name):
    if name == "lightgbm":
        pytest.importorskip(name)
    result = run(data, *FAST, "--classifier", name, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["description"]["n_rows"] == 400


def test_groups_are_a_column_or_an_array_and_no_feature(data, table):
    for arguments in ([data], [table, "--label", "answer"]):
        result = run(*arguments, *FAST, "--groups", "who", "--json")
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["description"]["n_features"] == 2


def test_a_test_set_of_its_own(table):
    options = ["--label", "answer", "--drop", "who"]
    result = run(table, *options, *FAST, "--test", table, "--json")
    assert result.exit_code == 0, result.stderr
    description = json.loads(result.stdout)["description"]
    assert description["settings"]["test_size"] is None


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--classifier", "oracle"], 2, "oracle"),
        (["--seeds", "2"], 2, "seeds"),
        (["--alpha", "0.1,much"], 2, "a number or 'auto'"),
        (["--alpha", "0.1,0.9"], 2, "alpha must be below"),
        (["--criterion", "beauty"], 2, "criterion"),
        (["--arms", "legs"], 2, "arms must be of points, overlap"),
        (["--budget", "soon"], 2, "such as 90s, 5min or 2h"),
        (["--budget", "0.001s"], 2, "no seed was finished within the budget"),
        (["--max-rows", "3"], 2, "max_rows"),
        (["--groups", "absent"], 2, "absent"),
        (["--test", "nowhere.npz"], 3, "nowhere.npz"),
    ],
)
def test_wrong_options_get_a_sentence_and_a_code(data, options, code, message):
    result = run(data, *options)
    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
