"""Whether what `SmoothedClassifierCV` chooses is ever clearly worse than others."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from experiments import tables
from experiments.datasets import load
from experiments.records import Records, read
from experiments.selective import perceptrons
from experiments.study.splits import hold_out
from structsmooth import SmoothedClassifierCV, StructuralSmoother, alpha_from_epsilon
from structsmooth.classifier.measured import MeasuredRows
from structsmooth.errors import StructsmoothWarning
from structsmooth.metrics import area_under_risk_coverage, evaluate
from structsmooth.metrics.preference import preferred

# The default candidates, by name and in their order.
NAMES = ("none", "default", "auto", "uniform")
TINY = np.finfo(np.float64).eps
# What `SmoothedClassifierCV` measures on the rows of a fold.
MEASURES = {
    "score": lambda p, y: np.log(np.maximum(p[np.arange(len(y)), y], TINY)).mean(),
    "aurc": lambda p, y: area_under_risk_coverage(y, p),
}
N_FOLDS = 5
RULES = {"the rule": True, "the likelihood alone": False}
WORDS = {1: "better", 0: "", -1: "worse"}
METRICS = {"error": "error, %", "nll": "NLL x 100", "aurc": "AURC, %"}


def run(config: dict, results: Path, n_jobs: int = 1) -> None:  # noqa: ARG001 (one at a time)
    """Train the missing runs, seed by seed, and one at a time whatever ``n_jobs``."""
    records = Records(results, {k: v for k, v in config.items() if k != "scale"})
    for seed in range(config["n_seeds"]):
        for name in config["data"]:
            for learner, options in config["learners"].items():
                row = {"data": name, "learner": learner}
                if not records.has(row, seed):
                    started = time.perf_counter()
                    with warnings.catch_warnings(), threadpool_limits(1):
                        warnings.simplefilter("ignore", StructsmoothWarning)
                        found = _run(config, name, options, seed)
                    seconds = round(time.perf_counter() - started, 3)
                    records.add(
                        [{"config": row, "seed": seed, **found, "seconds": seconds}]
                    )


def _run(config: dict, name: str, options: Any, seed: int) -> dict:
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
        candidate.set_params(
            random_state=seed, **config.get("smoothers", {}).get(name, {})
        )
    folds = StratifiedKFold if data.groups is None else StratifiedGroupKFold
    splitter = folds(N_FOLDS, shuffle=True, random_state=seed)
    groups = None if data.groups is None else data.groups[rows]
    choose = _choose if _classifier(options, seed) else _choose_perceptron
    where = options, candidates, list(splitter.split(X, y, groups)), seed
    folds, outputs = choose(*where, X, y, test[0])
    metrics = {}
    for title, probabilities in zip(NAMES, outputs, strict=True):
        found = evaluate(test[1], probabilities)
        metrics[title] = {metric: found[metric] for metric in METRICS}
    return {
        "metrics": metrics,
        # Of each candidate on each fold, for the rules to choose by.
        "folds": {name: np.round(v, 5).tolist() for name, v in folds.items()},
        "ratio": 0.0 if data.test else len(held) / len(rows),
    }


def _classifier(options: Any, seed: int) -> Any:
    """Return a classifier of scikit-learn's kind, or None for perceptrons."""
    if isinstance(options, float):
        model = LogisticRegression(C=options, max_iter=1000)
        return make_pipeline(StandardScaler(), model)
    if "hidden" in options:
        return None
    return LGBMClassifier(
        n_jobs=1, deterministic=True, verbose=-1, random_state=seed, **options
    )


def _choose(options, candidates, folds, seed: int, X, y, others):
    """Return the measures of `SmoothedClassifierCV`, and probabilities of all."""
    learner = _classifier(options, seed)
    model = SmoothedClassifierCV(learner, candidates, cv=folds, refit=False).fit(X, y)
    measures = {
        name: np.array(
            [model.cv_results_[f"split{n}_test_{name}"] for n in range(len(folds))]
        ).T
        for name in MEASURES
    }
    # The folds are not used for one candidate.
    outputs = [
        SmoothedClassifierCV(learner, [candidate], cv=2).fit(X, y).predict_proba(others)
        for candidate in candidates
    ]
    return measures, outputs


