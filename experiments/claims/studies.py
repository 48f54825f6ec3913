"""How the claims about real data compare with the studies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.claims.rule import (
    Pair,
    UnfinishedError,
    correlated,
    lower_than,
    lowest,
)
from experiments.correlations import correlation, shown
from experiments.critical.table import columns_of
from experiments.humans import most_clusters
from experiments.panels import epochs_below, mean_curves
from experiments.records import read
from experiments.rows import reference
from experiments.study.table import Finished
from structsmooth.errors import FileFormatError

DIGITS = {"error": 2, "nll": 4}


def study_pairs(results: Path, name: str, metric: str, rival: str) -> Iterator[Pair]:
    """Yield a metric of structural smoothing and of a rival, for each setting."""
    factor = 100.0 if metric == "error" else 1.0
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
        ours, theirs = (
            factor * finished.values(r, metric, seeds) for r in (row, other)
        )
        yield ours, theirs


@dataclass(frozen=True)
class Images:
    """The image studies with one network, with and without batch normalization."""

    network: str
    with_norm: tuple[str, ...]
    without_norm: tuple[str, ...]

    def are_finished(self, results: Path) -> bool:
        """Tell whether all runs of all studies are there."""
        try:
            for name in (*self.with_norm, *self.without_norm):
                list(study_pairs(results, name, "error", "none"))
        except (FileFormatError, UnfinishedError):
            return False
        return True


SETS = ("svhn", "cifar10", "cifar100")
COMPACT = Images(
    "compact network",
    tuple(f"compact-{name}" for name in SETS),
    tuple(f"compact-{name}-plain" for name in SETS),
)
SMALL = Images("small MobileNet-v2", SETS, ("cifar10-plain",))


def images_of(results: Path) -> Images:
    """Return the studies that decide: the compact network's as soon as all are there.

    Until then, those of the small MobileNet-v2.
    """
    return COMPACT if COMPACT.are_finished(results) else SMALL


def compared(name: str, metric: str, rival: str = "uniform"):
    """Return a function that compares structural smoothing with a rival."""

    def find(results: Path) -> tuple[str, str]:
        pairs = list(study_pairs(results, name, metric, rival))
        return lower_than(pairs, digits=DIGITS[metric])

    return find


def on_images(metric: str, rival: str, *, batch_norm: bool):
    """Return a function that compares structural smoothing of images with a rival."""

    def find(results: Path) -> tuple[str, str]:
        images = images_of(results)
        names = images.with_norm if batch_norm else images.without_norm
        groups = [list(study_pairs(results, name, metric, rival)) for name in names]
        words, verdict = lower_than(*groups, digits=DIGITS[metric])
        return f"{_said(images, names)}: {words}", verdict

    return find


def _said(images: Images, names: tuple[str, ...]) -> str:
    only = "" if len(names) == len(SETS) else ", CIFAR-10 only"
    return f"{images.network}{only}"


def lowest_on_images(results: Path) -> tuple[str, str]:
    """Count the settings with a lower lowest error than that of uniform smoothing."""
    images = images_of(results)
    pairs = [
        pair
        for name in (*images.with_norm, *images.without_norm)
        for pair in study_pairs(results, name, "error", "uniform")
    ]
    words, verdict = lowest(pairs)
    return f"{images.network}: {words}", verdict


def batch_norm(results: Path) -> tuple[str, str]:
    """Test whether the gain is larger without batch normalization, by seed."""
    images = images_of(results)
    gaps = {
        name: [a - b for a, b in study_pairs(results, name, "error", "uniform")]
        for name in (*images.with_norm, *images.without_norm)
    }
    groups = [
        list(zip(gaps[plain], gaps[plain.removesuffix("-plain")], strict=True))
        for plain in images.without_norm
    ]
    without, with_ = (
        float(np.mean([pair[place] for group in groups for pair in group]))
        for place in (0, 1)
    )
    words, verdict = lower_than(*groups)
    return (
        f"{_said(images, images.without_norm)}: {without:+.2f} points without, "
        f"{with_:+.2f} with; difference {words}",
        verdict,
    )


def curves(results: Path) -> tuple[str, str]:
    """Compare the mean cross-entropy over all measured epochs, paired by seed."""
    words, groups = [], []
    for name in ("higgs", *images_of(results).with_norm):
        list(study_pairs(results, name, "nll", "uniform"))  # complete?
        finished = Finished(results / f"{name}.jsonl")
        n_epochs, below = epochs_below(finished, 0.2)
        words.append(f"{name} {below} of {n_epochs}")
        groups.append([mean_curves(finished, 0.2)])
    found, verdict = lower_than(*groups, digits=4)
    return f"{found}; epochs with the lower mean: {', '.join(words)}", verdict


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
    # These are features of the same images, so they are not pooled.
    words = ", ".join(f"{name} {shown(value)}" for name, value in found.items())
    return words, "holds" if all(low > 0 for _, low, _ in found.values()) else "open"
