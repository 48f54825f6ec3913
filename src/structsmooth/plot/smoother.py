"""Figures of a fitted smoother."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from structsmooth.bayes_error.ranking import order_of_regions, says_little
from structsmooth.errors import InvalidInputError
from structsmooth.plot.style import (
    BESIDE,
    BLUE,
    ORANGE,
    escaped,
    finish,
    new_axes,
    percent,
)
from structsmooth.report.drawing import (
    OTHER,
    class_colors,
    order_of_classes,
    overlap_of_classes,
    place_rows,
    project,
)
from structsmooth.report.words import short
from structsmooth.smoother import StructuralSmoother
from structsmooth.support.groups import rows_of_groups
from structsmooth.support.validation import check_choice, check_integer

MARKERS = "o^sDvPX<>*"  # as many as there are colors
TITLES = {
    "class": "classes",
    "bayes_error": "estimated Bayes error, %",
    "strength": "smoothing strength",
}
THIN: dict[str, Any] = {"color": OTHER, "linewidth": 1.0}
MARKS: Any = {"color": BLUE, "alpha": 0.75, "edgecolors": "white", "linewidths": 0.6}
DASHED: dict[str, Any] = {"color": ORANGE, "linestyle": "--", "linewidth": 1.2}
# Up to these numbers of classes, their names are written beside the cells of the heat
# map, and the counts inside.
NAMED, COUNTED = 40, 12
INSIDE: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7}
# With more clusters, their numbers are not written at the axis.
NUMBERED = 60
# A name longer than this would push the figure off its page.
LONGEST_NAME = 24


def plot_map(
    smoother: StructuralSmoother,
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

    One or two features are drawn as they are, more in the two directions of most
    variance. Rows that are close on the map are then not always close in the data.

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix of shape (n, d), optional
        Rows to draw, those of the fit or others. Without them, each mark is a cluster,
        and its area shows the cluster's share of the rows.
    y : array-like of shape (n,), optional
        Their labels, for ``color="class"``.
    color : {"class", "bayes_error", "strength"}, default="class"
        What the colors show. Of more than ten classes, the eight that overlap most have
        a color of their own. A cluster has the color of its largest class.
    max_rows : int, default=10000
        Of more rows, this many are chosen at random, always the same ones.
    size : float, optional
        Area of a mark, in points squared.
    cmap : colormap, default="viridis_r"
        For Bayes errors and strengths.
    legend : bool, default=True
        Whether to explain the colors.
    """
    check_choice(color, "color", tuple(TITLES))
    max_rows = check_integer(max_rows, "max_rows", 1)
    if X is None and y is not None:
        raise InvalidInputError("y was given without X, expected both or neither")
    if color == "class" and X is not None and y is None:
        raise InvalidInputError(
            "color='class' needs the labels y of the rows X; pass them or another color"
        )
    ax = _ready_axes(smoother, ax, (5.6, 4.4))
    with threadpool_limits(1):
        if X is None:
            weights = smoother.cluster_weights_
            positions, shown = project(smoother.structure_.regions.centers, weights)
            counts = np.array([b.class_counts for b in smoother.cluster_bounds_])
            classes = counts.argmax(axis=1)
            errors = smoother.decision_.bayes_error_of_clusters(smoother.structure_)
            strengths = smoother.strengths_
            areas = np.asarray((size or 90.0) * weights * len(weights))
        else:
            placed = place_rows(smoother, X, y, max_rows)
            positions, shown = placed.positions, placed.variance_shown
            classes = placed.classes
            errors, strengths = placed.errors, placed.strengths
            usual = np.clip(12_000 / len(positions), 3.0, 30.0)
            areas = np.full(len(positions), size or usual)
    if color == "class":
        _draw_classes(ax, smoother, positions, classes, areas, legend)
    else:
        values = errors if color == "bayes_error" else strengths
        order = np.argsort(values, kind="stable")  # the largest values are on top
        x, y = positions[order].T
        drawn = ax.scatter(
            x, y, c=values[order], s=areas[order], cmap=cmap, linewidths=0
        )
        if legend:
            # An inset, so that it is as high as the axes turn out to be.
            beside = ax.inset_axes((1.03, 0.1, 0.035, 0.8))
            ticks = percent if color == "bayes_error" else None
            ax.figure.colorbar(drawn, cax=beside, format=ticks)
    ax.set(title=TITLES[color], xticks=[], yticks=[], aspect="equal")
    if shown < 0.995:
        ax.set_xlabel(f"{shown:.0%} of the variance shown", fontsize=8)
    return ax


