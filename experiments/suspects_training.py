"""Wrong labels in training: keep the suspects, weigh them less, or leave them out.

The rule by which it is judged is the note of its config.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments import tables
from experiments.records import read
from experiments.suspects import changed, rows_of, run_cases
from structsmooth import find_suspects
from structsmooth.metrics import evaluate

WAYS = ("keep", "weigh", "drop")


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Train all that is missing."""
    run_cases(config, results, _measure, n_jobs)


def _measure(
    config: dict, name: str, kind: str, share: float, seed: int, n_jobs: int
) -> dict:
    X, y = rows_of(config, name, seed)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=seed
    )
    noisy, wrong = changed(X, y, share, seed, kind)
    suspects = find_suspects(X, noisy, reducer="none", n_jobs=n_jobs)
    found: dict = {
        "n_train": len(y),
        "n_wrong": int(wrong.sum()),
        "n_listed": len(suspects),
        "n_found": int(wrong[suspects.rows].sum()),
    }
    for learner in config["learners"]:
        for way in WAYS:
            weights = None if way == "keep" else suspects.sample_weight(way)
            model = make_learner(learner, seed, n_jobs)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X, noisy, **{f"{model.steps[-1][0]}__sample_weight": weights})
            metrics = evaluate(y_test, model.predict_proba(X_test))
            found[f"{learner}, {way}"] = {k: metrics[k] for k in ("error", "nll")}
    return found


def make_learner(name: str, seed: int, n_jobs: int):
    """Return a learner that can fit wrong labels if it is given them."""
    if name == "perceptron":
        learner = MLPClassifier((100,), max_iter=60, random_state=seed)
        return make_pipeline(StandardScaler(), learner)
    trees = LGBMClassifier(
        n_estimators=30,
        random_state=seed,
        n_jobs=n_jobs,
        deterministic=True,
        verbose=-1,
    )
    return make_pipeline("passthrough", trees)


def table(results: Path) -> str:
    """Return the tables of results, as Markdown."""
    settings, runs = read(results)
    cases: dict[str, list[dict]] = {}
    for run_ in runs:
        config = run_["config"]
        kind = config["kind"] if config["wrong"] else "none"
        key = f"{config['data']}|{kind}|{100 * config['wrong']:g}"
        cases.setdefault(key, []).append(run_["metrics"])
    text = [
        f"Half of at most {settings['most_rows']} rows of each set train, the others, "
        f"with right labels, test; {min(map(len, cases.values()))} to "
        f"{max(map(len, cases.values()))} draws. precision / recall are those of the "
        "suspects; of each learner the NLL and, in brackets, the error in %.\n"
    ]
    header = ["data", "change", "%", "precision / recall, %"]
    for learner in settings["learners"]:
        rows = [
            [*key.split("|"), _listed(found), *(_cell(found, learner, w) for w in WAYS)]
            for key, found in cases.items()
        ]
        text += [f"## {learner}\n", tables.markdown([*header, *WAYS], rows)]
        text += [_judged(cases, learner, way) for way in WAYS[1:]]
        text.append("")
    return "\n".join(text)


def _listed(found: list[dict]) -> str:
    n_found, n_listed, n_wrong = (
        sum(f[name] for f in found) for name in ("n_found", "n_listed", "n_wrong")
    )
    if not n_wrong:
        return f"{n_listed} listed"
    precision = f"{100 * n_found / n_listed:.0f}" if n_listed else "none"
    return f"{precision} / {100 * n_found / n_wrong:.0f}"


def _cell(found: list[dict], learner: str, way: str) -> str:
    nll, error = (
        np.mean([f[f"{learner}, {way}"][metric] for f in found])
        for metric in ("nll", "error")
    )
    return f"{nll:.3f} ({100 * error:.1f})"


def _judged(cases: dict[str, list[dict]], learner: str, way: str) -> str:
    """Return in how many cases a way helps and hurts, by the rule of the config."""
    parts = []
    for which, has_wrong in (("with wrong labels", True), ("without", False)):
        some = [f for f in cases.values() if bool(f[0]["n_wrong"]) == has_wrong]
        words = []
        for metric, title in (("nll", "NLL"), ("error", "error")):
            differences = [
                np.array(
                    [
                        f[f"{learner}, {way}"][metric] - f[f"{learner}, keep"][metric]
                        for f in found
                    ]
                )
                for found in some
            ]
            helps = sum(bool((d < 0.0).all()) for d in differences)
            hurts = sum(bool((d > 0.0).all()) for d in differences)
            mean = np.mean([d.mean() for d in differences])
            in_words = f"{mean:+.3f}" if metric == "nll" else f"{100 * mean:+.2f} %"
            words.append(
                f"{title} helps in {helps}, hurts in {hurts} (mean {in_words})"
            )
        parts.append(f"{len(some)} cases {which}: {', '.join(words)}")
    return f"- {way}: " + "; ".join(parts) + "."
