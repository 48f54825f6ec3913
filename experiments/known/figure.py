"""Estimate against truth in one figure, with a panel for each number of dimensions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import figures
from experiments.known.table import Runs, rows_of
from experiments.records import read

COLORS = ("#009e73", "#0072b2", "#d55e00")
MARKERS = {"mixture": "o", "flat": "s", "twonorm": "D", "ringnorm": "X"}


def figure(results: Path) -> list[Path]:
    """Draw ranges from the lower to the upper bound of the default fit."""
    settings, runs = read(results)
    found = Runs(runs)
    dimensions = sorted({row["features"] for row in rows_of(settings)})
    plot, axes = figures.row(len(dimensions), width=3.6, height=4.0, sharey=True)
    for axis, d in zip(axes, dimensions, strict=True):
        axis.plot([0.0, 0.5], [0.0, 0.5], color="#222222", linewidth=1)
        for row in rows_of(settings, d):
            _draw_row(axis, settings, row, found)
        axis.set_title(f"{d} dimensions")
        axis.set_xlabel("Bayes error")
        axis.set_xlim(0.0, 0.36)
        axis.set_ylim(0.0, 0.75)
    axes[0].set_ylabel("lower to upper bound")
    _legend(axes[0], settings)
    return [figures.save(plot, results.with_suffix(".png"))]


def _draw_row(axis, settings: dict, row: dict, found: Runs) -> None:
    number = settings["rows"].index(row["rows"])
    lower, upper = found.values(row, "fit").mean(axis=0)
    # Draw side by side, by number of rows, with two classes before more.
    shift = 0.004 * (number - 1) + (0.0 if row["classes"] == 2 else 0.013)
    at = found.values(row, "truth").mean() + shift
    color = COLORS[number % len(COLORS)]
    filled = {} if row["classes"] == 2 else {"markerfacecolor": "white"}
    axis.plot([at, at], [lower, upper], color=color, linewidth=1.5)
    marker = MARKERS[row["task"]]
    axis.plot(at, lower, marker, color=color, markersize=4, **filled)


def _legend(axis, settings: dict) -> None:
    for number, n_rows in enumerate(settings["rows"]):
        color = COLORS[number % len(COLORS)]
        axis.plot(np.nan, np.nan, color=color, label=f"{n_rows} rows")
    kinds = {row["task"] for row in rows_of(settings)}
    for kind, marker in MARKERS.items():
        if kind in kinds:
            axis.plot(np.nan, np.nan, marker, color="#222222", label=kind, markersize=4)
    if len(settings["classes"]) > 1:
        many = f"{max(settings['classes'])} classes"
        options = {"color": "#222222", "markerfacecolor": "white", "markersize": 4}
        axis.plot(np.nan, np.nan, "o", label=many, **options)
    axis.legend(fontsize="small", loc="upper left")
