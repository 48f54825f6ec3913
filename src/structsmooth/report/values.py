"""The values of single rows as text, those that are unusual in their cluster first.

A number or date is as unusual as it is far from the cluster's median (the smaller one
of two), in units of a robust standard deviation of all rows. For a level, or a gap, the
share of the cluster's rows counts whose level is as rare or rarer: it is as unusual as
a number that is exceeded by that share of a normal distribution, on both sides
together. Usual is the median, or what at least half of the cluster's rows have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from structsmooth.encode.cells import CATEGORY
from structsmooth.encode.table import Table, text_of
from structsmooth.report.words import short

# Values of each row that are kept.
MOST_VALUES = 30
# The interquartile range of a normal distribution, in standard deviations.
NORMAL_RANGE = 1.349


@dataclass(frozen=True, eq=False)
class Values:
    """Values of m rows, k of each, the most unusual ones first."""

    names: NDArray[np.str_]  # of all d columns
    texts: NDArray[np.str_]  # all texts that occur
    columns: NDArray[np.int64]  # (m, k)
    values: NDArray[np.int64]  # (m, k) places in the texts
    middles: NDArray[np.int64]  # (m, k) those of what is usual in the cluster; -1: none
    distances: NDArray[np.float64]  # (m, k) how unusual the values are


class _Judged(NamedTuple):
    distances: NDArray[np.float64]  # of each row shown
    middles: NDArray[np.float64]  # of each cluster; inf: none


def values_of(
    shown: Table,
    of_shown: NDArray[np.int64],
    table: Table,
    clusters: NDArray[np.int64],
    n_clusters: int,
    used: NDArray[np.bool_] | None = None,
) -> Values:
    """Return the values of the rows shown.

    Parameters
    ----------
    shown, of_shown : Table of m rows and ndarray of shape (m,)
        The rows to show, and the cluster of each.
    table, clusters : Table of n rows and ndarray of shape (n,)
        Rows that they are compared with. Both tables have the same levels.
    n_clusters : int
        Number of clusters.
    used : ndarray of shape (d,), optional
        Columns that count, by default all; the others come last.
    """
    n_shown, n_columns = shown.shape
    kept = min(n_columns, MOST_VALUES)
    distances = np.zeros((n_shown, n_columns))
    middles = np.empty((n_clusters, n_columns))
    sizes = np.bincount(clusters, minlength=n_clusters)
    for j, kind in enumerate(table.kinds):
        judge = _judge_levels if kind == CATEGORY else _judge_numbers
        found = judge(shown.values[:, j], of_shown, table.values[:, j], clusters, sizes)
        distances[:, j], middles[:, j] = found
    if used is not None:
        distances[:, ~used] = -1.0
    columns = np.argsort(-distances, axis=1, kind="stable")[:, :kept]
    places: dict[str, int] = {}

    def place_of(value: float, column: int) -> int:
        if value == np.inf:
            return -1
        text = text_of(value, table.kinds[column], table.levels[column])
        return places.setdefault(short(text), len(places))

    values = np.empty((2, n_shown, kept), dtype=np.int64)
    for row, some in enumerate(columns.tolist()):
        for place, j in enumerate(some):
            values[0, row, place] = place_of(float(shown.values[row, j]), j)
            values[1, row, place] = place_of(float(middles[of_shown[row], j]), j)
    return Values(
        names=np.array(shown.names, dtype=str),
        texts=np.array(list(places), dtype=str),
        columns=columns,
        values=values[0],
        middles=values[1],
        distances=np.take_along_axis(distances, columns, axis=1),
    )


def _judge_numbers(
    shown: NDArray[np.float64],
    of_shown: NDArray[np.int64],
    values: NDArray[np.float64],
    clusters: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> _Judged:
    known = ~np.isnan(values)
    n_known = np.bincount(clusters[known], minlength=len(sizes))
    ordered = values[known][np.lexsort((values[known], clusters[known]))]
    first = np.cumsum(n_known) - n_known
    medians = np.full(len(sizes), np.nan)
    medians[sizes == 0] = np.inf
    some = (n_known > 0) & (2 * n_known >= sizes)  # elsewhere it is usual to have none
    medians[some] = ordered[(first + (n_known - 1) // 2)[some]]
    distances = np.abs(shown - medians[of_shown]) / _spread(ordered)
    of_kind = ~np.isfinite(distances)  # what counts is whether there is a value at all
    n_alike = np.where(np.isnan(shown), (sizes - n_known)[of_shown], n_known[of_shown])
    n_rare = np.where(2 * n_alike < sizes[of_shown], n_alike, sizes[of_shown])
    distances[of_kind] = _rarity(n_rare, sizes[of_shown])[of_kind]
    return _Judged(distances, medians)


def _spread(values: NDArray[np.float64]) -> float:
    """Return a robust standard deviation; the usual one if most values are equal."""
    if not len(values):
        return 1.0
    low, high = np.percentile(values, [25.0, 75.0])
    return float((high - low) / NORMAL_RANGE or values.std() or 1.0)


def _judge_levels(
    shown: NDArray[np.float64],
    of_shown: NDArray[np.int64],
    values: NDArray[np.float64],
    clusters: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> _Judged:
    codes, asked = (
        np.nan_to_num(v, nan=-1.0).astype(np.int64) for v in (values, shown)
    )
    width = 2 + max(codes.max(initial=-1), asked.max(initial=-1))  # a gap is a level
    pairs, counts = np.unique(clusters * width + codes + 1, return_counts=True)
    of_pairs = pairs // width
    # Rows with levels that are as rare or rarer: sorted by size, all up to the last
    # level of the same size, without those of the clusters before.
    order = np.lexsort((counts, of_pairs))
    sums = np.cumsum(counts[order])
    keys = of_pairs[order] * (len(codes) + 1) + counts[order]
    n_rare = np.empty_like(counts)
    n_rare[order] = sums[np.searchsorted(keys, keys, "right") - 1]
    n_rare -= (np.cumsum(sizes) - sizes)[of_pairs]
    wanted = of_shown * width + asked + 1
    at = np.searchsorted(pairs, wanted).clip(max=len(pairs) - 1)
    n_rare = np.where(pairs[at] == wanted, n_rare[at], 0)
    middles = np.full(len(sizes), np.inf)
    usual = 2 * counts >= sizes[of_pairs]
    middles[of_pairs[usual][::-1]] = pairs[usual][::-1] % width - 1.0
    middles[middles < 0.0] = np.nan
    return _Judged(_rarity(n_rare, sizes[of_shown]), middles)


def _rarity(n_rare: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how unusual it is to be one of so many rows of clusters of such sizes."""
    shares = np.minimum(1.0, n_rare.clip(1) / sizes.clip(1))
    return np.asarray(-ndtri(shares / 2.0))
