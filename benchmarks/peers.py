"""Other libraries, each as a function from an array to a sum of edge lengths.

None of them is a dependency; quitefastmst is AGPL and only measured.
"""

from __future__ import annotations

import numpy as np


def ours(X):
    from structsmooth.tree import minimum_spanning_tree

    return minimum_spanning_tree(X).lengths.sum()


def ours_two_threads(X):
    from structsmooth.tree import minimum_spanning_tree

    return minimum_spanning_tree(X, n_threads=2).lengths.sum()


def quitefastmst(X):
    import quitefastmst as peer

    peer.omp_set_num_threads(1)
    return peer.mst_euclid(X)[0].sum(dtype=np.float64)


def scikit_learn_prim(X):
    from sklearn.cluster._hdbscan._linkage import mst_from_data_matrix
    from sklearn.metrics import DistanceMetric

    X = np.ascontiguousarray(X, dtype=np.float64)
    metric = DistanceMetric.get_metric("euclidean")
    return mst_from_data_matrix(X, np.zeros(len(X)), metric, 1.0)["distance"].sum()


def hdbscan_prim(X):
    from hdbscan._hdbscan_linkage import mst_linkage_core_vector
    from hdbscan.dist_metrics import DistanceMetric

    X = np.ascontiguousarray(X, dtype=np.float64)
    metric = DistanceMetric.get_metric("euclidean")
    return mst_linkage_core_vector(X, np.zeros(len(X)), metric, 1.0)[:, 2].sum()


def fast_hdbscan(X):
    from fast_hdbscan.boruvka import parallel_boruvka
    from fast_hdbscan.numba_kdtree import build_kdtree

    tree = build_kdtree(np.ascontiguousarray(X, dtype=np.float32))
    edges, _, _ = parallel_boruvka(
        tree,
        1,
        min_samples=1,
        sample_weights=np.empty(1, np.float32),
        reproducible=False,
    )
    return edges[:, 2].sum(dtype=np.float64)


def mlpack(X):
    import mlpack as peer

    points = np.ascontiguousarray(X, dtype=np.float64)
    return peer.emst(input_=points)["output"][:, 2].sum()


def scipy_dense(X):
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import cdist

    return minimum_spanning_tree(cdist(X, X), overwrite=True).sum()


def one_matrix_product(X):
    """Compute the n x n x d matrix product in blocks, without a tree, for scale."""
    out = np.empty((min(len(X), 1024), len(X)), dtype=np.float32)
    for start in range(0, len(X), 1024):
        block = X[start : start + 1024]
        np.matmul(block, X.T, out=out[: len(block)])
    return float("nan")


ALL = (
    ours,
    quitefastmst,
    scikit_learn_prim,
    hdbscan_prim,
    fast_hdbscan,
    mlpack,
    scipy_dense,
    one_matrix_product,
)
# Cases that would take more than a few minutes, or memory for n x n distances, are left
# out; the smaller cases show the difference.
TOO_SLOW = {
    "C: (86 000, 28)": {
        "scikit_learn_prim",
        "hdbscan_prim",
        "fast_hdbscan",
        "mlpack",
        "scipy_dense",
    },
    "(10^6, 2)": {
        "scikit_learn_prim",
        "hdbscan_prim",
        "fast_hdbscan",
        "scipy_dense",
        "one_matrix_product",
    },
}
TOO_SLOW["(10^6, 3)"] = TOO_SLOW["(10^6, 2)"]
# For these, one cluster is measured, and the time multiplied.
ONE_OF_MANY = {"mlpack", "scipy_dense", "fast_hdbscan"}
