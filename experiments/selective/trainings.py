"""The half rule with other depths and lengths of training, see PLAN.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import tables
from experiments.records import Records
from experiments.selective.arms import HALF, NONE
from experiments.selective.finished import Finished
from experiments.selective.runner import train_units
from experiments.selective.table import clear_counts, ratio_to_none
from structsmooth.errors import FileFormatError

METRICS = ("error", "nll", "ece", "aurc")
JUDGED = ("nll", "ece", "aurc")


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Train the missing units."""
    records = Records(results, config)
    train_units(config, records, config["choosing"] + config["confirming"], n_jobs)


def table(results: Path) -> str:
    """Return a table for all trainings, as Markdown."""
    finished = Finished(results)
    names = finished.settings["choosing"] + finished.settings["confirming"]
    seeds = finished.seeds(names)
    if len(seeds) < 2:
        raise FileFormatError(f"there are fewer than two complete seeds in {results}")
    text = [
        f"{len(seeds)} of {finished.settings['n_seeds']} seeds, {len(names)} sets. "
        "Metrics are geometric means over the sets, relative to no smoothing. The last "
        "columns count the sets on which NLL, ECE and AURC are clearly lower:higher "
        "than without smoothing, and than with uniform smoothing at R/2; intervals "
        "hold jointly at 95 % for sets and metrics. Training error and overconfidence "
        "are means without smoothing, in percent, and R is the estimated Bayes error, "
        "in percent too.\n",
        facts_without_smoothing(finished, names, seeds),
        _arms(finished, names, seeds),
    ]
    return "\n".join(text)


def facts_without_smoothing(finished: Finished, names, seeds) -> str:
    """Return how well networks without smoothing fit, and R."""
    lines = []
    for learner in finished.learners:
        runs = [run for name in names for run in finished.runs(name, learner, seeds)]
        cells = [
            f"{100.0 * np.mean([run[fact] for run in runs]):.2f}"
            for fact in ("training_error", "overconfidence", "bayes_error")
        ]
        lines.append([learner, *cells])
    header = ["training", "training error", "overconfidence", "R"]
    return tables.markdown(header, lines)


def _arms(finished: Finished, names, seeds) -> str:
    lines = []
    for learner in finished.learners:
        for arm in finished.settings["arms"]:
            if arm == NONE:
                continue
            where = finished, names, seeds, learner, arm
            ratios = [f"{ratio_to_none(*where, metric):.3f}" for metric in METRICS]
            against = [
                "" if arm == rival else clear_counts(*where, rival, JUDGED)
                for rival in (NONE, HALF)
            ]
            lines.append([learner, arm, *ratios, *against])
    header = ["training", "arm", "error", "NLL", "ECE", "AURC", "against none"]
    return tables.markdown([*header, f"against {HALF}"], lines)
