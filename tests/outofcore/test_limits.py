"""Refused inputs, memory use, and the command."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from rowfiles import blobs, no_space, write_tables
from structsmooth import StructuralSmoother, fit_out_of_core
from structsmooth.cli import app
from structsmooth.errors import (
    FeatureScaleWarning,
    FileFormatError,
    InvalidInputError,
)
from structsmooth.outofcore.plan import Plan, memory_limit, parse_size


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"regions": "point"}, "regions='point' compares every row"),
        ({"ignore_suspects": True}, "ignore_suspects=True compares every row"),
        ({"alpha": 0.7}, "alpha must be below"),
        ({"n_clusters": 5000}, "n_clusters must not exceed the 1000 rows"),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path, files, change, message):
    path, labels = files(*blobs(1000, 3))
    with pytest.raises(InvalidInputError, match=message):
        fit_out_of_core(
            path,
            tmp_path / "o",
            labels=labels,
            smoother=StructuralSmoother(**change),
        )


def test_objects_of_the_user_are_refused_by_name(tmp_path, files):
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    path, labels = files(*blobs(300, 3))
    for change in ({"reducer": PCA(2)}, {"clusterer": KMeans(2)}):
        with pytest.raises(InvalidInputError, match="must be given by name"):
            fit_out_of_core(
                path,
                tmp_path / "o",
                labels=labels,
                smoother=StructuralSmoother(**change),
            )


@pytest.mark.usefixtures("_small_blocks")
def test_bad_rows_and_labels_are_named(tmp_path, files):
    X, y = blobs(1000, 3)
    X[777, 1] = np.nan
    path, labels = files(X, y)
    with pytest.raises(InvalidInputError, match="NaN in row 777, column 1"):
        fit_out_of_core(path, tmp_path / "o", labels=labels)
    X[777, 1] = 0.0
    with pytest.raises(InvalidInputError, match="X has 1000 rows, y has 999 labels"):
        fit_out_of_core(X, tmp_path / "p", labels=y[:-1])
    with pytest.raises(InvalidInputError, match="only one class"):
        fit_out_of_core(X, tmp_path / "q", labels=np.zeros(1000))
    with pytest.raises(InvalidInputError, match="constant in every feature"):
        fit_out_of_core(np.ones((1000, 2)), tmp_path / "r", labels=y)
    with pytest.raises(FileFormatError, match="X has no labels: give --labels"):
        fit_out_of_core(X, tmp_path / "s")
    (tmp_path / "e").mkdir()
    with pytest.raises(FileFormatError, match="without parquet files"):
        fit_out_of_core(tmp_path / "e", tmp_path / "t", label="y")
    np.savez(tmp_path / "d.npz", X=X, y=y)
    with pytest.raises(FileFormatError, match="cannot be read in pieces"):
        fit_out_of_core(tmp_path / "d.npz", tmp_path / "u", labels=y)
    (tmp_path / "t.csv").write_text("a,y\n1,x\n2,\n")
    with pytest.raises(FileFormatError, match="label of row 2 is missing"):
        fit_out_of_core(tmp_path / "t.csv", tmp_path / "v", label="y")
    # There is nothing to resume, so no files are left.
    assert not [p for p in "opqrstuv" if list(tmp_path.glob(f"{p}*spill"))]
    assert not [p for p in "opqrstuv" if (tmp_path / p).exists()]


def test_a_feature_in_other_units_is_warned_of(tmp_path):
    X, y = blobs(500, 3)
    X[:, 2] *= 1000.0
    with pytest.warns(FeatureScaleWarning, match="feature 2"):
        fit_out_of_core(
            X, tmp_path / "o", labels=y, smoother=StructuralSmoother(n_clusters=2)
        )


def test_sizes_are_read_as_people_write_them():
    assert parse_size("4GB") == 4_000_000_000
    assert parse_size("1.5 gib") == 3 * 2**29
    assert parse_size("512m") == 512_000_000
    assert parse_size(123_456) == 123_456
    for wrong in ("4 apples", "", "0GB", -1, 1.5, True):
        with pytest.raises(InvalidInputError, match="max_memory must be a size"):
            parse_size(wrong)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < memory_limit(None) <= total // 2


def test_too_little_memory_says_how_much_is_needed(tmp_path):
    X, y = blobs(500, 3)
    with pytest.raises(InvalidInputError, match=r"at least [\d.]+ .B for rows of 3"):
        fit_out_of_core(X, tmp_path / "o", labels=y, max_memory="50MB")
    with pytest.raises(InvalidInputError, match="largest cluster has 90000000 rows"):
        Plan(4 * 10**9, 3 * 10**9, 1, 1).trees_at_once([90_000_000], 28, 4, 2)
    # 86 000 rows of 28 features: some 0.1 GB each.
    assert Plan(10**9, 5 * 10**8, 1, 1).trees_at_once([86_000] * 99, 28, 4, 64) == 4


MEMORY = """
import sys
import numpy as np
from structsmooth import StructuralSmoother, fit_out_of_core
from structsmooth.outofcore.plan import peak_memory
folder = sys.argv[1]
fit_out_of_core(folder + "/X.npy", folder + "/o", labels=folder + "/y.npy",
                smoother=StructuralSmoother(n_clusters=60, random_state=0, n_jobs=2),
                max_memory=sys.argv[2])
