"""Data larger than memory: the same result, resumable, and never half-written."""

import errno
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from structsmooth import StructuralSmoother, fit_out_of_core, solve_strengths
from structsmooth.bounds import bounds_of_regions
from structsmooth.cli import app
from structsmooth.errors import (
    FeatureScaleWarning,
    FileFormatError,
    InvalidInputError,
    MergedClustersWarning,
)
from structsmooth.files import OutputError
from structsmooth.outofcore import fit as line
from structsmooth.outofcore import plan, trees
from structsmooth.outofcore.plan import Plan, memory_limit, parse_size
from structsmooth.readers import read_dataset

FITTED = (
    "strengths_",
    "sample_strengths_",
    "cluster_labels_",
    "cluster_weights_",
    "bayes_error_lower_",
    "bayes_error_upper_",
    "alpha_",
    "beta_",
    "bias_",
    "uniform_bias_",
)


def blobs(n, d, seed=0, dtype=np.float64):
    """Four groups of points, in which two classes mix more or less."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n)
    X = rng.normal(size=(n, d)) + 4.0 * np.eye(4, d)[group]
    y = rng.random(n) < np.array([0.05, 0.2, 0.5, 0.9])[group]
    return X.astype(dtype), y.astype(np.int64)


@pytest.fixture
def _small_blocks(monkeypatch):
    """Blocks of 16 rows or more and pieces of a few: hundreds of them."""
    monkeypatch.setattr(plan, "BLOCK_NUMBERS", 1)
    monkeypatch.setattr(plan, "LEAST_BLOCK_ROWS", 16)
    monkeypatch.setattr(plan, "MOST_PIECE_BYTES", 50_000)


@pytest.fixture
def files(tmp_path):
    """Save X and y, and return their paths."""

    def save(X, y):
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "y.npy", y)
        return tmp_path / "X.npy", tmp_path / "y.npy"

    return save


def assert_same(first, second):
    for name in FITTED:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    assert np.array_equal(first.classes_, second.classes_)
    for mine, other in zip(first.cluster_bounds_, second.cluster_bounds_, strict=True):
        assert mine.interval == other.interval
        assert mine.n_effective == other.n_effective
        assert np.array_equal(mine.crossing, other.crossing)


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_given_the_same_clusters_the_strengths_are_those_of_memory_to_the_bit(
    files, tmp_path, dtype
):
    X, y = blobs(3000, 40, dtype=dtype)  # so wide that components are taken
    path, labels = files(X, y)
    settings = StructuralSmoother(n_clusters=9, random_state=3, n_components=5)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    # The same reduction, a block at a time, and the same clusters; all else by itself.
    reduced = np.concatenate(
        [found.reduction_.transform(X[i : i + 16]) for i in range(0, len(X), 16)]
    )
    clusters = np.array(found.cluster_labels_)
    assert np.array_equal(found.regions_.assign(reduced), clusters)
    bounds = bounds_of_regions(
        reduced,
        y,
        clusters,
        n_classes=2,
        correct_forced_edges=True,
        ties="index",
        confidence=0.95,
    )
    strengths = solve_strengths(
        [b.lower for b in bounds],
        np.bincount(clusters) / len(clusters),
        0.1,
        "auto",
        n_classes=2,
    )
    assert np.array_equal(found.strengths_, strengths)
    assert np.array_equal(found.sample_strengths_, strengths[clusters])


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reducer", ["pca", "scaled-pca", "none"])
def test_up_to_32_features_the_whole_fit_is_that_of_memory(
    files, tmp_path, dtype, reducer
):
    X, y = blobs(2000, 6, dtype=dtype)
    settings = StructuralSmoother(reducer=reducer, random_state=0, n_jobs=2)
    path, labels = files(X, y)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    assert_same(found, settings.fit(X, y))


def test_the_sample_for_clustering_is_that_of_memory(files, tmp_path, monkeypatch):
    import structsmooth.cluster

    for name, rows in (("FULL_KMEANS", 500), ("BATCH_SAMPLE", 700)):
        monkeypatch.setattr(structsmooth.cluster, name, rows)
    X, y = blobs(20_000, 4)
    settings = StructuralSmoother(n_clusters=8, random_state=1)
    path, labels = files(X, y)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    assert_same(found, settings.fit(X, y))


def test_without_room_to_sort_the_rows_a_sample_is_drawn_by_number(
    files, tmp_path, monkeypatch
):
    from structsmooth.outofcore import regions

    monkeypatch.setattr(regions, "DRAW_BYTES", 10**12)
    X, y = blobs(3000, 3)
    path, labels = files(X, y)
    settings = StructuralSmoother(n_clusters=4, random_state=0)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    again = fit_out_of_core(path, tmp_path / "p", labels=labels, smoother=settings)
    assert_same(found, again)
    assert found.sample_strengths_.mean() == pytest.approx(0.1, abs=1e-12)
    # Four far groups: any sample finds them, with the errors they were made with.
    in_memory = settings.fit(X, y)
    assert np.sort(found.strengths_) == pytest.approx(np.sort(in_memory.strengths_))


def test_many_features_have_the_principal_components_of_memory(files, tmp_path):
    rng = np.random.default_rng(0)
    scales = np.r_[[9.0, 7.0, 5.0], np.full(57, 0.1)]
    X = rng.normal(size=(4000, 60)) * scales
    y = (X[:, 0] > 0).astype(int)
    path, labels = files(X, y)
    settings = StructuralSmoother(n_components=3, random_state=0)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    expected = settings.fit(X, y).reduction_
    np.testing.assert_allclose(
        found.reduction_.components, expected.components, atol=1e-10
    )
    np.testing.assert_allclose(found.reduction_.center, expected.center, atol=1e-12)


def test_by_itself_it_keeps_as_many_components_as_in_memory(files, tmp_path):
    X, y = blobs(1000, 50)
    X[:, :4] *= 20.0
    path, labels = files(X, y)
    settings = StructuralSmoother(random_state=0)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    expected = settings.fit(X, y).reduction_.components
    assert found.reduction_.components.shape == expected.shape == (4, 50)


def test_thousands_of_features_go_through_incremental_components(
    files, tmp_path, monkeypatch
):
    from structsmooth.outofcore import moments

    monkeypatch.setattr(moments, "FULL_SPECTRUM", 40)
    monkeypatch.setattr(plan, "BLOCK_NUMBERS", 1)  # 256 rows, and a last block of 8
    X, y = blobs(776, 50)
    X[:, :4] *= 20.0
    path, labels = files(X, y)
    settings = StructuralSmoother(random_state=0, n_components=20)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    expected = settings.fit(X, y).reduction_.components
    cosines = np.abs(np.sum(found.reduction_.components * expected, axis=1))
    assert cosines[:4] == pytest.approx(1.0, abs=1e-3)


def test_huge_numbers_do_not_overflow(files, tmp_path):
    X, y = blobs(600, 3)
    path, labels = files(X * 2.0**900, y)
    settings = StructuralSmoother(random_state=0)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    assert_same(found, settings.fit(X * 2.0**900, y))


def test_a_gaussian_mixture_and_shrinkage_work_too(files, tmp_path):
    X, y = blobs(2000, 3)
    path, labels = files(X, y)
    settings = StructuralSmoother(
        clusterer="gmm", n_clusters=4, shrink=True, random_state=0
    )
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    in_memory = settings.fit(X, y)
    assert found.sample_strengths_ == pytest.approx(in_memory.sample_strengths_)
    assert found.shrinkage_.p_value == pytest.approx(in_memory.shrinkage_.p_value)


def test_small_clusters_are_merged_with_the_warning_of_memory(files, tmp_path):
    X, y = blobs(400, 3)
    X[0] = 100.0  # a cluster of one
    path, labels = files(X, y)
    settings = StructuralSmoother(n_clusters=5, random_state=0)
    with pytest.warns(MergedClustersWarning) as mine:
        found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    with pytest.warns(MergedClustersWarning) as memory:
        settings.fit(X, y)
    assert [str(w.message) for w in mine] == [str(w.message) for w in memory]
    assert_same(found, settings)
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    assert "merged" in summary["notes"][0]


def test_a_memory_map_and_labels_of_text_are_taken_as_they_are(tmp_path, files):
    X, y = blobs(900, 3)
    names = np.array(["no", "yes"])[y]
    path, _ = files(X, y)
    settings = StructuralSmoother(random_state=0)
    mapped = np.load(path, mmap_mode="r")
    found = fit_out_of_core(mapped, tmp_path / "o", labels=names, smoother=settings)
    assert_same(found, settings.fit(X, names))
    again = fit_out_of_core(
        X.tolist(), tmp_path / "p", labels=names.tolist(), smoother=settings
    )
    assert_same(again, settings)


def test_small_whole_numbers_and_images_are_read_as_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, size=(600, 4, 4)).astype(np.uint8)
    np.save(tmp_path / "X.npy", X)
    (tmp_path / "y.txt").write_text("\n".join(["a", "b", "b"] * 200) + "\n")
    data = read_dataset(tmp_path / "X.npy", labels=tmp_path / "y.txt")
    settings = StructuralSmoother(random_state=0)
    found = fit_out_of_core(
        str(tmp_path / "X.npy"),
        tmp_path / "o",
        labels=str(tmp_path / "y.txt"),
        smoother=settings,
    )
    assert_same(found, settings.fit(data.X, data.y))


def write_tables(folder, X, names):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"f{i}": X[:, i] for i in range(X.shape[1])}
    table = pa.table({**columns, "id": np.arange(len(X)), "y": names})
    (folder / "parts").mkdir()
    for part, start in enumerate(range(0, len(X), 300)):
        pq.write_table(
            table.slice(start, 300), folder / "parts" / f"part-{part:05}.parquet"
        )
    (folder / "parts" / "_SUCCESS").touch()
    (folder / "parts" / "_metadata.parquet").write_bytes(b"not rows")
    pq.write_table(table, folder / "t.parquet")
    with (folder / "t.csv").open("w") as stream:
        stream.write("f0,f1,f2,id,y\n")
        for i, (row, name) in enumerate(zip(X.tolist(), names.tolist(), strict=True)):
            stream.write(",".join(map(repr, row)) + f",{i},{name}\n")


@pytest.mark.parametrize("name", ["parts", "t.parquet", "t.csv"])
@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_tables_in_pieces_give_what_a_table_in_memory_gives(
    tmp_path, monkeypatch, name, kind
):
    monkeypatch.setattr("structsmooth.tables.CSV_ROWS", 70)
    monkeypatch.setattr("structsmooth.tables.PARQUET_ROWS", 70)
    X, y = blobs(1000, 3)
    labels = np.array(["no", "yes"])[y] if kind == "text" else 10 - y
    write_tables(tmp_path, X, labels)
    settings = StructuralSmoother(reducer="scaled-pca", random_state=0)
    found = fit_out_of_core(
        tmp_path / name, tmp_path / "o", label="y", drop=["id"], smoother=settings
    )
    assert_same(found, settings.fit(X, labels))
    assert found.classes_.dtype.kind == settings.classes_.dtype.kind
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    assert summary["feature_names"] == ["f0", "f1", "f2"]


def test_the_result_is_complete_and_the_spill_directory_gone(files, tmp_path):
    X, y = blobs(700, 3)
    path, labels = files(X, y)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["X.npy", "o", "y.npy"]
    assert sorted(p.name for p in (tmp_path / "o").iterdir()) == [
        "clusters.csv",
        "clusters.npy",
        "labels.npy",
        "smoother.zip",
        "soft_labels.npy",
        "strengths.npy",
        "summary.json",
    ]
    soft = np.load(tmp_path / "o" / "soft_labels.npy")
    np.testing.assert_allclose(soft[np.arange(700), 1 - y], found.sample_strengths_)
    assert np.array_equal(np.load(tmp_path / "o" / "labels.npy"), y)
    loaded = StructuralSmoother.load(tmp_path / "o")
    assert_same(loaded, found)
    assert np.array_equal(loaded.predict_strength(X), found.sample_strengths_)
    found.save(tmp_path / "again.zip")
    assert_same(StructuralSmoother.load(tmp_path / "again.zip"), found)


class StopError(Exception):
    pass


def raise_stop(*_, **__):
    raise StopError


STAGES = {
    "read": (line, "check_label_structure"),
    "reduce": (line, "reduction_from"),
    "cluster": (line, "assigner_from"),
    "assign": (line, "merge_small"),
    "sort": (line, "bound_regions"),
    "write": (line, "write_result"),
}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", ["X.npy", "t.csv"])
def test_interrupted_after_any_stage_it_resumes_there(
    tmp_path, files, monkeypatch, stage, name
):
    X, y = blobs(1000, 3)
    files(X, y)
    write_tables(tmp_path, X, y)
    settings = StructuralSmoother(random_state=0, reducer="scaled-pca")
    named = {"label": "y", "drop": ["id"]} if name == "t.csv" else {"labels": y}

    def fit():
        return fit_out_of_core(
            tmp_path / name, tmp_path / "o", smoother=settings, **named
        )

    with monkeypatch.context() as patch:
        patch.setattr(*STAGES[stage], raise_stop)
        with pytest.raises(StopError):
            fit()
    assert not (tmp_path / "o").exists()
    done = {path.name for path in (tmp_path / "o.spill").iterdir()}
    assert not any(name.endswith(".part") for name in done)
    again = []
    for maker in ("find_moments", "fit_assigner", "_assign", "sort_rows"):
        original = getattr(line, maker)

        def watched(*args, original=original, maker=maker, **options):
            again.append(maker)
            return original(*args, **options)

        monkeypatch.setattr(line, maker, watched)
    found = fit()
    makers = ["find_moments", "fit_assigner", "_assign", "sort_rows"]
    finished = {"read": 0, "reduce": 1, "cluster": 2, "assign": 3}
    assert again == makers[finished.get(stage, 4) :]
    assert_same(found, settings.fit(X, y))


SCRIPT = """
import os, sys
import numpy as np
from structsmooth import StructuralSmoother, fit_out_of_core
from structsmooth.outofcore import trees
original, calls = trees.region_bounds, []
def region_bounds(*args, **options):
    calls.append(1)
    if len(calls) == 4:
        os.kill(os.getpid(), 9)
    return original(*args, **options)
