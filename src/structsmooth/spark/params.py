"""The parameters that Estimator and Model share, in the manner of pyspark.ml."""

from __future__ import annotations

from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasMaxIter,
    HasSeed,
)


def _number_or_auto(value: Any) -> Any:
    return value if isinstance(value, str) else TypeConverters.toFloat(value)


def _integer_or_auto(value: Any) -> Any:
    return value if isinstance(value, str) else TypeConverters.toInt(value)


def _param(name: str, doc: str, converter: Any) -> Any:
    return Param(Params._dummy(), name, doc, typeConverter=converter)


class SmootherParams(HasFeaturesCol, HasLabelCol, HasMaxIter, HasSeed):
    """Columns and settings; defaults are those of `StructuralSmoother`."""

    clusterCol = _param(
        "clusterCol", "output column: cluster, from 0", TypeConverters.toString
    )
    strengthCol = _param(
        "strengthCol", "output column: smoothing strength", TypeConverters.toString
    )
    softLabelCol = _param(
        "softLabelCol",
        "output column: vector of class probabilities; only where there are labels",
        TypeConverters.toString,
    )
    idCol = _param(
        "idCol",
        "column that orders the rows, for data with equal distances; '' for none",
        TypeConverters.toString,
    )
    alpha = _param("alpha", "mean strength, 'auto' or 'cautious'", _number_or_auto)
    beta = _param("beta", "slope, 'auto' or 'cautious'", _number_or_auto)
    reducer = _param("reducer", "pca, scaled-pca or none", TypeConverters.toString)
    nComponents = _param(
        "nComponents", "principal components, 0 for 'auto'", TypeConverters.toInt
    )
    clusterer = _param("clusterer", "kmeans or gmm", TypeConverters.toString)
    nClusters = _param("nClusters", "how many, or 'auto'", _integer_or_auto)
    minClusterSize = _param(
        "minClusterSize", "smaller clusters are merged; or 'auto'", _integer_or_auto
    )
    correctForcedEdges = _param(
        "correctForcedEdges",
        "do not count edges that connect separate classes",
        TypeConverters.toBoolean,
    )
    ties = _param("ties", "index or average", TypeConverters.toString)
    confidence = _param("confidence", "level of intervals", TypeConverters.toFloat)
    shrink = _param("shrink", "draw clusters together", TypeConverters.toBoolean)
    maxClusterRows = _param(
        "maxClusterRows",
        "the bounds of a larger cluster come from a sample of so many rows",
        TypeConverters.toInt,
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(
            clusterCol="cluster",
            strengthCol="strength",
            softLabelCol="softLabel",
            idCol="",
            alpha="cautious",
            beta="cautious",
            reducer="pca",
            nComponents=0,
            clusterer="kmeans",
            nClusters="auto",
            minClusterSize="auto",
            correctForcedEdges=True,
            ties="index",
            confidence=0.95,
            shrink=False,
            maxClusterRows=500_000,
            maxIter=20,
            seed=0,
        )

    def settings(self) -> dict[str, Any]:
        """Return the settings by the names of `StructuralSmoother`."""
        return {
            "alpha": self.getOrDefault("alpha"),
            "beta": self.getOrDefault("beta"),
            "reducer": self.getOrDefault("reducer"),
            "n_components": self.getOrDefault("nComponents") or None,
            "clusterer": self.getOrDefault("clusterer"),
            "n_clusters": self.getOrDefault("nClusters"),
            "min_cluster_size": self.getOrDefault("minClusterSize"),
            "correct_forced_edges": self.getOrDefault("correctForcedEdges"),
            "ties": self.getOrDefault("ties"),
            "confidence": self.getOrDefault("confidence"),
            "shrink": self.getOrDefault("shrink"),
            "random_state": self.getOrDefault("seed"),
        }