print(peak_memory())
"""


def test_the_peak_of_memory_stays_under_the_limit(tmp_path):
    n, limit = 400_000, 700_000_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 64)).astype(np.float32)  # 102 MB; in memory 0.73 GB
    X[:, :4] *= 9.0
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", (X[:, 0] > 0).astype(np.int8))
    del X
    command = [sys.executable, "-c", MEMORY, str(tmp_path), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < limit


run_app = CliRunner().invoke


def test_the_command_reads_in_pieces_what_exceeds_the_limit(tmp_path, files):
    X, y = blobs(2000, 3)
    path, labels = files(X, y)
    write_tables(tmp_path, X, y)
    arguments = ["--max-memory", "3GB", "--json"]
    got = run_app(
        app,
        ["fit", str(tmp_path / "parts"), "--label", "y", "--drop", "id", *arguments]
        + ["-o", str(tmp_path / "o"), "--spill", str(tmp_path / "s")],
    )
    assert got.exit_code == 0, got.output
    summary = json.loads(got.stdout)
    assert summary["memory"]["limit"] == 3_000_000_000
    assert summary["encoding"]["summary"] == "3 columns: 3 numbers standardized"
    frame = pd.DataFrame(X, columns=["f0", "f1", "f2"])
    expected = StructuralSmoother(random_state=0).fit(frame, y)
    strengths = np.load(tmp_path / "o" / "strengths.npy")
    assert np.array_equal(strengths, expected.sample_strengths_)
    # A file that fits is fitted in memory.
    got = run_app(
        app,
        ["fit", str(path), "--labels", str(labels), "-o", str(tmp_path / "p")]
        + arguments,
    )
    assert "memory" not in json.loads(got.stdout)
    # The fitted rows, and new rows, get their labels as after any fit.
    got = run_app(
        app, ["labels", str(tmp_path / "o"), "-o", str(tmp_path / "l.npy"), "-q"]
    )
    assert got.exit_code == 0
    assert np.load(tmp_path / "l.npy").shape == (2000, 2)


def test_the_command_shows_the_table_and_exits_with_codes(tmp_path, files, monkeypatch):
    X, y = blobs(1000, 3)
    path, labels = files(X, y)
    monkeypatch.setattr("structsmooth.outofcore.plan.BASE_MEMORY", 10**15)
    common = ["fit", str(path), "--labels", str(labels), "-o", str(tmp_path / "o")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = run_app(app, common)
    assert got.exit_code == 0
    assert "Bayes error" in got.stdout
    assert "spanning trees" in got.stderr
    got = run_app(app, [*common, "-q", "--max-memory", "1kB"])
    assert (got.exit_code, got.stderr.count("\n")) == (2, 1)
    assert "max_memory must be at least" in got.stderr
    monkeypatch.setattr("os.posix_fallocate", no_space)
    got = run_app(app, [*common, "-q", "--seed", "1"])
    assert (got.exit_code, got.stderr.count("\n")) == (4, 1)
    assert "no space left on device" in got.stderr
