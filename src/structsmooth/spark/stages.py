"""Reduction and clustering by MLlib, and the functions that run on workers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyspark.ml.clustering import GaussianMixture, KMeans
from pyspark.ml.feature import PCA
from pyspark.ml.functions import array_to_vector
from pyspark.ml.stat import Summarizer
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own)
from pyspark.sql.functions import pandas_udf
from scipy.linalg import cholesky, solve_triangular
from threadpoolctl import threadpool_limits

from structsmooth.bayes_error.bounds import region_bounds
from structsmooth.cluster.assign import Assigner, GaussianAssigner, NearestCenter
from structsmooth.cluster.clusterers import kmeans_sample_size
from structsmooth.errors import InvalidInputError
from structsmooth.io.codec import arrays_to_lists, bounds_to_arrays
from structsmooth.reduce import LinearReduction

# MLlib's covariance matrix is held by the driver.
MOST_PCA_FEATURES = 65_535
BOUNDS_SCHEMA = "region int, bounds string"


class FrameMoments:
    """The `Moments` of a DataFrame's column x, by MLlib."""

    dtype = np.dtype(np.float64)

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
    rows: DataFrame,
    n_rows: int,
    clusterer: str,
    n_clusters: int,
    max_iter: int,
    seed: int,
) -> Assigner:
    """Cluster a sample of the reduced rows, of the same size as in memory."""
    sample = _vectors(rows)
    share = kmeans_sample_size(n_rows, n_clusters) / n_rows
    if share < 1.0:
        sample = sample.sample(fraction=share, seed=seed)
    sample = sample.persist()
    try:
        kind = KMeans if clusterer == "kmeans" else GaussianMixture
        search = kind(featuresCol="v", k=n_clusters, maxIter=max_iter, seed=seed)
        model = search.fit(sample)
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
