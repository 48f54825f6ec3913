"""The lines to paste run as they are."""

import json
import shlex

import numpy as np
import pytest
import typer
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from structsmooth import StructuralSmoother
from structsmooth.cli import app
from structsmooth.report import build_report
from structsmooth.report.snippets import FLAGS, SHARED, make_snippets, shared_words

run_app = CliRunner().invoke
DATA = ("structsmooth", "fit", "d.npz", "-o", "out")


@pytest.fixture
def fitted(overlapping):
    X, y = overlapping
    return StructuralSmoother(random_state=0).fit(X, y), X, y


def run(snippet, X, y, **others):
    """Run a snippet with what a reader has at hand, and return all its names."""
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(X.shape[1], 2)
    inputs, target = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    dataset = torch.utils.data.TensorDataset(inputs, target)
    names = {"X": X, "y": y, "model": model, "dataset": dataset, "inputs": inputs}
    names |= others
    assert snippet.language == "python"
    exec(snippet.code, names)  # noqa: S102
    return names


def by_title(snippets, word):
    (found,) = [snippet for snippet in snippets if word in snippet.title]
    return found


def test_the_fit_can_be_made_again(fitted):
    smoother, X, y = fitted
    again = by_title(make_snippets(smoother, "structural"), "again")
    found = run(again, X, y)["smoother"]
    np.testing.assert_array_equal(found.sample_strengths_, smoother.sample_strengths_)
    odd = StructuralSmoother(
        0.07, 1.5, reducer=StandardScaler(), n_clusters=3, shrink=True, verbose=0
    ).fit(X, y)
    again = by_title(make_snippets(odd, "structural"), "again")
    assert "random_state" in again.title
    made = run(again, X, y, StandardScaler=StandardScaler)["smoother"]
    assert repr(made) == repr(odd)


@pytest.mark.parametrize("spread", ["even", "overlap"])
@pytest.mark.parametrize("in_directory", [False, True])
def test_training_lines_use_the_strengths(fitted, tmp_path, spread, in_directory):
    smoother, X, y = fitted
    smoother.set_params(spread=spread).fit(X, y)
    directory = ""
    if in_directory:
        directory = str(tmp_path)
        np.save(tmp_path / "strengths.npy", smoother.sample_strengths_)
        soft = smoother.soft_labels(X, y).astype(np.float32)
        np.save(tmp_path / "soft_labels.npy", soft)
    snippets = make_snippets(smoother, "structural", (), directory)
    others = {} if in_directory else {"smoother": smoother}
    network = run(by_title(snippets, "PyTorch"), X, y, **others)
    assert network["loss"].requires_grad
    assert network["loss"].item() > 0.0
    if spread == "even":
        total = float(network["smoothed"].strengths.sum())
        assert total == pytest.approx(smoother.sample_strengths_.sum(), rel=1e-4)
    boosted = run(by_title(snippets, "LightGBM"), X, y, **others)["model"]
    plain = run(by_title(make_snippets(smoother, "uniform"), "LightGBM"), X, y)["model"]
    assert not np.allclose(boosted.predict_proba(X), plain.predict_proba(X))
    wrapped = run(by_title(snippets, "scikit-learn"), X, y)["model"]
    np.testing.assert_array_equal(
        wrapped.smoother_.sample_strengths_, smoother.sample_strengths_
    )


def test_uniform_training_lines_have_the_same_mean(fitted):
    smoother, X, y = fitted
    snippets = make_snippets(smoother, "uniform")
    loss = run(by_title(snippets, "PyTorch"), X, y)["loss"]
    # Of two classes, a label_smoothing of 2 alpha takes alpha from a sample's own.
    assert loss.label_smoothing == pytest.approx(2 * smoother.alpha_, rel=1e-2)
    wrapped = run(by_title(snippets, "scikit-learn"), X, y)["model"]
    strengths = wrapped.smoother_.sample_strengths_
    np.testing.assert_allclose(strengths, smoother.alpha_, rtol=1e-2)
    assert run(by_title(snippets, "LightGBM"), X, y)["model"].score(X, y) > 0.8


