"""Figure 1, from data to strengths, and Figure 3, the test error during training."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import figures
from experiments.records import read
from experiments.synthetic.data import draw, fit_smoother
from experiments.synthetic.layout import Layout
from structsmooth import solve_strengths


def figure(results: Path) -> list[Path]:
    """Draw both."""
    settings, _ = read(results)
    return [
        figure_1(settings, results.with_name(f"{results.stem}-figure1.png")),
        figure_3(results, results.with_name(f"{results.stem}-figure3.png")),
    ]


def figure_1(config: dict, path: Path, alpha: float = 0.2) -> Path:
    """Draw data, clusters, Bayes errors and strengths of the first seed."""
    beta = max(config["betas"])
    X, y = draw(config, 0, "train")
    smoother = fit_smoother(config, config["n_clusters"], X, y, 0)
    clusters, bounds = smoother.cluster_labels_, smoother.bayes_error_lower_
    strengths = solve_strengths(
        bounds, smoother.cluster_weights_, alpha, beta, n_classes=2
    )
    plot, axes = figures.row(4, width=3.8, sharex=True, sharey=True)
    dots = {"s": 2, "linewidths": 0, "rasterized": True}
    colors = np.where(y == 1, "#d55e00", "#0072b2")
    axes[0].scatter(X[:, 0], X[:, 1], c=colors, **dots)
    axes[0].set_title("(a) classes, best boundary")
    shuffled = np.random.default_rng(0).permutation(clusters.max() + 1)
    axes[1].scatter(
        X[:, 0], X[:, 1], c=shuffled[clusters], cmap="nipy_spectral", **dots
    )
    axes[1].set_title(f"(b) {clusters.max() + 1} clusters")
    for axis, values, title in (
        (axes[2], bounds, "(c) Bayes error, lower bound"),
        (axes[3], strengths, f"(d) strength, alpha {alpha:g}, beta {beta:g}"),
    ):
        drawn = axis.scatter(
            X[:, 0], X[:, 1], c=values[clusters], cmap="viridis", **dots
        )
        plot.colorbar(drawn, ax=axis)
        axis.set_title(title)
    for axis in axes:
        _draw_boundary(axis, config, X)
    return figures.save(plot, path)


def _draw_boundary(axis, config: dict, X: np.ndarray) -> None:
    lows, highs = X[:, :2].min(axis=0), X[:, :2].max(axis=0)
    grid = np.meshgrid(
        *(np.linspace(*ends, 300) for ends in zip(lows, highs, strict=True))
    )
    places = np.stack([part.ravel() for part in grid], axis=1)
    posterior = Layout.from_config(config["layout"]).posterior(places)
    axis.contour(
        *grid, posterior.reshape(grid[0].shape), [0.5], colors="#f0c000", linewidths=1.5
    )


def figure_3(results: Path, path: Path) -> Path:
    """Draw test errors during training, one panel for each alpha."""
    settings, runs = read(results)
    beta = max(settings["betas"])
    plot, axes = figures.row(len(settings["alphas"]), sharey=True)
    for axis, alpha in zip(axes, settings["alphas"], strict=True):
        for method, strength, slope in (
            ("none", 0.0, None),
            ("uniform", alpha, None),
            ("structural", alpha, beta),
            ("reversed", alpha, beta),
        ):
            curves = [
                run["curve"]
                for run in runs
                if (run["config"]["method"], run["config"]["alpha"])
                == (method, strength)
                and run["config"]["beta"] == slope
                and run["config"]["n_clusters"] in (None, settings["n_clusters"])
            ]
            epochs = settings["curve_every"] * np.arange(1, len(curves[0]) + 1)
            label = method if slope is None else f"{method}, beta {slope:g}"
            figures.curve(axis, method, epochs, 100.0 * np.array(curves), label)
        axis.set_title(f"alpha {alpha:g}")
        axis.set_xlabel("epoch")
    axes[0].set_ylabel("test error, %")
    axes[0].legend()
    return figures.save(plot, path)
