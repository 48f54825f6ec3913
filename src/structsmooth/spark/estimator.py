"""The Estimator: the stages of `StructuralSmoother.fit` on a cluster of machines."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark import StorageLevel, keyword_only
from pyspark.ml import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own)
from pyspark.sql.types import FloatType

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.cluster.clusterers import (
    kmeans_sample_size,
    resolve_n_clusters,
    seed_of,
)
from structsmooth.cluster.regions import Regions, merge_small, resolve_min_size
from structsmooth.errors import SampledClustersWarning
from structsmooth.io.codec import arrays_from_lists, bounds_from_arrays
from structsmooth.reduce.fit import reduce_linearly
from structsmooth.settings import check_settings
from structsmooth.smoother import StructuralSmoother
from structsmooth.spark import stages
from structsmooth.spark.frame import (
    array_literal,
    check_rows,
    features_array,
    label_values,
    type_of,
)
from structsmooth.spark.model import SparkStructuralSmootherModel
from structsmooth.spark.params import SmootherParams
from structsmooth.structure import Structure
from structsmooth.support.validation import check_integer
from structsmooth.tree.algorithms import prim_seconds

# A task costs Spark a tenth of a second or two; several for each core let all of them
# finish at about the same time.
TASK_SECONDS, TASKS_PER_CORE = 4.0, 4


# A sample of fewer rows might leave none.
FEWEST_ROWS = 50


class SparkStructuralSmoother(
    Estimator, SmootherParams, DefaultParamsReadable, DefaultParamsWritable
):
    """Find how much each sample's label should be smoothed, with Spark.

    Workers reduce the rows, one of them clusters a sample, each cluster's spanning tree
    is built on one worker, and bounds and strengths are those of `StructuralSmoother`.
    So are the settings, in Spark's spelling: ``alpha``, ``beta``, ``reducer``,
    ``nComponents`` (0 is automatic), ``clusterer``, ``nClusters``, ``minClusterSize``,
    ``correctForcedEdges``, ``ties``, ``confidence``, ``shrink``, ``seed``.

    Parameters
    ----------
    featuresCol, labelCol : str
        Input columns: vectors or arrays of numbers, and text or numbers.
    clusterCol, strengthCol, softLabelCol : str
        Output columns of the model; "" leaves one out.
    idCol : str
        A column that orders the rows, because their order decides between equal
        distances. Without one ("") they are ordered by their values.
    maxClusterRows : int
        A cluster must fit into one worker: the bounds of a cluster with more rows come
        from a random sample of about this many, with a warning.
    """

    @keyword_only
    def __init__(self, **_options: Any) -> None:
        super().__init__()
        self.setParams(**self._input_kwargs)

    @keyword_only
    def setParams(self, **_options: Any) -> SparkStructuralSmoother:  # noqa: N802 (Spark's style)
        """Set parameters by name."""
        if "maxIter" in self._input_kwargs:
            warnings.warn(
                "maxIter has no effect: clusters are no longer found by MLlib",
                FutureWarning,
                stacklevel=3,
            )
        self._set(**self._input_kwargs)
        return self

    def _fit(self, dataset: DataFrame) -> SparkStructuralSmootherModel:
        smoother = StructuralSmoother(**self.settings())
        most = check_integer(
            self.getOrDefault("maxClusterRows"), "maxClusterRows", FEWEST_ROWS
        )
        features, label = self.getFeaturesCol(), self.getLabelCol()
        id_column = self.getOrDefault("idCol")
        if id_column:
            type_of(dataset, id_column, "idCol")
        rows = dataset.select(
            features_array(dataset, features).alias("x"),
            label_values(dataset, label).alias("y"),
            *([F.col(id_column).alias("id")] if id_column else []),
        )
        moments, classes = check_rows(rows, features, label, id_column)
        n_rows, n_features = moments.n_rows, len(moments.low)
        settings = smoother.get_params(deep=False)
        check_settings(settings, len(classes), (n_rows, n_features))

        reduction = reduce_linearly(moments, smoother.reducer, smoother.n_components)
        n_clusters = resolve_n_clusters(
            smoother.n_clusters, n_rows, len(classes), smoother.clusterer
        )
        components = reduction.components
        width = n_features if components is None else len(components)
        # The size of the sample that k-means looks at in memory, as far as possible.
        sample_size = min(
            kmeans_sample_size(n_rows, n_clusters), stages.MOST_BYTES // (8 * width)
        )
        assigner = stages.fit_assigner(
            rows,
            reduction,
            smoother.clusterer,
            n_clusters,
            seed_of(smoother.random_state),
            share=sample_size / n_rows,
        )
        packed = stages.pack_rows(rows, reduction, assigner, classes)
        packed = packed.persist(StorageLevel.DISK_ONLY)
        try:
            sizes, centers = stages.cluster_sizes(packed, assigner.n_clusters, width)
            min_size = resolve_min_size(smoother.min_cluster_size, len(classes))
            regions = merge_small(assigner, sizes, centers, min_size)
            is_float = rows.schema["x"].dataType.elementType == FloatType()
            keeps_floats = is_float and not reduction.changes_values
            packing = stages.Packing(width, "f4" if keeps_floats else "f8")
            bounds = _bounds(packed, packing, regions, sizes, classes, smoother, most)
        finally:
            packed.unpersist()
        smoother.fit_structure(
            Structure(classes, n_features, reduction, regions, tuple(bounds))
        )
        model = SparkStructuralSmootherModel.of(smoother)
        self._copyValues(model)
        return model


def _bounds(
    packed: DataFrame,
    packing: stages.Packing,
    regions: Regions,
    sizes: NDArray[np.float64],
    classes: NDArray[Any],
    smoother: StructuralSmoother,
    most: int,
) -> list[BayesErrorBounds]:
    """Bound each region on one worker."""
    of_cluster = array_literal(regions.region_of_cluster, "int")
    packed = packed.withColumn("region", of_cluster[F.col("cluster")])
    packed = packed.drop("cluster", "n", "total")
    region_sizes = np.zeros(regions.n_regions)
    np.add.at(region_sizes, regions.region_of_cluster, sizes)
    limit = min(most, stages.MOST_BYTES // packing.row_bytes)
    shares = np.minimum(1.0, limit / region_sizes)
    if (shares < 1.0).any():
        _warn_about_samples(region_sizes, limit, most)
        packed = stages.thin_out(packed, packing, shares, smoother.random_state)
    spark = packed.sparkSession
    n_cores = spark.sparkContext.defaultParallelism
    kept = (shares * region_sizes).astype(int).tolist()
    seconds = np.array([prim_seconds(size, packing.width) for size in kept])
    per_core = np.clip(seconds.sum() / n_cores / TASK_SECONDS, 1, TASKS_PER_CORE)
    n_tasks = min(regions.n_regions, int(n_cores * per_core))
    keys = array_literal(stages.spread_evenly(spark, seconds, n_tasks), "int")
    packed = packed.withColumn("key", keys[F.col("region")])
    settings = {
        "n_classes": len(classes),
        "correct_forced_edges": smoother.correct_forced_edges,
        "ties": smoother.ties,
        "confidence": smoother.confidence,
        "workload": float(seconds.sum()) / n_cores,
    }
    with stages.few_records(spark):
        found = (
            packed.repartition(n_tasks, "key")
            .groupBy("key", "region")
            .applyInPandas(stages.bounder(packing, settings), stages.BOUNDS_SCHEMA)
            .collect()
        )
    found.sort(key=lambda row: row["region"])
    lists = (json.loads(row["bounds"]) for row in found)
    return [bounds_from_arrays(arrays_from_lists(some))[0] for some in lists]


def _warn_about_samples(sizes: NDArray[np.float64], limit: int, most: int) -> None:
    """Warn that regions are too large for a worker."""
    name = f"maxClusterRows={most} rows"
    advice = "raise maxClusterRows or nClusters"
    if limit < most:
        name, advice = f"half a gigabyte, {limit} rows", "raise nClusters"
    warnings.warn(
        f"{np.sum(sizes > limit)} of {len(sizes)} clusters have more than {name}, the "
        f"largest {sizes.max():.0f}: their bounds come from a random sample of that "
        f"many; {advice} for all rows",
        SampledClustersWarning,
        stacklevel=2,
    )
