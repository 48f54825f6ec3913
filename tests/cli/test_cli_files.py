"""Files of another kind, hostile names, full disks: a sentence and an exit code."""

import csv
import errno
import gzip
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from structsmooth.cli import app
from structsmooth.io.atomic import OutputError, wrapped_errors
from structsmooth.outofcore.plan import Request

USAGE, UNUSABLE, UNWRITABLE = 2, 3, 4
Y = np.arange(80) % 2
X = np.random.default_rng(0).normal(size=(80, 2)) + Y[:, np.newaxis]


def run(*words):
    got = CliRunner().invoke(app, [str(word) for word in words])
    assert got.exception is None or isinstance(got.exception, SystemExit), got.exception
    return got


def one_sentence(got, code):
    assert got.exit_code == code
    assert got.stderr.startswith("structsmooth: ")
    assert got.stderr.count("\n") == 1
    return got.stderr


@pytest.fixture
def folder(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    return tmp_path


def npz_as_npy(folder):
    return (folder / "a.npz").read_bytes()


def cut_zip_as_npy(folder):
    return (folder / "a.npz").read_bytes()[:300]


def brackets_in_the_header(folder):
    content = (folder / "x.npy").read_bytes()
    return content[:10] + b"[" * 118 + content[128:]


@pytest.mark.parametrize("more", [[], ["--max-memory", "500MB"]])
@pytest.mark.parametrize("make", [npz_as_npy, cut_zip_as_npy, brackets_in_the_header])
def test_a_npy_file_that_is_none(folder, make, more):
    (folder / "odd.npy").write_bytes(make(folder))
    labels = folder / "y.npy"
    got = run("fit", folder / "odd.npy", "--labels", labels, "-o", folder / "o", *more)
    assert "odd.npy is" in one_sentence(got, UNUSABLE)
    got = run("fit", folder / "x.npy", "--labels", folder / "odd.npy", "-o", "o", *more)
    assert "odd.npy is" in one_sentence(got, UNUSABLE)


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2]",
        '"text"',
        "{}",
        '{"format": "other"}',
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"format": "structsmooth.result", "class_names": 5}',
        '{"format": "structsmooth.result", "data": {"a": 1}}',
    ],
)
def test_a_summary_of_another_kind(folder, text):
    out = folder / "out"
    out.mkdir()
    (out / "summary.json").write_text(text)
    for words in (["report", out], ["labels", out, "-o", folder / "l.csv"]):
        assert "out" in one_sentence(run(*words), UNUSABLE)
    if "structsmooth.result" not in text:
        got = run("fit", folder / "a.npz", "-o", out)
        assert "it holds other files" in one_sentence(got, UNWRITABLE)


def write_csv(path, header, labels):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        for row, label in zip(X.tolist(), labels, strict=True):
            writer.writerow([*row, label])


def test_escapes_of_a_terminal_are_shown_as_text(folder):
    red = "\x1b[31mred"
    path = folder / f"{red}.csv"
    write_csv(path, [red, "b", "y"], [f"{red}{k}" for k in Y])
    got = run("fit", path, "--label", "z", "-o", folder / "o")
    assert "?[31mred" in one_sentence(got, USAGE)
    got = run("fit", path, "--label", "y", "-o", folder / red)
    assert got.exit_code == 0
    written = run("labels", folder / red, "-o", folder / f"{red}.npz")
    for printed in (got.stdout, written.stdout):
        assert "?[31mred" in printed
        assert red not in printed


def test_no_cell_of_a_csv_output_is_a_formula(folder):
    names = np.array(["=cmd()", "@x"])
    write_csv(folder / "f.csv", ["a", "b", "y"], names[Y])
    assert (
        run("fit", folder / "f.csv", "--label", "y", "-o", folder / "o").exit_code == 0
    )
    for kind in ("soft", "sparse"):
        path = folder / f"{kind}.csv"
        assert run("labels", folder / "o", "--kind", kind, "-o", path).exit_code == 0
    for path in (folder / "o" / "clusters.csv", folder / "soft.csv"):
        cells = [cell for row in csv.reader(path.open()) for cell in row]
        assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    rows = list(csv.reader((folder / "sparse.csv").open()))
    assert [row[0] for row in rows[1:]] == [f"'{name}" for name in names[Y]]
    write_csv(folder / "n.csv", ["a", "b", "y"], np.array(["-1", "+1"])[Y])
    assert (
        run("fit", folder / "n.csv", "--label", "y", "-o", folder / "p").exit_code == 0
    )
    run("labels", folder / "p", "--kind", "sparse", "-o", folder / "p.csv")
    rows = list(csv.reader((folder / "p.csv").open()))
    assert {row[0].strip("+") for row in rows[1:]} == {"-1", "1"}


