"""Spark: the same counts as one process, and what is specific to many machines."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from oracles import assert_possible
from structsmooth import StructuralSmoother, smooth_labels, solve_strengths
from structsmooth.bayes_error.regions import bounds_of_regions
from structsmooth.errors import InvalidInputError, SampledClustersWarning
from structsmooth.spark import (
    SparkStructuralSmoother,
    SparkStructuralSmootherModel,
    stages,
)
from structsmooth.spark.model import _from_json, _to_json
from structsmooth.spark.stages import Packing


def skewed(n=2500, d=4, seed=0):
    """Four far groups, one with 85 of 100 rows; labels are words."""
    rng = np.random.default_rng(seed)
    group = rng.choice(4, n, p=[0.85, 0.05, 0.05, 0.05])
    X = rng.normal(size=(n, d)) + 20.0 * np.eye(4, d)[group]
    is_yes = rng.random(n) < np.array([0.5, 0.05, 0.2, 0.9])[group]
    return X, np.array(["no", "yes"])[is_yes.astype(int)]


def single_process(model, frame, X, ties="index"):
    """Bound the clusters that Spark has found, in this process."""
    found = model.transform(frame).orderBy("row").collect()
    clusters = np.array([row["cluster"] for row in found])
    coded = np.searchsorted(model.classes, [row["label"] for row in found])
    bounds = bounds_of_regions(
        X,
        coded,
        clusters.astype(np.int64),
        n_classes=len(model.classes),
        correct_forced_edges=True,
        ties=ties,
        confidence=0.95,
    )
    return found, coded, clusters, bounds


def assert_same_bounds(model, bounds):
    assert len(bounds) == len(model.clusterBounds)
    for mine, other in zip(model.clusterBounds, bounds, strict=True):
        assert_possible(mine)
        assert np.array_equal(mine.crossing, other.crossing)
        assert np.array_equal(mine.class_counts, other.class_counts)
        # Without ids the rows come in another order, and sums round differently.
        assert mine.interval == pytest.approx(other.interval, rel=1e-12)
    sizes = np.array([b.n_samples for b in bounds])
    strengths = solve_strengths(
        [b.lower for b in bounds],
        sizes / sizes.sum(),
        "cautious",
        "cautious",
        n_classes=len(model.classes),
    )
    assert np.array_equal(model.strengths, strengths)


@pytest.fixture(scope="module")
def data():
    return skewed()


@pytest.fixture(scope="module")
def frame(make_frame, data):
    return make_frame(*data).cache()


@pytest.fixture(scope="module")
def model(frame):
    return SparkStructuralSmoother(nClusters=6).fit(frame)


def test_counts_and_strengths_are_those_of_a_single_process(model, frame, data):
    X, y = data
    assert 0 in frame.rdd.glom().map(len).collect()  # a partition is empty
    found, coded, clusters, bounds = single_process(model, frame, X)
    assert_same_bounds(model, bounds)
    assert model.classes.tolist() == ["no", "yes"]
    assert np.bincount(clusters).max() > 300  # skewed
    strengths = np.array([row["strength"] for row in found])
    assert np.array_equal(strengths, model.strengths[clusters])
    estimate = np.average([b.lower for b in bounds], weights=np.bincount(clusters))
    # label_smoothing=0.1 of two classes is 0.05.
    assert strengths.mean() == pytest.approx(min(estimate, 0.05), abs=1e-12)
    soft = np.array([row["softLabel"].toArray() for row in found])
    assert np.array_equal(soft, smooth_labels(coded, strengths, 2))
    assert [row["label"] for row in found] == y.tolist()


def in_memory(X, y, **settings):
    return StructuralSmoother(random_state=0, **settings).fit(X, y)


def test_the_clusters_are_those_of_a_single_process(model, frame, data):
    alone = in_memory(*data, n_clusters=6)
    found = model.transform(frame).orderBy("row").collect()
    assert [row["cluster"] for row in found] == alone.cluster_labels_.tolist()
    assert np.array_equal(model.strengths, alone.strengths_)
    assert model.bias == alone.bias_


@pytest.mark.parametrize("reducer", ["pca", "scaled-pca"])
def test_many_features_are_reduced_as_in_a_single_process(make_frame, reducer):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 70)) * np.geomspace(1.0, 9.0, 70) + 1e4
    y = (X[:, -1] > 1e4).astype(int)
    alone = in_memory(X, y, n_clusters=4, reducer=reducer)
    fitted = SparkStructuralSmoother(nClusters=4, reducer=reducer).fit(make_frame(X, y))
    mine, other = fitted._smoother.structure_.reduction, alone.structure_.reduction
    np.testing.assert_allclose(mine.center, other.center, rtol=1e-12)
    np.testing.assert_allclose(mine.components, other.components, atol=1e-9)
    if reducer == "scaled-pca":
        np.testing.assert_allclose(mine.scale, other.scale, rtol=1e-12)
    assert fitted.bayesErrorBounds.crossing[0, 1] == pytest.approx(
        alone.bayes_error_bounds_.crossing[0, 1], abs=2
    )


def test_floats_stay_floats_on_their_way(spark, data):
    X, y = data
    X = X.astype(np.float32)
    rows = [(x, label) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    table = spark.createDataFrame(rows, "features array<float>, label string")
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            stages, "Packing", lambda *given: seen.append(given) or Packing(*given)
        )
        fitted = SparkStructuralSmoother(nClusters=6).fit(table)
    assert seen == [(4, "f4")]
    assert np.array_equal(fitted.strengths, in_memory(X, y, n_clusters=6).strengths_)


def test_the_driver_never_collects_rows(frame, monkeypatch):
    received = []
    collect = DataFrame.collect

    def counted(self):
        received.append(collect(self))
        return received[-1]

    def refused(*_args):
        raise AssertionError("rows were sent to the driver in another way")

    monkeypatch.setattr(DataFrame, "collect", counted)
    for name in ("toPandas", "take", "head", "first", "toLocalIterator", "rdd"):
        monkeypatch.setattr(DataFrame, name, refused)
    SparkStructuralSmoother(nClusters=6).fit(frame)
    # One entry for each of three partitions, for the clusterer, for each of the
    # clusters and for each of the regions.
    assert [len(some) for some in received][:2] == [3, 1]
    assert all(len(some) <= 6 for some in received)
    sizes = [len(repr(row)) for some in received for row in some]
    assert max(sizes) < 2500 * 4  # less than a byte for each feature of each row


def test_a_saved_model_is_json_and_gives_the_same_columns(model, frame, tmp_path):
    path = str(tmp_path / "model")
    model.write().save(path)
    text = "".join(p.read_text() for p in (tmp_path / "model/data").glob("part-*"))
    assert json.loads(text)["arrays"]["classes"][2] == ["no", "yes"]
    loaded = SparkStructuralSmootherModel.load(path)
    assert np.array_equal(loaded.strengths, model.strengths)
    assert loaded.uid == model.uid
    assert loaded.getOrDefault("nClusters") == 6
    few = frame.where("row < 50")
    assert loaded.transform(few).collect() == model.transform(few).collect()
    without = loaded.transform(few.drop("label"))  # new rows have no labels
    assert without.columns == ["features", "row", "cluster", "strength"]


def test_a_label_that_fit_did_not_see_is_named(model, frame):
    other = frame.where("row < 5").withColumn("label", F.lit("perhaps"))
    with pytest.raises(Exception, match="label that fit did not see: perhaps"):
        model.transform(other).select("softLabel").collect()


def test_it_is_a_stage_of_a_pipeline_with_numbers_as_labels(spark, tmp_path):
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(400, 2)), 1)  # with many equal distances
    y = (rng.random(400) < 0.4).astype(int) + 7
    rows = [(*map(float, x), int(label), i) for i, (x, label) in enumerate(zip(X, y))]  # noqa: B905
    table = spark.createDataFrame(rows, ["a", "b", "target", "row"])
    smoother = SparkStructuralSmoother(
        labelCol="target", strengthCol="s", softLabelCol="", nClusters=2, idCol="row"
    )
    assembler = VectorAssembler(inputCols=["a", "b"], outputCol="features")
    with pytest.warns(Warning, match="equal distances"):
        fitted = Pipeline(stages=[assembler, smoother]).fit(table)
    fitted.save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))  # no further warning
    out = loaded.transform(table).orderBy("row")
    assert out.columns == [*table.columns, "features", "cluster", "s"]
    assert out.collect() == fitted.transform(table).orderBy("row").collect()
    # The ids decide between equal distances, as the order does in one process.
    renamed = assembler.transform(table).withColumnRenamed("target", "label")
    model = loaded.stages[1]
    view = model.copy()
    view.set(view.labelCol, "label")
    _, _, _, bounds = single_process(view, renamed, X)
    assert_same_bounds(model, bounds)
    assert model.classes.tolist() == [7, 8]


def test_a_cluster_too_large_for_a_worker_is_sampled_openly(make_frame):
    X, y = skewed(1500, 40, seed=2)  # four directions matter
    wide = make_frame(X, y)
    smoother = SparkStructuralSmoother(
        clusterer="gmm", nClusters=2, nComponents=4, maxClusterRows=300
    )
    with pytest.warns(SampledClustersWarning, match="more than maxClusterRows=300"):
        fitted = smoother.fit(wide)
    sizes = [b.n_samples for b in fitted.clusterBounds]
    assert sum(sizes) == 1500
    assert max(sizes) > 1000
    largest = fitted.clusterBounds[int(np.argmax(sizes))]
    # Half of its labels differ by chance: both bounds on R are at least 0.3, from about
    # 300 edges and not from a thousand.
    assert 200 < largest.crossing[0, 1] / largest.crossing_fraction < 400
    assert largest.lower > 0.2
    for bounds in (*fitted.clusterBounds, fitted.bayesErrorBounds):
        assert_possible(bounds)
    clusters = [row["cluster"] for row in fitted.transform(wide).collect()]
    assert np.bincount(clusters).tolist() == sizes


def test_a_cluster_too_large_for_arrow_is_sampled_openly(frame, monkeypatch):
    # Four doubles are 32 bytes.
    monkeypatch.setattr(stages, "MOST_BYTES", 32 * 1000)
    with pytest.warns(
        SampledClustersWarning, match="half a gigabyte, 1000 rows"
    ) as all_:
        fitted = SparkStructuralSmoother(nClusters=1).fit(frame)
    assert "maxClusterRows" not in str(all_[0].message)
    (bounds,) = fitted.clusterBounds
    assert bounds.n_samples == 2500
    n_edges = bounds.crossing[0, 1] / bounds.crossing_fraction
    assert n_edges == pytest.approx(1000, rel=0.02)


def test_equal_rows_are_sampled_one_by_one(spark):
    # Two places and three rows of ten at the second; a third of the labels is True.
    rng = np.random.default_rng(5)
    rows = [
        ([float(place), 0.0], bool(label), f"row {i:04d}")
        for i, (place, label) in enumerate(
            zip(rng.random(4000) < 0.3, rng.random(4000) < 1 / 3, strict=True)
        )
    ]
    kind = "features array<double>, label boolean, name string"
    table = spark.createDataFrame(rows, kind).repartition(3)
    smoother = SparkStructuralSmoother(
        nClusters=1, maxClusterRows=900, idCol="name", ties="average"
    )
    with pytest.warns(SampledClustersWarning, match="the largest 4000"):
        fitted = smoother.fit(table)
    (bounds,) = fitted.clusterBounds
    counts = np.bincount([label for _, label, _ in rows])
    assert np.array_equal(bounds.class_counts, counts)
    n_edges = bounds.crossing[0, 1] / bounds.crossing_fraction
    assert n_edges == pytest.approx(900, rel=0.02)
    # Two equal rows have different labels in 4 of 9 cases. Which rows are sampled is
    # up to their way through Spark, and the mean over 16 trees varies by 0.03.
    assert bounds.crossing_fraction == pytest.approx(4 / 9, abs=0.14)


def test_rows_without_ids_have_one_order():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, (300, 4)).astype(np.float32)
    coded = rng.integers(0, 2, 300)
    order = stages._order_of_values(X, coded)
    rows = [(*x, label) for x, label in zip(X.tolist(), coded.tolist(), strict=True)]
    assert [rows[at] for at in order] == sorted(rows)
    assert np.array_equal(np.sort(order), np.arange(300))


def test_trees_are_spread_over_the_tasks_by_their_cost(spark):
    costs = np.array([9.0, 1.0, 1.0, 1.0, 5.0, 4.0, 3.0, 3.0, 3.0, 6.0])
    keys = stages.spread_evenly(spark, costs, 4)
    table = spark.createDataFrame(list(enumerate(keys.tolist())), "region int, key int")
    placed = table.repartition(4, "key").withColumn("task", F.spark_partition_id())
    loads = np.zeros(4)
    for row in placed.collect():
        loads[row["task"]] += costs[row["region"]]
    # 36 in all; by hand: 9, 6 + 3, 5 + 3 + 1, 4 + 3 + 1 + 1
    assert loads.tolist() == [9.0, 9.0, 9.0, 9.0]


def test_a_skewed_cluster_changes_nothing(make_frame):
    # About two rows of five are in one cluster, of 24.
    rng = np.random.default_rng(4)
    center = np.concatenate([np.zeros(1200, int), rng.integers(1, 24, 1800)])
    X = rng.normal(size=(3000, 3)) + 30.0 * rng.normal(size=(24, 3))[center]
    y = (rng.random(3000) < np.where(center == 0, 0.5, 0.1)).astype(int)
    skew = make_frame(X, y, partitions=5)
    fitted = SparkStructuralSmoother(nClusters=24).fit(skew)
    assert max(b.n_samples for b in fitted.clusterBounds) > 1150
    _, _, _, bounds = single_process(fitted, skew, X)
    assert_same_bounds(fitted, bounds)


def slow_once(bound, marker):
    """Let the first tree take so long that Spark starts it a second time."""

    def wrapped(rows):
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return bound(rows)
        time.sleep(600)
        return bound(rows)

    return wrapped


def test_a_slow_worker_is_overtaken(frame, data, monkeypatch, tmp_path):
    marker = str(tmp_path / "slow")
    original = stages.bounder
    monkeypatch.setattr(
        stages, "bounder", lambda *args: slow_once(original(*args), marker)
    )
    start = time.monotonic()
    fitted = SparkStructuralSmoother(nClusters=6).fit(frame)
    assert os.path.exists(marker)
    assert time.monotonic() - start < 500  # nobody waited for it
    _, _, _, bounds = single_process(fitted, frame, data[0])
    assert_same_bounds(fitted, bounds)


def fatal_once(bound, marker):
    """Let the first tree kill the executor it is built in."""

    def wrapped(rows):
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return bound(rows)
        # This process was forked by a daemon, and that by the executor.
        with open(f"/proc/{os.getppid()}/stat") as stream:
            executor = int(stream.read().rsplit(")", 1)[1].split()[1])
        with open(f"/proc/{executor}/cmdline") as stream:
            assert "CoarseGrainedExecutorBackend" in stream.read()
        os.kill(executor, signal.SIGKILL)
        time.sleep(60)
        raise RuntimeError("still alive")

    return wrapped


def test_a_worker_killed_in_the_middle_changes_nothing(
    frame, data, monkeypatch, tmp_path
):
    marker = str(tmp_path / "killed")
    original = stages.bounder
    monkeypatch.setattr(
        stages, "bounder", lambda *args: fatal_once(original(*args), marker)
    )
    fitted = SparkStructuralSmoother(nClusters=6).fit(frame)
    assert os.path.exists(marker)
    _, _, _, bounds = single_process(fitted, frame, data[0])
    assert_same_bounds(fitted, bounds)


@pytest.fixture(scope="module")
def few(make_frame):
    return make_frame(*skewed(40), partitions=1).cache()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": "null"}, "featuresCol='features' must be a column of"),
        (
            {"features": "if(row = 3, null, features)"},
            "featuresCol='features' is or holds null, NaN or infinity in 1 of 40",
        ),
        (
            {"label": "if(row < 5, null, label)"},
            "labelCol='label' is null or NaN in 5 of 40 rows",
        ),
        (
            {"label": "if(row < 2, double('nan'), 1.0d)"},
            "labelCol='label' is null or NaN in 2 of 40 rows",
        ),
        (
            {"features": "array(1.0d, if(row = 0, null, 2.0d))"},
            "is or holds null, NaN or infinity in 1 of 40 rows",
        ),
        (
            {"features": "if(row = 9, array(1.0d), array(1.0d, 2.0d))"},
            "vectors of different lengths, from 1 to 2",
        ),
        ({"features": "cast(array() as array<double>)"}, "holds empty vectors"),
        ({"label": "'only'"}, "only one class"),
        ({"label": "row / 2"}, "holds fractions such as"),
    ],
)
def test_rows_that_cannot_be_used_are_one_clear_sentence(few, change, message):
    changed = few.withColumns({k: F.expr(v) for k, v in change.items()})
    with pytest.raises(InvalidInputError, match=message):
        SparkStructuralSmoother(nClusters=4).fit(changed)


def test_wrong_columns_and_settings_are_refused_before_the_work(few):
    with pytest.raises(InvalidInputError, match="featuresCol='x' is no column"):
        SparkStructuralSmoother(featuresCol="x").fit(few)
    with pytest.raises(InvalidInputError, match="alpha must be below"):
        SparkStructuralSmoother(alpha=0.9).fit(few)
    with pytest.raises(InvalidInputError, match="idCol='x' is no column"):
        SparkStructuralSmoother(idCol="x").fit(few)
    without = few.withColumn("name", F.expr("if(row = 4, null, string(row))"))
    with pytest.raises(InvalidInputError, match="idCol='name' is null in 1 of 40"):
        SparkStructuralSmoother(idCol="name").fit(without)
    with pytest.raises(InvalidInputError, match="maxClusterRows must be a whole"):
        SparkStructuralSmoother(maxClusterRows=0).fit(few)
    with pytest.raises(TypeError):
        SparkStructuralSmoother(alpha=[1])
    with pytest.warns(FutureWarning, match="maxIter has no effect"):
        SparkStructuralSmoother(maxIter=5)


def test_huge_numbers_do_not_overflow(make_frame):
    X, y = skewed(400)
    model, huge = (
        SparkStructuralSmoother(nClusters=2).fit(make_frame(rows, y, 2))
        for rows in (X, X * 2.0**900)
    )
    assert np.array_equal(huge.strengths, model.strengths)


def test_models_of_the_first_version_still_load():
    folder = Path(__file__).parents[1] / "saved"
    smoother = _from_json(json.loads((folder / "spark-0.1.0.json").read_text()))
    expected = np.load(folder / "spark-0.1.0.npz")
    np.testing.assert_array_equal(smoother.strengths_, expected["strengths"])
    assert smoother.alpha_ == pytest.approx(float(expected["alpha"]), abs=1e-12)
    new = np.load(folder / "expected-0.1.0.npz")["new"]
    np.testing.assert_array_equal(smoother.predict_cluster(new), expected["clusters"])
    again = _from_json(json.loads(_to_json(smoother)))
    np.testing.assert_array_equal(again.strengths_, smoother.strengths_)
