"""A fit out of core gives the same result as a fit in memory."""

import json

import numpy as np
import pytest

from oracles import assert_possible
from rowfiles import assert_same, blobs, write_tables
from structsmooth import StructuralSmoother, fit_out_of_core, solve_strengths
from structsmooth.bayes_error.regions import bounds_of_regions
from structsmooth.errors import MergedClustersWarning
from structsmooth.io.readers import read_dataset
from structsmooth.outofcore import plan


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_given_the_same_clusters_the_strengths_are_those_of_memory_to_the_bit(
    files, tmp_path, dtype
):
    X, y = blobs(3000, 40, dtype=dtype)  # so wide that components are taken
    path, labels = files(X, y)
    settings = StructuralSmoother(
        0.1, "auto", n_clusters=9, random_state=3, n_components=5
    )
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    # The same reduction, block by block, and the same clusters; the rest is a new fit.
    reduced = np.concatenate(
        [
            found.structure_.reduction.transform(X[i : i + 16])
            for i in range(0, len(X), 16)
        ]
    )
    clusters = np.array(found.cluster_labels_)
    assert np.array_equal(found.structure_.regions.assign(reduced), clusters)
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
    for some in (*found.cluster_bounds_, found.bayes_error_bounds_):
        assert_possible(some)


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
    if reducer == "scaled-pca":
        assert np.array_equal(
            found.structure_.reduction.scale, settings.structure_.reduction.scale
        )


def test_the_sample_for_clustering_is_that_of_memory(files, tmp_path, monkeypatch):
    import structsmooth.cluster.clusterers

    for name, rows in (("FULL_KMEANS", 500), ("BATCH_SAMPLE", 700)):
        monkeypatch.setattr(structsmooth.cluster.clusterers, name, rows)
    X, y = blobs(20_000, 4)
    settings = StructuralSmoother(n_clusters=8, random_state=1)
    path, labels = files(X, y)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    assert_same(found, settings.fit(X, y))


def test_without_room_to_sort_the_rows_a_sample_is_drawn_by_number(
    files, tmp_path, monkeypatch
):
    from structsmooth.outofcore import stages

    monkeypatch.setattr(stages, "DRAW_BYTES", 10**12)
    X, y = blobs(3000, 3)
    path, labels = files(X, y)
    settings = StructuralSmoother(n_clusters=4, random_state=0)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    again = fit_out_of_core(path, tmp_path / "p", labels=labels, smoother=settings)
    assert_same(found, again)
    assert found.sample_strengths_.mean() == pytest.approx(0.05, abs=1e-12)
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
    expected = settings.fit(X, y).structure_.reduction
    np.testing.assert_allclose(
        found.structure_.reduction.components, expected.components, atol=1e-10
    )
    np.testing.assert_allclose(
        found.structure_.reduction.center, expected.center, atol=1e-12
    )


def test_by_itself_it_keeps_as_many_components_as_in_memory(files, tmp_path):
    X, y = blobs(1000, 50)
    X[:, :4] *= 20.0
    path, labels = files(X, y)
    settings = StructuralSmoother(random_state=0)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    expected = settings.fit(X, y).structure_.reduction.components
    assert found.structure_.reduction.components.shape == expected.shape == (4, 50)


def test_hundreds_of_features_have_the_components_of_memory(
    files, tmp_path, monkeypatch
):
    monkeypatch.setattr(plan, "BLOCK_NUMBERS", 1)  # 256 rows, and a last block of 8
    X, y = blobs(776, 530)
    X[:, :4] *= 20.0
    path, labels = files(X, y)
    settings = StructuralSmoother(random_state=0, n_components=20)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    expected = settings.fit(X, y).structure_.reduction
    np.testing.assert_allclose(
        found.structure_.reduction.center, expected.center, rtol=1e-12
    )
    # Sums in float32, of blocks of other sizes.
    np.testing.assert_allclose(
        found.structure_.reduction.components, expected.components, atol=1e-4
    )


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
    assert found.decision_.shrinkage.p_value == pytest.approx(
        in_memory.decision_.shrinkage.p_value
    )


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


@pytest.mark.parametrize("name", ["parts", "t.parquet", "t.csv"])
@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_tables_in_pieces_give_what_a_table_in_memory_gives(
    tmp_path, monkeypatch, name, kind
):
    monkeypatch.setattr("structsmooth.io.tables.CSV_ROWS", 70)
    monkeypatch.setattr("structsmooth.io.tables.PARQUET_ROWS", 70)
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
        "view.npz",
    ]
    soft = np.load(tmp_path / "o" / "soft_labels.npy")
    np.testing.assert_allclose(soft[np.arange(700), 1 - y], found.sample_strengths_)
    assert np.array_equal(np.load(tmp_path / "o" / "labels.npy"), y)
    loaded = StructuralSmoother.load(tmp_path / "o")
    assert_same(loaded, found)
    assert np.array_equal(loaded.predict_strength(X), found.sample_strengths_)
    found.save(tmp_path / "again.zip")
    assert_same(StructuralSmoother.load(tmp_path / "again.zip"), found)


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_read_in_any_order_of_the_file(files, tmp_path, order):
    X, y = blobs(800, 3)
    path, labels = files(np.asarray(X, order=order), y)
    settings = StructuralSmoother(random_state=0)
    found = fit_out_of_core(path, tmp_path / "o", labels=labels, smoother=settings)
    assert_same(found, settings.fit(X, y))


@pytest.mark.usefixtures("_small_blocks")
def test_threads_do_not_change_a_bit(files, tmp_path):
    X, y = blobs(3000, 40)  # so wide that components are taken
    path, labels = files(X, y)
    fits = [
        fit_out_of_core(
            path,
            tmp_path / f"o{n_jobs}",
            labels=labels,
            smoother=StructuralSmoother(n_clusters=7, random_state=3, n_jobs=n_jobs),
        )
        for n_jobs in (1, 3)
    ]
    assert_same(*fits)
    assert np.array_equal(
        np.load(tmp_path / "o1" / "soft_labels.npy"),
        np.load(tmp_path / "o3" / "soft_labels.npy"),
    )
