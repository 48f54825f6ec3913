"""After interruption, a kill or a full disk, a fit resumes; no output is incomplete."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from rowfiles import assert_same, blobs, no_space, write_tables
from structsmooth import StructuralSmoother, fit_out_of_core
from structsmooth.errors import InvalidParameterError
from structsmooth.io.atomic import OutputError
from structsmooth.outofcore import fit, stages


class StopError(Exception):
    pass


def raise_stop(*_, **__):
    raise StopError


# What is called first after each stage.
NEXT = {
    "read": "check_label_structure",
    "reduce": "resolve_n_clusters",
    "cluster": "assigner_from_arrays",
    "assign": "merge_small",
    "sort": "bound_regions",
    "trees": "write_result",
}
# What does the work of the stages from "reduce" to "sort".
WORK = [
    (stages.BlockMoments, "_find_range"),
    (stages, "fit_assigner"),
    (stages, "assign_rows"),
    (stages, "sort_rows"),
]


@pytest.mark.parametrize("stage", NEXT)
@pytest.mark.parametrize("name", ["X.npy", "t.csv"])
def test_interrupted_after_any_stage_it_resumes_there(
    tmp_path, files, monkeypatch, stage, name
):
    X, y = blobs(1000, 3)
    files(X, y)
    write_tables(tmp_path, X, y)
    settings = StructuralSmoother(random_state=0, reducer="scaled-pca")
    named = {"label": "y", "drop": ["id"]} if name == "t.csv" else {"labels": y}

    def run():
        return fit_out_of_core(
            tmp_path / name, tmp_path / "o", smoother=settings, **named
        )

    with monkeypatch.context() as patch:
        owner = stages if stage == "sort" else fit
        patch.setattr(owner, NEXT[stage], raise_stop)
        with pytest.raises(StopError):
            run()
    assert not (tmp_path / "o").exists()
    done = {path.name for path in (tmp_path / "o.spill").iterdir()}
    assert not any(name.endswith(".part") for name in done)
    again = []
    for owner, function in WORK:
        original = getattr(owner, function)

        def watched(*args, original=original, function=function, **options):
            again.append(function)
            return original(*args, **options)

        monkeypatch.setattr(owner, function, watched)
    found = run()
    assert again == [function for _, function in WORK[list(NEXT).index(stage) :]]
    assert_same(found, settings.fit(X, y))


SCRIPT = """
import os, sys
import numpy as np
from structsmooth import StructuralSmoother, fit_out_of_core
from structsmooth.outofcore import stages
original, calls = stages.region_bounds, []
def region_bounds(*args, **options):
    calls.append(1)
    if len(calls) == 4:
        os.kill(os.getpid(), 9)
    return original(*args, **options)
stages.region_bounds = region_bounds
stages.ROWS_TOGETHER = int(sys.argv[2])
folder = sys.argv[1]
fit_out_of_core(folder + "/X.npy", folder + "/o", labels=folder + "/y.npy",
                smoother=StructuralSmoother(n_clusters=12, random_state=0))
