"""The Model: clusters, strengths and soft labels as columns; saved as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.ml import Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own)

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.cluster.regions import Regions
from structsmooth.errors import FileFormatError
from structsmooth.io.codec import (
    arrays_from_lists,
    arrays_to_lists,
    assigner_from_arrays,
    decision_from_arrays,
    decision_to_arrays,
    reduction_from_arrays,
    structure_from_arrays,
    structure_to_arrays,
)
from structsmooth.smoother import StructuralSmoother
from structsmooth.spark import workers
from structsmooth.spark.columns import features_array, label_values
from structsmooth.spark.params import SmootherParams
from structsmooth.structure import Structure

FORMAT, FORMAT_VERSION = "structsmooth.spark", 2


class SparkStructuralSmootherModel(Model, SmootherParams, MLReadable, MLWritable):
    """What `SparkStructuralSmoother.fit` returns.

    ``transform`` adds the columns ``clusterCol``, ``strengthCol`` and, where there are
    labels, ``softLabelCol``, whose entries are in the order of ``classes``.
    """

    _smoother: StructuralSmoother

    @classmethod
    def of(cls, smoother: StructuralSmoother) -> SparkStructuralSmootherModel:
        """Return the model of a fitted smoother."""
        model = cls()
        model._smoother = smoother
        return model

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, sorted."""
        return self._smoother.classes_

    @property
    def strengths(self) -> NDArray[np.float64]:
        """Strength of each cluster."""
        return self._smoother.strengths_

    @property
    def clusterWeights(self) -> NDArray[np.float64]:  # noqa: N802 (Spark's style)
        """Share of the rows in each cluster."""
        weights: NDArray[np.float64] = self._smoother.cluster_weights_
        return weights

    @property
    def clusterBounds(self) -> list[BayesErrorBounds]:  # noqa: N802 (Spark's style)
        """Everything known of each cluster's Bayes error."""
        return self._smoother.cluster_bounds_

    @property
    def bayesErrorBounds(self) -> BayesErrorBounds:  # noqa: N802 (Spark's style)
        """Bounds on the Bayes error of the whole."""
        return self._smoother.bayes_error_bounds_

    @property
    def bias(self) -> float:
        """How far these strengths move the Bayes error."""
        return self._smoother.bias_

    @property
    def uniformBias(self) -> float:  # noqa: N802 (Spark's style)
        """The same for uniform strengths of the same mean."""
        return self._smoother.uniform_bias_

    def _transform(self, dataset: DataFrame) -> DataFrame:
        smoother = self._smoother
        reduction = smoother.structure_.reduction
        regions = smoother.structure_.regions
        find = workers.assigner(lambda X: regions.assign(reduction.transform(X)))
        cluster = find(features_array(dataset, self.getFeaturesCol()))
        names = [self.getOrDefault(f"{n}Col") for n in ("cluster", "strength")]
        # Under a name of its own, so that the column function runs once.
        hidden = f"{self.uid}_cluster"
        found = dataset.withColumn(hidden, cluster)
        strength = F.lit(smoother.strengths_.tolist())[F.col(hidden)]
        for name, column in zip(names, (F.col(hidden), strength), strict=True):
            if name:
                found = found.withColumn(name, column)
        soft, label = self.getOrDefault("softLabelCol"), self.getLabelCol()
        if soft and label in dataset.columns:
            value = label_values(dataset, label)
            found = found.withColumn(soft, self._soft_labels(value, strength))
        return found.drop(hidden)

    def _soft_labels(self, label: Any, strength: Any) -> Any:
        """Return the column of `smooth_labels`, in Spark's own arithmetic."""
        classes = self.classes.tolist()
        own = F.call_function("array_position", F.lit(classes), label)
        unknown = F.raise_error(
            F.concat(
                F.lit(f"{self.getLabelCol()!r} holds a label that fit did not see: "),
                label.cast("string"),
            )
        )
        own = F.when(own == 0, unknown.cast("bigint")).otherwise(own)
        others = strength / F.lit(float(len(classes) - 1))
        soft = F.transform(
            F.lit(list(range(1, len(classes) + 1))),
            lambda place: F.when(place == own, 1.0 - strength).otherwise(others),
        )
        return array_to_vector(soft)

    def write(self) -> MLWriter:
        """Return a writer: parameters and fitted values as JSON, never pickle."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return a reader."""
        return _Reader(cls)


