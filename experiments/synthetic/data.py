"""The rows of a seed, and the smoother that is fitted to them."""

from __future__ import annotations

import numpy as np

from experiments.synthetic.layout import Layout
from structsmooth import StructuralSmoother


def draw(config: dict, seed: int, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels of the part "train" or "test" of a seed."""
    number = ("train", "test").index(part)
    layout = Layout.from_config(config["layout"])
    return layout.draw(config[f"n_{part}"], [seed, number])


def fit_smoother(
    config: dict, n_clusters: int, X, y, seed: int, n_jobs: int = 1
) -> StructuralSmoother:
    """Return the smoother of a seed: PCA, a Gaussian mixture, spanning trees."""
    return StructuralSmoother(
        clusterer="gmm",
        n_clusters=n_clusters,
        n_components=config["n_components"],
        random_state=seed,
        n_jobs=n_jobs,
    ).fit(X, y)


def true_bayes_error(config: dict, X, clusters: np.ndarray) -> np.ndarray:
    """Return the Bayes error of the rows in each cluster, from the true densities."""
    posterior = Layout.from_config(config["layout"]).posterior(X)
    errors = np.minimum(posterior, 1.0 - posterior)
    return np.bincount(clusters, errors) / np.bincount(clusters)
