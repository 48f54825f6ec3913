"""Where one algorithm overtakes another, for `structsmooth.tree.algorithms`.

``python -m benchmarks.crossover`` prints milliseconds for each algorithm.
"""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from benchmarks.cases import blobs, image_like
from benchmarks.clock import seconds
from structsmooth.tree.algorithms import choose_algorithm
from structsmooth.tree.boruvka import boruvka
from structsmooth.tree.prim import prim
from structsmooth.tree.prim_gram import prim_gram
from structsmooth.tree.prim_rounded import prim_rounded

ALGORITHMS = {
    "prim": prim,
    "prim_rounded": prim_rounded,
    "prim_gram": prim_gram,
    "boruvka": boruvka,
}
ROWS = (100, 200, 400, 600, 800, 1000, 1500, 2000, 3000, 5000)
FEATURES = (2, 4, 8, 16, 32, 48, 64, 96, 128, 256, 512)


def main():
    """Print a line for each number of features and rows."""
    print("| features | rows | " + " | ".join(ALGORITHMS) + " | fastest | chosen |")
    print("|---" * (len(ALGORITHMS) + 4) + "|")
    for d in FEATURES:
        for n in ROWS:
            X = blobs(n, d, n_groups=4) if d < 64 else image_like(n, n_features=d)[0]
            spent = {}
            for name, build in ALGORITHMS.items():
                build(X)
                spent[name] = 1e3 * seconds(lambda build=build, X=X: build(X), 5)
            cells = " | ".join(f"{value:.2f}" for value in spent.values())
            fastest = min(spent, key=spent.get)
            chosen = choose_algorithm(n, d)
            print(f"| {d} | {n} | {cells} | {fastest} | {chosen} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