def plot_strengths(smoother: StructuralSmoother, *, ax: Axes | None = None) -> Axes:
    """Draw the strength of each cluster against its estimated Bayes error.

    Each mark is a cluster; its area shows the cluster's share of the rows. The
    horizontal lines are the confidence intervals of the lower bounds, and the dashed
    line is uniform smoothing of the same mean. With ``regions="point"``, the vertical
    lines reach from the 10th to the 90th percentile of the strengths of a cluster's
    samples.
    """
    ax = _ready_axes(smoother, ax, (5.2, 4.0))
    errors, strengths = smoother.bayes_error_lower_, smoother.strengths_
    weights, alpha = smoother.cluster_weights_, smoother.alpha_
    intervals = np.array([b.lower_interval for b in smoother.cluster_bounds_])
    ax.axhline(alpha, **DASHED, zorder=0, label=f"uniform, {alpha:.3g}")
    ax.hlines(strengths, *intervals.T, **THIN)
    if smoother.decision_.is_of_samples:
        spread = [
            np.quantile(smoother.sample_strengths_[rows], (0.1, 0.9))
            for rows in rows_of_groups(smoother.cluster_labels_)
        ]
        ax.vlines(errors, *np.transpose(spread), **THIN)
    areas = 45.0 * weights * len(weights)
    ax.scatter(errors, strengths, areas, **MARKS, label="clusters, area by rows")
    ax.xaxis.set_major_formatter(percent)
    ax.set(xlabel="estimated Bayes error, lower bound, %", ylabel=TITLES["strength"])
    ax.set_ylim(bottom=min(0.0, *ax.get_ylim()))
    return finish(ax)


def plot_clusters(smoother: StructuralSmoother, *, ax: Axes | None = None) -> Axes:
    """Draw the bounds on the Bayes error of all clusters, sorted by what is certain.

    The higher the low end of its interval, the higher a cluster stands. Clusters that
    say little, because they have few rows and may be like the others, are gray and at
    the bottom. Thick lines reach from the lower to the upper bound, thin ones from the
    low end of the lower bound's confidence interval to the high end of the upper
    bound's. The vertical line and band are those of all data.
    """
    n_clusters = len(getattr(smoother, "cluster_bounds_", ()))
    height = float(np.clip(1.2 + 0.13 * n_clusters, 2.4, 9))
    ax = _ready_axes(smoother, ax, (5.6, height))
    whole, clusters = smoother.bayes_error_bounds_, smoother.cluster_bounds_
    order = order_of_regions(clusters)[::-1]
    lower = smoother.bayes_error_lower_[order]
    upper = smoother.bayes_error_upper_[order]
    intervals = np.array([clusters[c].interval for c in order])
    little = says_little(clusters)[order]
    shades = np.where(little, OTHER, BLUE).tolist()
    places = np.arange(n_clusters)
    thick = float(np.clip(150.0 / n_clusters, 1.5, 5.0))
    ax.axvspan(*whole.interval, color=ORANGE, alpha=0.12, linewidth=0, zorder=0)
    ax.axvline(whole.lower, **DASHED, zorder=0, label="all data, lower bound")
    ax.hlines(places, *intervals.T, **THIN, label=f"{whole.confidence:.0%} interval")
    ax.hlines(places, lower, upper, colors=shades, linewidth=thick)
    ax.scatter(lower, places, s=thick**2, c=shades)
    names = {BLUE: "lower to upper bound"}
    if little.any():
        names[OTHER] = "the same, says little"
    for shade, name in names.items():
        ax.plot([], [], color=shade, linewidth=thick, label=name)
    numbered = n_clusters <= NUMBERED
    ax.set_yticks(places if numbered else [], order.astype(str) if numbered else [])
    ax.tick_params(axis="y", labelsize=7, length=0)
    ax.set_ylim(-0.8, n_clusters - 0.2)
    ax.set_xlim(left=0.0)
    ax.xaxis.set_major_formatter(percent)
    ax.set(xlabel=TITLES["bayes_error"], ylabel="cluster")
    return finish(ax)


