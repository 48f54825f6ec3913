"""Do people disagree where the estimated Bayes error is high? Not in the paper.

The test images of CIFAR-10 are clustered, their Bayes errors estimated from their one
official label each, and compared with the entropy of the votes of about fifty people
on each image, which the estimate has not seen.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from scipy.stats import entropy

from experiments import configs, figures, tables
from experiments.correlations import correlation, shown
from experiments.datasets import human_votes
from experiments.records import Records, read
from experiments.study.regions import FEATURES_DEPEND_ON, features_of
from experiments.study.splits import split_of
from structsmooth import StructuralSmoother

SMOOTHERS = {
    "autoencoder": {"reducer": "none"},
    "pixels, 64 principal components": {"reducer": "pca", "n_components": 64},
}


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Estimate what is left."""
    study = configs.study(config["study"], config)
    used = {name: study.get(name) for name in FEATURES_DEPEND_ON}
    records = Records(results, config | {"study_settings": used})
    split = split_of(study)
    disagreement = entropy(human_votes(split.y_test), axis=1)
    for features in config["features"]:
        X = split.X_test.reshape(len(split.X_test), -1)
        if features == "autoencoder":
            X = features_of(study, split)[1]
        for n_clusters in config["n_clusters"]:
            for seed in range(config["n_seeds"]):
                row = {"features": features, "n_clusters": n_clusters}
                if not records.has(row, seed):
                    smoother = StructuralSmoother(
                        n_clusters=n_clusters,
                        random_state=seed,
                        n_jobs=n_jobs,
                        **SMOOTHERS[features],
                    )
                    smoother.fit(np.asarray(X, dtype=np.float32), split.y_test)
                    records.add([_compare(row, seed, smoother, disagreement)])


def _compare(row: dict, seed: int, smoother, disagreement: np.ndarray) -> dict:
    started = time.perf_counter()
    clusters = smoother.cluster_labels_
    people = np.bincount(clusters, disagreement) / np.bincount(clusters)
    value, low, high = correlation(smoother.bayes_error_lower_, people)
    return {
        "config": row,
        "seed": seed,
        "metrics": {"correlation": value, "low": low, "high": high},
        "bayes_error": smoother.bayes_error_lower_.tolist(),
        "disagreement": people.tolist(),
        "seconds": round(time.perf_counter() - started, 1),
    }


def table(results: Path) -> str:
    """Return the correlations, as Markdown."""
    settings, runs = read(results)
    lines = []
    for features in settings["features"]:
        for n_clusters in settings["n_clusters"]:
            row = {"features": features, "n_clusters": n_clusters}
            there = [run for run in runs if run["config"] == row]
            values = np.array([run["metrics"]["correlation"] for run in there])
            first = there[0]["metrics"]
            interval = first["correlation"], first["low"], first["high"]
            lines.append(
                [
                    features,
                    f"{n_clusters}",
                    shown(interval),
                    tables.mean_and_spread(values),
                    f"{values.min():.2f}",
                ]
            )
    header = ["features", "clusters", "correlation, first clustering (95 % interval)"]
    header += [f"{len(there)} clusterings", "lowest"]
    return (
        "Bayes error of clusters of CIFAR-10 test images, estimated from one label an "
        "image, against the mean entropy of the votes of CIFAR-10H there. Intervals "
        f"are Fisher's, over clusters.\n\n{tables.markdown(header, lines)}"
    )


def figure(results: Path) -> list[Path]:
    """Draw one clustering of each kind of features."""
    settings, runs = read(results)
    largest = max(settings["n_clusters"])
    plot, axes = figures.row(len(settings["features"]), sharey=True)
    for axis, features in zip(axes, settings["features"], strict=True):
        row = {"features": features, "n_clusters": largest}
        run = next(r for r in runs if r["config"] == row and r["seed"] == 0)
        axis.scatter(run["bayes_error"], run["disagreement"], color="#0072b2", s=14)
        found = tuple(run["metrics"][name] for name in ("correlation", "low", "high"))
        axis.set_title(f"{features}\nr = {shown(found)}")
        axis.set_xlabel("Bayes error of the cluster, lower bound")
    axes[0].set_ylabel("mean entropy of human votes")
    return [figures.save(plot, results.with_suffix(".png"))]
