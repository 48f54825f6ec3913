"""What can be wrong with a fit, asked one by one: all checks, and those of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from structsmooth.bayes_error.ranking import says_little
from structsmooth.bayes_error.shrinkage import FEW_ROWS, Shrinkage
from structsmooth.report.model import FAIL, PASS, WARN, Check
from structsmooth.report.rowchecks import (
    check_box,
    check_duplicates,
    check_mean,
    check_rare_classes,
    check_suspects,
    check_ties,
)
from structsmooth.report.view import View
from structsmooth.report.words import number, percent, plural

# More reduced features than this, and neighbors begin not to be near.
MANY_DIMENSIONS = 10
# Of the clusters' differences less than this share is signal: mostly noise.
MOSTLY_NOISE = 0.5


def make_checks(
    smoother: Any, view: View | None, shrinkage: Shrinkage
) -> tuple[Check, ...]:
    """Ask everything.

    Parameters
    ----------
    smoother : StructuralSmoother
        Fitted.
    view : View or None
        Of the rows, if they were at hand.
    shrinkage : Shrinkage
        Of the smoother's clusters.
    """
    return (
        check_noise(smoother, shrinkage),
        check_dimensions(smoother),
        check_saturation(smoother),
        check_tiny_clusters(smoother),
        check_one_class_clusters(smoother),
        check_rare_classes(smoother),
        *([] if smoother.suspects_ is None else [check_suspects(smoother)]),
        check_ties(smoother),
        *([] if view is None else [check_duplicates(view)]),
        check_mean(smoother),
        check_box(smoother),
    )


def is_signal_around_points(smoother: Any) -> bool:
    """Whether two halves of the labels agree on where classes overlap."""
    points = smoother.structure_.points
    return points is not None and smoother.shrink and points.reliability > 0.0


def check_noise(smoother: Any, shrinkage: Shrinkage) -> Check:
    """Whether clusters differ by more than sampling noise."""
    key, title = "noise", "Do regions differ by more than noise?"
    if is_signal_around_points(smoother):
        return Check(
            key,
            title,
            PASS,
            "Yes: two halves of the labels agree on where the classes overlap. Of the "
            f"differences between samples, about "
            f"{percent(smoother.structure_.points.reliability, 0)} is more than "
            "noise, and the strengths follow only these.",
        )
    n_clusters = len(smoother.cluster_bounds_)
    if n_clusters == 1:
        return Check(
            key,
            title,
            WARN,
            "There is one cluster only, so there is nothing to compare"
            + (
                "."
                if smoother.structure_.points is not None
                else ": all rows get the same strength, which is uniform smoothing."
            ),
            "More rows, or n_clusters=2 and more, would show whether regions differ.",
        )
    p_value = shrinkage.p_value
    chance = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"
    if shrinkage.spread == 0.0:
        found = (
            f"Not clearly: {n_clusters} clusters of equal Bayes error would differ as "
            f"much by chance in {100.0 * p_value:.0f} of 100 cases. "
        )
        if np.ptp(smoother.sample_strengths_) <= 1e-9:
            return Check(
                key, title, WARN, found + "The strengths are uniform, which fits."
            )
        return Check(
            key,
            title,
            FAIL,
            found
            + "The strengths may follow noise; uniform smoothing would do as well.",
            "Use uniform smoothing, or fit with shrink=True, which draws clusters "
            "together as far as they differ by noise. More rows or fewer clusters "
            "would say more.",
        )
    signal = float(smoother.cluster_weights_ @ shrinkage.factors)
    found = (
        f"Yes ({chance}). Of the differences between clusters, about "
        f"{percent(signal, 0)} is more than sampling noise."
    )
    if signal < MOSTLY_NOISE and not smoother.shrink:
        return Check(
            key,
            title,
            WARN,
            found.replace("Yes", "Yes, but not by much", 1),
            "Fit with shrink=True to draw clusters together as far as they differ by "
            "noise.",
        )
    return Check(key, title, PASS, found)


def check_dimensions(smoother: Any) -> Check:
    """Whether neighbors can be near."""
    key, title = "dimensions", "Are nearest neighbors near?"
    dimensions = smoother.structure_.regions.centers.shape[1]
    if dimensions > MANY_DIMENSIONS:
        return Check(
            key,
            title,
            WARN,
            f"Distances are measured in {plural(dimensions, 'dimension')}. There, "
            "nearest neighbors tend to be far, and the estimated Bayes error comes out "
            "too high, the lower bound included.",
            "Compare regions by the estimate, and do not take it for a limit. Features "
            "that separate the classes in fewer dimensions (an embedding) make it "
            "better.",
        )
    return Check(
        key,
        title,
        PASS,
        f"Distances are measured in {plural(dimensions, 'dimension')}; few enough for "
        "neighbors to be near if the rows are many.",
    )


def check_saturation(smoother: Any) -> Check:
    """Whether neighbors agree more often than by chance."""
    key, title = "saturation", "Do the bounds say anything everywhere?"
    n_classes = len(smoother.classes_)
    ceiling = (n_classes - 1) / n_classes
    full = np.array(
        [bounds.crossing_fraction >= ceiling for bounds in smoother.cluster_bounds_]
    )
    full &= ~says_little(smoother.cluster_bounds_)  # which reach it by chance
    share = float(smoother.cluster_weights_[full].sum())
    if not full.any():
        return Check(
            key,
            title,
            PASS,
            "In every cluster, neighbors agree more often than labels drawn at random "
            "from equally frequent classes would.",
        )
    return Check(
        key,
        title,
        FAIL if share > 0.5 else WARN,
        f"In {plural(int(full.sum()), 'cluster')} ({percent(share)} of the rows) at "
        f"least {percent(ceiling)} of the neighbors have different labels: there, they "
        "agree no more than labels drawn at random.",
        "Where neighbors agree no more than labels drawn at random, these features do "
        "not tell the classes apart: check that the labels belong to the rows, or use "
        "other features.",
    )


def check_tiny_clusters(smoother: Any) -> Check:
    """Whether clusters have enough rows."""
    key, title = "tiny-clusters", "Has every cluster enough rows?"
    sizes = np.array([bounds.n_samples for bounds in smoother.cluster_bounds_])
    tiny = sizes < FEW_ROWS
    merged = smoother.structure_.regions.n_merged
    joined = (
        f" {plural(merged, 'cluster was', 'clusters were')} too small and joined a "
        "neighbor."
        if merged
        else ""
    )
    if not tiny.any():
        return Check(
            key,
            title,
            PASS,
            f"The smallest of {number(len(sizes))} has "
            f"{plural(int(sizes.min()), 'row')}." + joined,
        )
    share = float(sizes[tiny].sum() / sizes.sum())
    return Check(
        key,
        title,
        WARN,
        f"{plural(int(tiny.sum()), 'cluster has', 'clusters have')} fewer than "
        f"{FEW_ROWS} rows ({percent(share)} of all)."
        + _about_little(int(tiny.sum()), smoother.cluster_bounds_)
        + joined,
        f"Take fewer clusters (n_clusters), or min_cluster_size={FEW_ROWS}."
        if len(sizes) > 1
        else "More rows would say more.",
    )


def _about_little(n_tiny: int, clusters: Any) -> str:
    """Say what becomes of tiny clusters that may be like the others."""
    n_little = int(np.count_nonzero(says_little(clusters)))
    if not n_little:
        return " So few rows say little about a cluster."
    who = "All of them" if n_little == n_tiny else f"{number(n_little)} of them"
    if n_tiny == 1:
        who = "It"
    strength = "its strength follows" if n_little == 1 else "their strengths follow"
    comes = "it comes" if n_little == 1 else "they come"
    return (
        f" {who} may be like the others and {'says' if n_little == 1 else 'say'} "
        f"little: {strength} the mean of the others, and {comes} last where clusters "
        "are listed."
    )


def check_one_class_clusters(smoother: Any) -> Check:
    """How many clusters have a single class."""
    key, title = "one-class-clusters", "Do clusters mix classes?"
    single = np.array(
        [np.count_nonzero(b.class_counts) == 1 for b in smoother.cluster_bounds_]
    )
    share = float(smoother.cluster_weights_[single].sum())
    if not single.any():
        return Check(
            key, title, PASS, "Every cluster has rows of at least two classes."
        )
    found = (
        f"{number(int(single.sum()))} of {plural(len(single), 'cluster')} "
        f"({percent(share)} of the rows) {'has' if single.sum() == 1 else 'have'} a "
        "single class, so their estimated Bayes error is 0."
    )
    if share > 0.5 and smoother.alpha_ > smoother.bayes_error_bounds_.lower:
        return Check(
            key,
            title,
            WARN,
            found,
            "Classes that lie apart need little smoothing: try a smaller alpha, or "
            "alpha='auto', which is the estimated Bayes error.",
        )
    return Check(key, title, PASS, found + " That is as it should be.")
