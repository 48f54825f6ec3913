"""The result of a comparison: all runs, their differences, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.compare.records import Record
from structsmooth.compare.statistics import Difference, paired_difference
from structsmooth.compare.verdict import NAMES, conclude, describe_pair

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
    test_ratio : float
        Test rows for each training row if the splits are random, 0 for a given test
        set, whose own randomness the intervals then leave out.
    confidence : float
        Of the intervals, for all metrics together.
    """

    description: dict[str, Any]
    chosen: list[Record]
    test_ratio: float
    confidence: float = 0.95

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
        return conclude(
            self.differences("structural", "none"),
            self.differences("structural", "uniform"),
            self.differences("structural", "shuffled"),
            self.differences("uniform", "none"),
        )

    def rows(self) -> list[list[str]]:
        """Return the table: a header, then mean and spread of each method.

        Returns
        -------
        list of list of str
            Cells.
        """
        header = ["", *(_title(metric) for metric in METRICS)]
        table = [header]
        for method in METHODS:
            cells = [method]
            for metric in METRICS:
                values = _factor(metric) * self.values(method, metric)
                spread = values.std(ddof=1) if len(values) > 1 else float("nan")
                digits = _digits(metric)
                cells.append(f"{values.mean():.{digits}f} ± {spread:.{digits}f}")
            table.append(cells)
        return table

    def difference_rows(self) -> list[list[str]]:
        """Return the table of differences: mean, interval and seeds that agree.

        Returns
        -------
        list of list of str
            Cells.
        """
        table = [["", *(_title(metric) for metric in METRICS)]]
        for method, reference in PAIRS:
            cells = [f"{method} - {reference}"]
            for d in self.differences(method, reference):
                digits, by = _digits(d.metric), _factor(d.metric)
                agree = d.n_lower if d.mean < 0.0 else d.n_higher
                cells.append(
                    f"{by * d.mean:+.{digits}f} [{by * d.low:+.{digits}f}, "
                    f"{by * d.high:+.{digits}f}] {agree}/{d.n_seeds}"
                )
            table.append(cells)
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
                f"Paired differences with {self.confidence:.0%} intervals for all "
                "metrics of a row together, and on how many seeds the sign is that of "
                "the mean.",
                "",
                *(f"- {finding}." for finding in self.findings),
                "",
                f"Mean strength chosen on validation rows (seeds): {chosen}.",
                "",
            ]
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


def _title(metric: str) -> str:
    return NAMES[metric] + (", %" if metric in _IN_PERCENT else "")


def _factor(metric: str) -> float:
    return 100.0 if metric in _IN_PERCENT else 1.0


def _digits(metric: str) -> int:
    return 2 if metric in _IN_PERCENT else 3


def _markdown(rows: list[list[str]]) -> list[str]:
    header, *body = (f"| {' | '.join(cells)} |" for cells in rows)
    return [header, "|" + "---|" * len(rows[0]), *body]
