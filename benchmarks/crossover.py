"""Where one algorithm overtakes another, for `structsmooth.tree.algorithms`.

``python -m benchmarks.crossover`` prints milliseconds for each algorithm, with what
comes before it.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.cases import blobs, image_like
from benchmarks.clock import seconds
from structsmooth.tree import algorithms

ANY = 10**9
# Tables of crossovers that leave no choice.
ALGORITHMS = {
    "prim": (np.inf, ANY, 0, 0, 0),
    "prim_rounded": (np.inf, 0, ANY, 0, 0),
    "prim_gram": (np.inf, 0, 0, 0, ANY),
    "boruvka": (np.inf, 0, 0, 0, 0),
}
ROWS = (100, 200, 400, 600, 800, 1000, 1500, 2000, 3000, 5000)
FEATURES = (2, 4, 8, 16, 32, 48, 64, 96, 128, 256, 512)


def build(X):
    """Build a tree with whatever the table says."""
    algorithms.spanning_edges(X, 1, np.inf)


def main():
    """Print a line for each number of features and rows."""
    print("| features | rows | " + " | ".join(ALGORITHMS) + " | fastest | chosen |")
    print("|---" * (len(ALGORITHMS) + 4) + "|")
    for d in FEATURES:
        for n in ROWS:
            X = blobs(n, d, n_groups=4) if d < 64 else image_like(n, n_features=d)[0]
            spent = {}
            for name, row in ALGORITHMS.items():
                with mock.patch.object(algorithms, "CROSSOVERS", (row,)):
                    build(X)
                    spent[name] = 1e3 * seconds(lambda X=X: build(X), 5)
            cells = " | ".join(f"{value:.2f}" for value in spent.values())
            fastest = min(spent, key=spent.get)
            chosen = algorithms.choose_algorithm(n, d)
            print(f"| {d} | {n} | {cells} | {fastest} | {chosen} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
