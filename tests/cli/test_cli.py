"""The command line: what it writes, prints and returns."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import typer
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from structsmooth import (
    StructuralSmoother,
    find_suspects,
    fit_out_of_core,
    smooth_labels,
)
from structsmooth.cli import app
from structsmooth.cli.options import printable
from structsmooth.errors import InvalidInputError

run_app = CliRunner().invoke


@pytest.fixture
def data(overlapping, tmp_path):
    np.savez(
        tmp_path / "d.npz", X=overlapping[0], y=np.array(["no", "yes"])[overlapping[1]]
    )
    return tmp_path / "d.npz"


@pytest.fixture
def result(data, tmp_path):
    out = tmp_path / "out"
    assert run_app(app, ["fit", str(data), "-o", str(out), "--quiet"]).exit_code == 0
    return out


def test_fit_writes_all_of_the_result(result, overlapping):
    X, y = overlapping
    expected = StructuralSmoother(random_state=0).fit(X, y)
    assert sorted(path.name for path in result.iterdir()) == [
        "clusters.csv",
        "labels.npy",
        "smoother.zip",
        "soft_labels.npy",
        "strengths.npy",
        "summary.json",
        "view.npz",
    ]
    assert np.array_equal(np.load(result / "strengths.npy"), expected.sample_strengths_)
    soft = np.load(result / "soft_labels.npy")
    assert soft.dtype == np.float32
    np.testing.assert_allclose(
        soft, smooth_labels(y, expected.sample_strengths_, 2), atol=1e-7
    )
    lines = (result / "clusters.csv").read_text().splitlines()
    assert len(lines) == 1 + len(expected.strengths_)
    loaded = StructuralSmoother.load(result)
    assert np.array_equal(loaded.predict_strength(X), expected.sample_strengths_)


def test_summary_holds_settings_versions_and_the_verdict(result):
    summary = json.loads((result / "summary.json").read_text())
    assert summary["n_samples"] == 400
    assert summary["classes"] == ["no", "yes"]
    assert summary["alpha"] == 0.05
    assert summary["label_smoothing"] == pytest.approx(0.1)
    assert summary["settings"]["random_state"] == 0
    assert set(summary["versions"]) >= {"python", "numpy", "structsmooth"}
    bias = summary["bayes_error_bias"]
    assert bias["saved"] == pytest.approx(1 - bias["structural"] / bias["uniform"])
    assert str(result.parent) not in (result / "summary.json").read_text()


def test_json_is_one_object_on_standard_output(data, tmp_path):
    got = run_app(app, ["fit", str(data), "-o", str(tmp_path / "o"), "--json"])
    assert got.exit_code == 0
    assert json.loads(got.stdout)["n_clusters"] >= 1
    assert got.stderr == ""


def test_quiet_prints_nothing(data, tmp_path):
    got = run_app(app, ["fit", str(data), "-o", str(tmp_path / "o"), "-q"])
    assert (got.exit_code, got.stdout, got.stderr) == (0, "", "")


def test_progress_goes_to_standard_error_and_the_table_to_output(data, tmp_path):
    got = run_app(app, ["fit", str(data), "-o", str(tmp_path / "o")])
    assert "spanning trees" in got.stderr
    assert "spanning trees" not in got.stdout
    assert "Bayes error" in got.stdout
    assert "saved" in got.stdout


def test_tables_are_scaled_by_default_and_arrays_are_not(data, tmp_path, overlapping):
    X, y = overlapping
    table = np.column_stack([X * [1.0, 1e6], y])
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="a,b,y", comments="")
    out = tmp_path / "o"
    arguments = ["fit", str(tmp_path / "t.csv"), "--label", "y", "-o", str(out), "-q"]
    assert run_app(app, arguments).exit_code == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["feature_names"] == ["a", "b"]
    scales = [column["scale"] for column in summary["encoding"]["columns"]]
    assert scales == pytest.approx(np.std(table[:, :2], axis=0))
    assert run_app(app, ["fit", str(data), "-o", str(out), "-q"]).exit_code == 0
    assert "encoding" not in json.loads((out / "summary.json").read_text())


def test_options_reach_the_smoother(data, tmp_path):
    out = tmp_path / "o"
    options = "--alpha auto --beta 0.25 --clusters 4 --seed 7 --clusterer gmm --jobs 2"
    arguments = ["fit", str(data), "-o", str(out), "-q", *options.split()]
    assert run_app(app, arguments).exit_code == 0
    loaded = StructuralSmoother.load(out)
    assert loaded.alpha == "auto"
    assert loaded.beta == 0.25
    assert loaded.n_clusters == 4
    assert loaded.random_state == 7
    assert loaded.clusterer == "gmm"


@pytest.mark.parametrize("kind", ["soft", "sparse", "flipped", "expanded"])
@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_labels_in_every_form(result, tmp_path, kind, suffix):
    path = tmp_path / f"labels.{suffix}"
    got = run_app(app, ["labels", str(result), "-o", str(path), "--kind", kind])
    assert got.exit_code == 0, got.stderr
    if suffix == "csv":
        header = path.read_text().splitlines()[0]
        columns = header.split(",")
    else:
        columns = list(np.load(path, allow_pickle=False))
    assert (
        columns
        == {
            "soft": ["no", "yes"],
            "sparse": ["label", "strength"],
            "flipped": ["label"],
            "expanded": ["row", "label", "weight"],
        }[kind]
    )


def test_labels_of_new_rows(result, overlapping, tmp_path):
    X, y = overlapping
    names = np.array(["no", "yes"])[y[:5]]
    np.savez(tmp_path / "new.npz", X=X[:5], y=names)
    path = tmp_path / "new.npy"
    got = run_app(
        app,
        ["labels", str(result), "--data", str(tmp_path / "new.npz"), "-o", str(path)],
    )
    assert got.exit_code == 0, got.stderr
    expected = StructuralSmoother.load(result).soft_labels(X[:5], names)
    assert np.array_equal(np.load(path), expected)


def test_demo(tmp_path):
    got = run_app(app, ["demo", "-o", str(tmp_path / "demo")])
    assert got.exit_code == 0
    assert "benign" in got.stdout
    assert "saved" in got.stdout
    assert (tmp_path / "demo" / "summary.json").is_file()


def test_names_that_look_like_markup_stay_text(overlapping, tmp_path):
    y = np.array(["[bold]x[/bold]", "[/red]"])[overlapping[1]]
    np.savez(tmp_path / "d.npz", X=overlapping[0], y=y)
    got = run_app(app, ["fit", str(tmp_path / "d.npz"), "-o", str(tmp_path / "o")])
    assert got.exit_code == 0
    assert "[/red]" in got.stdout


UNUSABLE, UNWRITABLE, USAGE = 3, 4, 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["fit", "none.npz", "-o", "o"], UNUSABLE, "there is no file none.npz"),
        (
            ["fit", "d.npz", "-o", "o", "--alpha", "0.7"],
            USAGE,
            "alpha must be below",
        ),
        (["fit", "d.npz", "-o", "o", "--alpha", "x"], USAGE, "or 'cautious', got"),
        (
            ["fit", "d.npz", "-o", "o", "--beta", "-1"],
            USAGE,
            "beta must be a number",
        ),
        (["fit", "d.npz", "-o", "o", "--clusters", "999"], USAGE, "400 rows of X"),
        (["fit", "d.npz", "-o", "o", "--reducer", "x"], USAGE, "--reducer"),
        (["fit", "d.npz", "-o", "o", "--label", "z"], USAGE, "no array 'z'"),
        (["fit", "nan.npz", "-o", "o"], UNUSABLE, "NaN in row 3, column 1"),
        (["fit", "one.npz", "-o", "o"], UNUSABLE, "only one class"),
        (["fit", "d.npz", "-o", "d.npz"], UNWRITABLE, "is not a directory"),
        (["fit", "d.npz", "-o", "full"], UNWRITABLE, "it holds other files"),
        (["fit", "d.npz", "-o", "d.npz/o"], UNWRITABLE, "cannot write"),
        (["labels", "full", "-o", "l.csv"], UNUSABLE, "not a result of"),
        (["labels", "result", "-o", "l.txt"], USAGE, "must end in .csv, .npz or"),
        (["labels", "result", "-o", "x/l.csv"], UNWRITABLE, "no such file"),
        (
            ["labels", "result", "-o", "l.npy", "--kind", "sparse"],
            USAGE,
            "write a .csv or .npz",
        ),
        (["fit", "t.csv", "-o", "o"], USAGE, "with --label; it has a, b, y"),
        (["fit", "t.csv", "-o", "o", "--drop", "a,z"], USAGE, "name the column"),
        (["fit", "d.npz", "-o", "o", "--max-memory", "x"], USAGE, "such as '4GB'"),
        (["fit", "d.npz", "-o", "o", "--regions", "x"], USAGE, "--regions"),
        (["suspects", "none.npz"], UNUSABLE, "there is no file none.npz"),
        (["suspects", "one.npz"], UNUSABLE, "only one class"),
        (["suspects", "full"], UNUSABLE, "not a result of"),
        (["suspects", "result"], UNUSABLE, "without --ignore-suspects"),
        (["suspects", "result", "--seed", "1"], USAGE, "expected no options but"),
        (["suspects", "d.npz", "-o", "s.txt"], USAGE, "must end in .csv"),
        (["suspects", "d.npz", "-o", "x/s.csv"], UNWRITABLE, "no such file"),
        (["suspects", "d.npz", "--components", "9"], USAGE, "n_components must be"),
        (
            ["fit", "d.npz", "-o", "o", "--seed", "4294967296"],
            USAGE,
            "random_state must",
        ),
        (["suspects", "d.npz", "--seed", "4294967296"], USAGE, "random_state must"),
        (["fit", "d.npz"], USAGE, "--output"),
        (["fit", "d.npz", "-o", "o", "--jobs", "many"], USAGE, "--jobs"),
        (["labels", "result", "-o", "l.csv", "--kind", "odd"], USAGE, "--kind"),
        (["smooth"], USAGE, "smooth"),
    ],
)
@pytest.mark.usefixtures("data")
def test_errors_are_one_sentence_and_a_code(
    overlapping, tmp_path, monkeypatch, arguments, code, message
):
    monkeypatch.chdir(tmp_path)
    X, y = overlapping
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    with_nan = X.copy()
    with_nan[3, 1] = np.nan
    np.savez("nan.npz", X=with_nan, y=y)
    np.savez("one.npz", X=X, y=np.zeros(400))
    (tmp_path / "t.csv").write_text("a,b,y\n1,?,no\n2,,yes\n")
    if "result" in arguments:
        run_app(app, ["fit", "d.npz", "-o", "result", "-q"])
    before = sorted(p for p in tmp_path.rglob("*"))
    got = run_app(app, arguments)
    assert got.exit_code == code
    assert message in got.stderr
    assert got.stdout == ""
    assert sorted(p for p in tmp_path.rglob("*")) == before
    if not got.stderr.startswith("Usage: "):
        assert got.stderr.startswith("structsmooth: ")
        assert got.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("missing", "arguments", "package"),
    [
        ("pyarrow", ["fit", "t.parquet", "--label", "y", "-o", "o"], "pyarrow"),
        ("pyarrow", ["fit", "parts", "--label", "y", "-o", "o"], "pyarrow"),
        ("lightgbm", ["compare", "d.npz", "--classifier", "lightgbm"], "lightgbm"),
        ("jinja2", ["report", "result"], "jinja2"),
    ],
)
@pytest.mark.usefixtures("data", "result")
def test_a_missing_package_is_wrong_usage(
    tmp_path, monkeypatch, missing, arguments, package
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "result").symlink_to(tmp_path / "out")
    (tmp_path / "parts").mkdir()
    for path in ("t.parquet", "parts/0.parquet"):
        (tmp_path / path).write_bytes(b"PAR1")
    for name in [missing, *(m for m in sys.modules if m.startswith(f"{missing}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    before = sorted(tmp_path.rglob("*"))
    got = run_app(app, arguments)
    assert got.exit_code == USAGE
    assert got.stderr.endswith(f" needs {package}: pip install {package}\n")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_directory_without_write_permission(data, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    is_root = os.geteuid() == 0
    data.chmod(0o644)
    if is_root:  # root may write anywhere, so become another user for a moment
        os.seteuid(65534)
    try:
        got = run_app(app, ["fit", str(data), "-o", str(closed / "out")])
    finally:
        if is_root:
            os.seteuid(0)
    assert got.exit_code == UNWRITABLE
    assert "permission denied" in got.stderr
    assert list(closed.iterdir()) == []


def test_a_second_fit_replaces_the_first(result, data):
    before = (result / "strengths.npy").read_bytes()
    arguments = ["fit", str(data), "-o", str(result), "-q", "--alpha", "0.2"]
    assert run_app(app, arguments).exit_code == 0
    assert (result / "strengths.npy").read_bytes() != before


COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_every_option_in_full_and_in_groups(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run_app(app, [name, "--help"], terminal_width=80).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    for parameter in COMMANDS[name].params:
        for option in [*parameter.opts, *parameter.secondary_opts]:
            assert re.search(rf"{option}[ ,]", shown) or option[0] != "-", option
    groups = re.findall(r"─ (\w+) ─", shown)
    if name == "fit":
        groups.remove("Arguments")
        assert sorted(groups) == ["Clusters", "Data", "Options", "Output", "Strengths"]
    assert "Output" in groups


LIGHT = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]
# With these arguments the error is found before anything heavy is loaded.
REFUSED = [
    ["fit", "none.csv", "--label", "y", "-o", "o"],
    ["fit", "none.npz", "-o", "o"],
    ["fit", "t.csv", "-o", "o"],
    ["fit", "t.csv", "-o", "t.csv", "--label", "b"],
    ["fit", "t.csv", "-o", "o", "--label", "b", "--alpha", "x"],
    ["compare", "none.csv", "--label", "y"],
    ["suspects", "none.csv", "--label", "y"],
    ["suspects", "none"],
    ["report", "none"],
    ["labels", "none", "-o", "l.csv"],
]
HEAVY = ("numba", "sklearn", "scipy", "joblib", "torch", "pandas", "matplotlib")


@pytest.mark.parametrize("arguments", [*LIGHT, *REFUSED], ids=" ".join)
def test_help_and_errors_in_the_arguments_load_nothing_heavy(arguments, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    heavy = HEAVY if "t.csv" in arguments else (*HEAVY, "numpy")
    script = (
        "import sys; from structsmooth.cli import app\n"
        f"try: app({arguments!r})\n"
        f"except SystemExit as e: print('CODE', e.code or 0)\n"
        f"print('LOADED', [m for m in {heavy!r} if m in sys.modules])"
    )
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    code, loaded = run.stdout.splitlines()[-2:]
    assert loaded == "LOADED []", run.stderr
    assert (code == "CODE 0") == (arguments in LIGHT), run.stderr


@pytest.fixture
def mistaken(overlapping, tmp_path):
    """A table with labels changed where the classes do not overlap."""
    X, y = overlapping
    names = np.array(["no", "yes"])[y]
    names[[5, 201]] = ["yes", "no"]
    rows = [f"{a:.9g},{b:.9g},0,{c}" for (a, b), c in zip(X, names, strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,id,y", *rows]))
    return path


def test_suspects_are_printed_and_written_as_a_fit_finds_them(mistaken, tmp_path):
    of_table = [str(mistaken), "--label", "y", "--drop", "id"]
    file, out = tmp_path / "s.csv", tmp_path / "o"
    got = run_app(app, ["suspects", *of_table, "-o", str(file)])
    assert got.exit_code == 0, got.stderr
    assert re.search(r"201 +no +yes +0\.9\d\d", got.stdout)
    lines = file.read_text().splitlines()
    assert lines[0] == "row,label,likely,score,agreement,reason"
    assert {int(line.split(",")[0]) for line in lines[1:]} >= {5, 201}
    fit = ["fit", *of_table, "-o", str(out), "-q", "--ignore-suspects"]
    assert run_app(app, fit).exit_code == 0
    assert file.read_bytes() == (out / "suspects.csv").read_bytes()
    again = tmp_path / "again.csv"
    assert run_app(app, ["suspects", str(out), "-o", str(again)]).exit_code == 0
    assert file.read_bytes() == again.read_bytes()


def test_a_larger_share_of_false_discoveries_lists_more(mistaken):
    of_table = ["suspects", str(mistaken), "--label", "y", "--drop", "id", "--json"]
    n_listed = [
        len(json.loads(run_app(app, [*of_table, "--fdr", fdr]).stdout)["suspects"])
        for fdr in ("0.001", "0.05", "0.5")
    ]
    assert n_listed == sorted(n_listed)
    assert n_listed[0] < n_listed[2]
    got = run_app(app, [*of_table, "--fdr", "2"])
    assert got.exit_code == USAGE
    assert "fdr must be" in got.stderr


def test_suspects_of_reduced_features_are_those_of_the_fit(tmp_path):
    X, y = load_digits(return_X_y=True)
    y[::100] = (y[::100] + 1) % 10
    np.savez(tmp_path / "d.npz", X=X, y=y)
    data, out = str(tmp_path / "d.npz"), tmp_path / "o"
    options = ["--reducer", "pca", "--seed", "3", "--json"]
    found = json.loads(run_app(app, ["suspects", data, *options]).stdout)["suspects"]
    smoother = StructuralSmoother(ignore_suspects=True, random_state=3).fit(X, y)
    assert [row["row"] for row in found] == smoother.suspects_.rows.tolist()
    assert [row["likely"] for row in found] == smoother.suspects_.likely.tolist()
    assert [row["label"] for row in found] == y[smoother.suspects_.rows].tolist()
    assert not out.exists()


def test_suspects_can_be_none_and_quiet(overlapping, tmp_path):
    X, y = overlapping
    np.savez(tmp_path / "d.npz", X=X + 100 * y[:, np.newaxis], y=y)
    data, file = str(tmp_path / "d.npz"), tmp_path / "s.csv"
    assert "No label clearly looks like" in run_app(app, ["suspects", data]).stdout
    got = run_app(app, ["suspects", data, "-q", "-o", str(file)])
    assert (got.exit_code, got.stdout, got.stderr) == (0, "", "")
    assert file.read_text().strip() == "row,label,likely,score,agreement,reason"


def test_more_wrong_labels_than_can_be_listed_are_said(rng, tmp_path):
    # The classes overlap, so few of the wrong labels are certain to be wrong.
    X, y = rng.normal(size=(600, 2)), np.repeat([0, 1], 300)
    X[:, 0] += 3.0 * y
    y[rng.uniform(size=600) < 0.15] ^= 1
    np.savez(tmp_path / "d.npz", X=X, y=y)
    of_data = ["suspects", str(tmp_path / "d.npz"), "--fdr", "0.001"]
    found = json.loads(run_app(app, [*of_data, "--json"]).stdout)
    scores = find_suspects(X, y, random_state=0).scores
    assert found["n_expected"] == round(scores.sum())
    assert found["n_expected"] > 2 * len(found["suspects"])
    said = f"About {found['n_expected']} labels are wrong in all"
    assert said in run_app(app, of_data).stdout


def test_interrupting_leaves_nothing_behind(data, tmp_path, monkeypatch):
    def interrupt(*_args, **_keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr("structsmooth.io.results.write_fitted", interrupt)
    before = sorted(tmp_path.rglob("*"))
    got = run_app(app, ["fit", str(data), "-o", str(tmp_path / "o"), "-q"])
    assert got.exit_code == 130
    assert sorted(tmp_path.rglob("*")) == before


def test_a_full_disk_leaves_nothing_behind(data, tmp_path, monkeypatch):
    def no_space(*_args, **_keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("structsmooth.io.results.np.save", no_space)
    before = sorted(tmp_path.rglob("*"))
    got = run_app(app, ["fit", str(data), "-o", str(tmp_path / "o"), "-q"])
    assert got.exit_code == UNWRITABLE
    assert "no space left on device" in got.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_directory_of_somebody_else_is_left_alone(data, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "summary.json").write_text('{"mine": 1}')
    (own / "labels.npy").write_text("precious")
    got = run_app(app, ["fit", str(data), "-o", str(own), "-q"])
    assert got.exit_code == UNWRITABLE
    assert (own / "labels.npy").read_text() == "precious"


def test_a_result_cut_short_leaves_the_earlier_one(result, data, monkeypatch):
    from structsmooth.io import directories

    def interrupted(*_):
        raise KeyboardInterrupt

    before = {path.name: path.read_bytes() for path in result.iterdir()}
    arguments = ["fit", str(data), "-o", str(result), "-q", "--alpha", "0.3"]
    with monkeypatch.context() as patch:
        patch.setattr(directories, "_exchange", interrupted)
        assert run_app(app, arguments).exit_code == 130
    assert {path.name: path.read_bytes() for path in result.iterdir()} == before
    assert run_app(app, arguments).exit_code == 0
    assert [path.name for path in result.parent.glob(".*")] == []
    assert np.load(result / "strengths.npy").mean() == pytest.approx(0.3)
    assert np.load(result / "soft_labels.npy").shape == (400, 2)
    assert not list(result.glob(".unfinished-*"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "OUT", "-o", "OUT/summary.html"],
        ["labels", "OUT", "-o", "OUT/labels.npy"],
        ["labels", "OUT", "--kind", "sparse", "-o", "OUT/clusters.csv"],
    ],
)
def test_files_of_a_result_are_not_overwritten(result, arguments):
    before = {path.name: path.read_bytes() for path in result.iterdir()}
    words = [word.replace("OUT", str(result)) for word in arguments]
    got = run_app(app, words)
    assert got.exit_code == USAGE
    assert "is a file of the result" in got.stderr
    assert {path.name: path.read_bytes() for path in result.iterdir()} == before


def test_columns_of_new_rows_are_found_by_name(overlapping, tmp_path):
    X, y = overlapping
    np.savetxt(
        tmp_path / "a.csv", np.c_[X, y], delimiter=",", header="a,b,y", comments=""
    )
    np.savetxt(
        tmp_path / "b.csv",
        np.c_[y, X[:, 1], X[:, 0]],
        delimiter=",",
        header="y,b,a",
        comments="",
    )
    out = str(tmp_path / "o")
    fit = ["fit", str(tmp_path / "a.csv"), "--label", "y", "-o", out, "-q"]
    assert run_app(app, fit).exit_code == 0
    written = []
    for name in ("a.csv", "b.csv"):
        path = tmp_path / f"{name}.npy"
        data = ["--data", str(tmp_path / name), "--label", "y"]
        got = run_app(app, ["labels", out, *data, "-o", str(path)])
        assert got.exit_code == 0, got.stderr
        written.append(np.load(path))
    assert np.array_equal(*written)


def test_number_labels_meet_text_labels_again(overlapping, tmp_path):
    X, y = overlapping
    rows = [
        f"{a},{b},{'x' if i < 5 else c}"
        for i, ((a, b), c) in enumerate(zip(X, y, strict=True))
    ]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,y", *rows]))
    (tmp_path / "b.csv").write_text("\n".join(["a,b,y", *rows[5:]]))
    out = str(tmp_path / "o")
    fit = ["fit", str(tmp_path / "a.csv"), "--label", "y", "-o", out, "-q"]
    assert run_app(app, fit).exit_code == 0
    data = ["--data", str(tmp_path / "b.csv"), "--label", "y"]
    got = run_app(app, ["labels", out, *data, "-o", str(tmp_path / "l.csv")])
    assert got.exit_code == 0, got.stderr


def test_a_terminal_without_unicode_still_gets_its_table(tmp_path):
    command = [sys.executable, "-m", "structsmooth", "demo", "-o", str(tmp_path / "d")]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    run = subprocess.run(command, capture_output=True, env=environment)
    assert run.returncode == 0, run.stderr
    assert b"saved" in run.stdout


def test_a_kernel_without_a_place_for_its_cache_still_works():
    script = (
        "import numba.core.caching as c; c.CacheImpl._locator_classes = []\n"
        "from structsmooth import euclidean_mst\n"
        "print(euclidean_mst([[0.0], [1.0]]).lengths)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout.strip() == "[1.]", run.stderr


def housing(tmp_path, labels):
    """Return a table with one feature and these labels."""
    path = tmp_path / "table.csv"
    rows = "\n".join(f"{i % 97},{label}" for i, label in enumerate(labels))
    path.write_text(f"rooms,price\n{rows}\n")
    return str(path)


@pytest.mark.parametrize("command", ["fit", "compare"])
@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (range(100, 400), "a label that no other row has in 300 of 300 rows"),
        ([*range(152), *[7] * 148], "a label that no other row has in 151 of 300 rows"),
        (np.linspace(0, 1, 300), "y holds fractions such as 0.003"),
        ([1.5, 2.5, 3] * 100, "y holds fractions such as"),
    ],
    ids=["all different", "more than half", "continuous", "fractions that repeat"],
)
def test_labels_that_are_no_classes_are_refused(tmp_path, command, labels, sentence):
    data = housing(tmp_path, labels)
    out = ["-o", str(tmp_path / "out")] if command == "fit" else []
    got = run_app(app, [command, data, "--label", "price", *out])
    assert got.exit_code == UNUSABLE
    assert sentence in " ".join(got.stderr.split())
    assert len(got.stderr.strip().splitlines()) <= 3
    assert not (tmp_path / "out").exists()


def test_python_refuses_the_same_labels(tmp_path):
    X = np.arange(300.0)[:, np.newaxis] % 97
    for labels, sentence in (
        (np.arange(300), "no other row has in 300 of 300 rows"),
        (np.linspace(0, 1, 300), "y holds fractions such as 0.003"),
    ):
        with pytest.raises(InvalidInputError, match=sentence):
            StructuralSmoother().fit(X, labels)
        with pytest.raises(InvalidInputError, match=sentence):
            fit_out_of_core(X, tmp_path / "o", labels=labels)


def test_spaces_of_any_width_are_printed_and_control_characters_are_not():
    assert printable("4.7\u00a0% of 1\u202f000\n") == "4.7\u00a0% of 1\u202f000\n"
    assert printable("\x1b[31mred\r\u2028") == "?[31mred??"
