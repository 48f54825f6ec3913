"""Do people disagree where the estimated Bayes error is high? Not in the paper.

The test images of CIFAR-10 are clustered, and the Bayes error of each cluster is
estimated from the one official label of each image. The estimates are compared with
the entropy of the votes of about fifty people on each image, which they do not use.
Estimates for single images are compared in the same way. A second question is which
features are best.
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
from experiments.study import training
from experiments.study.regions import FEATURES_DEPEND_ON, features_of, kept
from experiments.study.runner import inputs_of, train_network
from experiments.study.splits import split_of
from structsmooth import StructuralSmoother

PIXELS, CODES, OUTPUTS = "pixels", "autoencoder", "first model"
COMPONENTS = "pixels, 64 principal components"
SMOOTHERS = {
    PIXELS: {"reducer": "none"},
    COMPONENTS: {"reducer": "pca", "n_components": 64},
    CODES: {"reducer": "none"},
    # Many images have exactly the same outputs, where the network is certain.
    OUTPUTS: {"reducer": "none", "ties": "average"},
}
# Used instead of a number of clusters: an estimate for every image.
POINTS = "points"
NETWORK_DEPENDS_ON = ("data", "scale", "rows", "split_seed", "validation_rows")


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Compute the missing estimates."""
    study = configs.study(config["study"], config)
    names = (*FEATURES_DEPEND_ON, "network", "recipe")
    used = {name: study.get(name) for name in names}
    records = Records(results, config | {"study_settings": used})
    split = split_of(study)
    disagreement = entropy(human_votes(split.y_test), axis=1)
    for row in _rows_of(config):
        for seed in range(config["n_seeds"]):
            if not records.has(row, seed):
                started = time.perf_counter()
                X = _features(row["features"], study, split)
                smoother = _fit(row, X, split.y_test, seed, n_jobs)
                found = _compare(smoother, disagreement)
                seconds = round(time.perf_counter() - started, 1)
                records.add(
                    [{"config": row, "seed": seed, **found, "seconds": seconds}]
                )


def _rows_of(config: dict) -> list[dict]:
    return [
        {"features": features, "n_clusters": n_clusters}
        for features in config["features"]
        for n_clusters in config["n_clusters"]
    ]


def _features(name: str, study: dict, split) -> np.ndarray:
    """Return the features of the test images."""
    if name == CODES:
        return features_of(study, split)[1]
    if name == OUTPUTS:
        return _outputs(study, split)
    return np.asarray(split.X_test.reshape(len(split.X_test), -1), dtype=np.float32)


def _outputs(study: dict, split) -> np.ndarray:
    """Return log-probabilities of a network that was trained on other images."""
    facts = {name: study.get(name) for name in (*NETWORK_DEPENDS_ON, "network")}

    def make() -> dict[str, np.ndarray]:
        network = train_network(study, split, np.zeros(len(split.y)), seed=0)
        found = training.predict(network, inputs_of(study, split), split.X_test)
        return {"test": np.log(np.clip(found, 1e-7, None))}

    return kept(f"outputs-{study['data']}", facts | {"recipe": study["recipe"]}, make)[
        "test"
    ]


def _fit(row: dict, X, y, seed: int, n_jobs: int) -> StructuralSmoother:
    options = SMOOTHERS[row["features"]] | {"random_state": seed, "n_jobs": n_jobs}
    if row["n_clusters"] == POINTS:
        return StructuralSmoother(regions="point", **options).fit(X, y)
    return StructuralSmoother(n_clusters=row["n_clusters"], **options).fit(X, y)


def _compare(smoother: StructuralSmoother, disagreement: np.ndarray) -> dict:
    """Return the correlation of estimates and votes, for clusters or single images."""
    regions = smoother.decision_.region_labels(smoother.structure_)
    people = np.bincount(regions, disagreement) / np.bincount(regions)
    value, low, high = correlation(smoother.bayes_error_, people)
    found = {"metrics": {"correlation": value, "low": low, "high": high}}
    if smoother.regions == "cluster":  # ten thousand values are too many to record
        found["bayes_error"] = smoother.bayes_error_.tolist()
        found["disagreement"] = people.tolist()
    return found


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
        "Bayes errors of clusters of CIFAR-10 test images, estimated from one label "
        "per image, compared with the mean entropy of the CIFAR-10H votes in each "
        "cluster; or Bayes errors of single images (points), whose votes are much "
        "noisier. The first model is the network of the CIFAR-10 study, trained on "
        "other images without smoothing. Intervals are Fisher's, over clusters or "
        "images; those over images are too narrow, because neighbors are not "
        "independent.\n\n"
        f"{tables.markdown(header, lines)}"
    )


def most_clusters(settings: dict) -> int:
    """Return the largest number of clusters."""
    return max(n for n in settings["n_clusters"] if n != POINTS)


def figure(results: Path) -> list[Path]:
    """Draw one clustering of each kind of features."""
    settings, runs = read(results)
    largest = most_clusters(settings)
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
