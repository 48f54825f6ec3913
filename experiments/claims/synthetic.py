"""How the claims about the synthetic task compare with our runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import tables
from experiments.claims.cells import likest_cell, named, pairs_of, runs_of
from experiments.claims.rule import (
    Pair,
    UnfinishedError,
    higher_than,
    lower_than,
    lowest,
)
from experiments.records import read
from experiments.rows import Runs, reference, row_of


class Synthetic:
    """Errors of the synthetic task, by row."""

    def __init__(self, results: Path, name: str = "synthetic.jsonl") -> None:
        self.settings, runs = read(results / name)
        self.runs = Runs(runs)
        self.seeds = sorted({run["seed"] for run in runs})
        if len(self.seeds) < self.settings["n_seeds"]:
            raise UnfinishedError(
                f"{len(self.seeds)} of {self.settings['n_seeds']} seeds"
            )

    def values(self, row: dict, epoch: int | None = None) -> np.ndarray:
        """Return the errors in percent over the seeds, at the end or at an epoch."""
        runs = [self.runs.run(row, seed) for seed in self.seeds]
        if epoch is None:
            return np.array([100.0 * run["metrics"]["error"] for run in runs])
        place = epoch // self.settings["curve_every"] - 1
        return np.array([100.0 * run["curve"][place] for run in runs])

    def curves(self, row: dict) -> np.ndarray:
        """Return the errors in percent, by seed and measured epoch."""
        runs = [self.runs.run(row, seed) for seed in self.seeds]
        return np.array([100.0 * np.array(run["curve"]) for run in runs])

    def best(self, row: dict) -> np.ndarray:
        """Return the lowest error in percent of each curve."""
        return self.curves(row).min(axis=1)

    def rows(self, method: str, *rivals: str) -> list[tuple[dict, dict]]:
        """Return the rows of a method and of its rivals, for each setting."""
        usual = self.settings["n_clusters"]
        return [
            (row_of(method, alpha, beta, usual), reference(rival, alpha))
            for rival in rivals
            for alpha in self.settings["alphas"]
            for beta in self.settings["betas"]
        ]

    def pairs(self, method: str, *rivals: str, read=None) -> list[Pair]:
        """Return the errors of a method and of its rivals, for each setting.

        They are read at the end of training, unless another function reads them.
        """
        read = read or self.values
        return [
            (read(ours), read(theirs)) for ours, theirs in self.rows(method, *rivals)
        ]


def bounds(results: Path) -> tuple[str, str]:
    """Test whether the lower bound tracks the true Bayes error."""
    _, runs = read(results / "synthetic-clusters.jsonl")
    at = [run["metrics"] for run in runs if run["config"]["n_clusters"] == 32]
    r = np.array([found["correlation"] for found in at])
    gap = np.array([found["mean_error"] for found in at])
    is_good = r.min() > 0.9 and gap.max() < 0.03
    words = f"r = {tables.mean_and_spread(r, 3)}, mean error "
    return (
        words + tables.mean_and_spread(gap, 3),
        "reproduced" if is_good else "not reproduced",
    )


def compared(method: str, *rivals: str, at_best: bool = False):
    """Return a function that tests whether a method errs less than its rivals.

    With ``at_best`` each curve is read where it is lowest.
    """

    def find(results: Path) -> tuple[str, str]:
        task = Synthetic(results)
        return lower_than(
            task.pairs(method, *rivals, read=task.best if at_best else None)
        )

    return find


def in_likest_cell(rival: str):
    """Return a function that tests the same in one cell of the sensitivity analysis.

    It is the one that is most like the paper's task.
    """

    def find(results: Path) -> tuple[str, str]:
        settings, runs = read(results / "synthetic-sensitivity.jsonl")
        cell = likest_cell(settings, runs)
        pairs = pairs_of(settings, runs_of(runs, cell), "structural", rival)
        words, verdict = lower_than(pairs)
        return f"{words} ({named(cell)})", verdict

    return find


def reversed_errs_more(results: Path) -> tuple[str, str]:
    """Test whether mirrored strengths err more than uniform and none."""
    return higher_than(Synthetic(results).pairs("reversed", "uniform", "none"))


def swapped_errs_more(results: Path) -> tuple[str, str]:
    """Test whether strengths swapped by rank err more than uniform and none."""
    task = Synthetic(results, "synthetic-swapped.jsonl")
    return higher_than(task.pairs("swapped", "uniform", "none"))


def lowest_errors(rival: str):
    """Return a function that counts the settings with a lower lowest error."""

    def find(results: Path) -> tuple[str, str]:
        return lowest(Synthetic(results).pairs("structural", rival))

    return find


def converges(results: Path) -> tuple[str, str]:
    """Compare how many epochs two methods take to an error that both reach."""
    task = Synthetic(results)
    every = task.settings["curve_every"]
    pairs = []
    for ours, theirs in task.rows("structural", "uniform"):
        pair = task.curves(ours), task.curves(theirs)
        level = np.maximum(*(curves.min(axis=1) for curves in pair))[:, None]
        first = [1 + (curves <= level).argmax(axis=1) for curves in pair]
        pairs.append((float(every) * first[0], float(every) * first[1]))
    words, verdict = lower_than(pairs, digits=0)
    return f"{words} (epochs)", verdict


def rises(results: Path) -> tuple[str, str]:
    """Test whether errors rise from a fifth of the training to its end."""
    task = Synthetic(results)
    beta, usual = max(task.settings["betas"]), task.settings["n_clusters"]
    early = task.settings["epochs"] // 5
    rows = {"reversed": [], "structural": [], "uniform": [], "none": []}
    rows["none"].append(row_of("none", 0.0))
    for alpha in task.settings["alphas"]:
        rows["uniform"].append(row_of("uniform", alpha))
        for method in ("reversed", "structural"):
            rows[method].append(row_of(method, alpha, beta, usual))
    found = {
        method: higher_than([(task.values(row), task.values(row, early)) for row in at])
        for method, at in rows.items()
    }
    words = ", ".join(
        f"{method} {text.split(' together')[0]}" for method, (text, _) in found.items()
    )
    verdict = found["reversed"][1]
    if verdict == "reproduced":
        others = [m for m in ("structural", "uniform") if found[m][1] == verdict]
        if others:
            verdict = f"in part: {' and '.join(others)} rise too"
    return f"from epoch {early} to {task.settings['epochs']}: {words} points", verdict


def cluster_numbers(results: Path) -> tuple[str, str]:
    """Test whether structural is below uniform for every number of clusters."""
    task = Synthetic(results)
    beta = max(task.settings["betas"])
    numbers = [task.settings["n_clusters"], *task.settings["other_n_clusters"]]
    pairs = [
        (
            task.values(row_of("structural", alpha, beta, number)),
            task.values(row_of("uniform", alpha)),
        )
        for alpha in task.settings["alphas"]
        for number in numbers
    ]
    return lower_than(pairs)
