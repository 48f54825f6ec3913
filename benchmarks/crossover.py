"""Sizes at which one kernel overtakes another, for `structsmooth.tree.paths`.

``python -m benchmarks.crossover`` prints milliseconds for each kernel.
"""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from benchmarks.cases import blobs, image_like
from benchmarks.clock import seconds
from structsmooth.tree.engine import engine_edges
from structsmooth.tree.paths import choose_path
from structsmooth.tree.prim import prim
from structsmooth.tree.products import prim_by_products

KERNELS = {
    "prim": prim,
    "products": prim_by_products,
    "engine": engine_edges,
}
ROWS = (100, 200, 400, 600, 800, 1000, 1500, 2000, 3000)
FEATURES = (2, 4, 8, 16, 32, 48, 64, 96, 128, 256, 512)


def main():
    """Print a line for each number of features and rows."""
    print("| features | rows | " + " | ".join(KERNELS) + " | fastest | chosen |")
    print("|---" * (len(KERNELS) + 4) + "|")
    for d in FEATURES:
        for n in ROWS:
            X = blobs(n, d, n_groups=4) if d < 64 else image_like(n, n_features=d)[0]
            spent = {}
            for name, build in KERNELS.items():
                build(X)
                spent[name] = 1e3 * seconds(lambda build=build, X=X: build(X), 5)
            cells = " | ".join(f"{value:.2f}" for value in spent.values())
            fastest = min(spent, key=spent.get)
            chosen = choose_path(n, d)
            print(f"| {d} | {n} | {cells} | {fastest} | {chosen} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
