"""The result of a comparison: the chosen runs, their differences, and the verdict."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from structsmooth.compare import tables
from structsmooth.compare.arms import DEFAULT, Arm
from structsmooth.compare.choice import Choice, choose_method
from structsmooth.compare.records import Record, read_records
from structsmooth.compare.statistics import (
    NAMES,
    Difference,
    conclude,
    describe_pair,
    paired_difference,
)
from structsmooth.errors import FileFormatError
from structsmooth.smoother import StructuralSmoother

METHODS = ("none", "uniform", "structural", "reversed", "shuffled")
METRICS = tuple(NAMES)
PAIRS = (
    ("structural", "none"),
    ("structural", "uniform"),
    ("structural", "reversed"),
    ("structural", "shuffled"),
    ("uniform", "none"),
)
FEWEST_SEEDS = 3  # for an interval


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
    arms : tuple of Arm
        The smoothers that took part as they are.
    n_seeds_wanted : int or None
        Number of seeds that were asked for; a budget may have allowed fewer.
    """

    description: dict[str, Any]
    chosen: list[Record]
    confidence: float = 0.95
    arms: tuple[Arm, ...] = ()
    n_seeds_wanted: int | None = None

    @classmethod
    def load(cls, path: str | os.PathLike[str], confidence: float = 0.95) -> Self:
        """Return the finished seeds of a file of results, without training anything."""
        description, known = read_records(Path(path))
        by_seed: list[list[Record]] = []
        for seed in sorted({run["seed"] for run in known.values()}):
            runs = [run for run in known.values() if run["seed"] == seed]
            by_seed.append(choose(runs, description["settings"]))
        # An interruption leaves out arms of one seed; arms that were added later and
        # are still missing on most seeds are left out of the result.
        arms = Counter(
            run["method"] for runs in by_seed for run in runs if "arm" in run
        )
        usual = {name for name, count in arms.items() if 2 * count > len(by_seed)}
        finished = [runs for runs in by_seed if usual <= {r["method"] for r in runs}]
        chosen = [run for runs in finished for run in runs]
        if not chosen:
            raise FileFormatError(f"there are no results of a finished seed in {path}")
        return cls(description, chosen, confidence)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods, and the arms that were trained on all seeds."""
        others = dict.fromkeys(run["method"] for run in self.chosen)
        seeds = {run["seed"] for run in self.chosen}
        whole = [m for m in others if len(self._runs(m)) == len(seeds)]
        return (*METHODS, *(m for m in whole if m not in METHODS))

    @property
    def n_seeds(self) -> int:
        """Number of finished seeds."""
        return len(self._runs("none"))

    @property
    def criterion(self) -> str:
        """The metric on validation rows by which everything was chosen."""
        return str(self.description["settings"]["criterion"])

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

    def values(
        self, method: str, metric: str, *, rows: str = "test", after: str | None = None
    ) -> NDArray[np.float64]:
        """Return a metric of `structsmooth.metrics.evaluate`, by seed.

        Parameters
        ----------
        method, metric : str
            Such as "structural" and "nll".
        rows : {"test", "validation"}
            On which rows.
        after : {"temperature", "pnorm"}, optional
            After temperature scaling, or with the confidence MaxLogit-pNorm, which has
            metrics of selective prediction only.
        """
        runs = sorted(self._runs(method), key=lambda run: run["seed"])
        parts = runs if after is None else [run[after] for run in runs]
        return np.array([part[rows][metric] for part in parts])

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

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of methods whose differences are shown."""
        arms = [(m, "none") for m in self.methods if m not in METHODS]
        against_uniform = [(DEFAULT, "uniform")] if DEFAULT in self.methods else []
        return (*PAIRS, *arms, *against_uniform)

    @cached_property
    def findings(self) -> list[str]:
        """One sentence for each pair of methods."""
        return [describe_pair(self.differences(*pair)) for pair in self.pairs]

    @cached_property
    def verdict(self) -> str:
        """Whether structural smoothing helps here, and whether its place matters."""
        if self.n_seeds < FEWEST_SEEDS:
            return f"{self._about_seeds} These are too few to judge."
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
        remarks = [self._about_seeds] if self._about_seeds else []
        if self._about_suspects:
            remarks.append(self._about_suspects)
        if self.has_fixed_test_set:
            remarks.append("All of this holds for the given test set.")
        return " ".join([*sentences, *remarks])

    @property
    def _about_seeds(self) -> str:
        wanted = self.n_seeds_wanted
        if wanted is None or wanted == self.n_seeds:
            short = self.n_seeds < FEWEST_SEEDS
            return f"Only {_seeds(self.n_seeds)} finished." if short else ""
        return f"The budget was enough for {self.n_seeds} of {_seeds(wanted)}."

    @property
    def _about_suspects(self) -> str:
        how = self.description["settings"].get("suspects", "keep")
        if how == "keep":
            return ""
        share = np.mean([run["n_suspects"] / run["n_train"] for run in self.chosen])
        less = "had no weight" if how == "drop" else "had less weight, by their scores"
        return (
            f"Suspects among the training rows ({share:.1%}) {less} in all trainings; "
            "test labels are as given."
        )

    @cached_property
    def choice(self) -> Choice:
        """What to use, chosen on validation rows only."""
        return choose_method(self)

    @property
    def best(self) -> StructuralSmoother | None:
        """A smoother that is ready to be fitted, or None if it is best not to smooth.

        If `choice` says so, it is to be fitted to out-of-fold outputs.
        """
        return self.choice.smoother

    @cached_property
    def smoother(self) -> StructuralSmoother:
        """The smoother that was given, or one with the same parameters."""
        if self.arms:
            return self.arms[0].smoother
        parameters = self.description.get("parameters", {})
        missing = sorted(name for name, value in parameters.items() if value is None)
        if missing:
            raise FileFormatError(
                f"a file of results does not hold the smoother's {', '.join(missing)}, "
                "so the smoother cannot be made again from it"
            )
        return StructuralSmoother(**parameters)

    def _all_differences(self) -> list[Difference]:
        return [d for pair in self.pairs for d in self.differences(*pair)]

    def _runs(self, method: str) -> list[Record]:
        return [run for run in self.chosen if run["method"] == method]

    def rows(self) -> list[list[str]]:
        """Return the cells of a table, header first: mean ± standard deviation."""
        return tables.means(self)

    def difference_rows(self) -> list[list[str]]:
        """Return the cells of a table of differences, header first."""
        return tables.differences(self._all_differences())

    def after_rows(self) -> list[list[str]]:
        """Return the cells of a table of cures after training, header first."""
        return tables.after_training(self)

    def to_markdown(self) -> str:
        """Return decision, verdict, tables and findings as Markdown."""
        return tables.markdown(self)

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
            for method in self.methods
        }
        found = {
            "description": self.description,
            "methods": values,
            "differences": [_finite(vars(d)) for d in self._all_differences()],
            "findings": self.findings,
            "verdict": self.verdict,
            "decision": self.choice.to_dict(),
        }
        if self.has_cures:
            found["after_training"] = {
                cure: {
                    method: {
                        metric: self.values(method, metric, after=cure).tolist()
                        for metric in self.chosen[0][cure]["test"]
                    }
                    for method in self.methods
                }
                for cure in tables.CURES
            }
        return found

    @property
    def has_cures(self) -> bool:
        """Whether cures after training were tried, as earlier versions did not."""
        return all(cure in run for run in self.chosen for cure in tables.CURES)


