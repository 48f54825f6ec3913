"""The stages of a fit: rows checked, reduced and clustered by Spark, and bounded."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyspark.ml.clustering import GaussianMixture, KMeans
from pyspark.ml.feature import PCA
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.stat import Summarizer
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own)
from pyspark.sql import types as T  # noqa: N812 (Spark's own)
from pyspark.sql.functions import pandas_udf
from scipy.linalg import cholesky, solve_triangular
from threadpoolctl import threadpool_limits

from structsmooth.bayes_error.bounds import region_bounds
from structsmooth.cluster.assign import Assigner, GaussianAssigner, NearestCenter
from structsmooth.errors import InvalidInputError
from structsmooth.io.codec import arrays_to_lists, bounds_to_arrays
from structsmooth.reduce import LinearReduction
from structsmooth.support.validation import check_label_structure, encode_labels

# MLlib's covariance matrix is held by the driver.
MOST_PCA_FEATURES = 65_535
# More labels than this are identifiers, and would not fit into the driver.
MOST_CLASSES = 100_000
BOUNDS_SCHEMA = "region int, bounds string"


def features_array(dataset: DataFrame, column: str) -> Any:
    """Return a vector or array column as an array of doubles."""
    kind = _type_of(dataset, column, "featuresCol")
    if isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.NumericType):
        return F.col(column).cast("array<double>")
    if type(kind).__name__ == "VectorUDT":
        given = F.col(column)  # vector_to_array fails on null
        return F.when(given.isNotNull(), vector_to_array(given))
    raise InvalidInputError(
        f"featuresCol={column!r} must be a column of vectors or arrays of numbers, got "
        f"{kind.simpleString()}"
    )


def label_values(dataset: DataFrame, column: str) -> Any:
    """Return a label column as text, booleans, whole numbers or doubles."""
    kind = _type_of(dataset, column, "labelCol")
    if isinstance(kind, T.StringType | T.BooleanType):
        return F.col(column)
    if isinstance(kind, T.IntegralType):
        return F.col(column).cast("bigint")
    if isinstance(kind, T.NumericType):
        return F.col(column).cast("double")
    raise InvalidInputError(
        f"labelCol={column!r} must be a column of text or numbers, got "
        f"{kind.simpleString()}"
    )


def check_rows(
    rows: DataFrame, features: str, label: str
) -> tuple[int, int, NDArray[Any]]:
    """Refuse rows (columns x and y) that cannot be used.

    Return the number of rows, the number of features, and the sorted labels.
    """
    is_bad = F.exists(
        "x", lambda v: v.isNull() | F.isnan(v) | (F.abs(v) == float("inf"))
    )
    no_label = F.col("y").isNull()
    if isinstance(rows.schema["y"].dataType, T.DoubleType):
        no_label = no_label | F.isnan("y")
    found = rows.agg(
        F.count(F.lit(1)).alias("n"),
        F.sum(F.coalesce(is_bad, F.lit(True)).cast("bigint")).alias("bad_features"),
        F.sum(no_label.cast("bigint")).alias("no_label"),
        F.min(F.size("x")).alias("narrowest"),
        F.max(F.size("x")).alias("widest"),
    ).first()
    if found["n"] < 2:
        raise InvalidInputError(f"the data have {found['n']} rows, expected at least 2")
    for name, problem in {
        "bad_features": f"featuresCol={features!r} is or holds null, NaN or infinity",
        "no_label": f"labelCol={label!r} is null or NaN",
    }.items():
        if found[name]:
            raise InvalidInputError(
                f"{problem} in {found[name]} of {found['n']} rows; drop or fill them "
                "first"
            )
    if found["narrowest"] != found["widest"]:
        raise InvalidInputError(
            f"featuresCol={features!r} holds vectors of different lengths, from "
            f"{found['narrowest']} to {found['widest']}"
        )
    counted = rows.groupBy("y").count().take(MOST_CLASSES + 1)
    if len(counted) > MOST_CLASSES:
        raise InvalidInputError(
            f"labelCol={label!r} has more than {MOST_CLASSES} different labels; "
            "expected classes that repeat (is it an identifier or a regression target?)"
        )
    labels, counts = ([row[name] for row in counted] for name in ("y", "count"))
    classes, place = encode_labels(np.array(labels), None)
    check_label_structure(classes, np.bincount(place, counts))
    return found["n"], found["widest"], classes


def _type_of(dataset: DataFrame, column: str, name: str) -> Any:
    if column not in dataset.columns:
        raise InvalidInputError(
            f"{name}={column!r} is no column of the data; they have "
            + ", ".join(dataset.columns)
        )
    return dataset.schema[column].dataType


class FrameMoments:
    """The `Moments` of a DataFrame's column x, by MLlib."""

    def __init__(self, rows: DataFrame, n_rows: int) -> None:
        self._rows, self.n_rows = rows, n_rows
        self._summary = _summarize(rows)
        self.low, self.high = self._summary["min"], self._summary["max"]

    def mean_and_variance(
        self, exponent: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the moments of ``2**-exponent X``, the variance divided by n."""
        found = self._summary
        if exponent:  # squares of the rows as they are would overflow
            scaled = reduce_rows(self._rows, LinearReduction(exponent=exponent))
            found = _summarize(scaled)
        # MLlib divides by n - 1.
        return found["mean"], found["variance"] * (self.n_rows - 1) / self.n_rows

    def principal_components(
        self, standardize: LinearReduction, most: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return leading components of the standardized rows, and variance ratios."""
        n_features = len(self.low)
        if n_features > MOST_PCA_FEATURES:
            raise InvalidInputError(
                f"principal components of {n_features} features are more than MLlib "
                f"can do ({MOST_PCA_FEATURES}); pass reducer='none' or reduce the "
                "features first"
            )
        vectors = _vectors(reduce_rows(self._rows, standardize))
        model = PCA(k=most, inputCol="v", outputCol="r").fit(vectors)
        components = np.array(model.pc.toArray().T, order="C")
        return components, model.explainedVariance.toArray()


def reduce_rows(rows: DataFrame, reduction: LinearReduction) -> DataFrame:
    """Return the rows with their column x reduced."""
    return rows.withColumn("x", on_features(reduction.transform, "array<double>")("x"))


def _vectors(rows: DataFrame) -> DataFrame:
    return rows.select(array_to_vector("x").alias("v"))


def _summarize(rows: DataFrame) -> dict[str, NDArray[np.float64]]:
    names = ("mean", "variance", "min", "max")
    vectors = _vectors(rows)
    summary = Summarizer.metrics(*names).summary(vectors.v)
    found = vectors.select(summary.alias("s")).first()["s"]
    return {name: found[name].toArray() for name in names}


def fit_assigner(
    rows: DataFrame, clusterer: str, share: float, **options: Any
) -> Assigner:
    """Cluster a share of the reduced rows; the options are MLlib's."""
    sample = _vectors(rows)
    if share < 1.0:
        sample = sample.sample(fraction=share, seed=options["seed"])
    sample = sample.persist()
    try:
        kind = KMeans if clusterer == "kmeans" else GaussianMixture
        model = kind(featuresCol="v", **options).fit(sample)
    finally:
        sample.unpersist()
    if clusterer == "kmeans":
        return NearestCenter(np.array(model.clusterCenters(), dtype=np.float64))
    gaussians = model.gaussiansDF.collect()
    factors = [_whitening(row["cov"].toArray()) for row in gaussians]
    return GaussianAssigner(
        weights=np.array(model.weights),
        means=np.array([row["mean"].toArray() for row in gaussians]),
        precisions_cholesky=np.array(factors),
    )


def _whitening(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the factor that gives centered rows unit covariance."""
    ridge = 1e-9 * max(float(np.trace(covariance)), 1e-300) * np.eye(len(covariance))
    lower = cholesky(covariance + ridge, lower=True)
    return np.asarray(solve_triangular(lower, np.eye(len(lower)), lower=True).T)


def cluster_sizes(
    rows: DataFrame, n_clusters: int, width: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the size and mean of each cluster."""
    sizes, centers = np.zeros(n_clusters), np.zeros((n_clusters, width))
    vectors = rows.withColumn("v", array_to_vector("x"))
    found: list[Any] = (
        vectors.groupBy("cluster")
        .agg(F.count(F.lit(1)).alias("n"), Summarizer.mean(vectors.v).alias("m"))
        .collect()
    )
    for row in found:
        sizes[row["cluster"]] = row["n"]
        centers[row["cluster"]] = row["m"].toArray()
    return sizes, centers


def on_features(work: Callable[[Any], NDArray[Any]], kind: str) -> Any:
    """Return a column function that works on arrays of features, as a matrix."""

    @pandas_udf(kind)
    def apply(rows: pd.Series) -> pd.Series:
        matrix = np.stack(rows.to_numpy()).astype(np.float64, copy=False)
        with threadpool_limits(1):
            return pd.Series(list(work(matrix)))

    return apply


def bounder(
    classes: NDArray[Any], width: int, has_id: bool, settings: dict[str, Any]
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return the function that bounds one region, given all its rows.

    Rows come in any order. They are sorted by id, or else by their values, so that the
    same rows always have the same tree.
    """

    def bound(rows: pd.DataFrame) -> pd.DataFrame:
        X = rows[[f"x{i}" for i in range(width)]].to_numpy(dtype=np.float64)
        coded = np.searchsorted(classes, np.asarray(rows["y"].tolist()))
        if has_id:
            order = np.argsort(rows["id"].to_numpy(), kind="stable")
        else:
            order = np.lexsort([coded, *X.T[::-1]])
        with threadpool_limits(1):
            bounds = region_bounds(
                np.ascontiguousarray(X[order]), coded[order], **settings
            )
        text = json.dumps(arrays_to_lists(bounds_to_arrays([bounds])))
        return pd.DataFrame({"region": [rows["region"].iloc[0]], "bounds": [text]})

    return bound
