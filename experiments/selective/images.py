"""Smoothing of networks for images, with and without augmentation, see PLAN.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import tables
from experiments.selective.arms import ARMS, NONE
from experiments.selective.finished import Finished
from experiments.selective.trainings import JUDGED, facts_without_smoothing, run
from structsmooth.errors import FileFormatError

__all__ = ["run", "table"]

# Factor and digits of each metric.
METRICS = {"error": (100, 2), "nll": (1, 3), "ece": (100, 2), "aurc": (100, 2)}
TITLES = {"error": "error, %", "nll": "NLL", "ece": "ECE, %", "aurc": "AURC, %"}


def table(results: Path) -> str:
    """Return means of all arms, and differences with joint intervals, as Markdown."""
    finished = Finished(results)
    (name,) = finished.settings["confirming"]
    seeds = finished.seeds([name])
    if len(seeds) < 2:
        raise FileFormatError(f"there are fewer than two complete seeds in {results}")
    text = [
        f"{len(seeds)} of {finished.settings['n_seeds']} seeds. Training error, "
        "overconfidence (out of fold) and R, the Bayes error that is estimated between "
        "pixels, are means without smoothing, in percent.\n",
        facts_without_smoothing(finished, [name], seeds),
        "Means over the seeds. Differences have 95 % intervals that hold jointly for "
        "both trainings and the three metrics; they are paired by seed, and cover "
        "training rows and initial weights, not other test rows.\n",
    ]
    for learner in finished.learners:
        text += [f"## {learner.capitalize()}\n", _arms(finished, name, learner, seeds)]
    return "\n".join(text)


def _arms(finished: Finished, name: str, learner: str, seeds: list[int]) -> str:
    lines = []
    for arm in finished.settings["arms"]:
        strengths = [
            run["mean_strengths"][run["arms"][arm]]
            for run in finished.runs(name, learner, seeds)
        ]
        cells = [arm, f"{np.mean(strengths):.3f}"]
        for metric, (factor, digits) in METRICS.items():
            mean = finished.values(name, learner, arm, metric, seeds).mean()
            cells.append(f"{factor * mean:.{digits}f}")
        lines.append(cells)
    means = tables.markdown(["arm", "mean strength", *TITLES.values()], lines)
    pairs = [(arm, NONE) for arm in finished.settings["arms"] if arm != NONE]
    pairs += [(a, u) for a, _ in pairs if (u := ARMS[a].uniform) is not None]
    n_intervals = len(JUDGED) * len(finished.learners)
    lines = []
    for arm, rival in pairs:
        where = name, learner, arm, rival
        cells = [f"{arm} - {rival}"]
        for metric in JUDGED:
            found = finished.difference(*where, metric, seeds, n_intervals)
            factor, digits = METRICS[metric]
            low, high = factor * found.low, factor * found.high
            word = " lower" if found.is_lower else " **higher**" * found.is_higher
            cells.append(f"{low:+.{digits}f} to {high:+.{digits}f}{word}")
        lines.append(cells)
    return f"{means}\n{tables.markdown(['', *(TITLES[m] for m in JUDGED)], lines)}"
