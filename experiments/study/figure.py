"""Figure 4: the cross-entropy on test rows along the training."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import figures
from experiments.study.table import Finished


def figure(config: dict, results: Path) -> list[Path]:  # noqa: ARG001
    """Draw the curves of a study, one panel for each alpha."""
    finished = Finished(results)
    alphas = finished.config["alphas"]
    plot, axes = figures.row(len(alphas), sharey=True)
    for axis, alpha in zip(axes, alphas, strict=True):
        panel(axis, finished, alpha)
        axis.set_title(f"alpha {alpha:g}")
        axis.legend(fontsize="small")
    axes[0].set_ylabel("cross-entropy on test rows")
    return [figures.save(plot, results.with_suffix(".png"))]


def panel(axis, finished: Finished, alpha: float, *, with_none: bool = True) -> None:
    """Draw one panel: none, uniform and structural of one alpha."""
    for row in finished.rows():
        is_none = row["method"] == "none"
        if not (row["alpha"] == alpha or (is_none and with_none)):
            continue
        runs = [finished.run(row, seed) for seed in finished.seeds(row)]
        curves = np.array([run["curve"]["nll"] for run in runs])
        label = row["method"]
        if row["beta"] is not None:
            label += f", beta {row['beta']:g}"
            if len(finished.config["n_clusters"]) > 1:
                label += f", {row['n_clusters']} clusters"
        figures.curve(axis, row["method"], runs[0]["curve"]["epoch"], curves, label)
    axis.set_xlabel("epoch")
