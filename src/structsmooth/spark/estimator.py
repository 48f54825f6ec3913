"""The Estimator: the stages of `StructuralSmoother.fit` on a cluster of machines."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark import StorageLevel, keyword_only
from pyspark.ml import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own)

from structsmooth.bayes_error.bounds import BayesErrorBounds, bounds_of_sample
from structsmooth.cluster.clusterers import kmeans_sample_size, resolve_n_clusters
from structsmooth.cluster.regions import Regions, merge_small, resolve_min_size
from structsmooth.errors import SampledClustersWarning
from structsmooth.io.codec import arrays_from_lists, bounds_from_arrays
from structsmooth.reduce import reduce_linearly
from structsmooth.settings import check_settings
from structsmooth.smoother import StructuralSmoother
from structsmooth.spark import stages
from structsmooth.spark.model import SparkStructuralSmootherModel
from structsmooth.spark.params import SmootherParams
from structsmooth.structure import Structure
from structsmooth.support.validation import check_integer

# Rows are drawn by a hash of their values, so that a repeated task draws the same.
HASH_BINS = 2**20


class SparkStructuralSmoother(
    Estimator, SmootherParams, DefaultParamsReadable, DefaultParamsWritable
):
    """Find how much each sample's label should be smoothed, with Spark.

    MLlib reduces and clusters, each cluster's spanning tree is built on one worker,
    and bounds and strengths are those of `StructuralSmoother`. So are the settings, in
    Spark's spelling: ``alpha``, ``beta``, ``reducer``, ``nComponents`` (0 is
    automatic), ``clusterer``, ``nClusters``, ``minClusterSize``,
    ``correctForcedEdges``, ``ties``, ``confidence``, ``shrink``, ``seed``; ``maxIter``
    (20) is MLlib's.

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
        self._set(**self._input_kwargs)
        return self

    def _fit(self, dataset: DataFrame) -> SparkStructuralSmootherModel:
        smoother = StructuralSmoother(**self.settings())
        most = check_integer(self.getOrDefault("maxClusterRows"), "maxClusterRows", 2)
        features, label = self.getFeaturesCol(), self.getLabelCol()
        id_column = self.getOrDefault("idCol")
        rows = dataset.select(
            stages.features_array(dataset, features).alias("x"),
            stages.label_values(dataset, label).alias("y"),
            *([F.col(id_column).alias("id")] if id_column else []),
        )
        n_rows, n_features, classes = stages.check_rows(rows, features, label)
        settings = smoother.get_params(deep=False)
        check_settings(settings, len(classes), (n_rows, n_features))

        reduction = reduce_linearly(
            stages.FrameMoments(rows, n_rows), smoother.reducer, smoother.n_components
        )
        components = reduction.components
        width = n_features if components is None else len(components)
        if width < n_features or reduction.scale is not None or reduction.exponent:
            rows = stages.reduce_rows(rows, reduction)
        n_clusters = resolve_n_clusters(
            smoother.n_clusters, n_rows, len(classes), smoother.clusterer
        )
        # The sample for clustering has the same size as in memory.
        share = kmeans_sample_size(n_rows, n_clusters) / n_rows
        options = {
            "k": n_clusters,
            "maxIter": self.getMaxIter(),
            "seed": self.getSeed(),
        }
        assigner = stages.fit_assigner(rows, smoother.clusterer, share, **options)
        find_cluster = stages.on_features(assigner.assign, "int")
        rows = rows.withColumn("cluster", find_cluster("x"))
        rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            sizes, centers = stages.cluster_sizes(rows, assigner.n_clusters, width)
            min_size = resolve_min_size(smoother.min_cluster_size, len(classes))
            regions = merge_small(assigner, sizes, centers, min_size)
            bounds = _bounds(rows, regions, classes, width, smoother, most)
        finally:
            rows.unpersist()
        smoother.fit_structure(
            Structure(classes, n_features, reduction, regions, tuple(bounds))
        )
        model = SparkStructuralSmootherModel.of(smoother)
        self._copyValues(model)
        return model


def _bounds(
    rows: DataFrame,
    regions: Regions,
    classes: NDArray[Any],
    width: int,
    smoother: StructuralSmoother,
    most: int,
) -> list[BayesErrorBounds]:
    """Bound each region on one worker."""
    of_cluster = F.lit(regions.region_of_cluster.tolist())
    rows = rows.withColumn("region", of_cluster[F.col("cluster")].cast("int"))
    counts = np.zeros((regions.n_regions, len(classes)), dtype=np.int64)
    for row in rows.groupBy("region", "y").count().collect():
        counts[row["region"], np.searchsorted(classes, row["y"])] = row["count"]
    rows = _thin_out(rows, counts.sum(axis=1), most, smoother.random_state)
    has_id = "id" in rows.columns
    settings = {
        "n_classes": len(classes),
        "correct_forced_edges": smoother.correct_forced_edges,
        "ties": smoother.ties,
        "confidence": smoother.confidence,
    }
    columns = ["region", "y", *(["id"] if has_id else [])]
    found = (
        rows.select(*columns, *(F.col("x")[i].alias(f"x{i}") for i in range(width)))
        .groupBy("region")
        .applyInPandas(
            stages.bounder(classes, width, has_id, settings), stages.BOUNDS_SCHEMA
        )
        .collect()
    )
    # A sample gives the crossing fraction; sizes and class counts are those of all.
    bounds = []
    for row in sorted(found, key=lambda row: row["region"]):
        (of_sample,) = bounds_from_arrays(arrays_from_lists(json.loads(row["bounds"])))
        bounds.append(bounds_of_sample(of_sample, counts[row["region"]]))
    return bounds


def _thin_out(
    rows: DataFrame, sizes: NDArray[np.int64], most: int, seed: int
) -> DataFrame:
    """Sample the rows of regions that are too large for a worker, with a warning."""
    large = np.flatnonzero(sizes > most)
    if len(large) == 0:
        return rows
    warnings.warn(
        f"{len(large)} of {len(sizes)} clusters have more than maxClusterRows={most} "
        f"rows, the largest {sizes.max()}: their bounds come from a random sample of "
        "that many; raise maxClusterRows or nClusters for all rows",
        SampledClustersWarning,
        stacklevel=2,
    )
    bins = [math.ceil(HASH_BINS * min(1.0, most / size)) for size in sizes.tolist()]
    drawn = F.pmod(F.xxhash64(F.lit(seed), "x", "y"), F.lit(HASH_BINS))
    return rows.where(drawn < F.lit(bins)[F.col("region")])