def test_who_should_not_smooth_is_not_told_how(fitted):
    titles = [snippet.title for snippet in make_snippets(fitted[0], "none")]
    assert [title.split()[0] for title in titles] == ["Make", "Measure"]


def test_the_comparison_runs(fitted, capsys):
    smoother, X, y = fitted
    found = by_title(make_snippets(smoother, "none"), "Measure")
    short = type(found)(
        found.title,
        found.language,
        found.code.replace(
            "smoother=smoother", "smoother=smoother, n_seeds=3, alpha=0.05, beta=0.5"
        ),
    )
    run(short, X, y, smoother=smoother)
    assert "structural" in capsys.readouterr().out


def test_commands_are_those_of_the_fit(tmp_path, overlapping, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = overlapping
    table = np.column_stack([X, y])
    np.savetxt("my data.csv", table, delimiter=",", header="a,b,c", comments="")
    typed = ["fit", "my data.csv", "--label=c", "--alpha", "0.1", "-q", "-o", "out dir"]
    typed += ["--drop", "b", "--clusters", "4", "--ignore-suspects", "--header"]
    assert run_app(app, typed).exit_code == 0
    summary = json.loads((tmp_path / "out dir/summary.json").read_text("utf-8"))
    summary["command"] = ["structsmooth", *typed]
    (tmp_path / "out dir/summary.json").write_text(json.dumps(summary), "utf-8")
    assert run_app(app, ["report", "out dir"]).exit_code == 0
    found = json.loads((tmp_path / "out dir/report.json").read_text("utf-8"))
    again, *training, compare = found["snippets"]
    assert shlex.split(again["code"]) == ["structsmooth", *typed]
    assert run_app(app, shlex.split(again["code"])[1:]).exit_code == 0
    words = shlex.split(compare["code"])
    assert words[:3] == ["structsmooth", "compare", "my data.csv"]
    assert words[3:] == ["--label=c", "--drop", "b", "--clusters", "4", "--header"]
    quick = ["--seeds", "3", "--alpha", "0.05", "--beta", "0.5", "-q"]
    assert run_app(app, words[1:] + quick).exit_code == 0
    network = next(line for line in training if "PyTorch" in line["title"])
    assert "np.load('out dir/strengths.npy')" in network["code"]


def test_what_cannot_be_compared_has_another_line(fitted):
    smoother = fitted[0]
    assert shared_words(["folder/", "--label", "y"]) == []  # of parquet files
    assert shared_words([]) == []
    for command in ((), ("structsmooth", "demo"), ("structsmooth", "fit", "folder")):
        compare = make_snippets(smoother, "none", command)[-1]
        assert compare.language == "python"
    assert make_snippets(smoother, "none", ("structsmooth", "demo"))[0].language == (
        "python"
    )
    command = ("/usr/bin/structsmooth", "fit", "d.npz", "-o", "out")
    assert make_snippets(smoother, "none", command)[0].code == (
        "structsmooth fit d.npz -o out"
    )


def test_options_of_the_commands_are_known():
    commands = typer.main.get_command(app).commands
    options = {
        name: [p for p in commands[name].params if p.param_type_name == "option"]
        for name in ("fit", "compare")
    }
    flags = {
        text
        for option in options["fit"]
        if option.is_flag
        for text in (*option.opts, *option.secondary_opts)
    }
    assert flags - {"--help"} == FLAGS
    for name in ("fit", "compare"):
        known = {o for p in options[name] for o in (*p.opts, *p.secondary_opts)}
        assert known >= SHARED


def test_the_report_has_the_lines_of_its_verdict(fitted):
    smoother, X, y = fitted
    report = build_report(smoother, None)
    assert report.verdict.answer == "structural"
    assert report.snippets == make_snippets(smoother, "structural")
    smoother.set_params(alpha=0.0).fit(X, y)
    assert len(build_report(smoother, None).snippets) == 2
