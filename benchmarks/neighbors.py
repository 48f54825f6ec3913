"""The exact nearest neighbors of all rows, compared with scikit-learn's.

scikit-learn chooses between trees and comparing all pairs ("auto"); both are measured,
and the faster counts. CPU seconds of one thread, in turns, the least of two runs.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.neighbors import NearestNeighbors

from benchmarks.cases import blobs, image_like, table_like
from structsmooth import nearest_neighbors

K = 10
CASES = {
    "(10 000, 20)": lambda: table_like(10_000, n_features=20)[0],
    "(50 000, 8)": lambda: blobs(50_000, 8),
    "(100 000, 3)": lambda: blobs(100_000, 3),
    "(20 000, 64)": lambda: image_like(20_000, n_features=64)[0],
}


def theirs(X, algorithm):
    """Return the distances that scikit-learn finds."""
    search = NearestNeighbors(n_neighbors=K, algorithm=algorithm).fit(X)
    return search.kneighbors()[0]


def run():
    """Return the seconds of all cases, and print them."""
    ways = {
        "structsmooth": lambda X: nearest_neighbors(X, K, n_jobs=1).distances,
        "scikit-learn, auto": lambda X: theirs(X, "auto"),
        "scikit-learn, brute": lambda X: theirs(X, "brute"),
    }
    results = {}
    nearest_neighbors(table_like(3_000)[0], K)  # compile
    for case, make in CASES.items():
        X = make()
        seconds = dict.fromkeys(ways, np.inf)
        for _ in range(2):
            for name, way in ways.items():
                start = time.process_time()
                way(X)
                seconds[name] = min(seconds[name], time.process_time() - start)
        ours, *peers = seconds.values()
        results[case] = {"seconds": seconds, "ratio": min(peers) / ours}
        print(case, results[case], flush=True)
    return {"neighbors": results}


def lines(measured):
    """Return the table."""
    rows = []
    for case, found in measured["neighbors"].items():
        cells = [f"{value:.2f}" for value in found["seconds"].values()]
        rows.append(f"| {case} | {' | '.join(cells)} | {found['ratio']:.1f} |")
    return [
        "",
        f"## The {K} nearest neighbors of every row",
        "",
        "CPU seconds of one thread; the ratio is to the faster of scikit-learn's.",
        "",
        "| rows, features | structsmooth | scikit-learn, auto | brute | ratio |",
        "|---|---|---|---|---|",
        *rows,
    ]