def test_long_names_of_classes_and_data(folder):
    long = f"{'n' * 150}.npz"
    np.savez(folder / long, X=X, y=np.array(["a" * 70_000, "b"])[Y])
    assert run("fit", folder / long, "-o", folder / "o").exit_code == 0
    assert run("report", folder / "o").exit_code == 0
    report = json.loads((folder / "o" / "report.json").read_text())
    assert report["name"] == "n" * 79 + "…"


def test_a_disk_that_is_full_says_so():
    for error in (
        OSError("7000 requested and 12 written"),  # NumPy's own
        OSError(errno.ENOSPC, "No space left on device"),
    ):
        with (
            pytest.raises(OutputError, match="cannot write x: no space left on device"),
            wrapped_errors("x"),
        ):
            raise error


def test_a_compressed_table_is_as_large_as_what_is_in_it(tmp_path):
    path = tmp_path / "zeros.csv.gz"
    with gzip.open(path, "wb", compresslevel=9) as stream:
        stream.write(b"a,b,y\n")
        for _ in range(50):
            stream.write(b"0,0,1\n" * 174_763)  # one megabyte
    assert path.stat().st_size < 10**6
    request = Request(path, "y")
    assert request.exceeds(400 * 10**6 + 4 * 49 * 2**20)
    assert not request.exceeds(400 * 10**6 + 4 * 52 * 2**20)


def test_a_line_without_an_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("structsmooth.io.tables.LONGEST_LINE", 10_000)
    with gzip.open(tmp_path / "line.csv.gz", "wb") as stream:
        stream.write(b"a,b,y\n" + b"0," * 10_000)
    got = run("fit", tmp_path / "line.csv.gz", "--label", "y", "-o", tmp_path / "o")
    assert "has a line of more than" in one_sentence(got, UNUSABLE)


def test_no_command_writes_over_the_file_that_it_reads(folder):
    whole = (folder / "a.npz").read_bytes()
    (folder / "link.npz").symlink_to("a.npz")
    assert run("fit", folder / "a.npz", "-o", folder / "out", "-q").exit_code == 0
    for name in ("a.npz", "link.npz"):
        got = run("suspects", folder / "a.npz", "-o", folder / name)
        assert f"{name} is the file that is read" in one_sentence(got, USAGE)
        words = ["--data", folder / "a.npz", "-o", folder / name]
        got = run("labels", folder / "out", *words)
        assert f"{name} is the file that is read" in one_sentence(got, USAGE)
    labels = ["--labels", folder / "y.npy", "-o", folder / "y.npy"]
    got = run("labels", folder / "out", "--data", folder / "x.npy", *labels)
    assert "y.npy is the file that is read" in one_sentence(got, USAGE)
    got = run("suspects", folder / "x.npy", *labels)
    assert "y.npy is the file that is read" in one_sentence(got, USAGE)
    assert (folder / "a.npz").read_bytes() == whole
    assert np.array_equal(np.load(folder / "y.npy"), Y)


def test_a_report_never_replaces_the_runs(folder):
    runs = folder / "runs.jsonl"
    settings = ["--seeds", "3", "--alpha", "0.1", "--beta", "auto", "-q"]
    got = run("compare", folder / "a.npz", "-o", runs, *settings)
    assert got.exit_code == 0
    whole = runs.read_bytes()
    got = run("report", runs, "-o", runs)
    assert "runs.jsonl must end in .html" in one_sentence(got, USAGE)
    assert runs.read_bytes() == whole
    named = runs.rename(folder / "runs.html")
    got = run("report", named)
    assert "runs.html is the file that is read" in one_sentence(got, USAGE)
    assert named.read_bytes() == whole
    odd = named.rename(folder / "\x1b[31mruns.jsonl")
    assert "\x1b" not in run("report", odd).stdout


def test_a_place_to_spill_is_checked_even_if_nothing_is_spilled(folder):
    out = folder / "here" / "out"
    (folder / "mine").mkdir()
    (folder / "link").symlink_to(folder / "mine")
    (folder / "mine" / "thesis.tex").write_text("...")
    for place in (out, out / "spill", folder, folder / "link", folder / "mine"):
        got = run("fit", folder / "a.npz", "-o", out, "--spill", place, "-q")
        assert "spill" in got.stderr
        one_sentence(got, UNWRITABLE if place.name in ("link", "mine") else USAGE)
        assert not out.exists()
    spill = ["--spill", folder / "new"]
    assert run("fit", folder / "a.npz", "-o", out, *spill, "-q").exit_code == 0
    assert not (folder / "new").exists()


def test_names_of_classes_that_are_not_those_of_the_smoother(folder):
    out = folder / "out"
    assert run("fit", folder / "a.npz", "-o", out, "-q").exit_code == 0
    summary = json.loads((out / "summary.json").read_text())
    text = json.dumps(summary | {"class_names": ["only one"]})
    (out / "summary.json").write_text(text)
    got = run("report", out)
    assert "its files do not fit together" in one_sentence(got, UNUSABLE)
