"""Figure 2: estimated and true Bayes error of each cluster.

The true one is the mean of min(p, 1 - p) over the cluster's training rows, where p is
the posterior under the densities from which the rows were drawn.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from experiments import figures, tables
from experiments.records import Records, read
from experiments.synthetic.data import draw, fit_smoother, true_bayes_error


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Compute the missing estimates."""
    # Both scales are the same, so the scale is not a setting.
    records = Records(results, {k: v for k, v in config.items() if k != "scale"})
    for seed in range(config["n_seeds"]):
        for n_clusters in config["n_clusters"]:
            if not records.has({"n_clusters": n_clusters}, seed):
                records.add([_estimate(config, n_clusters, seed, n_jobs)])


def _estimate(config: dict, n_clusters: int, seed: int, n_jobs: int) -> dict:
    started = time.perf_counter()
    X, y = draw(config, seed, "train")
    smoother = fit_smoother(config, n_clusters, X, y, seed, n_jobs)
    true = true_bayes_error(config, X, smoother.cluster_labels_)
    lower, upper = smoother.bayes_error_lower_, smoother.bayes_error_upper_
    return {
        "config": {"n_clusters": n_clusters},
        "seed": seed,
        "metrics": {
            "correlation": float(np.corrcoef(lower, true)[0, 1]),
            "mean_error": float(np.abs(lower - true).mean()),
            "share_below_true": float((lower <= true).mean()),
        },
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "true": true.tolist(),
        "sizes": np.bincount(smoother.cluster_labels_).tolist(),
        "seconds": round(time.perf_counter() - started, 1),
    }


def table(results: Path) -> str:
    """Return how well the estimates follow the truth, as Markdown."""
    settings, runs = read(results)
    lines = []
    for n_clusters in settings["n_clusters"]:
        there = [r for r in runs if r["config"]["n_clusters"] == n_clusters]
        cells = [f"{n_clusters}"]
        for name in ("correlation", "mean_error", "share_below_true"):
            values = np.array([run["metrics"][name] for run in there])
            cells.append(tables.mean_and_spread(values, 3))
        lines.append(cells)
    header = ["clusters", "correlation with the true Bayes error", "mean error"]
    header += ["share of clusters bounded from below"]
    n_seeds = len({run["seed"] for run in runs})
    return (
        f"Full scale: {n_seeds} of {settings['n_seeds']} seeds, each with its own "
        "data; mean ± standard deviation. The paper shows 32 clusters in a figure, "
        f"without numbers.\n\n{tables.markdown(header, lines)}"
    )


def figure(results: Path) -> list[Path]:
    """Draw Figure 2 for the first seed."""
    settings, runs = read(results)
    plot, axes = figures.row(len(settings["n_clusters"]), sharey=True)
    for axis, n_clusters in zip(axes, settings["n_clusters"], strict=True):
        shown = next(
            r
            for r in runs
            if r["config"]["n_clusters"] == n_clusters and r["seed"] == 0
        )
        order = np.argsort(shown["true"])
        place = np.arange(len(order))
        axis.plot(place, np.array(shown["true"])[order], **figures.TRUE, label="true")
        axis.plot(
            place,
            np.array(shown["lower"])[order],
            **figures.ESTIMATED,
            label="estimated lower bound",
        )
        found = shown["metrics"]
        axis.set_title(
            f"{n_clusters} clusters: r = {found['correlation']:.3f}, "
            f"mean error {found['mean_error']:.3f}"
        )
        axis.set_xlabel("cluster, by true Bayes error")
    axes[0].set_ylabel("Bayes error")
    axes[0].legend()
    return [figures.save(plot, results.with_suffix(".png"))]
