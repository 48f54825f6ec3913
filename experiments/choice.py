"""Whether what `SmoothedClassifierCV` chooses is ever clearly worse than others."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from experiments import tables
from experiments.datasets import load
from experiments.records import Records, read
from experiments.study.splits import hold_out
from structsmooth import SmoothedClassifierCV, StructuralSmoother, alpha_from_epsilon
from structsmooth.errors import StructsmoothWarning
from structsmooth.metrics import evaluate

# The default candidates, by name and in their order.
NAMES = ("none", "default", "auto", "uniform")
METRICS = {"error": "error, %", "nll": "NLL x 100", "aurc": "AURC, %"}


def run(config: dict, results: Path, n_jobs: int = 1) -> None:  # noqa: ARG001 (see below)
    """Train the missing runs, one after the other whatever ``n_jobs`` is."""
    records = Records(results, {k: v for k, v in config.items() if k != "scale"})
    for name in config["data"]:
        for learner, strength in config["learners"].items():
            row = {"data": name, "learner": learner}
            for seed in range(config["n_seeds"]):
                if not records.has(row, seed):
                    started = time.perf_counter()
                    with warnings.catch_warnings(), threadpool_limits(1):
                        warnings.simplefilter("ignore", StructsmoothWarning)
                        found = _run(config, name, strength, seed)
                    seconds = round(time.perf_counter() - started, 3)
                    records.add(
                        [{"config": row, "seed": seed, **found, "seconds": seconds}]
                    )


def _run(config: dict, name: str, strength: float, seed: int) -> dict:
    """Choose, and test all candidates, each trained on all training rows."""
    data = load(name)
    share = config["test_share"]
    rows, held = hold_out(np.arange(len(data.y)), data.y, data.groups, share, seed)
    test = data.test or (data.X[held], data.y[held])
    rows = np.random.default_rng(seed).permutation(rows)[: config["max_rows"]]
    X, y = data.X[rows], data.y[rows]
    n_classes = int(y.max()) + 1
    uniform = StructuralSmoother(alpha_from_epsilon(0.1, n_classes), 0.0)
    auto = StructuralSmoother("auto", "auto")
    candidates = [None, StructuralSmoother(), auto, uniform]
    for candidate in candidates[1:]:
        candidate.set_params(random_state=seed)
    folds = StratifiedKFold if data.groups is None else StratifiedGroupKFold
    groups = None if data.groups is None else data.groups[rows]
    learner = make_pipeline(
        StandardScaler(), LogisticRegression(C=strength, max_iter=1000)
    )
    splitter = folds(5, shuffle=True, random_state=seed)
    model = SmoothedClassifierCV(learner, candidates, cv=splitter, refit=False)
    model.fit(X, y, groups=groups)
    metrics = {}
    for candidate, title in zip(candidates, NAMES, strict=True):
        # The splitter is not used for one candidate.
        alone = SmoothedClassifierCV(learner, [candidate], cv=2).fit(X, y)
        found = evaluate(test[1], alone.predict_proba(test[0]))
        metrics[title] = {metric: found[metric] for metric in METRICS}
    chosen = NAMES[model.best_index_]
    return {
        "chosen": chosen,
        "metrics": metrics | {"chosen": metrics[chosen]},
        "ratio": 0.0 if data.test else len(held) / len(rows),
    }


def table(results: Path) -> str:
    """Return the means, what was chosen, and where that is clearly worse or better."""
    settings, runs = read(results)
    lines = []
    for name in settings["data"]:
        for learner in settings["learners"]:
            row = {"data": name, "learner": learner}
            there = [run for run in runs if run["config"] == row]
            if there:
                lines += _lines(name, learner, there)
    header = ["", "learner", "", *NAMES, "chosen", "- none", "- uniform", "seeds"]
    return (
        "Means over the seeds on test rows; differences of what was chosen, with 95 % "
        "intervals that hold for the three metrics together and allow for rows that "
        "splits share.\n\n" + tables.markdown(header, lines)
    )


def _lines(name: str, learner: str, runs: list[dict]) -> list[list[str]]:
    counts = Counter(run["chosen"] for run in runs)
    chosen = ", ".join(f"{title} {count}" for title, count in counts.most_common())
    ratio = float(np.mean([run["ratio"] for run in runs]))
    lines = []
    for metric, title in METRICS.items():
        values = {
            method: 100.0 * np.array([run["metrics"][method][metric] for run in runs])
            for method in (*NAMES, "chosen")
        }
        cells = [f"{values[method].mean():.2f}" for method in (*NAMES, "chosen")]
        for reference in ("none", "uniform"):
            pair = values["chosen"], values[reference]
            sign = tables.sign(*pair, len(METRICS), ratio)
            word = {1: " better", 0: "", -1: " **worse**"}[sign]
            cells.append(f"{(pair[0] - pair[1]).mean():+.2f}{word}")
        lines.append([name, learner, title, *cells, chosen])
        name, learner, chosen = "", "", ""
    return lines
