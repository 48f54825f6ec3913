"""A default fit, compared with the same steps as a user would write them by hand.

By hand: PCA and k-means of scikit-learn, and in each cluster the tree of quitefastmst,
the fastest of the other libraries, with the edges between classes counted. CPU seconds
of one thread, stage by stage, the two taking turns; the best of several runs each.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA

from benchmarks.cases import image_like, table_like
from structsmooth.bayes_error.regions import bounds_of_regions
from structsmooth.cluster.clusterers import resolve_n_clusters
from structsmooth.cluster.regions import fit_regions
from structsmooth.reduce.fit import fit_reduction

# Rows, features, how to make them, and how often to measure.
CASES = (
    (10_000, 20, lambda n: table_like(n, n_features=20), 5),
    (100_000, 28, table_like, 3),
    (20_000, 784, lambda n: image_like(n, n_features=784), 3),
    (20_000, 3072, lambda n: image_like(n, n_features=3072), 3),
    (50_000, 256, image_like, 3),
    (1_000_000, 28, table_like, 1),
)
# What a user reaches for when k-means on all rows takes too long.
MANY_ROWS = 100_000


class Stopwatch:
    """CPU seconds of each stage."""

    def __init__(self):
        self.laps = {}
        self._last = time.process_time()

    def lap(self, name):
        """End a stage."""
        now = time.process_time()
        self.laps[name] = now - self._last
        self._last = now


def ours(X, y):
    """Return the seconds of the stages of a fit, its clusters and their inertia."""
    n_classes, watch = int(y.max()) + 1, Stopwatch()
    reduction = fit_reduction(X, "pca", None, 0)
    features = reduction.transform(X)
    watch.lap("reduce")
    regions = fit_regions(features, n_classes=n_classes, random_state=0)
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
    watch.lap("trees")
    return watch.laps, features, regions.labels


def by_hand(X, y, n_clusters, n_components):
    """Return the same with scikit-learn and quitefastmst."""
    import quitefastmst

    quitefastmst.omp_set_num_threads(1)
    watch = Stopwatch()
    keep = n_components == X.shape[1]
    features = X if keep else PCA(n_components).fit_transform(X)
    watch.lap("reduce")
    kind = KMeans if len(X) <= MANY_ROWS else MiniBatchKMeans
    labels = kind(n_clusters, random_state=0).fit_predict(features)
    watch.lap("cluster")
    for cluster in range(n_clusters):
        rows = np.flatnonzero(labels == cluster)
        if len(rows) > 1:
            _, ends = quitefastmst.mst_euclid(features[rows])
            _ = (y[rows][ends[:, 0]] != y[rows][ends[:, 1]]).sum()
    watch.lap("trees")
    return watch.laps, labels


def inertia(X, labels):
    """Return the mean squared distance of the rows to the middle of their cluster."""
    X = np.asarray(X, dtype=np.float64)
    total = 0.0
    for cluster in np.unique(labels):
        rows = X[labels == cluster]
        total += ((rows - rows.mean(axis=0)) ** 2).sum()
    return float(total / len(X))


def measure(n, make, repeats):
    """Return the best run of each, with the inertias of the clusters."""
    X, group = make(n)
    y = (group + np.random.default_rng(0).integers(0, 4, n) > 7).astype(np.int64)
    best = {}
    for _ in range(repeats):
        laps, features, labels = ours(X, y)
        keep(best, "structsmooth", laps)
        n_clusters = resolve_n_clusters("auto", n, 2)
        laps, theirs = by_hand(X, y, n_clusters, features.shape[1])
        keep(best, "by hand", laps)
    sums = {name: sum(laps.values()) for name, laps in best.items()}
    return {
        "seconds": best,
        "ratio": sums["by hand"] / sums["structsmooth"],
        "clusters": n_clusters,
        "components": features.shape[1],
        "inertia": {
            "structsmooth": inertia(features, labels),
            "by hand": inertia(features, theirs),
        },
    }


def keep(best, name, laps):
    """Remember the quickest run."""
    if name not in best or sum(laps.values()) < sum(best[name].values()):
        best[name] = laps


def run(cases=CASES):
    """Return the seconds of all cases, and print them."""
    warnings.simplefilter("ignore")
    results = {}
    for n, d, make, repeats in cases:
        ours(*_few(make))  # compile
        found = measure(n, make, repeats)
        results[f"({n:_}, {d})".replace("_", " ")] = found
        print(n, d, found, flush=True)
    return {"byhand": results}


def _few(make):
    X, group = make(3_000)
    return X, (group > 5).astype(np.int64)


def lines(measured):
    """Return the table."""
    rows = []
    for case, found in measured["byhand"].items():
        ours, theirs = (found["seconds"][name] for name in ("structsmooth", "by hand"))
        cells = [
            f"{ours[stage]:.2f} / {theirs[stage]:.2f}"
            for stage in ("reduce", "cluster", "trees")
        ]
        change = found["inertia"]["structsmooth"] / found["inertia"]["by hand"] - 1.0
        cells += [f"{found['ratio']:.1f}", f"{100.0 * change:+.1f} %"]
        rows.append(f"| {case} | {' | '.join(cells)} |")
    return [
        "",
        "## Whole fits, compared with the same steps by hand",
        "",
        "PCA and k-means of scikit-learn, trees of quitefastmst. CPU seconds of one "
        "thread, structsmooth / by hand, and how many times faster the whole is; the "
        "last column compares the inertia of the clusters.",
        "",
        "| rows, features | reduce | cluster | trees | ratio | inertia |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
