"""Which classes overlap: a heat map of the trees' crossing edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structsmooth.plot.canvas import class_names, ready_axes
from structsmooth.report.drawing.ordering import order_of_classes
from structsmooth.support.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Up to this many classes have their names written beside the cells, and up to so many
# their counts inside.
NAMED, COUNTED = 40, 12


def plot_class_overlap(
    smoother: Any, *, cluster: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often tree edges join each pair of classes.

    Parameters
    ----------
    smoother : StructuralSmoother
        Fitted.
    cluster : int, optional
        Count in this cluster only; by default in all.
    ax : matplotlib axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib axes
        With the heat map. More than 12 classes are ordered so that those which overlap
        stand together.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from structsmooth import StructuralSmoother
    >>> from structsmooth.plot import plot_class_overlap
    >>> smoother = StructuralSmoother(random_state=0).fit(*load_digits(return_X_y=True))
    >>> ax = plot_class_overlap(smoother, cluster=0)
    """
    ax = ready_axes(smoother, ax, (5.4, 4.6))
    whole = smoother.bayes_error_bounds_
    shown, title = whole, "all clusters"
    if cluster is not None:
        n_clusters = len(smoother.cluster_bounds_)
        cluster = check_integer(cluster, "cluster", 0, n_clusters - 1)
        shown, title = smoother.cluster_bounds_[cluster], f"cluster {cluster}"
    order = order_of_classes(whole.crossing)
    counts = np.asarray(shown.crossing, dtype=np.float64)[np.ix_(order, order)]
    names = [class_names(smoother)[k] for k in order]
    top = max(1.0, float(counts.max()))
    drawn = ax.imshow(counts, cmap="Blues", vmin=0.0, vmax=top)
    ax.figure.colorbar(drawn, ax=ax, shrink=0.85, label="tree edges between classes")
    ax.set_title(title)
    if len(names) <= NAMED:
        size = float(np.clip(110.0 / len(names), 5.0, 9.0))
        places = np.arange(len(names))
        ax.set_xticks(places, names, rotation=90, fontsize=size)
        ax.set_yticks(places, names, fontsize=size)
        ax.tick_params(length=0)
    else:
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_xlabel(f"{len(names)} classes")
    if len(names) <= COUNTED:
        for i, j in zip(*np.nonzero(counts), strict=True):
            shade = "white" if counts[i, j] > 0.55 * top else "black"
            ax.text(
                j,
                i,
                f"{counts[i, j]:.3g}",
                ha="center",
                va="center",
                fontsize=7,
                color=shade,
            )
    for side in ax.spines.values():
        side.set_color("0.8")
    return ax
