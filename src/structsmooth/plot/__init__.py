"""Figures of a fitted smoother for papers and notebooks: axes in, axes out.

Every function draws on the axes it is given, or on those of a new figure, and returns
them. Colors can be told apart by color-blind readers.
"""

from __future__ import annotations

from structsmooth.errors import missing_package

try:
    import matplotlib as mpl  # noqa: F401 (only whether it is there)
except ImportError as error:
    raise missing_package("matplotlib", "structsmooth.plot") from error

from structsmooth.plot.clusters import plot_clusters, plot_strengths
from structsmooth.plot.maps import plot_map
from structsmooth.plot.overlap import plot_class_overlap

__all__ = ["plot_class_overlap", "plot_clusters", "plot_map", "plot_strengths"]
