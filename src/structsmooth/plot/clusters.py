"""Clusters: their Bayes errors, and the strengths that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structsmooth.bayes_error.ranking import order_of_regions, says_little
from structsmooth.plot.canvas import legend_above, percent, ready_axes, tidy
from structsmooth.report.drawing.palette import FEW, OTHER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE = FEW[0], FEW[1]


def plot_strengths(smoother: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the strength of each cluster against its estimated Bayes error.

    One mark a cluster, its area by the cluster's share of the rows. The horizontal
    lines are the confidence intervals of the lower bounds; the dashed line is uniform
    smoothing of the same mean. With ``regions="point"`` the vertical lines reach from
    the 10th to the 90th percentile of the strengths of a cluster's samples.

    Parameters
    ----------
    smoother : StructuralSmoother
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib axes
        With the marks.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from structsmooth import StructuralSmoother
    >>> from structsmooth.plot import plot_strengths
    >>> smoother = StructuralSmoother(random_state=0).fit(*load_digits(return_X_y=True))
    >>> ax = plot_strengths(smoother)
    """
    ax = ready_axes(smoother, ax, (5.2, 4.0))
    errors = np.asarray(smoother.bayes_error_lower_)
    strengths = np.asarray(smoother.strengths_)
    weights = np.asarray(smoother.cluster_weights_)
    intervals = np.array([b.lower_interval for b in smoother.cluster_bounds_])
    ax.axhline(
        smoother.alpha_,
        color=ORANGE,
        linestyle="--",
        linewidth=1.2,
        label=f"uniform, {smoother.alpha_:.3g}",
        zorder=1,
    )
    ax.hlines(strengths, *intervals.T, color=OTHER, linewidth=1.0, zorder=2)
    if smoother.structure_.points is not None:
        labels = smoother.cluster_labels_
        spread = [
            np.quantile(smoother.sample_strengths_[labels == cluster], (0.1, 0.9))
            for cluster in range(len(strengths))
        ]
        ax.vlines(errors, *np.transpose(spread), color=OTHER, linewidth=1.0, zorder=2)
    ax.scatter(
        errors,
        strengths,
        s=45.0 * weights * len(weights),
        color=BLUE,
        alpha=0.75,
        edgecolors="white",
        linewidths=0.6,
        label="clusters, area by rows",
        zorder=3,
    )
    ax.xaxis.set_major_formatter(percent)
    ax.set_xlabel("estimated Bayes error, lower bound, %")
    ax.set_ylabel("smoothing strength")
    ax.set_ylim(bottom=min(0.0, *ax.get_ylim()))
    legend_above(ax)
    tidy(ax)
    return ax


def plot_clusters(smoother: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the bounds on the Bayes error of all clusters, sorted by what is certain.

    The higher the low end of its interval, the higher a cluster stands. Clusters that
    say little, because they have few rows and may be like the others, are gray and at
    the bottom.

    Thick lines reach from the lower to the upper bound, thin ones from the low end of
    the lower bound's confidence interval to the high end of the upper one's. The
    vertical line and band are the same for all data.

    Parameters
    ----------
    smoother : StructuralSmoother
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib axes
        With a line for each cluster, those that are hard for certain on top.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from structsmooth import StructuralSmoother
    >>> from structsmooth.plot import plot_clusters
    >>> smoother = StructuralSmoother(random_state=0).fit(*load_digits(return_X_y=True))
    >>> ax = plot_clusters(smoother)
    """
    n_clusters = len(smoother.cluster_bounds_) if hasattr(smoother, "classes_") else 1
    height = float(np.clip(1.2 + 0.13 * n_clusters, 2.4, 9.0))
    ax = ready_axes(smoother, ax, (5.6, height))
    lower, upper = smoother.bayes_error_lower_, smoother.bayes_error_upper_
    order = order_of_regions(smoother.cluster_bounds_)[::-1]
    little = says_little(smoother.cluster_bounds_)[order]
    shades = np.where(little, OTHER, BLUE).tolist()
    places = np.arange(len(order))
    outer = np.array([smoother.cluster_bounds_[c].interval for c in order])
    whole = smoother.bayes_error_bounds_
    ax.axvspan(*whole.interval, color=ORANGE, alpha=0.12, linewidth=0, zorder=0)
    ax.axvline(
        whole.lower,
        color=ORANGE,
        linestyle="--",
        linewidth=1.2,
        label="all data, lower bound",
        zorder=1,
    )
    ax.hlines(
        places,
        *outer.T,
        color=OTHER,
        linewidth=1.0,
        label=f"{whole.confidence:.0%} interval",
        zorder=2,
    )
    thick = float(np.clip(150.0 / len(order), 1.5, 5.0))
    ax.hlines(
        places,
        lower[order],
        upper[order],
        colors=shades,
        linewidth=thick,
        zorder=3,
    )
    ax.scatter(lower[order], places, s=thick**2, c=shades, zorder=4)
    names = {BLUE: "lower to upper bound"}
    if little.any():
        names[OTHER] = "the same, says little"
    for shade, name in names.items():
        ax.plot([], [], color=shade, linewidth=thick, label=name)
    many = len(order) > 60
    ax.set_yticks([] if many else places, [] if many else [str(c) for c in order])
    ax.tick_params(axis="y", labelsize=7, length=0)
    ax.set_ylim(-0.8, len(order) - 0.2)
    ax.set_xlim(left=0.0)
    ax.xaxis.set_major_formatter(percent)
    ax.set_xlabel("estimated Bayes error, %")
    ax.set_ylabel("cluster")
    legend_above(ax)
    tidy(ax)
    return ax
