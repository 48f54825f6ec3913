"""Tables of the estimators' errors, as Markdown."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import tables
from experiments.estimators.graphs import ESTIMATORS
from experiments.records import read

NAMES = [estimator.name for estimator in ESTIMATORS]


def table(results: Path) -> str:
    """Return all tables."""
    settings, runs = read(results)
    return "\n".join(
        [
            f"Bounds in %, mean over {settings['n_seeds']} draws.\n",
            *_gaussians(settings, runs),
            *_injected(settings, runs),
            *_clusters(runs),
        ]
    )


def _runs_of(runs: list[dict], **row) -> list[dict]:
    return [run for run in runs if run["config"] == row]


def _bounds(runs: list[dict], name: str) -> np.ndarray:
    """Return lower and upper bound of each run, in percent."""
    return 100.0 * np.array([run["metrics"][name] for run in runs])


def _shown(found: np.ndarray) -> str:
    lower, upper = found.mean(axis=0)
    return f"{lower:.1f} to {upper:.1f} (±{found[:, 0].std(ddof=1):.1f})"


def _gaussians(settings: dict, runs: list[dict]) -> list[str]:
    parts = [
        "## Two round Gaussians\n",
        "Lower to upper bound, and in brackets the standard deviation of the lower "
        "bound over draws.\n",
    ]
    for error in settings["bayes_errors"]:
        lines = []
        for d in settings["features"]:
            for n_rows in settings["rows"]:
                row = {"rows": n_rows, "features": d, "bayes_error": error}
                there = _runs_of(runs, task="gaussians", **row)
                cells = [_shown(_bounds(there, name)) for name in NAMES]
                lines.append([f"{d}", f"{n_rows}", *cells])
        parts += [
            f"### Bayes error {100 * error:g} %\n",
            tables.markdown(["features", "rows", *NAMES], lines),
        ]
    return parts


def _injected(settings: dict, runs: list[dict]) -> list[str]:
    lines = []
    for name in settings["real"]:
        for share in settings["noise"]:
            there = _runs_of(runs, task=name, noise=share)
            low, high = (100.0 * value for value in there[0]["true"])
            cells = [_shown(_bounds(there, estimator)) for estimator in NAMES]
            lines.append([name, f"{100 * share:g}", f"{low:.1f} to {high:.1f}", *cells])
    return [
        "## Real data with labels drawn at random\n",
        "The Bayes error lies between two values: that of perfectly separated classes, "
        "and the lowest error known here, both with the same share of random labels.\n",
        tables.markdown(["data", "labels drawn, %", "truth", *NAMES], lines),
    ]


def _clusters(runs: list[dict]) -> list[str]:
    there = _runs_of(runs, task="clusters")
    lines = []
    for name in NAMES:
        errors = [np.subtract(run["metrics"][name], run["true"]) for run in there]
        together = [
            np.corrcoef(run["metrics"][name], run["true"])[0, 1] for run in there
        ]
        lines.append(
            [
                name,
                f"{100 * np.mean([e.mean() for e in errors]):+.2f}",
                f"{100 * np.mean([np.sqrt((e**2).mean()) for e in errors]):.2f}",
                f"{np.mean(together):.3f}",
            ]
        )
    return [
        "## Clusters of the synthetic task\n",
        "Lower bound of each cluster compared with its true Bayes error.\n",
        tables.markdown(["", "bias, %", "root mean square, %", "correlation"], lines),
    ]
