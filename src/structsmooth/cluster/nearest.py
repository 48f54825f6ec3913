"""The nearest of some points to each row: shortlisted in float32, decided in float64.

The float64 sum of squared differences, feature by feature, decides; of equally near
points the first wins. A row's result therefore depends on that row alone. Scores in
float32 are much faster, though, and their error is bounded. With rows ``a`` and points
``c`` moved to the middle of the points, scaled and rounded to float32, and u = 2**-24::

    score = a c - |c|^2 / 2  =  (|a|^2 - |a - c|^2) / 2

is computed within ``(d + 8) u (|a| + |c|)^2 / 2`` of the true one: rounding a and c
moves the square by 2 u (|a| + |c|)^2 at most, the product of d + 1 numbers by (d + 1)
u (|a| + |c|)^2 / 2, and rounding ``|c|^2`` by less than one u of it. So the nearest
point's score lies within twice that bound of the largest score. Nearly always only one
score does; exact distances decide among several.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from structsmooth.support.jit import is_compiled, kernel
from structsmooth.support.parallel import in_threads

# Up to this many distances are not worth a compilation of two seconds, although it is
# cached; up to this many, or with fewer points than this, the overhead of the scores
# dominates.
NOT_WORTH_COMPILING, FEW_DISTANCES, FEW_POINTS = 150_000, 15_000, 24
# Up to this many, threads take longer to begin than they save.
NOT_WORTH_THREADS = 500_000
# How many numbers of the rows are worked on at a time, so that they stay in the cache.
BLOCK = 65_536
# The farthest point's distance from the middle becomes about 2**20, which leaves room
# for rows far beyond. Products too small for float32 are lost; TINY allows for that.
TARGET_EXPONENT, FAR, TINY = 20, 2.0**50, 2.0**-100
# Outside these limits, squares of differences may not fit float64.
SMALLEST, LARGEST = 1e-100, 1e100


@dataclass(frozen=True, eq=False)
class RoundedRows:
    """Rows in float32, relative to a middle, and followed by a 1; and their lengths."""

    middle: NDArray[np.float64]
    scale: float
    values: NDArray[np.float32]
    lengths: NDArray[np.float64]


def round_rows(rows: NDArray[Any], points: NDArray[np.float64]) -> RoundedRows | None:
    """Return rows that will be compared with points like these again and again.

    None if scores are of no use.
    """
    frame = _frame(len(rows), points)
    if frame is None:
        return None
    from structsmooth.cluster.shortlist import move_rows  # loads numba

    return RoundedRows(*frame, *move_rows(np.ascontiguousarray(rows), *frame, FAR))


def nearest_point(
    rows: NDArray[Any],
    points: NDArray[Any],
    rounded: RoundedRows | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """Return the index of the point nearest to each row, the first of equal ones.

    ``rounded`` are the rows as `round_rows` has returned them, if it was called.
    """
    rows, points = np.ascontiguousarray(rows), points.astype(np.float64)
    columns = np.ascontiguousarray(points.T)
    nearest = np.empty(len(rows), np.int64)
    if rounded is None:
        frame = _frame(len(rows), points)
    else:
        frame = rounded.middle, rounded.scale
    radius = np.inf if frame is None else _radius(points, frame[0]) * frame[1]
    if frame is None or not radius < FAR:
        _compare_all(rows, columns, nearest)
        return nearest
    from structsmooth.cluster.shortlist import as_panels, find_nearest, move_rows

    middle, scale = frame
    panels = as_panels((points - middle) * scale)
    # A hundredth more, for rounding here and in the float64 differences.
    unit = 1.01 * (rows.shape[1] + 8) * 2.0**-24

    def compare(part: slice) -> None:
        some = rows[part]
        if rounded is None:
            values, lengths = move_rows(some, middle, scale, FAR)
        else:
            values, lengths = rounded.values[part.start :], rounded.lengths[part]
        slacks = (unit * (lengths + radius) ** 2 + TINY).astype(np.float32)
        find_nearest(some, columns, values, panels, slacks, nearest[part])

    worth_threads = len(rows) * len(points) > NOT_WORTH_THREADS
    n_threads = effective_n_jobs(n_jobs) if worth_threads else 1
    step = max(1, BLOCK // rows.shape[1])
    if rounded is not None:  # nothing has to stay in the cache
        step = max(step, -(-len(rows) // n_threads))
    parts = [
        slice(start, min(start + step, len(rows)))
        for start in range(0, len(rows), step)
    ]

    def compare_some(number: int) -> None:
        for part in parts[number::n_threads]:
            compare(part)

    in_threads(max(1, min(n_threads, len(parts))), compare_some)
    return nearest


def _frame(
    n_rows: int, points: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float] | None:
    """Return the middle and the scale for float32, None if these are of no use."""
    n_distances = n_rows * len(points)
    if len(points) < FEW_POINTS or n_distances < FEW_DISTANCES:
        return None
    if n_distances < NOT_WORTH_COMPILING:
        from structsmooth.cluster.shortlist import find_nearest  # loads numba

        if not is_compiled(find_nearest):
            return None
    middle = points.mean(axis=0)
    radius = _radius(points, middle)
    if not SMALLEST < radius < LARGEST:
        return None
    return middle, 2.0 ** (TARGET_EXPONENT - math.frexp(radius)[1])


def within_reach(rows: NDArray[Any], points: NDArray[np.float64]) -> NDArray[Any]:
    """Return the rows, those extremely far from the points moved nearer to them.

    Beyond 10**12 times the size of the points, differences of distances are lost to
    rounding, and squares may overflow. A row that moves toward the middle of the points
    stays nearest to the same one.
    """
    middle = points.mean(axis=0)
    size = float(np.abs(points).max()) or 1.0
    reach = 1e12 * size
    if not rows.size or (rows.max() <= reach and rows.min() >= -reach):
        return rows
    largest = np.abs(rows).max(axis=1).astype(np.float64)
    far = largest > reach
    nearer = rows.astype(np.float64)
    direction = nearer[far] / largest[far, np.newaxis]
    nearer[far] = middle + direction * reach
    return nearer


def _radius(points: NDArray[np.float64], middle: NDArray[np.float64]) -> float:
    """Return the largest distance of a point from the middle."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return float(np.sqrt(((points - middle) ** 2).sum(axis=1).max()))


@kernel
def _compare_all(
    rows: NDArray[Any],
    columns: NDArray[np.float64],
    nearest: NDArray[np.int64],
) -> None:
    """Compare every row with every point; the inner loop vectorizes as it is."""
    n_features, n_columns = columns.shape
    squared = np.empty(n_columns)
    for i in range(rows.shape[0]):
        squared[:] = 0.0
        for feature in range(n_features):
            value = np.float64(rows[i, feature])
            for j in range(n_columns):
                difference = columns[feature, j] - value
                squared[j] += difference * difference
        best = 0
        for j in range(1, n_columns):
            if squared[j] < squared[best]:
                best = j
        nearest[i] = best
