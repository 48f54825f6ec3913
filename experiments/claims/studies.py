"""How the claims about real data compare with the studies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from experiments.claims.rule import (
    Pair,
    UnfinishedError,
    correlated,
    lower_than,
    verdict_of,
)
from experiments.correlations import correlation
from experiments.critical.table import columns_of
from experiments.humans import most_clusters
from experiments.panels import epochs_below
from experiments.records import read
from experiments.rows import reference
from experiments.study.table import Finished


def study_pairs(results: Path, names, metric: str, rival: str) -> Iterator[Pair]:
    """Yield a metric of structural smoothing and of a rival, for each setting."""
    factor = 100.0 if metric == "error" else 1.0
    for name in names:
        finished = Finished(results / f"{name}.jsonl")
        n_seeds, config = finished.config["n_seeds"], finished.config
        rows = [row for row in finished.rows() if row["method"] == "structural"]
        if len(rows) < len(config["alphas"]) * len(config["n_clusters"]):
            raise UnfinishedError(f"{name}: beta has not been chosen yet")
        for row in rows:
            other = reference(rival, row["alpha"])
            seeds = finished.seeds(row, other)
            if len(seeds) < n_seeds:
                raise UnfinishedError(f"{name}: {len(seeds)} of {n_seeds} seeds")
            yield tuple(
                factor * finished.values(r, metric, seeds) for r in (row, other)
            )


def compared(names, metric: str, rival: str = "uniform"):
    """Return a function that compares structural smoothing with a rival."""
    digits = 2 if metric == "error" else 4

    def find(results: Path) -> tuple[str, str]:
        return lower_than(list(study_pairs(results, names, metric, rival)), digits)

    return find


def batch_norm(results: Path) -> tuple[str, str]:
    """Test whether the gain is larger without batch normalization, by seed."""
    gaps = {
        name: [a - b for a, b in study_pairs(results, [name], "error", "uniform")]
        for name in ("cifar10-plain", "cifar10")
    }
    pairs = list(zip(gaps["cifar10-plain"], gaps["cifar10"], strict=True))
    means = {name: float(np.mean(found)) for name, found in gaps.items()}
    words = (
        f"{means['cifar10-plain']:+.2f} points without, {means['cifar10']:+.2f} with"
    )
    differences, verdict = lower_than(pairs)
    return f"{words}; differences {differences}", verdict


def curves(results: Path) -> tuple[str, str]:
    """Test whether the structural curves are below the uniform ones."""
    words, signs = [], []
    for name in ("higgs", "svhn", "cifar10", "cifar100"):
        list(study_pairs(results, [name], "nll", "uniform"))  # complete?
        n_epochs, below = epochs_below(Finished(results / f"{name}.jsonl"), 0.2)
        words.append(f"{name} {below} of {n_epochs}")
        signs.append(1 if below == n_epochs else -1 if 2 * below < n_epochs else 0)
    return f"measured epochs with the lower mean: {', '.join(words)}", verdict_of(signs)


def critical(first: str, second: str):
    """Return a function that tests the correlation of two columns of Table 4."""

    def find(results: Path) -> tuple[str, str]:
        settings, runs = read(results / "critical.jsonl")
        if len(runs) < len(settings["studies"]):
            raise UnfinishedError(
                f"{len(runs)} of {len(settings['studies'])} data sets"
            )
        found = {}
        for run in runs:
            columns = columns_of(run, settings["shown_radius"])
            value = correlation(columns[first], columns[second])
            found[run["config"]["study"]] = value
        return correlated(found)

    return find


def humans(results: Path) -> tuple[str, str]:
    """Test whether people disagree where the bound is high."""
    settings, runs = read(results / "humans.jsonl")
    largest = most_clusters(settings)
    found = {
        run["config"]["features"]: tuple(
            run["metrics"][name] for name in ("correlation", "low", "high")
        )
        for run in runs
        if run["config"]["n_clusters"] == largest and run["seed"] == 0
    }
    words, verdict = correlated(found)
    return words, "holds" if verdict == "reproduced" else "does not hold"
