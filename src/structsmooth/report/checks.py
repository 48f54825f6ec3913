"""What can be wrong with a fit, one question at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structsmooth.bayes_error.crossing import MANY_TIES
from structsmooth.bayes_error.ranking import says_little
from structsmooth.bayes_error.shrinkage import FEW_ROWS, Shrinkage
from structsmooth.report.model import FAIL, PASS, WARN, Check
from structsmooth.report.view import View
from structsmooth.report.words import (
    listed,
    number,
    percent,
    percents,
    plural,
    short,
    strength,
)
from structsmooth.smoother import StructuralSmoother

# In more dimensions than this, nearest neighbors begin to be far away.
MANY_DIMENSIONS = 10
# If a smaller share of the clusters' differences is signal, they are mostly noise.
MOSTLY_NOISE = 0.5
# A class with fewer rows than this is rare.
RARE_CLASS = 10
FIT_AGAIN = "A smoother as fitted is never like this; fit again."
TITLES = {
    "noise": "Do regions differ by more than noise?",
    "dimensions": "Are nearest neighbors near?",
    "saturation": "Are the bounds informative everywhere?",
    "tiny-clusters": "Does every cluster have enough rows?",
    "one-class-clusters": "Do clusters mix classes?",
    "rare-classes": "Does every class have enough rows?",
    "suspects": "Do the labels look right?",
    "ties": "Do distances decide the trees?",
    "duplicates": "Does every row occur only once?",
    "mean": "Is the mean strength equal to alpha?",
    "box": "Are all strengths inside their limits?",
}
# The status, what was found, and perhaps advice; nothing if nobody can tell.
Answer = tuple[str, ...]


def make_checks(
    smoother: StructuralSmoother,
    view: View | None,
    shrinkage: Shrinkage,
    names: Sequence[str],
) -> tuple[Check, ...]:
    """Answer every question that applies.

    ``shrinkage`` is that of the clusters, ``names`` are those of the classes.
    """
    answers = {
        "noise": _noise(smoother, shrinkage),
        "dimensions": _dimensions(smoother),
        "saturation": _saturation(smoother),
        "tiny-clusters": _tiny_clusters(smoother),
        "one-class-clusters": _one_class_clusters(smoother),
        "rare-classes": _rare_classes(smoother, names),
        "suspects": None if smoother.suspects_ is None else _suspects(smoother),
        "ties": _ties(smoother),
        "duplicates": None if view is None else _duplicates(view),
        "mean": _mean(smoother),
        "box": _box(smoother),
    }
    return tuple(
        Check(key, TITLES[key], *answer) for key, answer in answers.items() if answer
    )


def signal_around_points(smoother: StructuralSmoother) -> float:
    """Return the share of the differences between samples that the strengths follow."""
    points = smoother.structure_.points
    return points.reliability if points is not None and smoother.shrink else 0.0


def _noise(smoother: StructuralSmoother, shrinkage: Shrinkage) -> Answer:
    signal = signal_around_points(smoother)
    if signal > 0.0:
        return (
            PASS,
            "Yes: two halves of the labels agree on where the classes overlap. About "
            f"{percent(signal, 0)} of the differences between samples is more than "
            "noise, and the strengths follow only that part.",
        )
    n_clusters = len(smoother.cluster_bounds_)
    if n_clusters == 1:
        found = "There is only one cluster, so there is nothing to compare"
        if smoother.structure_.points is None:
            found += ": all rows get the same strength, which is uniform smoothing"
        advice = (
            "More rows, or n_clusters=2 or more, would show whether regions differ."
        )
        return WARN, found + ".", advice
    p_value = shrinkage.p_value
    if shrinkage.spread == 0.0:
        found = (
            f"Not clearly: {n_clusters} clusters of equal Bayes error would differ as "
            f"much by chance in {100.0 * p_value:.0f} of 100 cases. "
        )
        if np.ptp(smoother.sample_strengths_) <= 1e-9:
            return WARN, found + "The strengths are uniform, which fits."
        return (
            FAIL,
            f"{found}The strengths may follow noise; uniform smoothing would do as "
            "well.",
            "Use uniform smoothing, or fit with shrink=True, which draws clusters "
            "together as far as their differences are noise. More rows or fewer "
            "clusters would give a clearer answer.",
        )
    signal = float(smoother.cluster_weights_ @ shrinkage.factors)
    chance = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"
    found = (
        f"({chance}). About {percent(signal, 0)} of the differences between clusters "
        "is more than sampling noise."
    )
    if signal < MOSTLY_NOISE and not smoother.shrink:
        return (
            WARN,
            "Yes, but not by much " + found,
            "Fit with shrink=True to draw clusters together as far as their "
            "differences are noise.",
        )
    return PASS, "Yes " + found


def _dimensions(smoother: StructuralSmoother) -> Answer:
    n_dimensions = smoother.structure_.regions.centers.shape[1]
    found = f"Distances are measured in {plural(n_dimensions, 'dimension')}"
    if n_dimensions > MANY_DIMENSIONS:
        return (
            WARN,
            f"{found}. In so many, nearest neighbors tend to be far away, and the "
            "estimated Bayes error comes out too high, the lower bound included.",
            "Use the estimated Bayes error to compare regions, not as a limit. "
            "Features that separate the classes in fewer dimensions (an embedding) "
            "improve it.",
        )
    return PASS, f"{found}; in so few, the neighbors among many rows are near."


def _saturation(smoother: StructuralSmoother) -> Answer:
    n_classes = len(smoother.classes_)
    ceiling = (n_classes - 1) / n_classes
    full = np.array([b.crossing_fraction >= ceiling for b in smoother.cluster_bounds_])
    full &= ~says_little(smoother.cluster_bounds_)  # those can reach it by chance
    if not full.any():
        return (
            PASS,
            "In every cluster, neighbors agree more often than labels drawn at random "
            "from equally frequent classes would.",
        )
    share = float(smoother.cluster_weights_[full].sum())
    return (
        FAIL if share > 0.5 else WARN,
        f"In {plural(int(full.sum()), 'cluster')} ({percent(share)} of the rows) at "
        f"least {percent(ceiling)} of the neighbors have different labels.",
        "Where neighbors agree no more than labels drawn at random, these features do "
        "not tell the classes apart: check that the labels belong to the rows, or use "
        "other features.",
    )


def _tiny_clusters(smoother: StructuralSmoother) -> Answer:
    sizes = np.array([bounds.n_samples for bounds in smoother.cluster_bounds_])
    tiny = sizes < FEW_ROWS
    n_tiny, n_merged = int(tiny.sum()), smoother.structure_.regions.n_merged
    were = plural(n_merged, "cluster was", "clusters were")
    merged = f" {were} too small and joined a neighbor." if n_merged else ""
    if not n_tiny:
        which = "The only cluster"
        if len(sizes) > 1:
            which = f"The smallest of {number(len(sizes))} clusters"
        return PASS, f"{which} has {plural(int(sizes.min()), 'row')}.{merged}"
    share = float(sizes[tiny].sum() / sizes.sum())
    n_little = int(np.count_nonzero(says_little(smoother.cluster_bounds_)))
    little = "So few rows say little about a cluster."
    if n_little:
        which = f"Of these, {n_little} may"
        if n_little == n_tiny:
            which = "It may" if n_tiny == 1 else "They may"
        little = f"{which} be like the others: such " + (
            "a cluster says little, its strength follows the mean of the others, and "
            "it is listed last."
            if n_little == 1
            else "clusters say little, their strengths follow the mean of the others, "
            "and they are listed last."
        )
    return (
        WARN,
        f"{plural(n_tiny, 'cluster has', 'clusters have')} fewer than {FEW_ROWS} rows "
        f"({percent(share)} of all). {little}{merged}",
        f"Use fewer clusters (n_clusters), or min_cluster_size={FEW_ROWS}, so that "
        "every cluster has enough rows."
        if len(sizes) > 1
        else "With more rows the estimates would be more certain.",
    )


def _one_class_clusters(smoother: StructuralSmoother) -> Answer:
    counts = np.array([bounds.class_counts for bounds in smoother.cluster_bounds_])
    single = np.count_nonzero(counts, axis=1) == 1
    if not single.any():
        return PASS, "Every cluster has rows of at least two classes."
    share = float(smoother.cluster_weights_[single].sum())
    n_single = int(single.sum())
    have = "has rows" if n_single == 1 else "have rows"
    found = (
        f"{number(n_single)} of {number(len(single))} clusters {have} of a single "
        f"class ({percent(share)} of all rows), and so an estimated Bayes error of 0."
    )
    if share > 0.5 and smoother.alpha_ > smoother.bayes_error_bounds_.lower:
        return (
            WARN,
            found,
            "Classes that lie apart need little smoothing: try a smaller alpha, or "
            "alpha='auto', which is the estimated Bayes error.",
        )
    return PASS, found + " That is as it should be."


def _rare_classes(smoother: StructuralSmoother, names: Sequence[str]) -> Answer:
    counts = smoother.bayes_error_bounds_.class_counts
    rare = np.flatnonzero(counts < RARE_CLASS)
    if not len(rare):
        return PASS, f"The smallest class has {plural(int(counts.min()), 'row')}."
    rare_names = listed([short(names[k]) for k in rare.tolist()])
    return (
        WARN,
        f"{plural(len(rare), 'class has', 'classes have')} fewer than {RARE_CLASS} "
        f"rows: {rare_names}.",
        "Collect more rows of rare classes, or merge such classes with others: so few "
        "rows say little about where a class overlaps with others.",
    )


def _suspects(smoother: StructuralSmoother) -> Answer:
    suspects, n_rows = smoother.suspects_, smoother.bayes_error_bounds_.n_samples
    if not suspects:
        others = "" if suspects is None else suspects.about_others()
        return PASS, f"No label clearly looks like a mistake. {others}".strip()
    look = "looks like a mistake" if len(suspects) == 1 else "look like mistakes"
    found = (
        f"{plural(len(suspects), 'label')} of {number(n_rows)} "
        f"({percent(len(suspects) / n_rows)}) {look}: neighbors and the shapes of "
        "classes speak for another one. "
    )
    if suspects.bounds_as_given is not None:
        bounds = smoother.bayes_error_bounds_
        counted = percents(bounds.lower, bounds.upper)
        as_given = percents(*suspects.bounds_as_given.tolist())
        found += (
            "With the labels as they are, the estimated Bayes error would be "
            f"{as_given}; with the likely labels it is {counted}. "
        )
    if len(suspects) == 1:
        return (
            WARN,
            f"{found}It is that of row {suspects.rows[0]}; row numbers start at 0.",
            "Look at the row whose label looks like a mistake, and correct the label "
            "or leave the row out of the training: smoothing is no cure for wrong "
            "labels. This label was not counted as overlap.",
        )
    first = listed([f"{row}" for row in suspects.rows.tolist()], most=10)
    return (
        WARN,
        f"{found}The rows, the most certain first: {first}; row numbers start at 0.",
        "Look at the rows whose labels look like mistakes, and correct the labels or "
        "leave the rows out of the training: smoothing is no cure for wrong labels. "
        "These labels were not counted as overlap.",
    )


def _ties(smoother: StructuralSmoother) -> Answer:
    tied = smoother.bayes_error_bounds_.tied_fraction
    if tied <= MANY_TIES:
        return PASS, "Equal distances leave few of the trees' edges undecided, or none."
    found = f"Equal distances leave {percent(tied, 0)} of the trees' edges"
    if smoother.ties == "average":
        return PASS, f"{found} undecided; counts are means over orders of the rows."
    return (
        WARN,
        found + " to the order of the rows.",
        "Fit with ties='average', which takes the mean over 16 orders.",
    )


def _duplicates(view: View) -> Answer:
    if not view.n_compared:
        return ()
    among = ""
    if view.n_compared != view.n_rows:
        among = f" among {number(view.n_compared)} rows chosen at random"
    if view.duplicate_share == 0.0:
        return PASS, f"No two rows are equal{among}."
    conflicts = "all with the same label"
    if view.conflict_share > 0.0:
        conflicts = f"{percent(view.conflict_share)} a row with another label"
    share = percent(view.duplicate_share)
    found = f"{share} of the rows equal another row{among}, {conflicts}."
    advice = ""
    if view.conflict_share > 0.0:
        advice = (
            "Equal rows with different labels are either hard cases or labeling "
            "errors: look at some."
        )
    elif view.duplicate_share > 0.01:
        advice = (
            "Equal rows with equal labels make the classes look further apart than "
            "they are: drop them, and keep them out of test sets."
        )
    return WARN if advice else PASS, found, advice


def _mean(smoother: StructuralSmoother) -> Answer:
    mean = float(np.mean(smoother.sample_strengths_))
    if abs(mean - smoother.alpha_) <= 1e-9:
        return PASS, f"The mean over all rows is {strength(mean)}, which is alpha."
    found = f"The mean over all rows is {mean:.6g}, alpha is {smoother.alpha_:.6g}."
    return FAIL, found, FIT_AGAIN


def _box(smoother: StructuralSmoother) -> Answer:
    n_classes = len(smoother.classes_)
    ceiling = (n_classes - 1) / n_classes
    values = smoother.sample_strengths_
    low, high = float(values.min()), float(values.max())
    if low < 0.0 or high >= ceiling:
        found = f"They range from {low:.6g} to {high:.6g}, expected 0 to below "
        return FAIL, f"{found}{ceiling:.6g}.", FIT_AGAIN
    span = f"They range from {strength(low)} to {strength(high)}"
    if strength(low) == strength(high):
        span = f"All are {strength(low)}"
    found = f"{span}, inside 0 to below {strength(ceiling)}."
    at_zero = values == 0.0
    if at_zero.any() and smoother.alpha_ > 0.0:
        share = percent(float(at_zero.mean()), 0)
        found += f" {share} of the rows are not smoothed at all."
        overlap = smoother.decision_.bayes_error_of_samples(smoother.structure_) > 0.0
        if np.mean(at_zero & overlap) > 0.5:
            return (
                WARN,
                found,
                "Most rows are not smoothed although classes overlap around them: a "
                "smaller beta or a larger alpha would smooth more of them.",
            )
    return PASS, found
