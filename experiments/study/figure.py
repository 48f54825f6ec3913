"""Figure 4, the cross-entropy during training, or metrics by number of clusters."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import figures
from experiments.rows import row_of
from experiments.study.table import METRICS, TITLES, Finished
from structsmooth.errors import FileFormatError


def figure(results: Path) -> list[Path]:
    """Draw the curves, one panel for each alpha, or metrics by number of clusters."""
    finished = Finished(results)
    if len(finished.config["n_clusters"]) > 1:
        return [_by_clusters(finished, results.with_suffix(".png"))]
    if finished.config["curve_every"] >= finished.config["recipe"]["epochs"]:
        raise FileFormatError(
            f"{results} has no curves: only the last epoch was measured there"
        )
    alphas = finished.config["alphas"]
    plot, axes = figures.row(len(alphas), sharey=True)
    for axis, alpha in zip(axes, alphas, strict=True):
        panel(axis, finished, alpha)
        axis.set_title(f"alpha {alpha:g}")
        axis.legend(fontsize="small")
    axes[0].set_ylabel("cross-entropy on test rows")
    return [figures.save(plot, results.with_suffix(".png"))]


def panel(axis, finished: Finished, alpha: float, *, with_none: bool = True) -> None:
    """Draw one panel: none, uniform and structural with one alpha."""
    for row in finished.rows():
        is_none = row["method"] == "none"
        if not (row["alpha"] == alpha or (is_none and with_none)):
            continue
        runs = [finished.run(row, seed) for seed in finished.seeds(row)]
        curves = np.array([run["curve"]["nll"] for run in runs])
        label = row["method"]
        if row["beta"] is not None:
            label += f", beta {row['beta']:g}"
        figures.curve(axis, row["method"], runs[0]["curve"]["epoch"], curves, label)
    axis.set_xlabel("epoch")


def _by_clusters(finished: Finished, path: Path) -> Path:
    """Draw the metrics by number of clusters, with ranges over the seeds."""
    config = finished.config
    numbers, alpha = config["n_clusters"], config["alphas"][0]
    plot, axes = figures.row(len(METRICS))
    for axis, (metric, factor, _) in zip(axes, METRICS, strict=True):
        flat = {"none": row_of("none", 0.0), "uniform": row_of("uniform", alpha)}
        rows = {name: [row] * len(numbers) for name, row in flat.items()}
        rows["structural"] = [
            row_of("structural", alpha, finished.best[alpha, number], number)
            for number in numbers
        ]
        for method, found in rows.items():
            values = [
                factor * finished.values(row, metric, finished.seeds(row))
                for row in found
            ]
            label = method if method == "none" else f"{method}, alpha {alpha:g}"
            figures.curve(axis, method, numbers, np.array(values).T, label)
        axis.set_xscale("log", base=2)
        axis.set_xticks(numbers, [f"{number}" for number in numbers])
        axis.set_xlabel("clusters")
        axis.set_title(TITLES[metric])
    axes[0].legend()
    return figures.save(plot, path)