class _Writer(MLWriter):
    def __init__(self, model: SparkStructuralSmootherModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802 (Spark's name)
        DefaultParamsWriter.saveMetadata(self._model, path, self.sc)
        text = _to_json(self._model._smoother)
        self.sc.parallelize([text], 1).saveAsTextFile(os.path.join(path, "data"))


class _Reader(MLReader):
    def __init__(self, cls: type[SparkStructuralSmootherModel]) -> None:
        super().__init__()
        self._cls = cls

    def load(self, path: str) -> SparkStructuralSmootherModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sc)
        plain = json.loads(self.sc.textFile(os.path.join(path, "data"), 1).first())
        if plain.get("format") != FORMAT or plain["version"] > FORMAT_VERSION:
            raise FileFormatError(
                f"{path} is not a model of this structsmooth, or of a newer one"
            )
        model = self._cls.of(_from_json(plain))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _to_json(smoother: StructuralSmoother) -> str:
    arrays = structure_to_arrays(smoother.structure_)
    arrays |= decision_to_arrays(smoother.decision_)
    return json.dumps(
        {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "settings": smoother.get_params(deep=False),
            "arrays": arrays_to_lists(arrays),
        }
    )


def _from_json(plain: dict[str, Any]) -> StructuralSmoother:
    smoother = StructuralSmoother(**plain["settings"])
    if plain["version"] == 1:
        return _from_first_format(smoother, plain)
    arrays = arrays_from_lists(plain["arrays"])
    structure = structure_from_arrays(arrays)
    return smoother.fit_structure(structure, decision_from_arrays(arrays, structure))


def _from_first_format(
    smoother: StructuralSmoother, plain: dict[str, Any]
) -> StructuralSmoother:
    """Return the smoother of a model that 0.1.0 has saved, with its strengths."""
    parts = {
        f"{name}_{field}": np.array(value)
        for name in ("reduction", "assigner")
        for field, value in plain[name].items()
        if value is not None
    }
    classes = np.array(plain["classes"])
    structure = Structure(
        classes=classes,
        n_features=plain["n_features"],
        reduction=reduction_from_arrays(parts),
        regions=Regions(
            labels=np.empty(0, dtype=np.int64),
            centers=np.array(plain["centers"]),
            assigner=assigner_from_arrays(parts),
            region_of_cluster=np.array(plain["region_of_cluster"], dtype=np.int64),
            n_merged=plain["n_merged"],
        ),
        cluster_bounds=tuple(_bounds_of_first_format(b) for b in plain["bounds"]),
    )
    decided = smoother.fit_structure(structure).decision_
    strengths = np.array(plain["strengths"])
    alpha = float(structure.cluster_weights @ strengths)
    return smoother.fit_structure(
        structure, dataclasses.replace(decided, strengths=strengths, alpha=alpha)
    )


def _bounds_of_first_format(plain: dict[str, Any]) -> BayesErrorBounds:
    pairs = np.array(plain["crossing_pairs"], dtype=np.int64).reshape(-1, 2)
    counts = np.array(plain["crossing_counts"])
    arrays = {
        "crossing_pairs": pairs,
        "crossing_counts": counts if len(counts) else pairs[:, 0],
        "class_counts": np.array(plain["class_counts"], dtype=np.int64),
    }
    pairs_of_numbers = ("interval", "lower_interval", "upper_interval")
    return BayesErrorBounds(
        **plain | arrays | {name: tuple(plain[name]) for name in pairs_of_numbers}
    )
