"""The result of a comparison: all runs, their differences, and the verdict."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from structsmooth.compare.records import Record, read_records
from structsmooth.compare.statistics import Difference, paired_difference
from structsmooth.compare.verdict import NAMES, conclude, describe_pair
from structsmooth.errors import FileFormatError

METHODS = ("none", "uniform", "structural", "reversed", "shuffled")
# What the verdict looks at; the table can show the others too.
METRICS = ("error", "nll", "brier", "ece", "aurc")
PAIRS = (
    ("structural", "none"),
    ("structural", "uniform"),
    ("structural", "reversed"),
    ("structural", "shuffled"),
    ("uniform", "none"),
)
# Metrics that read better as percentages.
_IN_PERCENT = ("error", "ece", "ece_mass", "ece_classwise", "aurc", "e_aurc")


@dataclass(frozen=True, eq=False)
class Comparison:
    """What came out, seed by seed.

    Attributes
    ----------
    description : dict
        Data, settings and versions.
    chosen : list of dict
        For each seed and method the run that the validation rows chose: ``seed``,
        ``method``, ``alpha``, ``beta``, ``mean_strength``, ``validation``, ``test``.
    confidence : float
        Of the intervals, for all metrics together.
    """

    description: dict[str, Any]
    chosen: list[Record]
    confidence: float = 0.95

    @classmethod
    def load(cls, path: str | os.PathLike[str], confidence: float = 0.95) -> Self:
        """Return the comparison in a file of results, without training anything.

        Parameters
        ----------
        path : path-like
            What ``compare`` was given as ``results``.
        confidence : float, default=0.95
            Of the intervals.

        Returns
        -------
        Comparison
            Of all seeds whose runs are finished.
        """
        description, known = read_records(path)
        if description is None:
            raise FileFormatError(f"there are no results in {os.fspath(path)}")
        by_seed: dict[int, list[Record]] = {}
        for record in known.values():
            by_seed.setdefault(record["seed"], []).append(record)
        chosen = [
            run
            for seed in sorted(by_seed)
            for run in choose(by_seed[seed], description["settings"])
        ]
        if not chosen:
            raise FileFormatError(f"no seed is finished in {os.fspath(path)}")
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
        """Return a metric of a method on the test rows, by seed.

        Parameters
        ----------
        method : str
            One of none, uniform, structural, reversed and shuffled.
        metric : str
            A key of `structsmooth.metrics.evaluate`.

        Returns
        -------
        ndarray of shape (n_seeds,)
            The values.
        """
        runs = sorted(
            (r for r in self.chosen if r["method"] == method), key=lambda r: r["seed"]
        )
        return np.array([run["test"][metric] for run in runs])

    def difference(self, method: str, reference: str, metric: str) -> Difference:
        """Return the paired difference of two methods on one metric.

        Parameters
        ----------
        method, reference : str
            Names of methods.
        metric : str
            A key of `structsmooth.metrics.evaluate`.

        Returns
        -------
        Difference
            Mean, interval and the number of seeds on either side.
        """
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
        """Return the paired differences on all metrics the verdict looks at.

        Parameters
        ----------
        method, reference : str
            Names of methods.

        Returns
        -------
        list of Difference
            One for each of error, NLL, Brier, ECE and AURC.
        """
        return [self.difference(method, reference, metric) for metric in METRICS]

    @cached_property
    def findings(self) -> list[str]:
        """One sentence for each pair of methods."""
        return [describe_pair(self.differences(*pair)) for pair in PAIRS]

    @cached_property
    def verdict(self) -> str:
        """Whether structural smoothing helps here, and whether where matters."""
        if not self.strengths_differ:
            return (
                "There is nothing to compare: the strengths do not differ on any seed, "
                "for want of clusters or of overlap, so structural smoothing is "
                "uniform smoothing here."
            )
        verdict = conclude(
            self.differences("structural", "none"),
            self.differences("structural", "uniform"),
            self.differences("structural", "shuffled"),
            self.differences("uniform", "none"),
        )
        if self.has_fixed_test_set:
            verdict += " All of this holds for the given test set."
        return verdict

    @property
    def strengths_differ(self) -> bool:
        """Whether structural strengths differ between rows, on any seed."""
        ranges = [
            run.get("strength_range", [0.0, 1.0])
            for run in self.chosen
            if run["method"] == "structural"
        ]
        return any(low < high for low, high in ranges)

    def rows(self) -> list[list[str]]:
        """Return the table: a header, then mean and spread of each method.

        Returns
        -------
        list of list of str
            Cells.
        """
        table = [["", *METHODS]]
        for metric in METRICS:
            cells = [_title(metric)]
            for method in METHODS:
                values = _factor(metric) * self.values(method, metric)
                digits = _digits(metric)
                spread = values.std(ddof=1) if len(values) > 1 else float("nan")
                cells.append(f"{values.mean():.{digits}f}±{spread:.{digits}f}")
            table.append(cells)
        return table

    def difference_rows(self) -> list[list[str]]:
        """Return the table of differences: mean, interval and seeds that agree.

        Returns
        -------
        list of list of str
            Cells.
        """
        table = [["", "", "difference", "interval", "seeds"]]
        for method, reference in PAIRS:
            for d in self.differences(method, reference):
                digits, by = _digits(d.metric), _factor(d.metric)
                agree = d.n_lower if d.mean < 0.0 else d.n_higher
                interval = f"{by * d.low:+.{digits}f} to {by * d.high:+.{digits}f}"
                table.append(
                    [
                        f"{method} - {reference}",
                        _title(d.metric),
                        f"{by * d.mean:+.{digits}f}",
                        interval + (" *" if d.is_lower or d.is_higher else ""),
                        f"{agree} of {d.n_seeds}",
                    ]
                )
        return table

    def to_markdown(self) -> str:
        """Return tables, findings and verdict as Markdown.

        Returns
        -------
        str
            Text.
        """
        chosen = ", ".join(
            f"{alpha:g} ({count})" for alpha, count in self.chosen_alphas().items()
        )
        return "\n".join(
            [
                f"**{self.verdict}**",
                "",
                *_markdown(self.rows()),
                "",
                "Mean over the seeds ± standard deviation; of all metrics, lower is "
                "better. ECE and AURC are in percent as the error is.",
                "",
                *_markdown(self.difference_rows()),
                "",
                self.legend,
                "",
                *(f"- {finding}." for finding in self.findings),
                "",
                f"Mean strength chosen on validation rows (seeds): {chosen}.",
                "",
            ]
        )

    @property
    def legend(self) -> str:
        """What the table of differences shows."""
        about = (
            "They speak of this test set and these training rows, not of others."
            if self.has_fixed_test_set
            else "They allow for the rows that splits share."
        )
        return (
            f"Paired differences with intervals that hold at {self.confidence:.0%} for "
            "the five metrics of a pair together (* without 0), and on how many seeds "
            f"the sign is that of the mean. {about}"
        )

    def chosen_alphas(self) -> dict[float, int]:
        """Return each mean strength that was chosen, and on how many seeds.

        Returns
        -------
        dict of float to int
            Sorted by strength.
        """
        alphas = [r["alpha"] for r in self.chosen if r["method"] == "uniform"]
        return {alpha: alphas.count(alpha) for alpha in sorted(set(alphas))}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and text, for JSON.

        Returns
        -------
        dict
            Description, methods, differences, findings, verdict.
        """
        metrics = list(self.chosen[0]["test"])
        return {
            "description": self.description,
            "methods": {
                method: {
                    metric: [float(v) for v in self.values(method, metric)]
                    for metric in metrics
                }
                for method in METHODS
            },
            "differences": [vars(d) for pair in PAIRS for d in self.differences(*pair)],
            "findings": self.findings,
            "verdict": self.verdict,
        }

    def __str__(self) -> str:
        return self.to_markdown()


def best(runs: Iterable[Record], criterion: str) -> Record:
    """Return the run that does best on the validation rows."""
    return min(runs, key=lambda run: run["validation"][criterion])


def choose(runs: list[Record], settings: dict[str, Any]) -> list[Record]:
    """Return the run of each method that the validation rows of a seed choose.

    Alpha is chosen for uniform smoothing, beta for each method that has one. A seed
    that is not finished has no choice: an empty list.
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
    return NAMES[metric] + (", %" if metric in _IN_PERCENT else "")


def _factor(metric: str) -> float:
    return 100.0 if metric in _IN_PERCENT else 1.0


def _digits(metric: str) -> int:
    return 2 if metric in _IN_PERCENT else 3


def _markdown(rows: list[list[str]]) -> list[str]:
    header, *body = (f"| {' | '.join(cells)} |" for cells in rows)
    return [header, "|" + "---|" * len(rows[0]), *body]