trees.region_bounds = region_bounds
folder = sys.argv[1]
fit_out_of_core(folder + "/X.npy", folder + "/o", labels=folder + "/y.npy",
                smoother=StructuralSmoother(n_clusters=12, random_state=0))
"""


def test_killed_between_trees_it_builds_only_those_that_are_missing(
    tmp_path, files, monkeypatch
):
    X, y = blobs(3000, 3)
    path, labels = files(X, y)
    killed = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], check=False)
    assert killed.returncode == -9
    journal = tmp_path / "o.spill" / trees.BOUNDS
    assert len(journal.read_bytes().splitlines()) == 3
    with journal.open("ab") as stream:
        stream.write(b'{"region": 7, "bou')  # as a crash may leave it
    built = []
    original = trees.region_bounds
    monkeypatch.setattr(
        trees,
        "region_bounds",
        lambda *args, **options: built.append(1) or original(*args, **options),
    )
    settings = StructuralSmoother(n_clusters=12, random_state=0)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    assert len(built) == 9
    assert_same(found, settings.fit(X, y))


def test_other_data_or_settings_do_not_resume(tmp_path, files, monkeypatch):
    X, y = blobs(1000, 3)
    path, labels = files(X, y)
    monkeypatch.setattr(line, "bound_regions", raise_stop)
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
    monkeypatch.setattr(line, "bound_regions", raise_stop)
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


def no_space(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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
    )  # with room, it goes on
    assert len(found.sample_strengths_) == 1000


def test_a_disk_that_fills_while_writing_the_result_leaves_no_result(
    tmp_path, files, monkeypatch
):
    X, y = blobs(1000, 3)
    path, labels = files(X, y)
    with monkeypatch.context() as patch:
        patch.setattr("structsmooth.outofcore.result.write_cluster_table", no_space)
        with pytest.raises(OutputError, match=r"cannot write .*no space left"):
            fit_out_of_core(path, tmp_path / "o", labels=labels)
    assert not (tmp_path / "o").exists()
    assert (tmp_path / "o.spill").exists()  # the work is not lost


def test_a_spill_directory_that_vanishes_is_one_sentence(tmp_path, files, monkeypatch):
    import shutil

    X, y = blobs(1000, 3)
    path, labels = files(X, y)
    original = trees.region_bounds

    def region_bounds(*args, **options):
        shutil.rmtree(tmp_path / "o.spill", ignore_errors=True)
        return original(*args, **options)

    monkeypatch.setattr(trees, "region_bounds", region_bounds)
    with pytest.raises(OutputError, match=r"the spill directory .*o\.spill is gone"):
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
    with pytest.raises(FileFormatError, match="X has no labels: give them"):
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
    # Nothing to resume, and so nothing left.
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
    assert summary["settings"]["reducer"] == "scaled-pca"
    expected = StructuralSmoother(reducer="scaled-pca", random_state=0).fit(X, y)
    strengths = np.load(tmp_path / "o" / "strengths.npy")
    assert np.array_equal(strengths, expected.sample_strengths_)
    # A file that fits is fitted in memory.
    got = run_app(
        app,
        ["fit", str(path), "--labels", str(labels), "-o", str(tmp_path / "p")]
        + arguments,
    )
    assert "memory" not in json.loads(got.stdout)
    # The rows of the result, and others, get their labels as always.
    got = run_app(
        app, ["labels", str(tmp_path / "o"), "-o", str(tmp_path / "l.npy"), "-q"]
    )
    assert got.exit_code == 0
    assert np.load(tmp_path / "l.npy").shape == (2000, 2)


def test_the_command_shows_the_table_and_exits_with_codes(tmp_path, files, monkeypatch):
    X, y = blobs(1000, 3)
    path, labels = files(X, y)
    monkeypatch.setattr("structsmooth.outofcore.request.BASE_MEMORY", 10**15)
    common = ["fit", str(path), "--labels", str(labels), "-o", str(tmp_path / "o")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = run_app(app, common)
    assert got.exit_code == 0
    assert "Bayes error" in got.stdout
    assert "spanning trees" in got.stderr
    got = run_app(app, [*common, "-q", "--max-memory", "1kB"])
    assert (got.exit_code, got.stderr.count("\n")) == (3, 1)
    assert "max_memory must be at least" in got.stderr
    monkeypatch.setattr("os.posix_fallocate", no_space)
    got = run_app(app, [*common, "-q", "--seed", "1"])
    assert (got.exit_code, got.stderr.count("\n")) == (4, 1)
    assert "no space left on device" in got.stderr
