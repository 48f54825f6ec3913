"""Finished units: metrics of an arm over the seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.records import read
from experiments.selective.afterwards import COLUMNS
from structsmooth.compare.statistics import Difference, paired_difference
from structsmooth.errors import FileFormatError


class Finished:
    """The units of a file of results, by data set, learner and seed."""

    def __init__(self, results: Path) -> None:
        self.settings, runs = read(results)
        self.learners = list(self.settings["learners"])
        self.units: dict[tuple[str, str], dict[int, dict]] = {}
        for run in runs:
            key = run["config"]["data"], run["config"]["learner"]
            self.units.setdefault(key, {})[run["seed"]] = run

    def seeds(self, names: list[str]) -> list[int]:
        """Return the seeds that are complete for all of these sets and all learners."""
        found = [
            set(self.units.get((name, learner), ()))
            for name in names
            for learner in self.learners
        ]
        return sorted(set.intersection(*found)) if found else []

    def complete(self, part: str) -> tuple[list[str], list[int]]:
        """Return the sets of a part, and its complete seeds."""
        names = self.settings[part]
        return names, self.seeds(names)

    def runs(self, name: str, learner: str, seeds: list[int]) -> list[dict]:
        """Return the units of a set and a learner."""
        found = self.units[name, learner]
        return [found[seed] for seed in seeds]

    def values(
        self,
        name: str,
        learner: str,
        arm: str,
        metric: str,
        seeds: list[int],
        variant: str = "plain",
    ) -> np.ndarray:
        """Return a metric over the seeds."""
        column = COLUMNS[variant].index(metric)
        return np.array(
            [
                run["metrics"][variant][run["arms"][arm]][column]
                for run in self.runs(name, learner, seeds)
            ]
        )

    def chosen(
        self, name: str, learner: str, arms: list[str], metric: str, seeds: list[int]
    ) -> np.ndarray:
        """Return a metric of the arm with the lowest validation NLL of each seed."""
        held = [
            self.values(name, learner, arm, "nll", seeds, "validation") for arm in arms
        ]
        tested = [self.values(name, learner, arm, metric, seeds) for arm in arms]
        return np.array(tested)[np.argmin(held, axis=0), np.arange(len(seeds))]

    def difference(
        self,
        name: str,
        learner: str,
        arm: str,
        reference: str,
        metric: str,
        seeds: list[int],
        n_intervals: int = 1,
        variant: str = "plain",
    ) -> Difference:
        """Return the paired difference of two arms; joint intervals if several."""
        values = [
            self.values(name, learner, which, metric, seeds, variant)
            for which in (arm, reference)
        ]
        if len(seeds) < 2:
            raise FileFormatError("intervals need at least two complete seeds")
        return paired_difference(
            metric,
            arm,
            reference,
            *values,
            confidence=0.95,
            n_intervals=n_intervals,
            test_ratio=0.0,
        )
