"""Tasks with a known posterior, and real data whose labels are drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments import datasets, truths

NAMED = {
    "twonorm": (truths.twonorm, truths.TWONORM_ERROR),
    "ringnorm": (truths.ringnorm, truths.error_of_ringnorm()),
}
MADE = {"mixture": truths.mixture, "flat": truths.flat}
# Suffix of the names of real data sets whose columns are scaled to unit variance.
SCALED = ", scaled"


@dataclass(frozen=True)
class Drawn:
    """Rows of a task, the Bayes error at each, and the Bayes error of the task."""

    X: np.ndarray
    y: np.ndarray
    errors: np.ndarray
    truth: float


def known(config: dict) -> list[dict]:
    """Return the tasks whose posterior is known, without the numbers of rows."""
    named = [{"task": name, "classes": 2, "features": 20} for name in config["named"]]
    made = [
        {"task": kind, "classes": n_classes, "features": d, "bayes_error": error}
        for d in config["features"]
        for kind, errors in (
            ("mixture", config["bayes_errors"]),
            ("flat", config["flat_errors"]),
        )
        for error in errors
        for n_classes in config["classes"]
    ]
    return [*named, *made]


def draw(row: dict, seed: int) -> Drawn:
    """Return the rows of a task; all classes have the same share."""
    generator = np.random.default_rng([seed, row["rows"], row["features"]])
    if row["task"] in NAMED:
        make, truth = NAMED[row["task"]]
        source: Any = make()
        X, y = source.draw(generator, row["rows"], exact=True)
    else:
        make = MADE[row["task"]]
        source = make(row["classes"], row["features"], row["bayes_error"])
        truth = _error_of(source, row)
        X, y = source.draw(generator, row["rows"])
    return Drawn(X, y, 1.0 - source.posteriors(X).max(axis=1), truth)


_errors: dict[tuple, float] = {}


def _error_of(source: truths.Mixture, row: dict) -> float:
    """Return the Bayes error of a mixture, computed once."""
    key = tuple(row[n] for n in ("task", "classes", "features", "bayes_error"))
    if key not in _errors:
        _errors[key] = source.bayes_error()
    return _errors[key]


def real(name: str) -> tuple[np.ndarray, np.ndarray, dict]:
    """Return features, labels, and the options of a smoother for them."""
    data = datasets.load(name.removesuffix(SCALED))
    options = {"reducer": "scaled-pca"} if name.endswith(SCALED) else {}
    return data.X, data.y, options
