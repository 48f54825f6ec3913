"""What distinguishes a cluster: conditions on single features, in words.

The condition of a feature is the one whose share among the cluster's rows differs most
from its share among all other rows. For numbers and dates it is "up to t" or "at least
t", and the difference is the distance of Kolmogorov and Smirnov; for categories it is
"is level". A gap is a value like any other. All differences lie between 0 and 1, so
features of different kinds can be compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.encode.cells import CATEGORY, DATE
from structsmooth.encode.table import Table, text_of

# Conditions of each cluster, if so many differ by this much,
MOST_CONDITIONS = 3
LEAST_DIFFERENCE = 0.1
# and by more than rows drawn at random do in all but one of a thousand cases, in units
# of sqrt(1/n + 1/m).
NOISE = math.sqrt(-math.log(0.001 / 2.0) / 2.0)
UP_TO, AT_LEAST, IS, IS_MISSING = range(4)
_WORDS = {UP_TO: "up to", AT_LEAST: "at least", IS: "is", IS_MISSING: "is"}
_WORDS_OF_DATES = {**_WORDS, UP_TO: "until", AT_LEAST: "from"}


@dataclass(frozen=True, eq=False)
class Conditions:
    """The conditions of all clusters, the largest difference first."""

    features: NDArray[np.int64]  # (C, 3) columns of the table; -1: no condition
    words: NDArray[np.str_]  # (C, 3)
    shares: NDArray[np.float64]  # (C, 3, 2) in the cluster and elsewhere


class _Counts(NamedTuple):
    """Conditions on one feature: of which cluster, and how many rows fulfill them."""

    clusters: NDArray[np.int64]
    relations: NDArray[np.int64]
    values: NDArray[np.float64]
    inside: NDArray[np.int64]  # rows of the cluster
    total: NDArray[np.int64]  # rows of all clusters


def distinguish(
    table: Table,
    clusters: NDArray[np.int64],
    n_clusters: int,
    used: NDArray[np.bool_] | None = None,
) -> Conditions:
    """Find the conditions that distinguish each cluster from all other rows.

    Parameters
    ----------
    table : Table
        The rows.
    clusters : ndarray of shape (n,)
        The cluster of each.
    n_clusters : int
        Number of clusters; some may have no row here.
    used : ndarray of shape (d,), optional
        Columns that count, by default all.
    """
    columns = range(table.shape[1]) if used is None else np.flatnonzero(used).tolist()
    sizes = np.bincount(clusters, minlength=n_clusters)
    others = len(clusters) - sizes
    with np.errstate(divide="ignore"):
        noise = NOISE * np.sqrt(1.0 / sizes + 1.0 / others)
    least = np.maximum(LEAST_DIFFERENCE, noise)
    found: list[list[tuple[Any, ...]]] = [[] for _ in sizes]
    for j in columns:
        count = _levels if table.kinds[j] == CATEGORY else _thresholds
        counts = _joined(  # of equal differences the first one counts
            _gaps(table.values[:, j], clusters, n_clusters),
            *count(table.values[:, j], clusters, n_clusters),
        )
        here = counts.inside / sizes[counts.clusters].clip(1)
        elsewhere = (counts.total - counts.inside) / others[counts.clusters].clip(1)
        # The opposite of a threshold is another threshold, which has its own turn.
        is_threshold = counts.relations <= AT_LEAST
        gains = here - elsewhere
        gains = np.where(is_threshold, gains, np.abs(gains))
        gains = gains.round(9)  # so that rounding does not make equal ones different
        for i in _largest_of_each(counts.clusters, gains).tolist():
            cluster = counts.clusters[i]
            if gains[i] >= least[cluster]:
                phrase = _words(table, j, int(counts.relations[i]), counts.values[i])
                found[cluster].append((-gains[i], j, phrase, here[i], elsewhere[i]))
    features = np.full((n_clusters, MOST_CONDITIONS), -1)
    words = np.full((n_clusters, MOST_CONDITIONS), "", dtype=object)
    shares = np.zeros((n_clusters, MOST_CONDITIONS, 2))
    for cluster, some in enumerate(found):
        for place, (_, j, phrase, *share) in enumerate(sorted(some)[:MOST_CONDITIONS]):
            features[cluster, place], words[cluster, place] = j, phrase
            shares[cluster, place] = share
    return Conditions(features, words.astype(str), shares)


def _words(table: Table, j: int, relation: int, value: float) -> str:
    kind = table.kinds[j]
    if relation <= AT_LEAST and kind != DATE and not float(value).is_integer():
        # Four digits, and the rows of the cluster that were counted stay included.
        rounding = ROUND_CEILING if relation == UP_TO else ROUND_FLOOR
        value = float(Context(prec=4, rounding=rounding).create_decimal(float(value)))
    words = (_WORDS_OF_DATES if kind == DATE else _WORDS)[relation]
    return f"{words} {text_of(value, kind, table.levels[j])}"


def _thresholds(
    values: NDArray[np.float64], clusters: NDArray[np.int64], n_clusters: int
) -> tuple[_Counts, ...]:
    """Count the rows up to, and from, each value that a cluster has.

    Thresholds in between are never better: the cluster's own share is the same there,
    and the share elsewhere is larger.
    """
    known = ~np.isnan(values)
    order = np.lexsort((values[known], clusters[known]))
    v, c = values[known][order], clusters[known][order]
    start = np.union1d(_starts(c), _starts(v))  # of each value of each cluster
    stop = np.append(start[1:], len(v))
    v, c = v[start], c[start]
    n_known = np.bincount(clusters[known], minlength=n_clusters)
    n_before = (np.cumsum(n_known) - n_known)[c]  # rows of the clusters before
    ordered = np.sort(values[known])
    up_to = np.searchsorted(ordered, v, "right")
    from_it = len(ordered) - np.searchsorted(ordered, v, "left")
    return (
        _Counts(c, np.full(len(c), UP_TO), v, stop - n_before, up_to),
        _Counts(
            c, np.full(len(c), AT_LEAST), v, n_known[c] - (start - n_before), from_it
        ),
    )


def _levels(
    values: NDArray[np.float64], clusters: NDArray[np.int64], n_clusters: int
) -> tuple[_Counts, ...]:
    """Count the rows with each level that a cluster has.

    Of the levels that it lacks, only the most frequent one matters.
    """
    known = ~np.isnan(values)
    levels, place, totals = np.unique(
        values[known], return_inverse=True, return_counts=True
    )
    by_size = np.argsort(-totals, kind="stable")
    levels, totals = levels[by_size], totals[by_size]
    rank = np.argsort(by_size)[place]
    n_levels = len(levels)
    pairs, inside = np.unique(clusters[known] * n_levels + rank, return_counts=True)
    c, r = np.divmod(pairs, max(1, n_levels))
    # The ranks of a cluster are sorted: as long as they are 0, 1, ... it lacks none.
    first = _starts(c)
    position = np.arange(len(c)) - np.repeat(first, np.diff(first, append=len(c)))
    lacks = np.bincount(c[r == position], minlength=n_clusters)
    lacking = np.flatnonzero(lacks < n_levels)
    a = lacks[lacking]
    return (
        _Counts(c, np.full(len(c), IS), levels[r], inside, totals[r]),
        _Counts(lacking, np.full(len(a), IS), levels[a], np.zeros_like(a), totals[a]),
    )


def _gaps(
    values: NDArray[np.float64], clusters: NDArray[np.int64], n_clusters: int
) -> _Counts:
    """Count the rows of each cluster that have no value."""
    inside = np.bincount(clusters[np.isnan(values)], minlength=n_clusters)
    return _Counts(
        np.arange(n_clusters),
        np.full(n_clusters, IS_MISSING),
        np.full(n_clusters, np.nan),
        inside,
        np.full(n_clusters, inside.sum()),
    )


def _joined(*parts: _Counts) -> _Counts:
    return _Counts(*(np.concatenate(some) for some in zip(*parts, strict=True)))


def _largest_of_each(
    clusters: NDArray[np.int64], gains: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return where the largest gain of each cluster is, the first of equal ones."""
    largest = np.full(clusters.max() + 1, -np.inf)
    np.maximum.at(largest, clusters, gains)
    places = np.flatnonzero(gains == largest[clusters])
    return places[np.unique(clusters[places], return_index=True)[1]]


def _starts(keys: NDArray[Any]) -> NDArray[np.int64]:
    """Return where a new key begins, in keys of which equal ones stand together."""
    return np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
