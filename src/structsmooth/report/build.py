"""From a fitted smoother, and a view of its rows, to a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.bayes_error.ranking import order_of_regions, says_little
from structsmooth.bayes_error.shrinkage import shrink_bounds
from structsmooth.errors import InvalidParameterError
from structsmooth.io.store import settings_of, versions
from structsmooth.report.checks import make_checks
from structsmooth.report.drawing import overlap_of_classes
from structsmooth.report.model import (
    ClassCounts,
    ClassRow,
    ClusterRow,
    Distinction,
    Pairs,
    Report,
)
from structsmooth.report.pictures import png_uri
from structsmooth.report.rows import N_NEIGHBORS
from structsmooth.report.snippets import make_snippets
from structsmooth.report.verdict import make_verdict
from structsmooth.report.view import View
from structsmooth.report.words import number, percent, short
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.epsilon import epsilon_from_alpha
from structsmooth.support.groups import rows_of_groups


def build_report(
    smoother: StructuralSmoother,
    view: View | None,
    *,
    name: str = "data",
    class_names: Sequence[str] | None = None,
    notes: Sequence[str] = (),
    fit_versions: Mapping[str, str] | None = None,
    left_out: Sequence[str] = (),
    command: Sequence[str] = (),
    directory: str = "",
) -> Report:
    """Collect the content of a report on a fitted smoother.

    Parameters
    ----------
    view : View or None
        Without it there is neither a map nor a list of ambiguous samples.
    name : str
        What to call the data.
    class_names : sequence of str, optional
        What to call the classes, in the order of the sorted labels.
    notes, left_out : sequence of str
        Warnings of the fit, and what the report lacks and why.
    fit_versions : mapping of str to str, optional
        Versions that the smoother was fitted with; by default the current ones.
    command, directory : sequence of str, and str
        The command line that made the fit, and where the result is, if that is known.
    """
    names = names_of_classes(smoother.classes_, class_names)
    whole = smoother.bayes_error_bounds_
    shrinkage = shrink_bounds(smoother.cluster_bounds_)
    checks = make_checks(smoother, view, shrinkage, names)
    clusters = _clusters(smoother, view, names)
    verdict = make_verdict(smoother, shrinkage, checks, clusters, names, view)
    labels = [str(label) for label in smoother.classes_.tolist()]
    sizes = whole.class_counts.astype(int).tolist()
    crossing = overlap_of_classes(whole)
    today = versions()
    return Report(
        name=name,
        n_samples=round(whole.n_samples),
        n_features=smoother.n_features_in_,
        n_dimensions=smoother.structure_.regions.centers.shape[1],
        alpha=smoother.alpha_,
        beta=smoother.beta_,
        label_smoothing=epsilon_from_alpha(smoother.alpha_, len(smoother.classes_)),
        regions=smoother.regions,
        verdict=verdict,
        checks=checks,
        classes=tuple(map(ClassRow, names, labels, sizes, crossing.tolist())),
        clusters=clusters,
        pairs=pairs_of(whole),
        map=None if view is None else _map(view),
        samples=() if view is None else _samples(view),
        unranked="" if view is None else _unranked(view),
        suspects=() if view is None else _suspects(smoother, view),
        n_suspects=len(smoother.suspects_ or ()),
        snippets=make_snippets(smoother, verdict.answer, command, directory),
        settings=settings_of(smoother),
        versions=dict(fit_versions or today),
        made_with=today["structsmooth"],
        notes=tuple(notes),
        left_out=tuple(left_out),
    )


def names_of_classes(
    classes: NDArray[Any], class_names: Sequence[str] | None = None
) -> list[str]:
    """Return what to call the classes; by default, their labels."""
    if class_names is None:
        return [str(label) for label in classes.tolist()]
    if isinstance(class_names, str) or len(class_names) != len(classes):
        given = "text" if isinstance(class_names, str) else f"{len(class_names)}"
        raise InvalidParameterError(
            f"class_names must be a list with a name for each of the {len(classes)} "
            f"classes, in the order of the sorted labels, got {given}"
        )
    return [str(name) for name in class_names]


def distinctions_of(view: View | None, cluster: int) -> tuple[Distinction, ...]:
    """Return what distinguishes a cluster, the largest difference first."""
    if view is None or view.conditions is None or view.values is None:
        return ()
    found = view.conditions
    return tuple(
        Distinction(
            str(view.values.names[j]), str(words), float(here), float(elsewhere)
        )
        for j, words, (here, elsewhere) in zip(
            found.features[cluster],
            found.words[cluster],
            found.shares[cluster],
            strict=True,
        )
        if j >= 0
    )


def _clusters(
    smoother: StructuralSmoother, view: View | None, names: Sequence[str]
) -> tuple[ClusterRow, ...]:
    """Return the clusters, those that are hard for certain first."""
    followed = smoother.decision_.bayes_error_of_clusters(smoother.structure_)
    members = rows_of_groups(smoother.cluster_labels_)
    center = smoother.bayes_error_bounds_.crossing_fraction
    little = says_little(smoother.cluster_bounds_)
    rows = []
    for cluster in order_of_regions(smoother.cluster_bounds_).tolist():
        bounds = smoother.cluster_bounds_[cluster]
        inside = smoother.sample_strengths_[members[cluster]]
        least, most = np.quantile(inside, (0.1, 0.9)).tolist()
        low, high = bounds.upper_interval
        classes = most_first(np.arange(len(bounds.class_counts)), bounds.class_counts)
        rows.append(
            ClusterRow(
                cluster=cluster,
                size=bounds.n_samples,
                weight=float(smoother.cluster_weights_[cluster]),
                n_classes=len(classes),
                classes=_describe(classes, bounds.n_samples, names),
                members=classes,
                lower=bounds.lower,
                upper=bounds.upper,
                lower_interval=bounds.lower_interval,
                interval=bounds.interval,
                followed=float(followed[cluster]),
                strength=float(smoother.strengths_[cluster]),
                strength_range=(least, most),
                differs=bool((center < low or center > high) and not little[cluster]),
                says_little=bool(little[cluster]),
                distinctions=distinctions_of(view, cluster),
                pairs=pairs_of(bounds),
            )
        )
    return tuple(rows)


def most_first(classes: NDArray[np.int64], counts: NDArray[Any]) -> ClassCounts:
    """Return the classes that occur, with their counts."""
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    return tuple(zip(classes[order].tolist(), counts[order].tolist(), strict=True))


def _describe(classes: ClassCounts, n_rows: int, names: Sequence[str]) -> str:
    """Return the largest classes with their shares as text."""
    shown = [
        f"“{short(names[k])}” {percent(size / n_rows, 0)}" for k, size in classes[:3]
    ]
    more = [f"{len(classes) - 3} more"] if len(classes) > 3 else []
    return ", ".join(shown + more)


def pairs_of(bounds: BayesErrorBounds) -> Pairs:
    """Return the pairs of classes that tree edges join, most edges first."""
    order = np.argsort(-bounds.crossing_counts, kind="stable")
    first, second = bounds.crossing_pairs[order].T.tolist()
    counts = bounds.crossing_counts[order].astype(float).tolist()
    return tuple(zip(first, second, counts, strict=True))


def _map(view: View) -> dict[str, Any]:
    """Return the rows on the map as lists of the same length."""
    x, y = ([float(f"{v:.6g}") for v in axis] for axis in view.positions.T.tolist())
    return {
        "n_rows": view.n_rows,
        "n_looked_at": view.n_looked_at,
        "variance_shown": view.variance_shown,
        "rows": view.rows.tolist(),
        "x": x,
        "y": y,
        "classes": view.classes.tolist(),
        "clusters": view.clusters.tolist(),
        "errors": np.round(view.errors.astype(np.float64), 5).tolist(),
        "strengths": np.round(view.strengths.astype(np.float64), 5).tolist(),
        "agreement": [
            None if np.isnan(share) else round(share, 3)
            for share in view.agreement.tolist()
        ],
    }


def _samples(view: View) -> tuple[dict[str, Any], ...]:
    """Return the ambiguous rows, with the classes of their neighbors and counts."""
    return tuple(
        {
            "row": int(view.ambiguous[i]),
            "cluster": int(view.ambiguous_clusters[i]),
            "label": int(view.ambiguous_classes[i]),
            "ambiguity": round(float(view.ambiguity[i]), 4),
            "ambiguity_around": round(float(view.ambiguity_around[i]), 4),
            "neighbors": most_first(*np.unique(near[near >= 0], return_counts=True)),
            "picture": _picture(view, view.picture_of[i]),
            "values": _values(view, i),
        }
        for i, near in enumerate(view.ambiguous_neighbors)
    )


def _suspects(smoother: StructuralSmoother, view: View) -> tuple[dict[str, Any], ...]:
    """Return the suspects with the label they have and the one they look like."""
    found = smoother.suspects_
    if not found or view.suspects.tolist() != found.rows[: len(view.suspects)].tolist():
        return ()  # the view is of other rows
    likely = smoother.encode(found.likely[: len(view.suspects)])
    return tuple(
        {
            "row": int(row),
            "cluster": int(smoother.cluster_labels_[row]),
            "label": int(view.suspect_classes[i]),
            "likely": int(likely[i]),
            "score": None
            if found.scores is None
            else round(float(found.scores[row]), 4),
            "reason": found.reason(i),
            "picture": _picture(view, view.picture_of_suspect[i]),
            "values": _values(view, len(view.ambiguous) + i),
        }
        for i, row in enumerate(view.suspects)
    )


def _picture(view: View, number: int) -> str | None:
    return None if number < 0 else png_uri(view.pictures[number])


def _values(view: View, row: int) -> tuple[dict[str, Any], ...]:
    """Return the values of a row that is shown, the most unusual first."""
    if view.values is None:
        return ()
    found = view.values
    return tuple(
        {
            "feature": str(found.names[column]),
            "value": str(found.texts[value]),
            "usual": None if middle < 0 else str(found.texts[middle]),
            "distance": round(float(distance), 2),
        }
        for column, value, middle, distance in zip(
            found.columns[row],
            found.values[row],
            found.middles[row],
            found.distances[row],
            strict=True,
        )
    )


def _unranked(view: View) -> str:
    """Return a sentence on the rows that cannot be among the ambiguous ones."""
    if not view.n_unranked:
        return ""
    if view.n_unranked == view.n_looked_at:
        return (
            f"No row is ranked: all have fewer than {N_NEIGHBORS} neighbors in their "
            "clusters, or are in clusters that say little."
        )
    if view.n_unranked == 1:
        return (
            f"1 row is not ranked, because it has fewer than {N_NEIGHBORS} neighbors "
            "in its cluster, or because its cluster says little."
        )
    return (
        f"{number(view.n_unranked)} rows are not ranked, because they have fewer than "
        f"{N_NEIGHBORS} neighbors in their clusters, or because their clusters say "
        "little."
    )
