"""The rule of PLAN.md: which arm wins on the sets for choosing.

A run applies it when it has finished these sets, and writes it down before it goes on.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from experiments import tables
from experiments.selective.arms import ARMS, NONE
from experiments.selective.finished import Finished
from structsmooth.compare.statistics import Difference
from structsmooth.errors import FileFormatError
from structsmooth.io.atomic import written_beside

LEARNER = "perceptron"  # the learner that overfits, where smoothing is meant to pay
GUARDED = ("error", "nll", "aurc")
RANKED = ("nll", "aurc")
CANDIDATES = [name for name, arm in ARMS.items() if arm.is_candidate]
WINNER = "The choice: "


def place_of_choice(results: Path) -> Path:
    """Return the file of the choice."""
    return results.with_name(f"{results.stem}-choice.md")


def read_choice(results: Path) -> str:
    """Return the arm that was chosen."""
    path = place_of_choice(results)
    if not path.is_file():
        raise FileFormatError(
            f"there is no choice in {path} yet; expected it after the sets for choosing"
        )
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(WINNER):
            return line.removeprefix(WINNER).strip().strip("*.")
    raise FileFormatError(f"{path} has no line that begins with {WINNER!r}")


def harms(
    finished: Finished, arm: str, names: list[str], seeds: list[int]
) -> list[tuple[str, Difference]]:
    """Return where an arm is clearly worse than uniform smoothing of the same mean.

    Its intervals hold jointly, over the guarded metrics and the sets.
    """
    uniform = ARMS[arm].uniform
    if uniform is None:
        return []
    n_intervals = len(GUARDED) * len(names)
    found = [
        (
            name,
            finished.difference(
                name, LEARNER, arm, uniform, metric, seeds, n_intervals
            ),
        )
        for name in names
        for metric in GUARDED
    ]
    return [(name, difference) for name, difference in found if difference.is_higher]


def mean_ranks(
    finished: Finished, arms: list[str], names: list[str], seeds: list[int]
) -> dict[str, float]:
    """Return the mean rank of each arm over the sets and the ranked metrics."""
    ranks = [
        rankdata(
            [finished.values(name, LEARNER, a, metric, seeds).mean() for a in arms]
        )
        for name in names
        for metric in RANKED
    ]
    return dict(zip(arms, map(float, np.mean(ranks, axis=0)), strict=True))


def choose(finished: Finished) -> tuple[str, dict[str, float], dict[str, list]]:
    """Return the winner, the mean ranks, and the harms of each candidate."""
    names, seeds = finished.complete("choosing")
    if len(seeds) < 2:
        raise FileFormatError(
            "the choice needs at least two seeds that are complete for all sets for "
            f"choosing, got {len(seeds)}"
        )
    arms = [NONE, *CANDIDATES]
    ranks = mean_ranks(finished, arms, names, seeds)
    harmful = {arm: harms(finished, arm, names, seeds) for arm in arms}
    passing = [arm for arm in arms if not harmful[arm]]
    return min(passing, key=ranks.__getitem__), ranks, harmful


def write_choice(results: Path) -> str:
    """Apply the rule, write down what it says, and return it."""
    finished = Finished(results)
    winner, ranks, harmful = choose(finished)
    names, seeds = finished.complete("choosing")
    lines = []
    for arm in sorted(ranks, key=ranks.__getitem__):
        words = [f"{d.metric} on {name} ({d.mean:+.2g})" for name, d in harmful[arm]]
        lines.append([arm, f"{ranks[arm]:.2f}", "; ".join(words)])
    header = ["arm", "mean rank", "clearly worse than uniform smoothing"]
    text = (
        "# Which arm wins on the sets for choosing\n\n"
        f"By the rule of `experiments/selective/PLAN.md`, with the {len(seeds)} seeds "
        f"({', '.join(map(str, seeds))}) that were complete for {', '.join(names)}.\n\n"
        f"{WINNER}**{winner}**.\n\n"
        f"{tables.markdown(header, lines)}"
    )
    with written_beside(place_of_choice(results)) as path:
        path.write_text(text, encoding="utf-8")
    return text