def best(runs: Iterable[Record], criterion: str) -> Record:
    """Return the run that is best on the validation rows."""
    return min(runs, key=lambda run: run["validation"][criterion])


def choose(runs: list[Record], settings: dict[str, Any]) -> list[Record]:
    """Return the best run of each method on one seed; none if runs are missing.

    Alpha is chosen for uniform smoothing, beta for each method that has one. Arms have
    nothing to choose.
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
    last = {run["method"]: run for run in runs if "arm" in run}
    return chosen + list(last.values())


def plain_parameters(smoother: StructuralSmoother) -> dict[str, Any]:
    """Return parameters that are not the defaults; None for what JSON cannot hold."""
    defaults = StructuralSmoother().get_params(deep=False)
    found: dict[str, Any] = {}
    for name, value in smoother.get_params(deep=False).items():
        if value is not defaults[name] and value != defaults[name]:
            try:
                found[name] = json.loads(json.dumps(value))
            except TypeError:
                found[name] = None
    return found


def _finite(numbers: dict[str, Any]) -> dict[str, Any]:
    """Return numbers as JSON has them, which knows no infinity."""
    return {
        k: None if isinstance(v, float) and not math.isfinite(v) else v
        for k, v in numbers.items()
    }


def _seeds(number: int) -> str:
    return "1 seed" if number == 1 else f"{number} seeds"
