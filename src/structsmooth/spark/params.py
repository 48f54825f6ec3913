"""The parameters that Estimator and Model share, in the style of pyspark.ml."""

from __future__ import annotations

import re
from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasMaxIter, HasSeed

from structsmooth.smoother import StructuralSmoother

# The settings of `StructuralSmoother` by the names that they have here.
_SHARED = (
    "alpha beta reducer nComponents clusterer nClusters minClusterSize "
    "correctForcedEdges ties confidence shrink"
)
SETTINGS = {n: re.sub("[A-Z]", r"_\g<0>", n).lower() for n in _SHARED.split()}
SETTINGS["seed"] = "random_state"

TEXT, FLAG = TypeConverters.toString, TypeConverters.toBoolean
NUMBER, INTEGER = TypeConverters.toFloat, TypeConverters.toInt


def _or_text(convert: Any) -> Any:
    return lambda value: value if isinstance(value, str) else convert(value)


def _param(name: str, converter: Any, doc: str) -> Any:
    return Param(Params._dummy(), name, doc, typeConverter=converter)


class SmootherParams(HasFeaturesCol, HasLabelCol, HasMaxIter, HasSeed):
    """Columns and settings; the settings have the defaults of `StructuralSmoother`."""

    clusterCol = _param("clusterCol", TEXT, "output column: number of the cluster")
    strengthCol = _param("strengthCol", TEXT, "output column: smoothing strength")
    softLabelCol = _param("softLabelCol", TEXT, "output column: class probabilities")
    idCol = _param("idCol", TEXT, "column that decides between equal distances, or ''")
    alpha = _param("alpha", _or_text(NUMBER), "mean strength, 'auto' or 'cautious'")
    beta = _param("beta", _or_text(NUMBER), "slope, 'auto' or 'cautious'")
    reducer = _param("reducer", TEXT, "pca, scaled-pca or none")
    nComponents = _param("nComponents", INTEGER, "components kept, 0 for automatic")
    clusterer = _param("clusterer", TEXT, "kmeans or gmm")
    nClusters = _param("nClusters", _or_text(INTEGER), "number of clusters, or 'auto'")
    minClusterSize = _param(
        "minClusterSize", _or_text(INTEGER), "smaller clusters are merged; or 'auto'"
    )
    correctForcedEdges = _param(
        "correctForcedEdges", FLAG, "do not count edges that connect separate classes"
    )
    ties = _param("ties", TEXT, "index or average")
    confidence = _param("confidence", NUMBER, "level of intervals")
    shrink = _param("shrink", FLAG, "shrink the clusters' Bayes errors")
    maxClusterRows = _param(
        "maxClusterRows", INTEGER, "larger clusters are sampled for their bounds"
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
