"""Run every estimator on every task."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from experiments.estimators import tasks
from experiments.estimators.graphs import ESTIMATORS
from experiments.records import Records
from experiments.synthetic.data import draw, fit_smoother, true_bayes_error


def rows_of(config: dict) -> list[dict]:
    """Return the tasks."""
    known = [
        {"task": "gaussians", "rows": n_rows, "features": d, "bayes_error": error}
        for d in config["features"]
        for n_rows in config["rows"]
        for error in config["bayes_errors"]
    ]
    injected = [
        {"task": name, "noise": share}
        for name in config["real"]
        for share in config["noise"]
    ]
    return [*known, *injected, {"task": "clusters"}]


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Compute the missing estimates."""
    # Both scales are the same, so the scale is not a setting.
    records = Records(results, {k: v for k, v in config.items() if k != "scale"})
    for row in rows_of(config):
        for seed in range(config["n_seeds"]):
            if not records.has(row, seed):
                started = time.perf_counter()
                found = _estimate(config, row, seed, n_jobs)
                seconds = round(time.perf_counter() - started, 2)
                records.add(
                    [{"config": row, "seed": seed, **found, "seconds": seconds}]
                )


def _estimate(config: dict, row: dict, seed: int, n_jobs: int) -> dict:
    if row["task"] == "clusters":
        return _of_clusters(config, seed, n_jobs)
    if row["task"] == "gaussians":
        true = row["bayes_error"]
        X, y = tasks.gaussians(row["rows"], row["features"], true, seed)
        between, n_classes = [true, true], 2
    else:
        X, y = tasks.real(row["task"])
        n_classes = int(y.max()) + 1
        at_most = config["known_errors"][row["task"]]
        between = [
            tasks.injected_error(error, row["noise"], n_classes)
            for error in (0.0, at_most)
        ]
        y = tasks.inject(y, row["noise"], n_classes, seed)
    metrics = {e.name: list(e.estimate(X, y, n_classes)) for e in ESTIMATORS}
    return {"metrics": metrics, "true": between}


def _of_clusters(config: dict, seed: int, n_jobs: int) -> dict:
    """Return the lower bound and the truth of each cluster of the synthetic task."""
    X, y = draw(config, seed, "train")
    smoother = fit_smoother(config, config["n_clusters"], X, y, seed, n_jobs)
    clusters = smoother.cluster_labels_
    features = smoother.structure_.reduction.transform(X)
    members = [np.flatnonzero(clusters == c) for c in range(clusters.max() + 1)]
    metrics = {
        e.name: [e.estimate(features[rows], y[rows], 2)[0] for rows in members]
        for e in ESTIMATORS
    }
    return {"metrics": metrics, "true": true_bayes_error(config, X, clusters).tolist()}
