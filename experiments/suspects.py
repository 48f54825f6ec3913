"""Wrong labels: how many are found, and how many right ones are suspected, by whom.

A share of the labels is changed: to any other class ("uniform"), to classes that a
first model confuses with the true one ("similar"), or in the rows of the largest class
alone ("one class", at most 40 % of them). cleanlab gets out-of-fold probabilities of
three models; structsmooth gets the features alone, or both. The features are those that
a smoother measures in, for all alike.

The method was developed on the sets that the config names; its settings were fixed
before it saw the others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from joblib import Memory
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments import datasets
from experiments.records import Records
from experiments.suspects_table import table
from experiments.synthetic.layout import Layout
from structsmooth import StructuralSmoother, find_suspects
from structsmooth.reduce.fit import fit_reduction

__all__ = ["run", "table"]

SCALED = ("higgs",)
MOST_OF_ONE_CLASS = 0.4
MODELS = ("trees", "logistic", "k-NN")


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Compute the missing searches for wrong labels."""
    run_cases(config, results, _measure, n_jobs, config["overlapping"])


def run_cases(
    config: dict,
    results: Path,
    measure: Callable[..., dict],
    n_jobs: int,
    overlapping: Sequence[str] = (),
    *,
    with_unchanged: bool = True,
) -> None:
    """Measure the missing cases: a set, and how and how many labels are changed.

    Sets whose classes overlap are changed at random only. Before all others come the
    cases in which nothing is changed, if they are wanted.
    """
    # Both scales are the same, so the scale is not a setting.
    records = Records(results, {k: v for k, v in config.items() if k != "scale"})
    changes = [(kind, share) for share in config["wrong"] for kind in config["kinds"]]
    if with_unchanged:
        changes.insert(0, ("uniform", 0.0))
    for seed in range(config["n_seeds"]):
        for kind, share in changes:
            for name in config["data"]:
                row = {"data": name, "kind": kind, "wrong": share}
                is_wanted = kind == "uniform" or name not in overlapping
                if is_wanted and not records.has(row, seed):
                    started = time.process_time()
                    metrics = measure(config, name, kind, share, seed, n_jobs)
                    seconds = round(time.process_time() - started, 2)
                    found = {"metrics": metrics, "seconds": seconds}
                    records.add([{"config": row, "seed": seed, **found}])


