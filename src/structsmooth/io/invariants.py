"""What holds of every smoother, checked when one is loaded.

A file may have valid checksums and still hold nonsense, which kernels and formulas
would use without noticing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.bayes_error.points import Place, Points
from structsmooth.bayes_error.suspects import Suspects
from structsmooth.cluster.assign import NearestCenter, NestedCenters
from structsmooth.cluster.regions import Regions
from structsmooth.encode.cells import KINDS
from structsmooth.encode.encoding import TableEncoding
from structsmooth.settings import check_settings
from structsmooth.strengths.decision import Decision
from structsmooth.strengths.solve import bayes_error_bias, strength_cap
from structsmooth.structure import Structure

# What rounding, also that of other machines and of earlier versions, may change.
ROUNDING = 1e-9
# Components of float32 data are orthonormal only to their digits.
ORTHONORMAL = 1e-3
SCALAR = str | int | float | bool | None


def check_smoother(
    structure: Structure, decision: Decision, parameters: Mapping[str, Any]
) -> None:
    """Refuse what no fit can have measured or decided."""
    _check_classes(structure.classes)
    n_samples, n_encoded = len(structure.regions.labels), structure.n_features
    _require(n_encoded >= 1)
    if structure.encoding is not None:
        _check_encoding(structure.encoding, structure.n_features)
        n_encoded = structure.encoding.n_features
    _require(all(isinstance(v, SCALAR) for v in parameters.values()))
    check_settings(parameters, structure.n_classes, (n_samples, n_encoded))
    n_reduced = _check_reduction(structure.reduction, n_encoded)
    _check_regions(structure.regions, n_reduced)
    n_regions = structure.regions.n_regions
    _require(len(structure.cluster_bounds) == n_regions)
    for bounds in structure.cluster_bounds:
        _check_bounds(bounds, structure.n_classes)
    _check_sizes(structure)
    if structure.points is not None:
        _check_points(structure.points, structure, n_reduced)
    n_given = n_samples
    if structure.given is not None:
        _check_given(structure.given, n_samples, n_regions)
        n_given = len(structure.given.clusters)
    if structure.suspects is not None:
        _check_suspects(structure.suspects, n_given)
    _check_decision(decision, structure)


def check_names(names: NDArray[Any], structure: Structure) -> None:
    """Refuse names of features that are not those of the structure."""
    _require(names.shape == (structure.n_features,) and names.dtype.kind == "U")
    if structure.encoding is not None:
        _require(names.tolist() == list(structure.encoding.names))


def are_indices(array: Any, below: int, least: int = 0) -> bool:
    """Whether an array holds whole numbers from the least to below a limit."""
    return bool(
        isinstance(array, np.ndarray)
        and array.dtype.kind in "iu"
        and (not array.size or (array.min() >= least and array.max() < below))
    )


def _require(holds: Any) -> None:
    if not holds:
        raise ValueError("the arrays of a saved smoother do not fit together")


def _require_numbers(
    values: Any,
    shape: tuple[int, ...],
    least: float = -math.inf,
    most: float = math.inf,
) -> None:
    """Refuse what is no array of finite numbers of this shape between the limits."""
    array = np.asarray(values)
    _require(array.shape == shape and array.dtype.kind in "iuf")
    _require(np.isfinite(array).all())
    _require(((array >= least - ROUNDING) & (array <= most + ROUNDING)).all())


def _check_classes(classes: NDArray[Any]) -> None:
    _require(classes.ndim == 1 and len(classes) >= 2)
    _require(classes.dtype.kind in "biufUmMO")
    if classes.dtype.kind in "fmM":
        _require(np.isfinite(classes).all())
    _require(bool((classes[:-1] < classes[1:]).all()))  # sorted, none of them twice


def _check_encoding(encoding: TableEncoding, n_columns: int) -> None:
    _require(len(encoding.columns) == len(set(encoding.names)) == n_columns)
    _require(encoding.n_features >= 1)
    for column in encoding.columns:
        _require(column.kind in KINDS and len(set(column.levels)) == len(column.levels))
        _require(list(column.levels) == sorted(column.levels))
        _require(isinstance(column.left_out, str))
        _require(
            isinstance(column.has_rare, bool) and isinstance(column.has_gaps, bool)
        )
        _require(math.isfinite(column.center) and 0.0 < column.scale < math.inf)
        _require(isinstance(column.n_rare, int) and column.n_rare >= 0)
        _require(0.0 <= column.n_missing < math.inf)


def _check_reduction(reduction: Any, n_encoded: int) -> int:
    """Check a reduction, and return how many features it leaves."""
    _require(isinstance(reduction.exponent, int) and abs(reduction.exponent) < 1100)
    if reduction.center is not None:
        _require_numbers(reduction.center, (n_encoded,))
    if reduction.scale is not None:
        _require_numbers(reduction.scale, (n_encoded,), 0.0)
        _require((reduction.scale > 0.0).all())
    components = reduction.components
    if components is None:
        return n_encoded
    n_reduced = len(components)
    _require_numbers(components, (n_reduced, n_encoded))
    products = components @ components.T
    _require(np.abs(products - np.eye(n_reduced)).max() < ORTHONORMAL)
    return n_reduced


def _check_regions(regions: Regions, n_reduced: int) -> None:
    assigner: Any = regions.assigner
    n_regions, n_clusters = len(regions.centers), assigner.n_clusters
    _require(n_regions >= 1 and isinstance(regions.n_merged, int))
    _require(0 <= regions.n_merged < max(n_clusters, 1))
    _require_numbers(regions.centers, (n_regions, n_reduced))
    region_of = regions.region_of_cluster
    _require(region_of.shape == (n_clusters,))
    _require(are_indices(region_of, n_regions, -1))
    _require(set(range(n_regions)) <= set(region_of.tolist()))
    labels = regions.labels
    _require(labels.ndim == 1 and labels.size and are_indices(labels, n_regions))
    _require(np.bincount(labels, minlength=n_regions).all())
    if isinstance(assigner, NearestCenter | NestedCenters):
        _require_numbers(assigner.centers, (n_clusters, n_reduced))
        if isinstance(assigner, NestedCenters):
            n_large, first = len(assigner.large), assigner.first
            _require_numbers(assigner.large, (n_large, n_reduced))
            _require(n_large >= 1 and first.shape == (n_large + 1,))
            _require(are_indices(first, n_clusters + 1))
            _require(first[0] == 0 and first[-1] == n_clusters)
            _require((np.diff(first) > 0).all())
        return
    _require_numbers(assigner.weights, (n_clusters,), 0.0, 1.0)
    _require((assigner.weights >= 0.0).all())
    _require(abs(float(assigner.weights.sum()) - 1.0) < 1e-6)
    _require_numbers(assigner.means, (n_clusters, n_reduced))
    roots = assigner.precisions_cholesky
    _require_numbers(roots, (n_clusters, n_reduced, n_reduced))
    _require((np.diagonal(roots, axis1=1, axis2=2) > 0.0).all())


def _check_bounds(bounds: BayesErrorBounds, n_classes: int) -> None:
    ceiling = (n_classes - 1) / n_classes
    counts = np.asarray(bounds.class_counts)
    _require_numbers(counts, (n_classes,), 0.0)
    _require((counts >= 0).all() and bounds.n_samples > 0)
    _require(math.isclose(float(counts.sum()), bounds.n_samples, rel_tol=1e-9))
    _require_numbers([bounds.lower, bounds.upper], (2,), 0.0, ceiling)
    _require(bounds.lower <= bounds.upper + ROUNDING)
    for ends in (bounds.interval, bounds.lower_interval, bounds.upper_interval):
        _require_numbers(ends, (2,), 0.0, 1.0)
        _require(ends[0] <= ends[1])
    fractions = [bounds.crossing_fraction, bounds.tied_fraction, bounds.confidence]
    _require_numbers(fractions, (3,), 0.0, 1.0)
    _require(0.0 < bounds.confidence < 1.0)
    _require(0.0 <= bounds.n_effective < math.inf)
    pairs = bounds.crossing_pairs
    _require(pairs.shape == (len(pairs), 2) and are_indices(pairs, n_classes))
    _require((pairs[:, 0] != pairs[:, 1]).all())
    _require_numbers(bounds.crossing_counts, (len(pairs),), 0.0)


def _check_sizes(structure: Structure) -> None:
    """Refuse sizes of clusters that are not those of their rows.

    A row counts once, or as often as its weight says; rows of weight 0 are not there.
    Only weights that are fractions may add up to less than the number of rows.
    """
    sizes = [bounds.n_samples for bounds in structure.cluster_bounds]
    if all(isinstance(size, int) for size in sizes):
        rows = np.bincount(structure.regions.labels, minlength=len(sizes))
        _require((rows <= np.array(sizes)).all())


def _check_points(points: Points, structure: Structure, n_reduced: int) -> None:
    labels, n_classes = structure.regions.labels, structure.n_classes
    n_samples = len(labels)
    _require_numbers(points.features, (n_samples, n_reduced))
    for values in (points.disagreement, points.fractions):
        _require_numbers(values, (n_samples,), 0.0, 1.0)
    _require_numbers(points.limits, (n_samples,), 0.0, (n_classes - 1) / n_classes)
    _require(points.keys.shape == (n_samples,) and points.keys.dtype == np.uint64)
    _require(are_indices(points.clusters, structure.regions.n_regions))
    _require(np.array_equal(points.clusters, labels))
    _require(points.labels.shape == (n_samples,))
    _require(are_indices(points.labels, n_classes))
    _require(isinstance(points.n_neighbors, int) and points.n_classes == n_classes)
    _require(0 < points.n_neighbors < n_samples)
    _require(abs(points.center - float(points.fractions.mean())) < ROUNDING)
    if points.measured_reliability is not None:
        _require_numbers(points.measured_reliability, (), 0.0, 1.0)


def _check_given(given: Place, n_samples: int, n_regions: int) -> None:
    n_given = len(given.clusters)
    _require(given.clusters.shape == (n_given,) and n_given)
    _require(are_indices(given.clusters, n_regions))
    _require(given.known.shape in ((n_given,), (0,)) and given.near.ndim == 2)
    _require(len(given.near) in (n_given, 0))
    for rows in (given.known, given.near):
        _require(are_indices(rows, n_samples, -1))


def _check_suspects(suspects: Suspects, n_given: int) -> None:
    rows = suspects.rows
    _require(rows.ndim == 1 and are_indices(rows, n_given))
    _require(len(np.unique(rows)) == len(rows) == len(suspects.likely))
    _require_numbers(suspects.agreement, rows.shape, 0.0, 1.0)
    _require(isinstance(suspects.n_neighbors, int) and suspects.n_neighbors >= 0)
    if suspects.own is not None:
        _require_numbers(suspects.own, rows.shape, 0.0, 1.0)
    if suspects.bounds_as_given is not None:
        _require_numbers(suspects.bounds_as_given, (2,), 0.0, 1.0)
    if suspects.scores is not None:  # NaN for rows of weight 0
        _require(suspects.scores.dtype.kind == "f")
        _require_numbers(np.nan_to_num(suspects.scores), (n_given,), 0.0, 1.0)


def _check_decision(decision: Decision, structure: Structure) -> None:
    n_classes = structure.n_classes
    ceiling = (n_classes - 1) / n_classes
    shape = (len(structure.cluster_bounds),)
    if decision.is_of_samples:
        _require(structure.points is not None)
        shape = (len(structure.regions.labels),)
    _require(0.0 <= decision.alpha < ceiling and 0.0 <= decision.beta < math.inf)
    strengths = decision.strengths
    _require_numbers(strengths, shape, 0.0, ceiling)
    _require(strengths.dtype.kind == decision.bayes_error.dtype.kind == "f")
    _require((strengths >= 0.0).all())
    _require((strengths <= strength_cap(n_classes, decision.alpha)).all())
    _require_numbers(decision.bayes_error, shape, 0.0, ceiling)
    _require(abs(float(decision.weights @ strengths) - decision.alpha) < ROUNDING)
    for smoothed, bias in (
        (strengths, decision.bias),
        (decision.alpha, decision.uniform_bias),
    ):
        expected = bayes_error_bias(
            smoothed, decision.bayes_error, decision.weights, n_classes=n_classes
        )
        _require(abs(bias - expected) < ROUNDING)
