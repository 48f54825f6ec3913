"""Reduction and clustering by MLlib, as the plain objects of the core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.ml.clustering import GaussianMixture, KMeans
from pyspark.ml.feature import PCA
from pyspark.ml.functions import array_to_vector
from pyspark.ml.stat import Summarizer
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own)
from scipy.linalg import cholesky, solve_triangular

from structsmooth.cluster.assign import Assigner, GaussianAssigner, NearestCenter
from structsmooth.cluster.regions import kmeans_sample_size
from structsmooth.errors import InvalidInputError
from structsmooth.reduce import (
    KEEP_FEATURES,
    MOST_COMPONENTS,
    LinearReduction,
    extreme_exponent,
    how_many_components,
    refuse_constant,
    warn_about_scale,
)
from structsmooth.spark import workers
from structsmooth.spark.columns import Facts

# MLlib's covariance matrix is held by the driver.
MOST_PCA_FEATURES = 65_535


def fit_reduction(
    rows: DataFrame, facts: Facts, reducer: str, n_components: int | None
) -> LinearReduction:
    """Reduce as the core does, with moments and components by MLlib."""
    vectors = rows.select(array_to_vector("x").alias("v"))
    metrics = Summarizer.metrics("mean", "variance", "min", "max")
    found = vectors.select(metrics.summary(vectors.v).alias("s")).first()["s"]
    low, high = found["min"].toArray(), found["max"].toArray()
    refuse_constant(high - low)
    exponent = extreme_exponent(low.min(), high.max(), np.dtype(np.float64))
    if reducer == "none":
        return LinearReduction(exponent=exponent)
    center = np.ldexp(found["mean"].toArray(), -exponent)
    variance = np.ldexp(found["variance"].toArray(), -2 * exponent)
    # MLlib divides by n - 1, we by n; and equal numbers may vary by a rounding.
    variance = np.where(low == high, 0.0, variance * (facts.n_rows - 1) / facts.n_rows)
    scale = None
    if reducer == "scaled-pca":
        scale = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    else:
        warn_about_scale(variance)
    d = facts.n_features
    if n_components is None and d <= KEEP_FEATURES:
        return LinearReduction(scale=scale, exponent=exponent)
    if d > MOST_PCA_FEATURES:
        raise InvalidInputError(
            f"principal components of {d} features are more than MLlib can do "
            f"({MOST_PCA_FEATURES}); pass reducer='none' or reduce the features first"
        )
    prepare = workers.reducer(LinearReduction(center, scale, None, exponent))
    prepared = rows.select(array_to_vector(prepare("x")).alias("v"))
    most = min(d, MOST_COMPONENTS if n_components is None else n_components)
    model = PCA(k=most, inputCol="v", outputCol="r").fit(prepared)
    kept = how_many_components(model.explainedVariance.toArray(), n_components)
    if kept == d:
        return LinearReduction(scale=scale, exponent=exponent)
    components = np.ascontiguousarray(model.pc.toArray().T[:kept])
    return LinearReduction(center, scale, components, exponent)


def fit_assigner(
    rows: DataFrame,
    n_rows: int,
    clusterer: str,
    n_clusters: int,
    max_iter: int,
    seed: int,
) -> Assigner:
    """Cluster a sample of the reduced rows, as large as the core takes it."""
    sample = rows.select(array_to_vector("x").alias("v"))
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
    return GaussianAssigner(
        weights=np.array(model.weights),
        means=np.array([row["mean"].toArray() for row in gaussians]),
        precisions_cholesky=np.array(
            [_root(row["cov"].toArray()) for row in gaussians]
        ),
    )


def _root(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the factor by which centered rows become white."""
    ridge = 1e-9 * max(float(np.trace(covariance)), 1e-300) * np.eye(len(covariance))
    lower = cholesky(covariance + ridge, lower=True)
    whiten = solve_triangular(lower, np.eye(len(lower)), lower=True)
    return np.asarray(whiten.T)


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
