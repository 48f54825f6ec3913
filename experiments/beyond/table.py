"""Tables of the methods at each alpha, and with alpha chosen on validation rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import tables
from experiments.beyond.methods import methods_of
from experiments.records import read
from structsmooth.errors import FileFormatError

METRICS = (("error", 100.0, 2), ("nll", 1.0, 3), ("ece", 100.0, 2), ("aurc", 100.0, 2))
TITLES = {"error": "error, %", "nll": "NLL", "ece": "ECE, %", "aurc": "AURC, %"}
ALONE = ("none", "temperature")
CHOSEN, CAUTIOUS, USUAL = "chosen", "cautious", 0.1
# Splits of one data set share rows, except for these: their test rows are either
# always the same or always new.
FIXED_TEST = ("timit", "synthetic", "cifar10", "cifar100", "svhn")


class Finished:
    """The runs of the complete seeds."""

    def __init__(self, results: Path) -> None:
        self.settings, runs = read(results)
        self.methods = methods_of(self.settings)
        n_rows = 2 + len(self.methods) * len(self.settings["alphas"])
        by_seed: dict[int, dict] = {}
        for run in runs:
            key = run["config"]["method"], run["config"]["alpha"]
            by_seed.setdefault(run["seed"], {})[key] = run
        self.seeds = {s: found for s, found in by_seed.items() if len(found) == n_rows}
        if not self.seeds:
            raise FileFormatError(f"there are no finished seeds in {results} yet")

    def values(self, method: str, alpha, metric: str) -> np.ndarray:
        """Return a metric over the seeds.

        Alpha may be "chosen", by validation NLL, or "cautious": the estimated Bayes
        error or 0.1, the lower of the two.
        """
        return np.array(
            [self._run(s, method, alpha)["metrics"][metric] for s in sorted(self.seeds)]
        )

    def mean_strengths(self, method: str, alpha) -> np.ndarray:
        """Return the mean strength of each seed."""
        return np.array(
            [self._run(s, method, alpha)["mean_strength"] for s in sorted(self.seeds)]
        )

    def _run(self, seed: int, method: str, alpha) -> dict:
        found = self.seeds[seed]
        if method in ALONE:
            return found[method, 0.0]
        if alpha == CAUTIOUS:
            estimate = found["uniform", "auto"]["mean_strength"]
            alpha = "auto" if estimate < USUAL else USUAL
        if alpha != CHOSEN:
            return found[method, alpha]
        alphas = self.settings["alphas"]
        return min(
            (found[method, a] for a in alphas), key=lambda run: run["validation"]["nll"]
        )

    def has(self, alpha) -> bool:
        """Tell whether there are runs with an alpha."""
        needed = {USUAL, "auto"} if alpha == CAUTIOUS else {alpha}
        return needed <= {*self.settings["alphas"]}

    @property
    def test_ratio(self) -> float:
        """Ratio of test to training rows, or 0 if splits do not share rows."""
        if self.settings["data"] in FIXED_TEST:
            return 0.0
        n_train, _, n_test = next(iter(self.seeds[min(self.seeds)].values()))["n_rows"]
        return n_test / n_train


def table(results: Path) -> str:
    """Return all tables of an experiment, as Markdown."""
    finished = Finished(results)
    settings = finished.settings
    parts = [
        f"{len(finished.seeds)} of {settings['n_seeds']} seeds. Model: "
        f"{settings['model']} {settings.get('model_options', {})}. In brackets: the "
        "difference from uniform smoothing of the same alpha with its 95 % interval, "
        "paired by seed and not adjusted for the number of intervals"
        + (
            ", widened for splits that share rows (Nadeau and Bengio)"
            if finished.test_ratio
            else ""
        )
        + ". Lower is better.\n"
    ]
    for alpha in (*settings["alphas"], CHOSEN):
        named = "chosen by validation NLL" if alpha == CHOSEN else alpha
        parts += [f"## alpha {named}\n", _table_of(finished, alpha)]
    return "\n".join(parts)


def _table_of(finished: Finished, alpha) -> str:
    lines = []
    for method in (*ALONE, *finished.methods):
        cells = [method]
        for metric, factor, digits in METRICS:
            values = factor * finished.values(method, alpha, metric)
            cell = f"{values.mean():.{digits}f}"
            if method != "uniform":
                rival = factor * finished.values("uniform", alpha, metric)
                gap = tables.difference(
                    values, rival, digits, test_ratio=finished.test_ratio
                )
                cell += f" [{gap}]"
            cells.append(cell)
        lines.append(cells)
    return tables.markdown(["method", *(TITLES[m] for m, _, _ in METRICS)], lines)