def plot_class_overlap(
    smoother: StructuralSmoother, *, cluster: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often tree edges join each pair of classes, in one cluster or in all.

    More than 12 classes are ordered so that those that overlap are neighbors.
    """
    ax = _ready_axes(smoother, ax, (5.4, 4.6))
    whole = smoother.bayes_error_bounds_
    shown, title = whole, "all clusters"
    if cluster is not None:
        n_clusters = len(smoother.cluster_bounds_)
        cluster = check_integer(cluster, "cluster", 0, n_clusters - 1)
        shown, title = smoother.cluster_bounds_[cluster], f"cluster {cluster}"
    order = order_of_classes(whole.crossing)
    counts = np.asarray(shown.crossing, dtype=np.float64)[np.ix_(order, order)]
    names = [_class_names(smoother)[k] for k in order]
    top = max(1.0, float(counts.max()))
    drawn = ax.imshow(counts, cmap="Blues", vmin=0.0, vmax=top)
    ax.figure.colorbar(drawn, ax=ax, shrink=0.85, label="tree edges between classes")
    ax.set_title(title)
    if len(names) <= NAMED:
        size = float(np.clip(110.0 / len(names), 5.0, 9.0))
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=size)
        ax.set_yticks(range(len(names)), names, fontsize=size)
        ax.tick_params(length=0)
    else:
        ax.set(xticks=[], yticks=[], xlabel=f"{len(names)} classes")
    if len(names) <= COUNTED:
        for i, j in zip(*np.nonzero(counts), strict=True):
            shade = "white" if counts[i, j] > 0.55 * top else "black"
            ax.text(j, i, f"{counts[i, j]:.3g}", **INSIDE, color=shade)
    for side in ax.spines.values():
        side.set_color("0.8")
    return ax


def _draw_classes(
    ax: Axes,
    smoother: StructuralSmoother,
    positions: NDArray[np.float64],
    classes: NDArray[np.int64],
    areas: NDArray[np.float64],
    legend: bool,
) -> None:
    names = _class_names(smoother)
    colors = class_colors(overlap_of_classes(smoother.bayes_error_bounds_))
    own = [number for number, shade in enumerate(colors) if shade is not None]

    def draw(which: NDArray[np.bool_], **style: Any) -> None:
        x, y = positions[which].T
        ax.scatter(x, y, s=areas[which], linewidths=0, **style)

    gray = ~np.isin(classes, own)
    if gray.any():
        draw(gray, c=OTHER, alpha=0.5, label=f"{len(names) - len(own)} others")
    for number, marker in zip(own, MARKERS, strict=False):
        style = {"c": colors[number], "marker": marker, "label": names[number]}
        draw(classes == number, alpha=0.8, **style)
    if legend:
        scale = float(6.0 / np.sqrt(areas.mean()))
        ax.legend(**BESIDE, handletextpad=0.2, markerscale=scale)


def _ready_axes(
    smoother: StructuralSmoother, ax: Axes | None, size: tuple[float, float]
) -> Axes:
    """Return the axes to draw on, of a new figure if none were given."""
    check_is_fitted(smoother, "sample_strengths_")
    return new_axes(size) if ax is None else ax


def _class_names(smoother: StructuralSmoother) -> list[str]:
    """Return the labels as text that matplotlib does not take for mathematics."""
    names = [short(str(label), LONGEST_NAME) for label in smoother.classes_.tolist()]
    return [escaped(name) for name in names]
