"""The exact nearest neighbors of all rows, compared with those of other libraries.

scikit-learn chooses between trees and comparing all pairs ("auto"); both are measured,
and the faster counts. PyNNDescent's are approximate, so the share that it finds is
measured too. CPU seconds of one thread, in turns, the least of two runs.
"""

from __future__ import annotations

import time

import numpy as np
from pynndescent import NNDescent
from sklearn.neighbors import NearestNeighbors

from benchmarks.cases import blobs, image_like, table_like
from structsmooth import nearest_neighbors

K = 10
CASES = {
    "(2 000, 5)": lambda: blobs(2_000, 5),
    "(5 000, 28)": lambda: table_like(5_000)[0],
    "(10 000, 20)": lambda: table_like(10_000, n_features=20)[0],
    "(50 000, 8)": lambda: blobs(50_000, 8),
    "(100 000, 3)": lambda: blobs(100_000, 3),
    "(20 000, 64)": lambda: image_like(20_000, n_features=64)[0],
    "(10 000, 256)": lambda: image_like(10_000, n_features=256)[0],
    "(50 000, 20), one round cloud": lambda: _draw().normal(size=(50_000, 20)),
    "(500, 300), one round cloud": lambda: _draw().normal(size=(500, 300)),
    "(200, 1 000), one round cloud": lambda: _draw().normal(size=(200, 1000)),
    "(10 000, 50), binary": lambda: _draw().integers(0, 2, (10_000, 50)) * 1.0,
    "(5 000, 200), binary": lambda: _draw().integers(0, 2, (5_000, 200)) * 1.0,
    "(20 000, 14), binary": lambda: _draw().integers(0, 2, (20_000, 14)) * 1.0,
    "(20 000, 4), digits": lambda: _draw().integers(0, 10, (20_000, 4)) * 1.0,
    "(20 000, 2), a grid": lambda: _draw().integers(0, 100, (20_000, 2)) * 1.0,
}


def _draw():
    return np.random.default_rng(0)


def theirs(X, algorithm):
    """Return the distances that scikit-learn finds."""
    search = NearestNeighbors(n_neighbors=K, algorithm=algorithm).fit(X)
    return search.kneighbors()[0]


def approximate(X):
    """Return the distances that PyNNDescent finds, without the row itself."""
    found = NNDescent(X, n_neighbors=K + 1, n_jobs=1, random_state=0)
    return found.neighbor_graph[1][:, 1:]


def run():
    """Return the seconds of all cases, and print them."""
    ways = {
        "structsmooth": lambda X: nearest_neighbors(X, K, n_jobs=1).distances,
        "scikit-learn, auto": lambda X: theirs(X, "auto"),
        "scikit-learn, brute": lambda X: theirs(X, "brute"),
        "PyNNDescent": approximate,
    }
    results = {}
    for way in ways.values():  # compile
        way(table_like(6_000)[0])
    for case, make in CASES.items():
        X = make()
        seconds, found = dict.fromkeys(ways, np.inf), {}
        for _ in range(2):
            for name, way in ways.items():
                start = time.process_time()
                found[name] = way(X)
                seconds[name] = min(seconds[name], time.process_time() - start)
        ours, *peers, _ = seconds.values()
        exact = found["structsmooth"][:, -1:] * (1.0 + 1e-6)
        results[case] = {
            "seconds": seconds,
            "ratio": min(peers) / ours,
            "recall": float((found["PyNNDescent"] <= exact).mean()),
        }
        print(case, results[case], flush=True)
    return {"neighbors": results}


def lines(measured):
    """Return the table."""
    rows = []
    for case, found in measured["neighbors"].items():
        cells = [f"{value:.2f}" for value in found["seconds"].values()]
        cells[-1] += f" ({found['recall']:.1%})"
        rows.append(f"| {case} | {' | '.join(cells)} | {found['ratio']:.1f} |")
    return [
        "",
        f"## The {K} nearest neighbors of every row",
        "",
        "CPU seconds of one thread; the ratio is to the faster of scikit-learn's. "
        "PyNNDescent's neighbors are approximate, in brackets the share it finds.",
        "",
        "| rows, features | structsmooth | scikit-learn, auto | brute | PyNNDescent "
        "| ratio |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
