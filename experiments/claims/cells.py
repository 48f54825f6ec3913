"""The cells of the sensitivity analysis, and which of them is like the paper's task.

A cell is a batch size, a deviation of the noise features, and a spread of the
components. Training without smoothing alone decides which is like the paper's, never
the differences of interest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from experiments.claims.rule import Pair, UnfinishedError
from experiments.published import TABLE_1
from experiments.rows import Runs, reference, row_of

# A task like the paper's: at most so many points above the Bayes error.
LARGEST_EXCESS = 3.0
PRINTED_ERROR = TABLE_1["none", 0.0][0][0]
NONE = reference("none", 0.0)


def cells_of(settings: dict) -> list[dict]:
    """Return the settings of each cell."""
    lists = settings["batch_sizes"], settings["noises"], settings["spreads"]
    names = ("batch_size", "noise_deviation", "spread")
    return [dict(zip(names, cell, strict=True)) for cell in product(*lists)]


def runs_of(runs: list[dict], cell: dict) -> list[dict]:
    """Return the runs of a cell."""
    return [run for run in runs if run["config"].items() >= cell.items()]


def errors_of(
    runs: Runs, row: dict, seeds: Sequence[int], *, at_best: bool = False
) -> np.ndarray:
    """Return the errors of a row in percent, at the end or where they are lowest."""
    found = [runs.run(row, seed) for seed in seeds]
    return 100.0 * np.array(
        [min(run["curve"]) if at_best else run["metrics"]["error"] for run in found]
    )


def excess_of(runs: list[dict]) -> tuple[float, float]:
    """Return a cell's error without smoothing, and how far it is above Bayes'."""
    by_row = Runs(runs)
    error = errors_of(by_row, NONE, by_row.seeds(NONE)).mean()
    bayes = 100.0 * np.mean([run["bayes_error"] for run in runs])
    return float(error), float(error - bayes)


def likest_cell(settings: dict, runs: list[dict]) -> dict:
    """Return the cell whose error is nearest to the paper's, of those that are like it.

    Raises UnfinishedError as long as any cell lacks a run, and if no cell is like it.
    """
    cells = cells_of(settings)
    n_rows = 1 + len(settings["alphas"]) * (
        1 + len(settings["betas"]) * len(settings["methods"])
    )
    whole = n_rows * settings["n_seeds"]
    n_finished = sum(len(runs_of(runs, cell)) == whole for cell in cells)
    if n_finished < len(cells):
        raise UnfinishedError(f"{n_finished} of {len(cells)} cells")
    distances = []
    for cell in cells:
        error, excess = excess_of(runs_of(runs, cell))
        is_like = excess <= LARGEST_EXCESS
        distances.append(abs(error - PRINTED_ERROR) if is_like else np.inf)
    if min(distances) == np.inf:
        raise UnfinishedError("no cell is like the paper's task")
    return cells[int(np.argmin(distances))]


def pairs_of(
    settings: dict, runs: list[dict], method: str, rival: str, *, at_best: bool = False
) -> list[Pair]:
    """Return the errors of a method and of its rival in a cell, for each setting."""
    by_row = Runs(runs)
    seeds = by_row.seeds(NONE)
    return [
        tuple(
            errors_of(by_row, row, seeds, at_best=at_best)
            for row in (
                row_of(method, alpha, beta, settings["n_clusters"]),
                reference(rival, alpha),
            )
        )
        for alpha in settings["alphas"]
        for beta in settings["betas"]
    ]


def named(cell: dict) -> str:
    """Return a cell in words."""
    return (
        f"batches of {cell['batch_size']}, noise {cell['noise_deviation']:g}, "
        f"spread {cell['spread']:g}"
    )
