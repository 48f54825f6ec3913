"""Figure 4 as in the paper: one alpha, four data sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import configs, figures, study, tables
from experiments.records import Records, read
from experiments.study.figure import panel
from experiments.study.table import Finished


def run(config: dict, results: Path, n_jobs: int = 2) -> None:
    """Train the missing runs of the studies; the figure has none of its own."""
    Records(results, config)
    for name in config["studies"]:
        study.run(
            configs.study(name, config), _results_of(name, config, results), n_jobs
        )


def table(results: Path) -> str:
    """Return how often the structural curve is below the uniform one, as Markdown."""
    config, _ = read(results)
    lines = []
    for name in config["studies"]:
        finished = Finished(_results_of(name, config, results))
        epochs, below = epochs_below(finished, config["alpha"])
        lines.append([name, f"{below} of {epochs}"])
    header = ["study", "measured epochs with a lower mean cross-entropy than uniform"]
    return (
        f"Scale: {config['scale']}, alpha {config['alpha']:g}.\n\n"
        f"{tables.markdown(header, lines)}"
    )


def figure(results: Path) -> list[Path]:
    """Draw the panels."""
    config, _ = read(results)
    plot, axes = figures.row(len(config["studies"]))
    for axis, name in zip(axes, config["studies"], strict=True):
        finished = Finished(_results_of(name, config, results))
        panel(axis, finished, config["alpha"], with_none=False)
        axis.set_title(name)
        axis.legend()
    axes[0].set_ylabel("cross-entropy on test rows")
    return [figures.save(plot, results.with_suffix(".png"))]


def _results_of(name: str, config: dict, results: Path) -> Path:
    return results.with_name(f"{configs.stem(name, config['scale'])}.jsonl")


def epochs_below(finished: Finished, alpha: float) -> tuple[int, int]:
    """Return the number of epochs, and in how many the structural curve is lower."""
    ours, theirs = (curves.mean(axis=0) for curves in _curves(finished, alpha))
    return len(ours), int((ours < theirs).sum())


def mean_curves(finished: Finished, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the means over all epochs of both curves, seed by seed."""
    ours, theirs = _curves(finished, alpha)
    return ours.mean(axis=1), theirs.mean(axis=1)


def _curves(finished: Finished, alpha: float) -> list[np.ndarray]:
    """Return the cross-entropies of structural and uniform, by seed and epoch."""
    rows = {row["method"]: row for row in finished.rows() if row["alpha"] == alpha}
    pair = [rows[method] for method in ("structural", "uniform")]
    seeds = finished.seeds(*pair)
    return [
        np.array([finished.run(row, seed)["curve"]["nll"] for seed in seeds])
        for row in pair
    ]
