"""From a fitted smoother, and a view of its rows, to a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.bayes_error.ranking import order_of_regions, says_little
from structsmooth.bayes_error.shrinkage import shrink_bounds
from structsmooth.io.store import versions
from structsmooth.report.checks import make_checks
from structsmooth.report.drawing.palette import overlap_of_classes
from structsmooth.report.model import ClassRow, ClusterRow, Map, Report, Sample
from structsmooth.report.pictures import png_uri
from structsmooth.report.verdict import make_verdict
from structsmooth.report.view import N_NEIGHBORS, View
from structsmooth.report.words import percent, plural, short
from structsmooth.strengths.epsilon import epsilon_from_alpha

Pairs = tuple[tuple[int, int, float], ...]


def build_report(
    smoother: Any,
    view: View | None,
    *,
    name: str = "data",
    notes: Sequence[str] = (),
    fit_versions: Mapping[str, str] | None = None,
    left_out: Sequence[str] = (),
) -> Report:
    """Put together what a report says.

    Parameters
    ----------
    smoother : StructuralSmoother
        Fitted.
    view : View or None
        Of its rows; without it there is neither a map nor ambiguous samples.
    name : str
        Of the data.
    notes : sequence of str
        Warnings of the fit.
    fit_versions : mapping of str to str, optional
        Versions it was fitted with; by default those of today.
    left_out : sequence of str
        What the report lacks, and why.
    """
    whole = smoother.bayes_error_bounds_
    n_classes = len(smoother.classes_)
    shrinkage = shrink_bounds(smoother.cluster_bounds_)
    checks = make_checks(smoother, view, shrinkage)
    crossing = overlap_of_classes(
        whole.crossing_pairs, whole.crossing_counts, n_classes
    )
    today = versions()
    return Report(
        name=name,
        n_samples=int(whole.n_samples),
        n_features=int(smoother.n_features_in_),
        n_dimensions=int(smoother.structure_.regions.centers.shape[1]),
        alpha=float(smoother.alpha_),
        beta=float(smoother.beta_),
        label_smoothing=float(epsilon_from_alpha(smoother.alpha_, n_classes)),
        regions=str(smoother.regions),
        verdict=make_verdict(smoother, shrinkage, checks, view),
        checks=checks,
        classes=tuple(
            ClassRow(str(label), int(size), float(edges))
            for label, size, edges in zip(
                smoother.classes_.tolist(), whole.class_counts, crossing, strict=True
            )
        ),
        clusters=_clusters(smoother),
        pairs=_pairs(whole),
        map=None if view is None else _map(view),
        samples=() if view is None else _samples(view),
        unranked="" if view is None else _unranked(view),
        settings={
            key: value
            if isinstance(value, str | int | float | bool | None)
            else repr(value)
            for key, value in smoother.get_params(deep=False).items()
        },
        versions=dict(fit_versions or today),
        made_with=today["structsmooth"],
        notes=tuple(notes),
        left_out=tuple(left_out),
    )


def _describe_classes(bounds: BayesErrorBounds, classes: NDArray[Any]) -> str:
    """Return the largest classes of a region with their shares, as text."""
    members = _members(bounds)
    text = ", ".join(
        f"“{short(str(classes[k]))}” {percent(size / bounds.n_samples, 0)}"
        for k, size in members[:3]
    )
    return text + (f", {len(members) - 3} more" if len(members) > 3 else "")


def _clusters(smoother: Any) -> tuple[ClusterRow, ...]:
    """Return the clusters, those that are hard for certain first."""
    labels, strengths = smoother.cluster_labels_, smoother.strengths_
    followed = smoother.bayes_error_
    if smoother.structure_.points is not None:
        followed = np.bincount(labels, followed) / np.bincount(labels)
    by_cluster = np.argsort(labels, kind="stable")
    members = np.split(by_cluster, np.cumsum(np.bincount(labels))[:-1])
    center = smoother.bayes_error_bounds_.crossing_fraction
    little = says_little(smoother.cluster_bounds_)
    rows = []
    for cluster in order_of_regions(smoother.cluster_bounds_).tolist():
        bounds = smoother.cluster_bounds_[cluster]
        inside = smoother.sample_strengths_[members[cluster]]
        low, high = bounds.upper_interval
        rows.append(
            ClusterRow(
                cluster=cluster,
                size=int(bounds.n_samples),
                weight=float(smoother.cluster_weights_[cluster]),
                n_classes=int(np.count_nonzero(bounds.class_counts)),
                classes=_describe_classes(bounds, smoother.classes_),
                members=_members(bounds),
                lower=float(bounds.lower),
                upper=float(bounds.upper),
                lower_interval=_pair(bounds.lower_interval),
                interval=_pair(bounds.interval),
                followed=float(followed[cluster]),
                strength=float(strengths[cluster]),
                strength_range=_pair(np.quantile(inside, (0.1, 0.9))),
                differs=bool((center < low or center > high) and not little[cluster]),
                says_little=bool(little[cluster]),
                pairs=_pairs(bounds),
            )
        )
    return tuple(rows)


def _members(bounds: BayesErrorBounds) -> tuple[tuple[int, int], ...]:
    counts = bounds.class_counts
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    return tuple(zip(order.tolist(), counts[order].tolist(), strict=True))


def _pair(values: Any) -> tuple[float, float]:
    low, high = values
    return float(low), float(high)


def _pairs(bounds: BayesErrorBounds) -> Pairs:
    order = np.argsort(-bounds.crossing_counts, kind="stable")
    joined = zip(
        bounds.crossing_pairs[order].tolist(),
        bounds.crossing_counts[order].tolist(),
        strict=True,
    )
    return tuple((first, second, float(count)) for (first, second), count in joined)


def _map(view: View) -> Map:
    def rounded(values: NDArray[Any], digits: int) -> tuple[float, ...]:
        return tuple(np.round(values.astype(np.float64), digits).tolist())

    return Map(
        n_rows=int(view.n_rows),
        n_looked_at=int(view.n_looked_at),
        variance_shown=float(view.variance_shown),
        rows=tuple(view.rows.tolist()),
        x=tuple(float(f"{v:.6g}") for v in view.positions[:, 0].tolist()),
        y=tuple(float(f"{v:.6g}") for v in view.positions[:, 1].tolist()),
        classes=tuple(view.classes.tolist()),
        clusters=tuple(view.clusters.tolist()),
        errors=rounded(view.errors, 5),
        strengths=rounded(view.strengths, 5),
        agreement=tuple(
            None if np.isnan(share) else round(share, 3)
            for share in view.agreement.tolist()
        ),
    )


def _samples(view: View) -> tuple[Sample, ...]:
    samples = []
    for place, row in enumerate(view.ambiguous.tolist()):
        near = view.ambiguous_neighbors[place]
        classes, counts = np.unique(near[near >= 0], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        picture = int(view.picture_of[place])
        samples.append(
            Sample(
                row=row,
                cluster=int(view.ambiguous_clusters[place]),
                label=int(view.ambiguous_classes[place]),
                ambiguity=round(float(view.ambiguity[place]), 4),
                ambiguity_around=round(float(view.ambiguity_around[place]), 4),
                neighbors=tuple(
                    zip(classes[order].tolist(), counts[order].tolist(), strict=True)
                ),
                picture=None if picture < 0 else png_uri(view.pictures[picture]),
            )
        )
    return tuple(samples)


def _unranked(view: View) -> str:
    """Say which rows cannot be among the ambiguous ones, and why."""
    if not view.n_unranked:
        return ""
    which = plural(view.n_unranked, "row is", "rows are")
    if view.n_unranked == view.n_looked_at:
        which = "No row is"
    not_ranked = "ranked" if which.startswith("No") else "not ranked"
    return (
        f"{which} {not_ranked}, because fewer than {N_NEIGHBORS} neighbors are in the "
        "same cluster, or because the cluster says little."
    )
