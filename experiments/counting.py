"""Three ways to count crossing edges, where the Bayes error is known.

A tree of n points and K classes has n - 1 edges, of which K - 1 cross even if the
classes are far apart. Should these be subtracted, and from which counts?
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from experiments import tables
from experiments.records import Records, read
from experiments.truths import in_pairs, on_a_grid
from structsmooth import euclidean_mst

TASKS = {
    "random labels": lambda n_classes: on_a_grid(n_classes, 0.0),
    "classes apart": lambda n_classes: on_a_grid(n_classes, 100.0),
    "pairs that coincide": in_pairs,
}
WAYS = {
    "C / n": lambda crossing, n, _: crossing / n,
    "(C - (K-1)) / n": lambda crossing, n, k: (crossing - (k - 1)) / n,
    "(C - (K-1)) / (n - K)": lambda crossing, n, k: (crossing - (k - 1)) / (n - k),
}


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Compute the missing counts."""
    records = Records(results, {k: v for k, v in config.items() if k != "scale"})
    for task in TASKS:
        for n_classes in config["n_classes"]:
            row = {"task": task, "n_classes": n_classes}
            for seed in range(config["n_seeds"]):
                if not records.has(row, seed):
                    started = time.perf_counter()
                    found = _count(TASKS[task](n_classes), config["rows"], seed, n_jobs)
                    seconds = round(time.perf_counter() - started, 3)
                    records.add(
                        [{"config": row, "seed": seed, **found, "seconds": seconds}]
                    )


def _count(task, n_rows: int, seed: int, n_jobs: int) -> dict:
    X, y = task.draw(np.random.default_rng(seed), n_rows, exact=True)
    edges = euclidean_mst(X, n_jobs=n_jobs).edges
    crossing = int(np.count_nonzero(y[edges[:, 0]] != y[edges[:, 1]]))
    n_classes = len(task.shares)
    found = {name: way(crossing, n_rows, n_classes) for name, way in WAYS.items()}
    # Random labels and pairs have the same posterior everywhere.
    true = float(np.mean(1.0 - task.posteriors(X).max(axis=1)))
    return {"metrics": found, "true": true}


def table(results: Path) -> str:
    """Return the means over the draws."""
    settings, runs = read(results)
    lines = []
    for task in TASKS:
        for n_classes in settings["n_classes"]:
            row = {"task": task, "n_classes": n_classes}
            there = [run for run in runs if run["config"] == row]
            means = [np.mean([run["metrics"][way] for run in there]) for way in WAYS]
            true = np.mean([run["true"] for run in there])
            cells = [f"{max(value, 0.0):.3f}" for value in (true, *means)]
            lines.append([task, f"{n_classes}", *cells])
    header = ["", "classes K", "truth", *(f"`{way}`" for way in WAYS)]
    return (
        f"C crossing edges of n = {settings['rows']} rows in two dimensions, means of "
        f"{settings['n_seeds']} draws.\n\n" + tables.markdown(header, lines)
    )