def _choose_perceptron(options, candidates, folds, seed: int, X, y, others):
    """Do the same with perceptrons, which are trained side by side on soft labels."""
    n_classes = int(y.max()) + 1
    everything = np.arange(len(y))
    parts = [kept for kept, _ in folds] + [everything]
    labels = np.zeros((len(parts), len(candidates), len(y), n_classes))
    seen = np.zeros(labels.shape[:3])
    for part, kept in enumerate(parts):
        measured = MeasuredRows(X[kept], y[kept], candidates[1:])
        for number, candidate in enumerate(candidates):
            soft = np.eye(n_classes)[y[kept]]
            if candidate is not None:
                soft = measured.fitted(candidate).smooth_fitted(y[kept])
            labels[part, number, kept], seen[part, number, kept] = soft, 1.0
    n_arms = len(parts) * len(candidates)
    predict = perceptrons.train(
        X,
        labels.reshape(n_arms, len(y), n_classes),
        ["cross_entropy"] * n_arms,
        seed,
        weights=seen.reshape(n_arms, len(y)),
        **options,
    )
    found = predict(X).reshape(labels.shape)
    measures = {
        name: np.array(
            [
                [
                    measure(found[part, number, held], y[held])
                    for part, (_, held) in enumerate(folds)
                ]
                for number in range(len(candidates))
            ]
        )
        for name, measure in MEASURES.items()
    }
    outputs = predict(others).reshape(len(parts), len(candidates), -1, n_classes)
    return measures, outputs[-1]


def table(results: Path) -> str:
    """Return what was chosen, and where that is clearly worse or better."""
    settings, runs = read(results)
    cases = [
        (name, learner, [run for run in runs if run["config"] == row])
        for name in settings["data"]
        for learner in settings["learners"]
        for row in [{"data": name, "learner": learner}]
    ]
    cases = [case for case in cases if case[2]]
    lines = [line for case in cases for line in _lines(*case)]
    header = ["", "learner", "", *NAMES, "chosen", "- none", "- uniform", "seeds"]
    return (
        "Means over the seeds on test rows, and differences of what was chosen. "
        '"Worse" and "better" are by 95 % intervals that hold for the three metrics '
        "together; in bold if they hold too when the intervals allow for rows that "
        "splits share, which makes them wide.\n\n"
        + _summary(cases)
        + "\n"
        + tables.markdown(header, lines)
    )


def _summary(cases: list[tuple[str, str, list[dict]]]) -> str:
    """Return how often what was chosen, and how often it is clearly worse or better."""
    runs = [run for _, _, own in cases for run in own]
    lines = []
    for rule, is_guarded in RULES.items():
        counts = Counter(_chosen(run, is_guarded) for run in runs)
        lines.append([rule, *(str(counts[title]) for title in NAMES)])
        for reference in ("none", "uniform"):
            signs = [
                tables.sign(*_pair(own, is_guarded, reference, metric), len(METRICS))
                for _, _, own in cases
                for metric in METRICS
            ]
            better, worse = signs.count(1), signs.count(-1)
            lines[-1] += [f"{better} better, {worse} worse of {len(signs)}"]
    header = ["chosen by", *NAMES, "against none", "against uniform"]
    return tables.markdown(header, lines)


def _chosen(run: dict, is_guarded: bool = True) -> str:
    """Return what cross-validation chooses."""
    scores, aurc = (np.array(run["folds"][name]) for name in MEASURES)
    # Of five folds, one is held out for four that train.
    ratio = 1.0 / (N_FOLDS - 1)
    return NAMES[preferred(-scores, ratio, aurc if is_guarded else None).index]


def _pair(
    runs: list[dict], is_guarded: bool, reference: str, metric: str
) -> tuple[np.ndarray, np.ndarray]:
    own = [run["metrics"][_chosen(run, is_guarded)][metric] for run in runs]
    other = [run["metrics"][reference][metric] for run in runs]
    return 100.0 * np.array(own), 100.0 * np.array(other)


def _lines(name: str, learner: str, runs: list[dict]) -> list[list[str]]:
    counts = Counter(map(_chosen, runs))
    chosen = ", ".join(f"{title} {count}" for title, count in counts.most_common())
    ratio = float(np.mean([run["ratio"] for run in runs]))
    lines = []
    for metric, title in METRICS.items():
        cells = [
            f"{_pair(runs, True, method, metric)[1].mean():.2f}" for method in NAMES
        ]
        cells.append(f"{_pair(runs, True, 'none', metric)[0].mean():.2f}")
        for reference in ("none", "uniform"):
            own, other = _pair(runs, True, reference, metric)
            word = WORDS[tables.sign(own, other, len(METRICS))]
            if word and tables.sign(own, other, len(METRICS), ratio):
                word = f"**{word}**"
            cells.append(f"{(own - other).mean():+.2f} {word}".strip())
        lines.append([name, learner, title, *cells, chosen])
        name, learner, chosen = "", "", ""
    return lines