def rows_of(config: dict, name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return reduced features and labels; the synthetic task without its noise."""
    if name == "synthetic":
        layout = Layout.from_config(config["layout"])
        X, y = layout.draw(config["most_rows"], [seed, 0])
        return X[:, :2], y
    data = datasets.load(name)
    X, y = data.X, data.y
    if len(y) > config["most_rows"]:
        draw = np.random.default_rng([seed, 12])
        rows = np.sort(draw.choice(len(y), config["most_rows"], replace=False))
        X, y = X[rows], y[rows]
    X = X.reshape(len(X), -1).astype(np.float64)
    reducer = "scaled-pca" if name in SCALED else "pca"
    return fit_reduction(X, reducer, None, 0).transform(X), y


def with_mistakes(
    y: np.ndarray,
    share: float,
    seed: int,
    kind: str = "uniform",
    confusion: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return labels with a share of them changed, and which ones are changed.

    Rows of ``confusion`` are true classes, and its columns those that a model takes
    them for.
    """
    draw = np.random.default_rng([seed, 11])
    n_classes = int(y.max()) + 1
    rate = np.full(n_classes, share)
    if kind == "one class":
        sizes = np.bincount(y, minlength=n_classes)
        largest = int(sizes.argmax())
        rate[:] = 0.0
        rate[largest] = min(share * len(y) / sizes[largest], MOST_OF_ONE_CLASS)
    wrong = draw.uniform(size=len(y)) < rate[y]
    moved = (y + draw.integers(1, n_classes, size=len(y))) % n_classes
    if kind == "similar":
        if confusion is None:
            raise ValueError("similar classes need a confusion of classes, got None")
        others = confusion * (1.0 - np.eye(n_classes)) + 1e-3 * (
            1.0 - np.eye(n_classes)
        )
        reached = np.cumsum(others / others.sum(axis=1, keepdims=True), axis=1)
        moved = (draw.uniform(size=(len(y), 1)) > reached[y]).sum(axis=1)
    return np.where(wrong, moved, y), wrong


def confusion_of(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return how often a first model, k-NN, takes each class for each other."""
    n_classes = int(y.max()) + 1
    guessed = cross_val_predict(KNeighborsClassifier(5), X, y, cv=_folds(0))
    return np.bincount(y * n_classes + guessed, minlength=n_classes**2).reshape(
        n_classes, n_classes
    )


def changed(
    X: np.ndarray, y: np.ndarray, share: float, seed: int, kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return `with_mistakes`, to similar classes by the confusion of a first model."""
    confusion = confusion_of(X, y) if kind == "similar" else None
    return with_mistakes(y, share, seed, kind, confusion)


def _folds(seed: int) -> StratifiedKFold:
    return StratifiedKFold(5, shuffle=True, random_state=seed)


def _measure(
    config: dict, name: str, kind: str, share: float, seed: int, n_jobs: int
) -> dict:
    X, y = rows_of(config, name, seed)
    noisy, wrong = changed(X, y, share, seed, kind)
    metrics: dict = {"n_rows": len(y), "n_wrong": int(wrong.sum())}
    options = {"reducer": "none", "n_jobs": n_jobs}

    def ours(which, seconds=0.0, **given):
        started = time.process_time()
        features = None if "alone" in which else X
        found = find_suspects(features, noisy, **given, **options)
        seconds += time.process_time() - started
        metrics[which] = _scores(wrong, found.scores, found.rows, seconds)
        metrics[which]["n_expected"] = float(found.scores.sum())
        metrics[which]["n_corrected"] = int((found.likely == y[found.rows]).sum())

    ours("features")
    models = config.get("models", MODELS)
    for model in models:
        probabilities, trained = out_of_fold(X, noisy, model, config["n_trees"], seed)
        from cleanlab.filter import find_label_issues
        from cleanlab.rank import get_label_quality_scores

        started = time.process_time()
        quality = get_label_quality_scores(noisy, probabilities)
        issues = np.flatnonzero(find_label_issues(noisy, probabilities, n_jobs=1))
        seconds = trained + time.process_time() - started
        metrics[f"cleanlab, {model}"] = _scores(wrong, -quality, issues, seconds)
        ours(f"features and {model}", trained, pred_probs=probabilities)
        if model == "trees":
            ours(f"{model} alone", trained, pred_probs=probabilities)
    if not models:
        return metrics
    for which, labels, ignore in (
        ("right", y, False),
        ("noisy", noisy, False),
        ("ignored", noisy, True),
    ):
        smoother = StructuralSmoother(
            random_state=seed, ignore_suspects=ignore, **options
        )
        metrics[f"lower_{which}"] = smoother.fit(X, labels).bayes_error_bounds_.lower
    return metrics


@Memory(datasets.folder_of_made() / "out-of-fold", verbose=0).cache
def out_of_fold(
    X: np.ndarray, y: np.ndarray, model: str, n_trees: int, seed: int
) -> tuple[np.ndarray, float]:
    """Return a model's probabilities, and the CPU seconds that they took.

    They do not depend on how suspects are found, so they are kept in a folder: after a
    change of that, only the search is repeated.
    """
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds
        probabilities = cross_val_predict(
            _model(model, n_trees), X, y, cv=_folds(seed), method="predict_proba"
        )
    return probabilities, time.process_time() - started


def _model(name: str, n_trees: int):
    if name == "trees":
        return ExtraTreesClassifier(n_trees, n_jobs=1, random_state=0)
    if name == "logistic":
        return make_pipeline(StandardScaler(), LogisticRegression())
    return KNeighborsClassifier(10, n_jobs=1)


def _scores(
    wrong: np.ndarray, ranking: np.ndarray, listed: np.ndarray, seconds: float
) -> dict:
    found = int(wrong[listed].sum())
    return {
        "ap": float(average_precision_score(wrong, ranking)) if wrong.any() else None,
        "n_listed": len(listed),
        "n_found": found,
        "seconds": round(seconds, 2),
    }
