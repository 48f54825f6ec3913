"""The nearest of some points to each row: shortlisted in float32, decided in float64.

The float64 sum of squared differences, feature by feature, decides; of equally near
points the first wins. A row's result therefore depends on that row alone, which blocked
matrix products do not guarantee. These are much faster, though, and their error is
bounded. With rows ``a`` and points ``c`` moved to the middle of the points, scaled and
rounded to float32, and u = 2**-24::

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
from structsmooth.support.parallel import side_by_side

# Up to this many distances are not worth a compilation of two seconds, although it is
# cached; up to this many, or with fewer points than this, the overhead of the products
# dominates.
NOT_WORTH_COMPILING, FEW_DISTANCES, FEW_POINTS = 150_000, 15_000, 24
# Scores at a time, so that they stay in the cache; and how often before another thread
# may be given the next.
BLOCK, BLOCKS_OF_A_TASK = 131_072, 4
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

    None if products are of no use.
    """
    frame = _frame(len(rows), points)
    if frame is None:
        return None
    values = np.empty((len(rows), rows.shape[1] + 1), np.float32)
    lengths = np.empty(len(rows))
    _move(np.ascontiguousarray(rows), *frame, values, lengths)
    return RoundedRows(*frame, values, lengths)


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
    middle, scale = frame
    sides = _with_half_squares((points - middle) * scale)
    step = max(16, BLOCK // len(points))

    def compare(several: slice) -> None:
        values = np.empty((step, sides.shape[0]), np.float32)
        lengths = np.empty(step)
        scores = np.empty((step, len(points)), np.float32)
        for start in range(several.start, several.stop, step):
            part = slice(start, min(start + step, several.stop))
            size = part.stop - start
            if rounded is None:
                _move(rows[part], middle, scale, values, lengths)
            else:
                values, lengths = rounded.values[part], rounded.lengths[part]
            np.matmul(values[:size], sides, out=scores[:size])
            _decide(rows[part], columns, scores, lengths, radius, nearest[part])

    together = BLOCKS_OF_A_TASK * step
    tasks = [
        slice(start, min(start + together, len(rows)))
        for start in range(0, len(rows), together)
    ]
    if len(tasks) > 1 and effective_n_jobs(n_jobs) > 1:
        list(side_by_side(compare, tasks, n_jobs, share_memory=True))
    else:
        compare(slice(0, len(rows)))
    return nearest


def _frame(
    n_rows: int, points: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float] | None:
    """Return the middle and the scale for float32, None if these are of no use."""
    n_distances = n_rows * len(points)
    if len(points) < FEW_POINTS or n_distances < FEW_DISTANCES:
        return None
    if n_distances < NOT_WORTH_COMPILING and not is_compiled(_decide):
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


def _with_half_squares(points: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the points as columns, with minus half of their square below."""
    rounded = points.astype(np.float32)
    squares = np.einsum("ij,ij->i", rounded, rounded, dtype=np.float64)
    return np.vstack([rounded.T, (-0.5 * squares).astype(np.float32)])


@kernel
def _move(
    rows: NDArray[Any],
    middle: NDArray[np.float64],
    scale: float,
    moved: NDArray[np.float32],
    lengths: NDArray[np.float64],
) -> None:
    """Write the rows as float32, followed by a 1, and their lengths.

    The length of a row too far away for float32 is infinite.
    """
    n_features = rows.shape[1]
    for i in range(rows.shape[0]):
        square = 0.0
        for feature in range(n_features):
            value = (np.float64(rows[i, feature]) - middle[feature]) * scale
            square += value * value
            moved[i, feature] = value
        moved[i, n_features] = 1.0
        lengths[i] = np.sqrt(square)
        if not lengths[i] < FAR:
            moved[i] = 0.0
            lengths[i] = np.inf


@kernel
def _decide(
    rows: NDArray[Any],
    columns: NDArray[np.float64],
    scores: NDArray[np.float32],
    lengths: NDArray[np.float64],
    radius: float,
    nearest: NDArray[np.int64],
) -> None:
    # A hundredth more, for rounding here and in the float64 differences.
    unit = 1.01 * (rows.shape[1] + 8) * 2.0**-24
    for i in range(rows.shape[0]):
        slack = np.float32(unit * (lengths[i] + radius) ** 2 + TINY)
        limit = _largest(scores[i]) - slack
        count, nearest[i] = _from_limit(scores[i], limit)
        if count != 1:
            nearest[i] = _first_of_nearest(rows[i], columns, scores[i], limit)


@kernel
def _first_of_nearest(
    row: NDArray[Any],
    columns: NDArray[np.float64],
    scores: NDArray[np.float32],
    limit: np.float32,
) -> int:
    """Return the nearest of the shortlisted points, by float64 differences."""
    best, shortest = -1, np.inf
    for j in range(scores.shape[0]):
        if scores[j] >= limit:
            squared = 0.0
            for feature in range(row.shape[0]):
                difference = columns[feature, j] - np.float64(row[feature])
                squared += difference * difference
            if best < 0 or squared < shortest:
                best, shortest = j, squared
    return best


# Separate functions of one-dimensional arrays, so that the compiler vectorizes them.
@kernel
def _largest(values: NDArray[np.float32]) -> Any:
    """Return the largest value, found by integers because floats are slow."""
    bits = values.view(np.int32)
    largest = np.int32(-(2**31))
    for j in range(bits.shape[0]):
        # Except for the sign, the bits of negative numbers are in reverse order.
        ordered = bits[j] ^ ((bits[j] >> np.int32(31)) & np.int32(2**31 - 1))
        largest = max(largest, ordered)
    largest ^= (largest >> np.int32(31)) & np.int32(2**31 - 1)
    return np.int32(largest).view(np.float32)


@kernel
def _from_limit(values: NDArray[np.float32], limit: np.float32) -> tuple[Any, Any]:
    """Return how many values reach the limit, and the sum of their indices."""
    count, indices = np.int32(0), np.int32(0)
    for j in range(values.shape[0]):
        reaches = np.int32(values[j] >= limit)
        count += reaches
        indices += reaches * np.int32(j)
    return count, indices


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
