"""The result of a comparison: the chosen runs, their differences, and the verdict."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from structsmooth.compare.records import Record, read_records
from structsmooth.compare.statistics import (
    NAMES,
    Difference,
    conclude,
    describe_pair,
    paired_difference,
)
from structsmooth.errors import FileFormatError

METHODS = ("none", "uniform", "structural", "reversed", "shuffled")
METRICS = tuple(NAMES)
PAIRS = (
    ("structural", "none"),
    ("structural", "uniform"),
    ("structural", "reversed"),
    ("structural", "shuffled"),
    ("uniform", "none"),
)
IN_PERCENT = ("error", "ece", "aurc")


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of a comparison, seed by seed.

    Attributes
    ----------
    description : dict
        Data, settings and versions.
    chosen : list of dict
        For each seed and method, the run that was best on the validation rows.
    confidence : float
        Of the intervals, for all metrics together.
    """

    description: dict[str, Any]
    chosen: list[Record]
    confidence: float = 0.95

    @classmethod
    def load(cls, path: str | os.PathLike[str], confidence: float = 0.95) -> Self:
        """Return the finished seeds of a file of results, without training anything."""
        description, known = read_records(Path(path))
        chosen: list[Record] = []
        for seed in sorted({run["seed"] for run in known.values()}):
            runs = [run for run in known.values() if run["seed"] == seed]
            chosen += choose(runs, description["settings"])
        if not chosen:
            raise FileFormatError(f"no results of a finished seed in {os.fspath(path)}")
        return cls(description, chosen, confidence)

    @property
    def has_fixed_test_set(self) -> bool:
        """Whether all seeds were tested on the same given rows."""
        return self.description["settings"]["test_size"] is None

    @cached_property
    def test_ratio(self) -> float:
        """Test rows for each training row; 0 for a test set that is always the same."""
        if self.has_fixed_test_set:
            return 0.0
        return float(np.mean([run["n_test"] / run["n_train"] for run in self.chosen]))

    def values(self, method: str, metric: str) -> NDArray[np.float64]:
        """Return a metric of `structsmooth.metrics.evaluate` on test rows, by seed."""
        runs = sorted(self._runs(method), key=lambda run: run["seed"])
        return np.array([run["test"][metric] for run in runs])

    def difference(self, method: str, reference: str, metric: str) -> Difference:
        """Return the paired difference of two methods on one metric."""
        return paired_difference(
            metric,
            method,
            reference,
            self.values(method, metric),
            self.values(reference, metric),
            confidence=self.confidence,
            n_intervals=len(METRICS),
            test_ratio=self.test_ratio,
        )

    def differences(self, method: str, reference: str) -> list[Difference]:
        """Return the `difference` on each of error, NLL, Brier, ECE and AURC."""
        return [self.difference(method, reference, metric) for metric in METRICS]

    @cached_property
    def findings(self) -> list[str]:
        """One sentence for each pair of methods."""
        return [describe_pair(self.differences(*pair)) for pair in PAIRS]

    @cached_property
    def verdict(self) -> str:
        """Whether structural smoothing helps here, and whether its place matters."""
        runs = self._runs("structural")
        spreads = {run.get("spread", "even") for run in runs}
        ranges = [run.get("strength_range", [0.0, 1.0]) for run in runs]
        if spreads == {"even"} and all(low == high for low, high in ranges):
            return (
                "There is nothing to compare: the strengths do not differ on any seed, "
                "because there are no clusters or no overlap, so structural smoothing "
                "is uniform smoothing here."
            )
        sentences = conclude(
            self.differences("structural", "none"),
            self.differences("structural", "uniform"),
            self.differences("structural", "shuffled"),
            self.differences("uniform", "none"),
        )
        fixed = ["All of this holds for the given test set."]
        return " ".join([*sentences, *(fixed if self.has_fixed_test_set else [])])

    def _all_differences(self) -> list[Difference]:
        return [d for pair in PAIRS for d in self.differences(*pair)]

    def _runs(self, method: str) -> list[Record]:
        return [run for run in self.chosen if run["method"] == method]

    def rows(self) -> list[list[str]]:
        """Return the cells of a table, header first: mean ± standard deviation."""
        table = [["", *METHODS]]
        for metric in METRICS:
            cells = [_title(metric)]
            for method in METHODS:
                values = self.values(method, metric)
                deviation = values.std(ddof=1) if len(values) > 1 else float("nan")
                mean = _number(metric, values.mean())
                cells.append(f"{mean}±{_number(metric, deviation)}")
            table.append(cells)
        return table

    def difference_rows(self) -> list[list[str]]:
        """Return the cells of a table of differences, header first."""
        table = [["", "", "difference", "interval", "seeds"]]
        for d in self._all_differences():
            low, mean, high = (
                _number(d.metric, value, "+") for value in (d.low, d.mean, d.high)
            )
            interval = f"{low} to {high}{' *' if d.is_decided else ''}"
            agree = f"{d.n_lower if d.mean < 0.0 else d.n_higher} of {d.n_seeds}"
            pair = f"{d.method} - {d.reference}"
            table.append([pair, _title(d.metric), mean, interval, agree])
        return table

    def to_markdown(self) -> str:
        """Return tables, findings and verdict as Markdown."""
        alphas = [f"{alpha:g} ({n})" for alpha, n in self.chosen_alphas().items()]
        paragraphs = [
            f"**{self.verdict}**",
            _markdown(self.rows()),
            "Mean over the seeds ± standard deviation; lower is better for all "
            "metrics. Error, ECE and AURC are in percent.",
            _markdown(self.difference_rows()),
            self.legend,
            "\n".join(f"- {finding}." for finding in self.findings),
            f"Mean strength chosen on validation rows (seeds): {', '.join(alphas)}.",
        ]
        return "\n\n".join(paragraphs) + "\n"

    __str__ = to_markdown

    @property
    def legend(self) -> str:
        """What the table of differences shows."""
        scope = (
            "The intervals hold only for this test set and these training rows."
            if self.has_fixed_test_set
            else "The intervals allow for the rows that the splits share."
        )
        return (
            "Paired differences, and on how many seeds the sign is that of the mean. "
            f"The intervals hold at {self.confidence:.0%} for the five metrics of a "
            f"pair together; * marks those without 0. {scope}"
        )

    def chosen_alphas(self) -> dict[float, int]:
        """Return each mean strength that was chosen, and on how many seeds."""
        alphas = [run["alpha"] for run in self._runs("uniform")]
        return {alpha: alphas.count(alpha) for alpha in sorted(set(alphas))}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers and text, for JSON."""
        metrics = list(self.chosen[0]["test"])
        values = {
            method: {metric: self.values(method, metric).tolist() for metric in metrics}
            for method in METHODS
        }
        return {
            "description": self.description,
            "methods": values,
            "differences": [vars(d) for d in self._all_differences()],
            "findings": self.findings,
            "verdict": self.verdict,
        }


def best(runs: Iterable[Record], criterion: str) -> Record:
    """Return the run that is best on the validation rows."""
    return min(runs, key=lambda run: run["validation"][criterion])


def choose(runs: list[Record], settings: dict[str, Any]) -> list[Record]:
    """Return the best run of each method on one seed; none if runs are missing.

    Alpha is chosen for uniform smoothing, beta for each method that has one.
    """
    criterion, n_betas = settings["criterion"], len(settings["beta"])
    of = {method: [r for r in runs if r["method"] == method] for method in METHODS}
    if not of["none"] or len(of["uniform"]) < len(settings["alpha"]):
        return []
    uniform = best(of["uniform"], criterion)
    chosen = [of["none"][0], uniform]
    for method in METHODS[2:]:
        same = [r for r in of[method] if r["alpha"] == uniform["alpha"]]
        if len(same) < n_betas:
            return []
        chosen.append(best(same, criterion))
    return chosen


def _title(metric: str) -> str:
    return NAMES[metric] + (", %" if metric in IN_PERCENT else "")


def _number(metric: str, value: float, sign: str = "") -> str:
    if metric in IN_PERCENT:
        return f"{100.0 * value:{sign}.2f}"
    return f"{value:{sign}.3f}"


def _markdown(rows: list[list[str]]) -> str:
    header, *body = (f"| {' | '.join(cells)} |" for cells in rows)
    return "\n".join([header, "|" + "---|" * len(rows[0]), *body])
