"""The Estimator: the line of `StructuralSmoother.fit` over a cluster of machines."""

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
from structsmooth.cluster.regions import (
    Regions,
    merge_small,
    resolve_min_size,
    resolve_n_clusters,
)
from structsmooth.errors import SampledClustersWarning
from structsmooth.io.codec import arrays_from_lists, bounds_from_arrays
from structsmooth.reduce import LinearReduction
from structsmooth.settings import check_settings
from structsmooth.smoother import StructuralSmoother
from structsmooth.spark import workers
from structsmooth.spark.columns import Facts, features_array, label_values, look
from structsmooth.spark.model import SparkStructuralSmootherModel
from structsmooth.spark.params import SmootherParams
from structsmooth.spark.stages import cluster_sizes, fit_assigner, fit_reduction
from structsmooth.structure import Structure
from structsmooth.support.validation import check_integer

# Rows are drawn by a hash of what they hold: a task that is run again draws the same.
HASH_BINS = 2**20


class SparkStructuralSmoother(
    Estimator, SmootherParams, DefaultParamsReadable, DefaultParamsWritable
):
    """Find how much each sample's label should be smoothed, with Spark.

    MLlib reduces and clusters, each cluster's spanning tree is built on one worker,
    and bounds and strengths are those of `StructuralSmoother`. Settings have its names
    in the manner of Spark: ``alpha``, ``beta``, ``reducer``, ``nComponents`` (0 is
    automatic), ``clusterer``, ``nClusters``, ``minClusterSize``,
    ``correctForcedEdges``, ``ties``, ``confidence``, ``shrink``, ``seed``; ``maxIter``
    (20) is MLlib's.

    Parameters
    ----------
    featuresCol, labelCol : str
        Input columns, "features" (vectors or arrays of numbers) and "label" (text or
        numbers).
    clusterCol, strengthCol, softLabelCol : str
        Output columns of the model, "cluster", "strength" and "softLabel" (a vector);
        "" leaves one out.
    idCol : str
        A column that orders the rows, which decides between equal distances; without
        one ("") their values do.
    maxClusterRows : int
        A cluster must fit into one worker: the bounds of one with more rows come from
        a random sample of about so many, with a warning. 500 000 rows of 28 features
        take some 0.7 GB beside Spark.

    Examples
    --------
    >>> smoother = SparkStructuralSmoother(alpha=0.1, nClusters=128)  # doctest: +SKIP
    >>> model = smoother.fit(frame)  # doctest: +SKIP
    >>> model.transform(frame).select("strength", "softLabel")  # doctest: +SKIP
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
        settings = self.settings()
        smoother = StructuralSmoother(**settings)
        most = check_integer(self.getOrDefault("maxClusterRows"), "maxClusterRows", 2)
        features, label = self.getFeaturesCol(), self.getLabelCol()
        id_column = self.getOrDefault("idCol")
        rows = dataset.select(
            features_array(dataset, features).alias("x"),
            label_values(dataset, label).alias("y"),
            *([F.col(id_column).alias("id")] if id_column else []),
        )
        facts = look(rows, features, label)
        n_classes = len(facts.classes)
        check_settings(
            smoother.get_params(deep=False), n_classes, (facts.n_rows, facts.n_features)
        )

        reduction = fit_reduction(
            rows, facts, settings["reducer"], settings["n_components"]
        )
        if _changes(reduction):
            rows = rows.withColumn("x", workers.reducer(reduction)("x"))
        width = facts.n_features
        if reduction.components is not None:
            width = len(reduction.components)
        assigner = fit_assigner(
            rows,
            facts.n_rows,
            settings["clusterer"],
            resolve_n_clusters(
                settings["n_clusters"], facts.n_rows, n_classes, settings["clusterer"]
            ),
            self.getMaxIter(),
            settings["random_state"],
        )
        rows = rows.withColumn("cluster", workers.assigner(assigner.assign)("x"))
        rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            sizes, centers = cluster_sizes(rows, assigner.n_clusters, width)
            min_size = resolve_min_size(settings["min_cluster_size"], n_classes)
            regions = merge_small(assigner, sizes, centers, min_size)
            bounds = _bounds(rows, regions, facts, width, settings, most)
        finally:
            rows.unpersist()
        smoother.fit_structure(
            Structure(
                classes=facts.classes,
                n_features=facts.n_features,
                reduction=reduction,
                regions=regions,
                cluster_bounds=tuple(bounds),
            )
        )
        model = SparkStructuralSmootherModel.of(smoother)
        self._copyValues(model)
        return model


def _changes(reduction: LinearReduction) -> bool:
    return reduction.exponent != 0 or any(
        part is not None
        for part in (reduction.center, reduction.scale, reduction.components)
    )


def _bounds(
    rows: DataFrame,
    regions: Regions,
    facts: Facts,
    width: int,
    settings: dict[str, Any],
    most: int,
) -> list[BayesErrorBounds]:
    """Bound each region on one worker."""
    of_cluster = F.lit(regions.region_of_cluster.tolist())
    rows = rows.withColumn("region", of_cluster[F.col("cluster")].cast("int"))
    counts = _class_counts(rows, regions.n_regions, facts.classes)
    rows = _thin_out(rows, counts.sum(axis=1), most, settings["random_state"])
    has_id = "id" in rows.columns
    bound = workers.bounder(
        facts.classes,
        width,
        has_id,
        {
            "n_classes": len(facts.classes),
            "correct_forced_edges": settings["correct_forced_edges"],
            "ties": settings["ties"],
            "confidence": settings["confidence"],
        },
    )
    found = (
        rows.select(
            "region",
            "y",
            *(["id"] if has_id else []),
            *(F.col("x")[i].alias(f"x{i}") for i in range(width)),
        )
        .groupBy("region")
        .applyInPandas(bound, workers.BOUNDS_SCHEMA)
        .collect()
    )
    by_region = {
        row["region"]: bounds_from_arrays(arrays_from_lists(json.loads(row["bounds"])))[
            0
        ]
        for row in found
    }
    # Of a sample the fraction counts; what is known of all rows is told of all.
    return [
        bounds_of_sample(by_region[region], counts[region])
        for region in range(regions.n_regions)
    ]


def _class_counts(
    rows: DataFrame, n_regions: int, classes: NDArray[Any]
) -> NDArray[np.int64]:
    counts = np.zeros((n_regions, len(classes)), dtype=np.int64)
    for row in rows.groupBy("region", "y").count().collect():
        counts[row["region"], np.searchsorted(classes, row["y"])] = row["count"]
    return counts


def _thin_out(
    rows: DataFrame, sizes: NDArray[np.int64], most: int, seed: int
) -> DataFrame:
    """Leave out rows of regions that are too large for a worker, and say so."""
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
