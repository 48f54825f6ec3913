"""The parameters that Estimator and Model share, in the style of pyspark.ml."""

from __future__ import annotations

from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasMaxIter, HasSeed

from structsmooth.smoother import StructuralSmoother

# The settings of `StructuralSmoother` by the names that they have here.
SETTINGS = {
    "alpha": "alpha",
    "beta": "beta",
    "reducer": "reducer",
    "nComponents": "n_components",
    "clusterer": "clusterer",
    "nClusters": "n_clusters",
    "minClusterSize": "min_cluster_size",
    "correctForcedEdges": "correct_forced_edges",
    "ties": "ties",
    "confidence": "confidence",
    "shrink": "shrink",
    "seed": "random_state",
}


def _number_or_text(value: Any) -> Any:
    return value if isinstance(value, str) else TypeConverters.toFloat(value)


def _integer_or_text(value: Any) -> Any:
    return value if isinstance(value, str) else TypeConverters.toInt(value)


def _param(name: str, doc: str, converter: Any = TypeConverters.toString) -> Any:
    return Param(Params._dummy(), name, doc, typeConverter=converter)


class SmootherParams(HasFeaturesCol, HasLabelCol, HasMaxIter, HasSeed):
    """Columns and settings; the settings have the defaults of `StructuralSmoother`."""

    clusterCol = _param("clusterCol", "output column: number of the cluster")
    strengthCol = _param("strengthCol", "output column: smoothing strength")
    softLabelCol = _param(
        "softLabelCol", "output column: class probabilities, if there are labels"
    )
    idCol = _param(
        "idCol", "column that orders the rows, for data with equal distances, or ''"
    )
    alpha = _param("alpha", "mean strength, 'auto' or 'cautious'", _number_or_text)
    beta = _param("beta", "slope, 'auto' or 'cautious'", _number_or_text)
    reducer = _param("reducer", "pca, scaled-pca or none")
    nComponents = _param(
        "nComponents", "principal components, 0 for automatic", TypeConverters.toInt
    )
    clusterer = _param("clusterer", "kmeans or gmm")
    nClusters = _param("nClusters", "number of clusters, or 'auto'", _integer_or_text)
    minClusterSize = _param(
        "minClusterSize", "smaller clusters are merged; or 'auto'", _integer_or_text
    )
    correctForcedEdges = _param(
        "correctForcedEdges",
        "do not count edges that connect separate classes",
        TypeConverters.toBoolean,
    )
    ties = _param("ties", "index or average")
    confidence = _param("confidence", "level of intervals", TypeConverters.toFloat)
    shrink = _param(
        "shrink", "shrink the clusters' Bayes errors", TypeConverters.toBoolean
    )
    maxClusterRows = _param(
        "maxClusterRows",
        "the bounds of a larger cluster come from a sample of about this many rows",
        TypeConverters.toInt,
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        defaults = StructuralSmoother().get_params(deep=False)
        self._setDefault(**{name: defaults[SETTINGS[name]] for name in SETTINGS})
        self._setDefault(
            clusterCol="cluster",
            strengthCol="strength",
            softLabelCol="softLabel",
            idCol="",
            nComponents=0,
            maxClusterRows=500_000,
            maxIter=20,
            seed=0,
        )

    def settings(self) -> dict[str, Any]:
        """Return the settings of `StructuralSmoother`."""
        found = {name: self.getOrDefault(param) for param, name in SETTINGS.items()}
        return found | {"n_components": found["n_components"] or None}
