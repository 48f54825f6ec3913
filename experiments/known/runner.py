"""Default fits to every task, compared with the truth."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np

from experiments.correlations import correlation
from experiments.datasets import MissingDataError
from experiments.estimators.tasks import inject
from experiments.known import tasks
from experiments.records import Records
from structsmooth import StructuralSmoother, bayes_error_bounds, shrink_bounds
from structsmooth.errors import FeatureScaleWarning

# Smaller differences between the true errors of clusters are negligible.
NO_SPREAD = 0.005


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Compute the missing estimates; missing real data are named and left out."""
    # Both scales are the same, so the scale is not a setting.
    records = Records(results, {k: v for k, v in config.items() if k != "scale"})
    for task in tasks.known(config):
        for n_rows in config["rows"]:
            _all_seeds(records, config, task | {"rows": n_rows}, of_known, n_jobs)
    for name in config["real"]:
        try:
            for share in config["noise"]:
                row = {"task": name, "noise": share}
                _all_seeds(records, config, row, of_real, n_jobs)
        except MissingDataError as error:
            print(f"experiments: {name} is left out: {error}", file=sys.stderr)


def _all_seeds(records: Records, config: dict, row: dict, measure, n_jobs: int):
    for seed in range(config["n_seeds"]):
        if not records.has(row, seed):
            started = time.perf_counter()
            metrics = measure(row, seed, n_jobs)
            seconds = round(time.perf_counter() - started, 2)
            found = {"metrics": metrics, "seconds": seconds}
            records.add([{"config": row, "seed": seed, **found}])


def of_known(row: dict, seed: int, n_jobs: int = 1) -> dict:
    """Return estimates and truth, for the whole data set and for the clusters."""
    drawn = tasks.draw(row, seed)
    smoother = StructuralSmoother(random_state=seed, n_jobs=n_jobs)
    smoother.fit(drawn.X, drawn.y)
    whole = smoother.bayes_error_bounds_
    low, high = whole.interval
    clusters, weights = smoother.cluster_labels_, smoother.cluster_weights_
    true = np.bincount(clusters, drawn.errors) / np.bincount(clusters)
    found = smoother.bayes_error_
    # The estimates of a fit with shrink=True, with the same clusters.
    shrunk = shrink_bounds(smoother.cluster_bounds_).bayes_error

    def deviations(values):
        return values - weights @ values

    def deviates(values):
        gaps = deviations(values) - deviations(true)
        return float(np.sqrt(weights @ gaps**2))

    spread = float(np.sqrt(weights @ deviations(true) ** 2))
    together = correlation(found, true)[0] if spread > NO_SPREAD else np.nan
    return {
        "truth": drawn.truth,
        "tree": _of_one_tree(drawn.X, drawn.y),
        "fit": [whole.lower, whole.upper],
        "interval": [low, high],
        "holds": bool(low <= drawn.truth <= high),
        "n_clusters": len(weights),
        "correlation": None if np.isnan(together) else together,
        "mean_error": float(weights @ np.abs(found - true)),
        "spread": spread,
        "deviation": deviates(found),
        "deviation_shrunk": deviates(shrunk),
        "is_uniform": bool(np.ptp(shrunk) == 0.0),
    }


def of_real(row: dict, seed: int, n_jobs: int = 1) -> dict:
    """Return estimates with a share of the labels drawn at random."""
    X, y, options = tasks.real(row["task"])
    n_classes = int(y.max()) + 1
    y = inject(y, row["noise"], n_classes, seed)
    smoother = StructuralSmoother(random_state=seed, n_jobs=n_jobs, **options)
    with warnings.catch_warnings():
        # The effect of columns with different scales is part of the experiment.
        warnings.simplefilter("ignore", FeatureScaleWarning)
        smoother.fit(X, y)
    whole = smoother.bayes_error_bounds_
    X = smoother.structure_.reduction.transform(X)
    return {
        "n_rows": len(y),
        "n_classes": n_classes,
        "tree": _of_one_tree(X, y),
        "fit": [whole.lower, whole.upper],
    }


def _of_one_tree(X, y) -> list[float]:
    found = bayes_error_bounds(X, y)
    return [found.lower, found.upper]
