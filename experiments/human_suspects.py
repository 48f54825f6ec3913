"""Wrong labels and people: suspects among the test images of CIFAR-10.

About fifty people named each image (cifar10h). Labels that most of them do not choose
are taken for wrong. The evidence is in pixels alone, or also in the out-of-fold
probabilities of a logistic regression on their principal components.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments import datasets, tables
from experiments.records import Records, read
from structsmooth import find_suspects
from structsmooth.reduce.fit import fit_reduction


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Judge the labels of the test images, if that is not done."""
    records = Records(results, {k: v for k, v in config.items() if k != "scale"})
    if records.has({}, 0):
        return
    started = time.perf_counter()
    images, y = datasets.load("cifar10").test
    votes = datasets.human_votes(y)
    votes /= votes.sum(axis=1, keepdims=True)
    doubt = 1.0 - votes[np.arange(len(y)), y]
    wrong = votes.argmax(axis=1) != y
    X = images.reshape(len(y), -1).astype(np.float64)
    X = fit_reduction(X, "pca", None, 0).transform(X)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    given = cross_val_predict(model, X, y, cv=5, method="predict_proba")
    metrics: dict = {"n_rows": len(y), "n_wrong": int(wrong.sum())}
    metrics["doubt"] = float(doubt.mean())
    for name, probabilities in (("pixels", None), ("pixels and model", given)):
        found = find_suspects(
            X, y, pred_probs=probabilities, reducer="none", n_jobs=n_jobs
        )
        first = np.argsort(-found.scores)[:100]
        metrics[name] = {
            "ap": float(average_precision_score(wrong, found.scores)),
            "n_listed": len(found),
            "n_found": int(wrong[found.rows].sum()),
            "n_expected": float(found.scores.sum()),
            "doubt_of_first": float(doubt[first].mean()),
            "wrong_of_first": int(wrong[first].sum()),
        }
    seconds = round(time.perf_counter() - started, 1)
    records.add([{"config": {}, "seed": 0, "metrics": metrics, "seconds": seconds}])


def table(results: Path) -> str:
    """Return the table of results, as Markdown."""
    (only,) = read(results)[1]
    metrics = only["metrics"]
    rows = [
        [
            name,
            f"{metrics[name]['n_listed']}",
            f"{metrics[name]['n_found']}",
            f"{metrics[name]['n_expected']:.0f}",
            f"{metrics[name]['ap']:.4f}",
            f"{metrics[name]['wrong_of_first']}",
            f"{100 * metrics[name]['doubt_of_first']:.1f}",
        ]
        for name in ("pixels", "pixels and model")
    ]
    header = ["evidence", "listed", "of these wrong", "sum of scores"]
    header += ["average precision", "wrong among the first 100"]
    header += ["votes for other classes there, %"]
    share = metrics["n_wrong"] / metrics["n_rows"]
    return (
        f"{metrics['n_rows']} test images; of {metrics['n_wrong']} most people do not "
        f"choose the label, which is taken for wrong here. By chance the average "
        f"precision is {share:.4f}; over all images, {100 * metrics['doubt']:.1f} % of "
        f"the votes are for other classes.\n\n{tables.markdown(header, rows)}"
    )
