"""How the claims about the synthetic task compare with our runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import tables
from experiments.claims.rule import Pair, UnfinishedError, higher_than, lower_than
from experiments.records import read
from experiments.rows import Runs, reference, row_of


class Synthetic:
    """Errors of the synthetic task, by row."""

    def __init__(self, results: Path) -> None:
        self.settings, runs = read(results / "synthetic.jsonl")
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

    def pairs(self, method: str, *rivals: str) -> list[Pair]:
        """Return the errors of a method and of its rivals, for each setting."""
        usual = self.settings["n_clusters"]
        return [
            (
                self.values(row_of(method, alpha, beta, usual)),
                self.values(reference(rival, alpha)),
            )
            for rival in rivals
            for alpha in self.settings["alphas"]
            for beta in self.settings["betas"]
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


def rises(results: Path) -> tuple[str, str]:
    """Test whether errors rise from a fifth of the training to its end."""
    task = Synthetic(results)
    beta, usual = max(task.settings["betas"]), task.settings["n_clusters"]
    early = task.settings["epochs"] // 5
    rows = {"reversed": [], "structural": [], "uniform": []}
    for alpha in task.settings["alphas"]:
        rows["uniform"].append(row_of("uniform", alpha))
        for method in ("reversed", "structural"):
            rows[method].append(row_of(method, alpha, beta, usual))
    pairs = {
        method: [(task.values(row), task.values(row, early)) for row in found]
        for method, found in rows.items()
    }
    ends = {
        method: [float((last - first).mean()) for last, first in found]
        for method, found in pairs.items()
    }
    words = ", ".join(
        f"{method} {min(found):+.1f} to {max(found):+.1f}"
        for method, found in ends.items()
    )
    return (
        f"from epoch {early} to {task.settings['epochs']}: {words} points",
        higher_than(pairs["reversed"])[1],
    )


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
