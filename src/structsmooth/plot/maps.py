"""The map: rows or clusters on a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from structsmooth.errors import InvalidInputError
from structsmooth.plot.canvas import class_names, percent, ready_axes
from structsmooth.report.drawing.palette import OTHER, class_colors, overlap_of_classes
from structsmooth.report.drawing.placing import Placed, place_clusters, place_rows
from structsmooth.support.validation import check_choice, check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "o^sDvPX<>*"
TITLES = {
    "class": "classes",
    "bayes_error": "estimated Bayes error, %",
    "strength": "smoothing strength",
}


def plot_map(
    smoother: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    color: str = "class",
    ax: Axes | None = None,
    max_rows: int = 10_000,
    size: float | None = None,
    cmap: Any = "viridis_r",
    legend: bool = True,
) -> Axes:
    """Draw the reduced features on a plane.

    Two features are drawn as they are, more in the two directions of most variance.
    Near on the map is then not always near in the data.

    Parameters
    ----------
    smoother : StructuralSmoother
        Fitted.
    X : array-like, DataFrame or sparse matrix of shape (n, d), optional
        Rows to draw, those of the fit or others. Without them there is one mark for
        each cluster, its area by the cluster's share of the rows.
    y : array-like of shape (n,), optional
        Their labels, for ``color="class"``.
    color : {"class", "bayes_error", "strength"}, default="class"
        What the colors show. Of more than ten classes, the eight that overlap
        most have a color of their own. A cluster has that of its largest class.
    ax : matplotlib axes, optional
        Where to draw; by default on a new figure.
    max_rows : int, default=10000
        Of more rows, that many are drawn at random, always the same ones.
    size : float, optional
        Area of a mark, in points squared.
    cmap : colormap, default="viridis_r"
        For Bayes errors and strengths.
    legend : bool, default=True
        Whether to explain the colors.

    Returns
    -------
    matplotlib axes
        With the map.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from structsmooth import StructuralSmoother
    >>> from structsmooth.plot import plot_map
    >>> X, y = load_digits(return_X_y=True)
    >>> smoother = StructuralSmoother(random_state=0).fit(X, y)
    >>> ax = plot_map(smoother, X, y, color="strength")
    """
    check_choice(color, "color", tuple(TITLES))
    max_rows = check_integer(max_rows, "max_rows", 1)
    ax = ready_axes(smoother, ax, (5.6, 4.4))
    if X is None and y is not None:
        raise InvalidInputError("y was given without X, expected both or neither")
    with threadpool_limits(1):
        if X is None:
            placed, areas = place_clusters(smoother), _areas(smoother, size)
        else:
            placed = place_rows(smoother, X, y, max_rows)
            areas = np.full(len(placed.positions), size or _usual_area(placed))
    if color == "class":
        if placed.classes is None:
            raise InvalidInputError(
                "color='class' needs the labels y of the rows X; pass them, or "
                "another color"
            )
        _draw_classes(ax, smoother, placed.positions, placed.classes, areas, legend)
    else:
        values = placed.errors if color == "bayes_error" else placed.strengths
        # The largest values last: they are what one looks for.
        order = np.argsort(values, kind="stable")
        drawn = ax.scatter(
            placed.positions[order, 0],
            placed.positions[order, 1],
            c=values[order],
            s=areas[order],
            cmap=cmap,
            linewidths=0,
        )
        if legend:
            # Inside the axes' own room, so that it is as high as they turn out to be.
            beside = ax.inset_axes((1.03, 0.1, 0.035, 0.8))
            in_percent = color == "bayes_error"
            ax.figure.colorbar(
                drawn, cax=beside, format=percent if in_percent else None
            )
    ax.set_title(TITLES[color])
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_aspect("equal")
    if placed.variance_shown < 0.995:
        ax.set_xlabel(f"{placed.variance_shown:.0%} of the variance shown", fontsize=8)
    return ax


def _usual_area(placed: Placed) -> float:
    return float(np.clip(12_000 / len(placed.positions), 3.0, 30.0))


def _areas(smoother: Any, size: float | None) -> NDArray[np.float64]:
    """Return areas by weight; the mean cluster has the given one."""
    weights = np.asarray(smoother.cluster_weights_)
    return np.asarray((size or 90.0) * weights * len(weights))


def _draw_classes(
    ax: Axes,
    smoother: Any,
    positions: NDArray[np.float64],
    classes: NDArray[np.int64],
    areas: NDArray[np.float64],
    legend: bool,
) -> None:
    whole = smoother.bayes_error_bounds_
    names = class_names(smoother)
    colors = class_colors(
        overlap_of_classes(whole.crossing_pairs, whole.crossing_counts, len(names))
    )
    own = [number for number, shade in enumerate(colors) if shade is not None]
    gray = ~np.isin(classes, own)
    if gray.any():
        ax.scatter(
            positions[gray, 0],
            positions[gray, 1],
            s=areas[gray],
            c=OTHER,
            alpha=0.5,
            linewidths=0,
            label=f"{len(names) - len(own)} others",
            zorder=1,
        )
    for place, number in enumerate(own):
        of_class = classes == number
        ax.scatter(
            positions[of_class, 0],
            positions[of_class, 1],
            s=areas[of_class],
            c=colors[number],
            marker=MARKERS[place % len(MARKERS)],
            alpha=0.8,
            linewidths=0,
            label=names[number],
            zorder=2,
        )
    if legend:
        ax.legend(
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            frameon=False,
            fontsize=8,
            handletextpad=0.2,
            markerscale=float(6.0 / np.sqrt(areas.mean())),
        )
