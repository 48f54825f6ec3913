"""The whole fit, stage by stage, compared with the same steps in other libraries."""

from __future__ import annotations

import time
import warnings

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree as scipy_tree
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from benchmarks.cases import image_like, table_like
from structsmooth import StructuralSmoother
from structsmooth.bayes_error.regions import bounds_of_regions
from structsmooth.cluster.regions import fit_regions
from structsmooth.reduce.fit import fit_reduction

# FeeBee's recipe stores all n x n distances: 8 n^2 bytes, twice.
FEEBEE_ROWS = 10_000


class Stages:
    """A stopwatch that remembers each lap by name."""

    def __init__(self):
        self.laps = {}
        self._last = time.perf_counter()

    def lap(self, name):
        """End a lap."""
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now


def ours(X, y, n_clusters):
    """Time the stages of `StructuralSmoother.fit` with one thread."""
    n_classes = int(y.max()) + 1
    watch = Stages()
    with threadpool_limits(1):
        features = fit_reduction(X, "pca", None, 0).transform(X)
        watch.lap("reduce")
        regions = fit_regions(
            features, "kmeans", n_clusters, n_classes=n_classes, random_state=0
        )
        watch.lap("cluster")
        bounds_of_regions(
            features,
            y,
            regions.labels,
            n_classes=n_classes,
            correct_forced_edges=True,
            ties="index",
            confidence=0.95,
        )
        watch.lap("trees and bounds")
    return watch.laps


def with_scikit_learn_and_scipy(X, y, n_clusters, n_components):
    """Time the same steps written with scikit-learn and scipy, one thread."""
    watch = Stages()
    with threadpool_limits(1):
        features = X if n_components is None else PCA(n_components).fit_transform(X)
        watch.lap("reduce")
        kind = KMeans if len(X) <= 50_000 else MiniBatchKMeans
        labels = kind(n_clusters, n_init=1, random_state=0).fit_predict(features)
        watch.lap("cluster")
        done = 0
        for cluster in range(n_clusters):
            rows = np.flatnonzero(labels == cluster)
            if len(rows) > FEEBEE_ROWS:
                continue
            tree = scipy_tree(cdist(features[rows], features[rows]), overwrite=True)
            ends = tree.tocoo()
            _ = (y[rows][ends.row] != y[rows][ends.col]).sum()
            done += 1
            if time.perf_counter() - watch._last > 60.0:
                break
        watch.lap("trees and bounds")
        watch.laps["trees and bounds"] *= n_clusters / done
        watch.laps["clusters measured"] = done
    return watch.laps


def feebee(X, y):
    """Time FeeBee's GHP estimator: all distances, then scipy's tree."""
    watch = Stages()
    ends = scipy_tree(cdist(X, X), overwrite=True).tocoo()
    _ = (y[ends.row] != y[ends.col]).sum()
    watch.lap("whole")
    return watch.laps["whole"]


def one_region(X, y):
    """Time the same bound in structsmooth: one tree over all rows."""
    from structsmooth import bayes_error_bounds

    watch = Stages()
    bayes_error_bounds(X, y)
    watch.lap("whole")
    return watch.laps["whole"]


def run():
    """Return all timings, and print them."""
    warnings.simplefilter("ignore")
    draw = np.random.default_rng(0)
    results = {"stages": {}, "feebee": {}, "growth": {}}
    X, group = image_like(50_000)
    y = np.where(draw.random(50_000) < 0.2, draw.integers(0, 10, 50_000), group)
    ours(X[:5000], y[:5000], 8)  # compile
    results["stages"]["(50 000, 256), 64 clusters"] = {
        "structsmooth": ours(X, y, 64),
        "scikit-learn + scipy": with_scikit_learn_and_scipy(X, y, 64, 53),
    }
    for n in (1000, 4000, FEEBEE_ROWS):
        results["feebee"][n] = {
            "structsmooth": one_region(X[:n], y[:n]),
            "FeeBee": feebee(X[:n], y[:n]),
        }
        print(n, results["feebee"][n], flush=True)
    for n in (10_000, 100_000, 1_000_000):
        X, group = table_like(n)
        y = (group + draw.integers(0, 4, n) > 7).astype(int)
        start = time.perf_counter()
        StructuralSmoother(random_state=0, n_jobs=1).fit(X, y)
        results["growth"][n] = time.perf_counter() - start
        print(f"default fit of {n} rows: {results['growth'][n]:.2f} s", flush=True)
    results["stages"]["(1 000 000, 28), 128 clusters"] = {
        "structsmooth": ours(X, y, 128),
        "scikit-learn + scipy": with_scikit_learn_and_scipy(X, y, 128, None),
    }
    for case, lines in results["stages"].items():
        print(case, lines, flush=True)
    return results