"""


@pytest.mark.parametrize(("together", "n_kept"), [(1, 3), (500, 2), (10_000, 0)])
def test_killed_between_trees_it_builds_only_those_that_are_missing(
    tmp_path, files, monkeypatch, together, n_kept
):
    """The fourth of 12 trees never ends; those of 500 rows are kept two by two."""
    X, y = np.repeat(np.eye(12), 250, axis=0), np.tile([0, 1], 1500)
    X += np.random.default_rng(0).normal(scale=0.01, size=X.shape)
    path, labels = files(X, y)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), str(together)]
    killed = subprocess.run(command, check=False)
    assert killed.returncode == -9
    spill = tmp_path / "o.spill"
    (spill / "bounds-7.npz.part").write_bytes(b"PK")  # as a crash may leave it
    built = []
    original = stages.region_bounds
    monkeypatch.setattr(
        stages,
        "region_bounds",
        lambda *args, **options: built.append(1) or original(*args, **options),
    )
    monkeypatch.setattr(stages, "ROWS_TOGETHER", together)
    settings = StructuralSmoother(n_clusters=12, random_state=0)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    assert len(built) == 12 - n_kept
    assert_same(found, settings.fit(X, y))


def test_other_data_or_settings_do_not_resume(tmp_path, files, monkeypatch):
    X, y = blobs(1000, 3)
    path, labels = files(X, y)
    monkeypatch.setattr(stages, "bound_regions", raise_stop)
    with pytest.raises(StopError):
        fit_out_of_core(path, tmp_path / "o", labels=labels)
    with pytest.raises(OutputError, match="unfinished fit with other settings"):
        fit_out_of_core(
            path, tmp_path / "o", labels=labels, smoother=StructuralSmoother(alpha=0.2)
        )
    np.save(path, X + 1.0)
    with pytest.raises(OutputError, match="unfinished fit with other data"):
        fit_out_of_core(path, tmp_path / "o", labels=labels)


def test_more_threads_or_memory_are_no_other_fit(tmp_path, files, monkeypatch):
    X, y = blobs(1000, 3)
    path, labels = files(X, y)
    settings = StructuralSmoother()  # without a seed: that of the first run is kept
    monkeypatch.setattr(stages, "bound_regions", raise_stop)
    with pytest.raises(StopError):
        fit_out_of_core(path, tmp_path / "o", labels=labels, max_memory="3GB")
    monkeypatch.undo()
    fit_out_of_core(
        path,
        tmp_path / "o",
        labels=labels,
        smoother=settings.set_params(n_jobs=2),
        max_memory="2GB",
    )
    assert not (tmp_path / "o.spill").exists()


@pytest.mark.parametrize("place", [400, 999])
@pytest.mark.parametrize("what", ["array", "file", "labels", "dtype"])
def test_one_other_value_is_other_data(tmp_path, files, monkeypatch, what, place):
    X, y = blobs(5000, 3)
    path, labels = files(X, y)
    given = (path, labels) if what == "file" else (X, y)
    monkeypatch.setattr(stages, "bound_regions", raise_stop)
    with pytest.raises(StopError):
        fit_out_of_core(given[0], tmp_path / "o", labels=given[1])
    if what == "labels":
        y[place] = 1 - y[place]
    elif what == "dtype":
        given = (X.view(np.int64).astype(np.float64), y)
    else:
        X[place, 2] += 1.0
    if what == "file":  # of the same size and time
        times = path.stat()
        np.save(path, X)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    other = "labels" if what == "labels" else "data"
    with pytest.raises(OutputError, match=f"unfinished fit with other {other}"):
        fit_out_of_core(given[0], tmp_path / "o", labels=given[1])


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "gone"])
@pytest.mark.parametrize("where", ["table", "array"])
def test_a_damaged_file_is_made_again(tmp_path, files, monkeypatch, damage, where):
    X, y = blobs(600, 3)
    path, labels = files(X, y)
    write_tables(tmp_path, X, y)
    settings = StructuralSmoother(n_clusters=4, random_state=0, reducer="scaled-pca")
    expected = settings.fit(X, y).sample_strengths_
    given = {"labels": labels} if where == "array" else {"label": "y", "drop": ["id"]}
    given |= {"smoother": settings}
    data = path if where == "array" else tmp_path / "t.csv"
    with monkeypatch.context() as patch:
        patch.setattr(fit, "write_result", raise_stop)
        with pytest.raises(StopError):
            fit_out_of_core(data, tmp_path / "o", **given)
    kept = tmp_path / "kept"
    shutil.copytree(tmp_path / "o.spill", kept)
    names = sorted(file.name for file in kept.iterdir() if file.name != "lock")
    assert len(names) > 8
    for name in names:
        shutil.rmtree(tmp_path / "o.spill", ignore_errors=True)
        shutil.rmtree(tmp_path / "o", ignore_errors=True)
        shutil.copytree(kept, tmp_path / "o.spill")
        file = tmp_path / "o.spill" / name
        content = bytearray(file.read_bytes())
        content[len(content) // 3] ^= 0x40
        cut = {"cut": content[: len(content) // 2], "flip": content, "empty": b""}
        file.unlink() if damage == "gone" else file.write_bytes(cut[damage])
        found = fit_out_of_core(data, tmp_path / "o", **given)
        assert np.array_equal(found.sample_strengths_, expected), name
        assert not (tmp_path / "o.spill").exists()


@pytest.mark.parametrize("place", ["o", "o/spill", "o/a/b", ".", "link"])
def test_a_spill_directory_inside_or_around_the_output_is_refused(
    tmp_path, files, place
):
    X, y = blobs(300, 3)
    path, labels = files(X, y)
    out = tmp_path / "here" / "o"
    out.mkdir(parents=True)
    (out.parent / "link").symlink_to(tmp_path)
    with pytest.raises((InvalidParameterError, OutputError), match="spill"):
        fit_out_of_core(path, out, labels=labels, spill=out.parent / place)
    assert not list(out.iterdir())


@pytest.mark.parametrize(
    ("module", "function"), [("os", "posix_fallocate"), ("numpy", "savez")]
)
def test_a_full_disk_is_one_sentence_and_leaves_no_half(
    tmp_path, files, monkeypatch, module, function
):
    X, y = blobs(1000, 3)
    path, labels = files(X, y)
    with monkeypatch.context() as patch:
        patch.setattr(f"{module}.{function}", no_space)
        with pytest.raises(OutputError, match=r"cannot spill to .*no space left") as e:
            fit_out_of_core(path, tmp_path / "o", labels=labels)
    assert "\n" not in str(e.value)
    assert not (tmp_path / "o").exists()
    assert not list((tmp_path / "o.spill").glob("*.part"))
    found = fit_out_of_core(
        path, tmp_path / "o", labels=labels
    )  # with enough space, the fit resumes
    assert len(found.sample_strengths_) == 1000


def test_a_disk_that_fills_while_writing_the_result_leaves_no_result(
    tmp_path, files, monkeypatch
):
    X, y = blobs(1000, 3)
    path, labels = files(X, y)
    with monkeypatch.context() as patch:
        patch.setattr("structsmooth.io.results.write_cluster_table", no_space)
        with pytest.raises(OutputError, match=r"cannot write .*no space left"):
            fit_out_of_core(path, tmp_path / "o", labels=labels)
    assert not (tmp_path / "o").exists()
    assert (tmp_path / "o.spill").exists()  # the work is not lost


def test_a_spill_directory_that_vanishes_is_one_sentence(tmp_path, files, monkeypatch):
    X, y = blobs(1000, 3)
    path, labels = files(X, y)
    original = stages.region_bounds

    def region_bounds(*args, **options):
        shutil.rmtree(tmp_path / "o.spill", ignore_errors=True)
        return original(*args, **options)

    monkeypatch.setattr(stages, "region_bounds", region_bounds)
    with pytest.raises(OutputError, match=r"cannot spill to .*o\.spill: no such file"):
        fit_out_of_core(path, tmp_path / "o", labels=labels)
    assert not (tmp_path / "o").exists()


def test_a_directory_of_somebody_else_is_left_alone(tmp_path, files):
    X, y = blobs(300, 3)
    path, labels = files(X, y)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("...")
    with pytest.raises(OutputError, match="it holds other files"):
        fit_out_of_core(path, tmp_path / "o", labels=labels, spill=tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "..."


def test_two_fits_do_not_share_a_spill_directory(tmp_path, files):
    fcntl = pytest.importorskip("fcntl")
    X, y = blobs(300, 3)
    path, labels = files(X, y)
    (tmp_path / "o.spill").mkdir()
    with (tmp_path / "o.spill" / "lock").open("wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(OutputError, match="another fit is at work"):
            fit_out_of_core(path, tmp_path / "o", labels=labels)
    fit_out_of_core(path, tmp_path / "o", labels=labels)
