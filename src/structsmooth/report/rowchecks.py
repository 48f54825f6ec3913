"""What can be wrong with a fit, asked one by one: classes, rows and their strengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from structsmooth.bayes_error.crossing import MANY_TIES
from structsmooth.report.model import FAIL, PASS, WARN, Check
from structsmooth.report.view import View
from structsmooth.report.words import listed, number, percent, plural, short, strength

# Fewer rows than this say little about a class.
RARE_CLASS = 10
# So many rows with suspicious labels are named.
SHOWN_SUSPECTS = 10


def check_rare_classes(smoother: Any) -> Check:
    """Whether classes have enough rows."""
    key, title = "rare-classes", "Has every class enough rows?"
    counts = smoother.bayes_error_bounds_.class_counts
    rare = np.flatnonzero(counts < RARE_CLASS)
    if not len(rare):
        return Check(
            key, title, PASS, f"The smallest has {plural(int(counts.min()), 'row')}."
        )
    names = listed([short(str(name)) for name in smoother.classes_[rare].tolist()])
    return Check(
        key,
        title,
        WARN,
        f"{plural(len(rare), 'class has', 'classes have')} fewer than {RARE_CLASS} "
        f"rows: {names}.",
        "Collect more rows of the rare classes, or join them with other ones: so few "
        "rows say little about where a class overlaps with others.",
    )


def check_suspects(smoother: Any) -> Check:
    """Whether labels look like mistakes, of a smoother that has looked for them."""
    key, title = "suspects", "Do the labels look right?"
    suspects, n_rows = smoother.suspects_, smoother.bayes_error_bounds_.n_samples
    if len(suspects) == 0:
        return Check(key, title, PASS, "No label stands alone among other ones.")
    first = listed([f"{row}" for row in suspects.rows.tolist()], SHOWN_SUSPECTS)
    are = "looks like a mistake" if len(suspects) == 1 else "look like mistakes"
    return Check(
        key,
        title,
        WARN,
        f"{plural(len(suspects), 'label')} of {number(n_rows)} "
        f"({percent(len(suspects) / n_rows)}) {are}: nearly all neighbors have "
        f"another one. The most certain first, by row number from 0: {first}.",
        "Look at the rows whose labels look like mistakes, and mend the labels or "
        "leave the rows out of the training: smoothing is no cure for wrong labels. "
        "These rows were not taken for overlap.",
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
    at_zero = values == 0.0
    if at_zero.any() and smoother.alpha_ > 0.0:
        share = percent(float(at_zero.mean()), 0)
        found += f" {share} of the rows are not smoothed at all."
        overlap = smoother.decision_.bayes_error_of_samples(smoother.structure_) > 0.0
        if np.mean(at_zero & overlap) > 0.5:
            return Check(
                key,
                title,
                WARN,
                found,
                "Most rows are not smoothed although classes overlap around them: a "
                "smaller beta, or a larger alpha, would smooth more of them.",
            )
    return Check(key, title, PASS, found)
