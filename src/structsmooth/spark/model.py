"""The Model: clusters, strengths and soft labels as columns; saved as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
from itertools import chain
from typing import Any

import numpy as np
from pyspark.ml import Model, util
from pyspark.ml.functions import array_to_vector
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own)

from structsmooth.errors import FileFormatError
from structsmooth.io import codec
from structsmooth.smoother import StructuralSmoother
from structsmooth.spark.frame import array_literal, features_array, label_values
from structsmooth.spark.params import SmootherParams
from structsmooth.spark.stages import on_features

FORMAT, FORMAT_VERSION = "structsmooth.spark", 2


def _fitted(name: str, doc: str) -> Any:
    return property(lambda model: getattr(model._smoother, name), doc=doc)


class SparkStructuralSmootherModel(
    Model, SmootherParams, util.MLReadable, util.MLWritable
):
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

    classes = _fitted("classes_", "The labels, sorted.")
    strengths = _fitted("strengths_", "Strength of each cluster.")
    clusterWeights = _fitted("cluster_weights_", "Share of the rows in each cluster.")
    clusterBounds = _fitted("cluster_bounds_", "The bounds of each cluster.")
    bayesErrorBounds = _fitted("bayes_error_bounds_", "The bounds of all rows.")
    bias = _fitted("bias_", "How far these strengths move the Bayes error.")
    uniformBias = _fitted("uniform_bias_", "How far uniform strengths move it.")

    def _transform(self, dataset: DataFrame) -> DataFrame:
        structure = self._smoother.structure_
        reduction, regions = structure.reduction, structure.regions
        find_cluster = on_features(
            lambda X: regions.assign(reduction.transform(X)), "int"
        )
        cluster = find_cluster(features_array(dataset, self.getFeaturesCol()))
        # A temporary column, so that the column function runs only once.
        hidden = f"{self.uid}_cluster"
        found = dataset.withColumn(hidden, cluster)
        strength = array_literal(self._smoother.strengths_, "double")[F.col(hidden)]
        columns = {"clusterCol": F.col(hidden), "strengthCol": strength}
        if self.getLabelCol() in dataset.columns:
            value = label_values(dataset, self.getLabelCol())
            columns["softLabelCol"] = self._soft_labels(value, strength)
        for param, column in columns.items():
            if self.getOrDefault(param):
                found = found.withColumn(self.getOrDefault(param), column)
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
            F.sequence(F.lit(1), F.lit(len(classes))),
            lambda place: F.when(place == own, 1.0 - strength).otherwise(others),
        )
        return array_to_vector(soft)

    def write(self) -> util.MLWriter:
        """Return a writer: parameters and fitted values as JSON, never pickle."""
        return _Writer(self)

    @classmethod
    def read(cls) -> util.MLReader:
        """Return a reader."""
        return _Reader(cls)


class _Writer(util.MLWriter):
    def __init__(self, model: SparkStructuralSmootherModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802 (Spark's name)
        util.DefaultParamsWriter.saveMetadata(self._model, path, self.sc)
        text = _to_json(self._model._smoother)
        self.sc.parallelize([text], 1).saveAsTextFile(os.path.join(path, "data"))


class _Reader(util.MLReader):
    def __init__(self, cls: type[SparkStructuralSmootherModel]) -> None:
        super().__init__()
        self._cls = cls

    def load(self, path: str) -> SparkStructuralSmootherModel:
        metadata = util.DefaultParamsReader.loadMetadata(path, self.sc)
        plain = json.loads(self.sc.textFile(os.path.join(path, "data"), 1).first())
        if plain.get("format") != FORMAT or plain["version"] > FORMAT_VERSION:
            raise FileFormatError(
                f"{path} is not a model of this structsmooth, or of a newer one"
            )
        model = self._cls.of(_from_json(plain))
        model._resetUid(metadata["uid"])
        util.DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _to_json(smoother: StructuralSmoother) -> str:
    arrays = codec.structure_to_arrays(smoother.structure_)
    arrays |= codec.decision_to_arrays(smoother.decision_)
    return json.dumps(
        {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "settings": smoother.get_params(deep=False),
            "arrays": codec.arrays_to_lists(arrays),
        }
    )


def _from_json(plain: dict[str, Any]) -> StructuralSmoother:
    smoother = StructuralSmoother(**plain["settings"])
    if plain["version"] == 1:
        return _from_first_format(smoother, plain)
    arrays = codec.arrays_from_lists(plain["arrays"])
    structure = codec.structure_from_arrays(arrays)
    return smoother.fit_structure(
        structure, codec.decision_from_arrays(arrays, structure)
    )


def _from_first_format(
    smoother: StructuralSmoother, plain: dict[str, Any]
) -> StructuralSmoother:
    """Return the smoother of a model that 0.1.0 saved, with its strengths."""
    arrays = {
        "n_features": plain["n_features"],
        "classes": plain["classes"],
        "classes_are_objects": False,
        "region_labels": np.empty(0, dtype=np.int64),
        "region_centers": plain["centers"],
        "region_of_cluster": plain["region_of_cluster"],
        "region_n_merged": plain["n_merged"],
    }
    for part in ("reduction", "assigner"):
        for field, value in plain[part].items():
            if value is not None:
                arrays[f"{part}_{field}"] = value
    bounds = {name: [b[name] for b in plain["bounds"]] for name in plain["bounds"][0]}
    pairs, counts = bounds.pop("crossing_pairs"), bounds.pop("crossing_counts")
    arrays |= {f"bounds_{field}": values for field, values in bounds.items()}
    arrays["bounds_n_pairs"] = [len(some) for some in pairs]
    pairs, counts = list(chain(*pairs)), list(chain(*counts))
    arrays["bounds_pairs"] = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    arrays["bounds_counts"] = counts
    structure = codec.structure_from_arrays(
        {k: np.asarray(v) for k, v in arrays.items()}
    )
    decided = smoother.fit_structure(structure).decision_
    strengths = np.array(plain["strengths"])
    alpha = float(structure.cluster_weights @ strengths)
    return smoother.fit_structure(
        structure, dataclasses.replace(decided, strengths=strengths, alpha=alpha)
    )
