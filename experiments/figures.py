"""Size, colors and file format of all figures."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from structsmooth.io.atomic import written_beside

# Colors that color-blind readers can tell apart, also in grayscale.
COLORS = {
    "none": "#666666",
    "uniform": "#0072b2",
    "structural": "#d55e00",
    "reversed": "#009e73",
    "out of fold": "#cc79a7",
}
STYLES = {
    "none": ":",
    "uniform": "--",
    "structural": "-",
    "reversed": "-.",
    "out of fold": (0, (5, 1)),
}
TRUE = {"color": "#222222", "marker": "o", "markersize": 3, "linewidth": 1}
ESTIMATED = {"color": "#d55e00", "marker": "x", "markersize": 4, "linewidth": 1}


def row(n: int, *, width: float = 4.2, height: float = 3.4, **options):
    """Return a figure with n axes side by side."""
    plot = Figure(figsize=(width * n, height), layout="constrained")
    axes = plot.subplots(1, n, squeeze=False, **options)[0]
    for axis in axes:
        axis.grid(alpha=0.25)
    return plot, axes


def curve(axis: Axes, method: str, epochs, curves: np.ndarray, label: str) -> None:
    """Draw the mean and the range of several curves."""
    color = COLORS[method]
    mean = curves.mean(axis=0)
    look = {"linestyle": STYLES[method], "color": color, "linewidth": 1.5}
    axis.plot(epochs, mean, label=label, **look)
    if len(curves) > 1:
        axis.fill_between(
            epochs, curves.min(axis=0), curves.max(axis=0), color=color, alpha=0.15
        )


def save(plot: Figure, path: Path) -> Path:
    """Write a figure without metadata that changes between runs."""
    with mpl.rc_context({"savefig.dpi": 110}), written_beside(path) as part:
        plot.savefig(part, format="png", metadata={"Software": None})
    return path
