"""The page of results: the verdict first, then arms, learners, the half, every set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from experiments import tables
from experiments.selective.arms import ARMS, DEFAULT, HALF, NONE, SHARES, arms_of
from experiments.selective.choice import (
    CANDIDATES,
    GUARDED,
    LEARNER,
    harms,
    mean_ranks,
    place_of_choice,
    read_choice,
)
from experiments.selective.finished import Finished
from experiments.selective.half import calibration_curve, interval, slopes_of

METRICS = {
    "error": (100.0, 2, "error, %"),
    "nll": (1.0, 3, "NLL"),
    "ece": (100.0, 2, "ECE, %"),
    "aurc": (100.0, 3, "AURC, %"),
}
JUDGED = ("nll", "ece", "aurc")
AFTER = ("plain", "temperature", "p-norm")
PARTS = ("choosing", "confirming")
# Added to the plan after the choice.
FLOOR = "R/2 floor 25%"
SECOND = (FLOOR, "R/2", "R/2 by sample")


def table(results: Path) -> str:
    """Return the page, as Markdown; parts without complete seeds are left out."""
    finished = Finished(results)
    parts = {
        part: (names, seeds)
        for part in PARTS
        for names, seeds in [finished.complete(part)]
        if len(seeds) > 1
    }
    chosen = None
    if place_of_choice(results).is_file():
        chosen = read_choice(results)
    text = [_introduction(finished, parts, chosen)]
    if chosen is not None and "confirming" in parts:
        text += ["## Is the choice confirmed?\n", _verdict(finished, chosen, parts)]
    for part, (names, seeds) in parts.items():
        text += [
            f"## All arms, perceptron, sets for {part}\n",
            _arms(finished, names, seeds),
            f"## Mended after training, perceptron, sets for {part}\n",
            _afterwards(finished, names, seeds),
        ]
    for part, (names, seeds) in parts.items():
        text += [
            f"## Should these learners be smoothed at all? Sets for {part}\n",
            _learners(finished, chosen or "R/2", names, seeds),
            f"## The half, sets for {part}\n",
            _half(finished, names, seeds),
        ]
    for part, (names, seeds) in parts.items():
        for learner in finished.learners:
            text.append(f"## Every set, {learner}, sets for {part}\n")
            text += [_sets(finished, learner, m, names, seeds) for m in METRICS]
    return "\n".join(text)


def _introduction(finished: Finished, parts: dict, chosen: str | None) -> str:
    seeds = "; ".join(
        f"sets for {part} ({', '.join(names)}): {len(found)} of "
        f"{finished.settings['n_seeds']} seeds"
        for part, (names, found) in parts.items()
    )
    choice = "not made yet"
    if chosen is not None:
        choice = f"[**{chosen}**](selective-choice.md)"
    return (
        "What is asked, of which data, and by which rule it is judged was written down "
        "in [the plan](../selective/PLAN.md) before the first run; "
        "[docs/selective.md](../../docs/selective.md) says what follows. "
        f"{seeds[:1].upper()}{seeds[1:]}. The choice: {choice}.\n\n"
        "Lower is better everywhere. R is the mean estimated Bayes error of the "
        "clusters. Intervals are of differences paired by seed (Student's t). They "
        "hold jointly at 95 % for the sets of a part and the metrics of a table, and "
        "for the test rows used here, which all seeds share.\n"
    )


def _verdict(finished: Finished, chosen: str, parts: dict) -> str:
    """Return whether the sets for confirming agree, by the rule of the plan."""
    names, seeds = parts["confirming"]
    ranks = mean_ranks(finished, [NONE, *CANDIDATES], names, seeds)
    with_floor = mean_ranks(finished, [NONE, *CANDIDATES, FLOOR], names, seeds)
    sentences = [_confirmed(finished, chosen, ranks, names, seeds)]
    sentences += [_confirmed(finished, arm, with_floor, names, seeds) for arm in SECOND]
    lines = [
        [arm, f"{ranks[arm]:.2f}", _words(harms(finished, arm, names, seeds))]
        for arm in sorted(ranks, key=ranks.__getitem__)
    ]
    header = ["arm", "mean rank", "clearly worse than uniform smoothing"]
    first, *others = sentences
    return (
        f"{first}\n\nHypotheses that were added after the choice, with {FLOOR} ranked "
        f"too:\n\n{''.join(f'- {other}' + chr(10) for other in others)}\n"
        f"{tables.markdown(header, lines)}"
    )


def _confirmed(finished, arm: str, ranks: dict[str, float], names, seeds) -> str:
    worse = harms(finished, arm, names, seeds)
    is_better = ranks[arm] < min(ranks[DEFAULT], ranks[NONE])
    verdict = "confirmed" if is_better and not worse else "not confirmed"
    return (
        f"**{arm} is {verdict}.** Clearly worse than uniform smoothing of the same "
        f"mean: {_words(worse) or 'nowhere'}. Mean rank {ranks[arm]:.2f}; default "
        f"{ranks[DEFAULT]:.2f}, none {ranks[NONE]:.2f}."
    )


def _words(worse: list) -> str:
    return "; ".join(f"{d.metric} on {name} ({d.mean:+.2g})" for name, d in worse)


def ratio_to_none(
    finished, names, seeds, learner, arm, metric, variant="plain"
) -> float:
    """Return the geometric mean over the sets of a metric relative to no smoothing."""
    logs = [
        np.log(
            finished.values(name, learner, arm, metric, seeds, variant).mean()
            / finished.values(name, learner, NONE, metric, seeds).mean()
        )
        for name in names
    ]
    return float(np.exp(np.mean(logs)))


def clear_counts(finished, names, seeds, learner, arm, reference, metrics) -> str:
    """Return on how many sets an arm is clearly lower and higher, by metric."""
    cells = []
    for metric in metrics:
        found = [
            finished.difference(
                name, learner, arm, reference, metric, seeds, len(metrics) * len(names)
            )
            for name in names
        ]
        lower = sum(difference.is_lower for difference in found)
        higher = sum(difference.is_higher for difference in found)
        cells.append(f"{lower}:{higher}")
    return " ".join(cells)


def _arms(finished: Finished, names: list[str], seeds: list[int]) -> str:
    lines = []
    for arm, facts in arms_of(LEARNER).items():
        ratios = [
            f"{ratio_to_none(finished, names, seeds, LEARNER, arm, metric):.3f}"
            for metric in (*METRICS, "augrc")
        ]
        against_none = against_uniform = ""
        if arm != NONE:
            against_none = clear_counts(
                finished, names, seeds, LEARNER, arm, NONE, GUARDED
            )
        if facts.uniform is not None:
            where = finished, names, seeds, LEARNER, arm, facts.uniform
            against_uniform = clear_counts(*where, GUARDED)
        lines.append([arm, *ratios, against_none, against_uniform])
    header = ["arm", "error", "NLL", "ECE", "AURC", "AUGRC"]
    header += ["against none", "against uniform"]
    return (
        "Geometric mean over the sets, relative to no smoothing. The last columns "
        "count the sets on which error, NLL and AURC are clearly lower:higher than "
        "without smoothing, and than with uniform smoothing of the same mean.\n\n"
        f"{tables.markdown(header, lines)}"
    )


def _afterwards(finished: Finished, names: list[str], seeds: list[int]) -> str:
    lines = []
    for arm in arms_of(LEARNER):
        where = finished, names, seeds, LEARNER, arm
        cells = [f"{ratio_to_none(*where, 'aurc', variant):.3f}" for variant in AFTER]
        cells += [
            f"{ratio_to_none(*where, metric, 'temperature'):.3f}"
            for metric in ("nll", "ece")
        ]
        lines.append([arm, *cells])
    header = ["arm", "AURC as is", "scaled", "pNorm", "NLL scaled", "ECE scaled"]
    return (
        "Geometric mean over the sets, relative to no smoothing as it is. Temperature "
        "and p are fitted to the validation rows.\n\n"
        f"{tables.markdown(header, lines)}"
    )


def _learners(
    finished: Finished, chosen: str, names: list[str], seeds: list[int]
) -> str:
    lines = []
    for learner in finished.learners:
        compared = [chosen, "uniform R/4", HALF, "R/2", "smaller", "overconfidence"]
        for arm in dict.fromkeys(compared):
            if arm not in arms_of(learner) or arm == NONE:
                continue
            where = finished, names, seeds, learner, arm
            ratios = [f"{ratio_to_none(*where, metric):.3f}" for metric in JUDGED]
            lines.append([learner, arm, *ratios, clear_counts(*where, NONE, JUDGED)])
        lines.append([learner, "chosen", *_chosen(finished, learner, names, seeds)])
    header = ["learner", "arm", "NLL", "ECE", "AURC", "lower:higher"]
    gaps = [
        [
            learner,
            *(
                f"{np.mean([r['overconfidence'] for r in runs]):.3f} "
                f"({np.mean([r['bayes_error'] for r in runs]):.3f}, "
                f"{np.mean([r['training_error'] for r in runs]):.3f})"
                for name in names
                for runs in [finished.runs(name, learner, seeds)]
            ),
        ]
        for learner in finished.learners
    ]
    return (
        "Geometric mean over the sets, relative to no smoothing, and the number of "
        "sets with a clearly lower:higher NLL, ECE and AURC. Chosen is not an arm, and "
        "was not planned: the one of none, R/8 to R and uniform R/4 to R with the "
        "lowest NLL on the validation rows of a seed.\n\n"
        f"{tables.markdown(header, lines)}\n"
        "Overconfidence out of fold; in brackets R, and the error on the training rows "
        "without smoothing.\n\n"
        f"{tables.markdown(['learner', *names], gaps)}"
    )


def _chosen(finished, learner: str, names, seeds) -> list[str]:
    """Return cells for what validation rows choose, relative to no smoothing."""
    arms = [NONE, *SHARES, "uniform R/4", "uniform R/2", "uniform R"]
    ratios, counts = [], []
    for metric in JUDGED:
        logs, signs = [], []
        for name in names:
            values = finished.chosen(name, learner, arms, metric, seeds)
            none = finished.values(name, learner, NONE, metric, seeds)
            logs.append(np.log(values.mean() / none.mean()))
            signs.append(tables.sign(values, none, len(JUDGED) * len(names)))
        ratios.append(f"{np.exp(np.mean(logs)):.3f}")
        counts.append(f"{signs.count(1)}:{signs.count(-1)}")
    return [*ratios, " ".join(counts)]


def _half(finished: Finished, names: list[str], seeds: list[int]) -> str:
    lines: list[list[str]] = []
    needed: list[float] = []
    least: list[float] = []
    for learner in finished.learners:
        for name in names:
            slopes = slopes_of(finished, name, learner, seeds)
            mean, low, high = interval(slopes.overconfidence)
            shares, errors = calibration_curve(finished, name, learner, seeds)
            needed.append(float(np.nanmean(slopes.needed)))
            least.append(float(shares[errors.argmin()]))
            lines.append(
                [
                    learner,
                    name,
                    f"{mean:.2f} ({low:.2f} to {high:.2f})",
                    "yes" if low <= 0.5 <= high else "no",
                    f"{np.nanmean(slopes.error):.2f}",
                    f"{np.nanmean(slopes.doubt):.2f}",
                    f"{needed[-1]:.2f}",
                    f"{least[-1]:g}",
                    f"{100 * errors[0]:.1f}",
                    f"{100 * errors.min():.1f}",
                ]
            )
    header = [
        "learner",
        "set",
        "overconfidence / R",
        "0.5?",
        "error / R",
        "doubt / R",
        "needed / R",
        "share of R with the least ECE",
        "ECE without, %",
        "least ECE, %",
    ]
    return (
        "Training without smoothing: slopes over the Bayes errors of the clusters, "
        "through zero, with 95 % intervals over the seeds. Overconfidence is error "
        "minus doubt (1 - confidence). Needed is the strength that would lower "
        "confidence to accuracy if smoothing moved predictions as it moves labels.\n\n"
        f"{tables.markdown(header, lines)}\n"
        "Spearman's correlation of needed / R and the share with the least ECE, over "
        f"the lines of this table: {spearmanr(needed, least).statistic:.2f}.\n"
    )


def _sets(finished, learner: str, metric: str, names, seeds) -> str:
    factor, digits, title = METRICS[metric]
    n_intervals = len(GUARDED) * len(names)
    lines = []
    for arm in arms_of(learner):
        uniform = ARMS[arm].uniform
        cells = []
        for name in names:
            values = factor * finished.values(name, learner, arm, metric, seeds)
            mark = ""
            if uniform in arms_of(learner):
                where = name, learner, arm, uniform, metric, seeds, n_intervals
                difference = finished.difference(*where)
                mark = "-" if difference.is_lower else "+" * difference.is_higher
            cells.append(f"{values.mean():.{digits}f}{mark}")
        lines.append([arm, *cells])
    return (
        f"{title}; - and + mean clearly lower and higher than uniform smoothing of the "
        f"same mean.\n\n{tables.markdown([title, *names], lines)}"
    )
