"""Figures for papers and notebooks.

Every function draws on the axes it is given, or on those of a new figure, and returns
them. Color-blind readers can tell the colors apart.
"""

from __future__ import annotations

from structsmooth.errors import missing_package

try:
    import matplotlib as mpl  # noqa: F401 (is it installed?)
except ImportError as error:
    raise missing_package("matplotlib", "structsmooth.plot") from error

from structsmooth.plot.risk_coverage import plot_risk_coverage
from structsmooth.plot.smoother import (
    plot_class_overlap,
    plot_clusters,
    plot_map,
    plot_strengths,
)

__all__ = [
    "plot_class_overlap",
    "plot_clusters",
    "plot_map",
    "plot_risk_coverage",
    "plot_strengths",
]
