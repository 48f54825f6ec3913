"""What can be wrong with a fit, asked one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from structsmooth.crossing import MANY_TIES
from structsmooth.report.model import FAIL, PASS, WARN, Check
from structsmooth.report.view import View
from structsmooth.report.words import listed, number, percent, plural, strength
from structsmooth.shrinkage import Shrinkage

# Fewer rows than this say little about a cluster, or a class.
TINY_CLUSTER = 30
RARE_CLASS = 10
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
        check_ties(smoother),
        *([] if view is None else [check_duplicates(view)]),
        check_mean(smoother),
        check_box(smoother),
    )


def check_noise(smoother: Any, shrinkage: Shrinkage) -> Check:
    """Whether clusters differ by more than sampling noise."""
    key, title = "noise", "Do the clusters differ by more than noise?"
    n_clusters = len(smoother.cluster_bounds_)
    if n_clusters == 1:
        return Check(
            key,
            title,
            WARN,
            "There is one cluster only, so there is nothing to compare"
            + (
                "."
                if smoother.points_ is not None
                else ": all rows get the same strength, which is uniform smoothing."
            ),
            "More rows, or n_clusters=2 and more, would show whether regions differ.",
        )
    p_value = shrinkage.p_value
    chance = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"
    if shrinkage.spread == 0.0:
        done = " shrink=True has made the strengths uniform." if smoother.shrink else ""
        return Check(
            key,
            title,
            WARN if smoother.shrink else FAIL,
            f"Not clearly: {n_clusters} clusters of equal Bayes error would often differ "
            f"as much by chance ({chance}). The strengths follow noise; uniform "
            f"smoothing would do as well.{done}",
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
    dimensions = smoother.regions_.centers.shape[1]
    if dimensions > MANY_DIMENSIONS:
        return Check(
            key,
            title,
            WARN,
            f"Distances are measured in {plural(dimensions, 'dimension')}. There, "
            "nearest neighbors tend to be far, and the estimated Bayes error comes out "
            "too high, the lower bound included.",
            "Compare regions by it, and do not take it for a limit. Features that "
            "separate the classes in fewer dimensions (an embedding) give better "
            "estimates.",
        )
    return Check(
        key,
        title,
        PASS,
        f"Distances are measured in {plural(dimensions, 'dimension')}; few enough for "
        "neighbors to be near if the rows are many.",
    )


def check_saturation(smoother: Any) -> Check:
    """Whether bounds have reached the highest value they can have."""
    key, title = "saturation", "Do the bounds say anything everywhere?"
    n_classes = len(smoother.classes_)
    ceiling = (n_classes - 1) / n_classes
    full = np.array(
        [bounds.crossing_fraction >= ceiling for bounds in smoother.cluster_bounds_]
    )
    share = float(smoother.cluster_weights_[full].sum())
    if not full.any():
        return Check(
            key, title, PASS, f"No cluster's bound is at its ceiling, {percent(ceiling)}."
        )
    return Check(
        key,
        title,
        FAIL if share > 0.5 else WARN,
        f"In {plural(int(full.sum()), 'cluster')} ({percent(share)} of the rows) the "
        f"bound is at its ceiling, {percent(ceiling)}: there, neighbors agree no more "
        "than labels drawn at random.",
        "These features do not tell the classes apart there. Check that the labels "
        "belong to the rows, or use other features.",
    )


def check_tiny_clusters(smoother: Any) -> Check:
    """Whether clusters have enough rows."""
    key, title = "tiny-clusters", "Has every cluster enough rows?"
    sizes = np.array([bounds.n_samples for bounds in smoother.cluster_bounds_])
    tiny = sizes < TINY_CLUSTER
    merged = smoother.regions_.n_merged
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
            f"The smallest of {number(len(sizes))} has {plural(int(sizes.min()), 'row')}."
            + joined,
        )
    share = float(sizes[tiny].sum() / sizes.sum())
    return Check(
        key,
        title,
        WARN,
        f"{plural(int(tiny.sum()), 'cluster has', 'clusters have')} fewer than "
        f"{TINY_CLUSTER} rows ({percent(share)} of all); their intervals are wide."
        + joined,
        f"Fewer clusters (n_clusters), or min_cluster_size={TINY_CLUSTER}.",
    )


def check_one_class_clusters(smoother: Any) -> Check:
    """How many clusters have a single class."""
    key, title = "one-class-clusters", "Do clusters mix classes?"
    single = np.array(
        [np.count_nonzero(b.class_counts) == 1 for b in smoother.cluster_bounds_]
    )
    share = float(smoother.cluster_weights_[single].sum())
    if not single.any():
        return Check(key, title, PASS, "Every cluster has rows of at least two classes.")
    found = (
        f"{number(int(single.sum()))} of {plural(len(single), 'cluster')} "
        f"({percent(share)} of the rows) {'has' if single.sum() == 1 else 'have'} a "
        "single class, so their estimated Bayes error is 0."
    )
    if share > 0.5:
        return Check(
            key,
            title,
            WARN,
            found,
            "Classes that lie apart need little smoothing: try a smaller alpha, or "
            "alpha='auto', which is the estimated Bayes error.",
        )
    return Check(key, title, PASS, found + " That is as it should be.")


def check_rare_classes(smoother: Any) -> Check:
    """Whether classes have enough rows."""
    key, title = "rare-classes", "Has every class enough rows?"
    counts = smoother.bayes_error_bounds_.class_counts
    rare = np.flatnonzero(counts < RARE_CLASS)
    if not len(rare):
        return Check(
            key, title, PASS, f"The smallest has {plural(int(counts.min()), 'row')}."
        )
    names = listed([str(name) for name in smoother.classes_[rare].tolist()])
    return Check(
        key,
        title,
        WARN,
        f"{plural(len(rare), 'class has', 'classes have')} fewer than {RARE_CLASS} "
        f"rows: {names}.",
        "Nothing can be said about where so few rows overlap with others.",
    )


def check_ties(smoother: Any) -> Check:
    """Whether equal distances decide the trees."""
    key, title = "ties", "Are the trees decided by distances?"
    tied = smoother.bayes_error_bounds_.tied_fraction
    if tied <= MANY_TIES:
        return Check(
            key, title, PASS, "Equal distances decide few of the trees' edges, or none."
        )
    found = f"Equal distances leave {percent(tied, 0)} of the trees' edges open"
    if smoother.ties == "average":
        return Check(
            key, title, PASS, found + "; counts are averages over orders of the rows."
        )
    return Check(
        key,
        title,
        WARN,
        found + " to the order of the rows.",
        "Fit with ties='average', which takes the mean over 16 orders.",
    )


def check_duplicates(view: View) -> Check:
    """Whether rows occur more than once."""
    key, title = "duplicates", "Is every row there once?"
    among = (
        ""
        if view.n_looked_at == view.n_rows
        else f" among {number(view.n_looked_at)} rows drawn at random"
    )
    if view.duplicate_share == 0.0:
        return Check(key, title, PASS, f"No two rows are equal{among}.")
    found = (
        f"{percent(view.duplicate_share)} of the rows have an equal one{among}; "
        f"{percent(view.conflict_share)} one with another label."
    )
    if view.conflict_share > 0.0:
        return Check(
            key,
            title,
            WARN,
            found,
            "Equal rows with different labels are either hard cases or labeling "
            "errors: look at some.",
        )
    if view.duplicate_share > 0.01:
        return Check(
            key,
            title,
            WARN,
            found,
            "Equal rows with equal labels make the classes look further apart than "
            "they are: drop them, and keep them out of test sets.",
        )
    return Check(key, title, PASS, found)


def check_mean(smoother: Any) -> Check:
    """Whether the strengths have the mean they should have."""
    key, title = "mean", "Is the mean strength alpha?"
    mean = float(np.mean(smoother.sample_strengths_))
    if abs(mean - smoother.alpha_) <= 1e-9:
        return Check(
            key, title, PASS, f"The mean over all rows is {strength(mean)}, as asked."
        )
    return Check(
        key,
        title,
        FAIL,
        f"The mean over all rows is {mean:.6g}, alpha is {smoother.alpha_:.6g}.",
        "This should not happen with a smoother as fitted; fit again.",
    )


def check_box(smoother: Any) -> Check:
    """Whether the strengths leave every sample's own label the likeliest."""
    key, title = "box", "Are all strengths inside their limits?"
    n_classes = len(smoother.classes_)
    ceiling = (n_classes - 1) / n_classes
    values = smoother.sample_strengths_
    low, high = float(values.min()), float(values.max())
    if low < 0.0 or high >= ceiling:
        return Check(
            key,
            title,
            FAIL,
            f"They reach from {low:.6g} to {high:.6g}, expected 0 to below "
            f"{ceiling:.6g}.",
            "This should not happen with a smoother as fitted; fit again.",
        )
    found = (
        f"They reach from {strength(low)} to {strength(high)}, inside 0 to below "
        f"{strength(ceiling)}."
    )
    at_zero = float(np.mean(values == 0.0))
    if at_zero > 0.5 and smoother.alpha_ > 0.0:
        return Check(
            key,
            title,
            WARN,
            found + f" {percent(at_zero, 0)} of the rows are not smoothed at all.",
            "A smaller beta, or a larger alpha, would smooth more of them.",
        )
    if at_zero > 0.0 and smoother.alpha_ > 0.0:
        found += f" {percent(at_zero, 0)} of the rows are not smoothed at all."
    return Check(key, title, PASS, found)
