"""The nearest point by float32 scores, written in vector instructions.

Scores are computed in tiles of 6 rows and 16 points, and a tile is looked at only if it
has a score near the largest that its row has had so far. After a few tiles hardly any
has, so the scores need not be stored and searched, as a product of matrices would be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.support.vectors import (
    FLOATS,
    INT,
    LANES,
    add_product,
    aligned,
    any_of,
    bits_of,
    helpers,
    intrinsic,
    largest_of,
    load,
    loop,
    lowest_bit,
    splat,
    store,
    unpack,
    zeros,
)

# As many rows as leave the sums of a tile in sixteen registers of eight numbers.
ROWS = 6


def as_panels(points: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the points 16 at a time, feature by feature, then minus half their square.

    Where the last panel has no point, the score is minus infinity.
    """
    n, d = points.shape
    by_point = np.zeros((-(-n // LANES) * LANES, d + 1), np.float32)
    by_point[:, d] = -np.inf
    rounded = points.astype(np.float32)
    squares = np.einsum("ij,ij->i", rounded, rounded, dtype=np.float64)
    by_point[:n, :d], by_point[:n, d] = rounded, -0.5 * squares
    panels = by_point.reshape(-1, LANES, d + 1).transpose(0, 2, 1)
    return aligned(panels.shape, np.float32, panels)


def move_rows(
    rows: NDArray[Any], middle: NDArray[np.float64], scale: float, far: float
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the rows as `_move` writes them, with some more, and their lengths.

    Tiles may begin with any row, and end with those.
    """
    values = np.zeros((len(rows) + ROWS, rows.shape[1] + 1), np.float32)
    lengths = np.empty(len(rows))
    _move(rows, middle, scale, far, values, lengths)
    return values, lengths


@kernel
def _move(
    rows: NDArray[Any],
    middle: NDArray[np.float64],
    scale: float,
    far: float,
    moved: NDArray[np.float32],
    lengths: NDArray[np.float64],
) -> None:
    """Write the rows as float32, followed by a 1, and their lengths.

    The length of a row farther than ``far``, too far for float32, is infinite.
    """
    n_features = rows.shape[1]
    for i in range(rows.shape[0]):
        for feature in range(n_features):
            value = np.float64(rows[i, feature]) - middle[feature]
            moved[i, feature] = value * scale
        moved[i, n_features] = 1.0
        lengths[i] = scale * np.sqrt(_squared_distance(rows[i], middle))
        if not lengths[i] < far:
            moved[i] = 0.0
            lengths[i] = np.inf


@kernel(fastmath={"reassoc"})
def _squared_distance(row: NDArray[Any], middle: NDArray[np.float64]) -> float:
    """Return it summed in any order, as is good enough for a length."""
    squared = 0.0
    for feature in range(row.shape[0]):
        difference = np.float64(row[feature]) - middle[feature]
        squared += difference * difference
    return squared


@intrinsic
def _tile_reaching(
    _typing_context: Any,
    rows: Any,
    _row: Any,
    panels: Any,
    _panel: Any,
    limits: Any,
    out: Any,
    largest: Any,
) -> Any:
    """Return the rows of which any of 6 x 16 scores reaches their limit, bit by bit.

    In Python, for all of them at a time::

        scores = rows[row : row + 6] @ panels[panel]
        mask = (scores >= limits[:, np.newaxis]).any(axis=1)
        if any(mask):
            out[:], largest[:] = scores, scores.max(axis=1)
        return the mask, bit by bit

    A NaN reaches nothing.
    """
    signature = types.uint64(rows, types.intp, panels, types.intp, limits, out, largest)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        pointers, n_features = unpack(context, b, signature, arguments)
        rows, row, panels, panel, limits, out, largest = pointers
        numbers = [b.add(row, INT(r)) for r in range(ROWS)]
        queries = [b.gep(rows, [b.mul(number, n_features)]) for number in numbers]
        points = b.gep(panels, [b.mul(panel, b.mul(n_features, INT(LANES)))])
        sums = zeros(b, FLOATS, ROWS)
        with loop(b, INT(0), n_features) as feature:
            values = load(b, FLOATS, b.gep(points, [b.mul(feature, INT(LANES))]))
            for query, total in zip(queries, sums, strict=True):
                value = splat(b, b.load(b.gep(query, [feature])), FLOATS)
                b.store(add_product(b, b.load(total), values, value), total)
        reaches = []
        for r, total in enumerate(sums):
            limit = splat(b, b.load(b.gep(limits, [INT(r)])), FLOATS)
            reaches.append(b.fcmp_ordered(">=", b.load(total), limit))
        mask = helpers.alloca_once_value(b, INT(0))
        with b.if_then(any_of(b, reaches)):
            for r, total in enumerate(sums):
                store(b, b.load(total), b.gep(out, [INT(r * LANES)]))
                b.store(largest_of(b, b.load(total)), b.gep(largest, [INT(r)]))
                bit = b.shl(b.zext(any_of(b, [reaches[r]]), INT), INT(r))
                b.store(b.or_(b.load(mask), bit), mask)
        return b.load(mask)

    return signature, code


@intrinsic
def _lanes_reaching(_typing_context: Any, out: Any, _row: Any, limit: Any) -> Any:
    """Return which of the 16 scores ``out[row]`` reach a limit, bit by bit."""
    signature = types.uint64(out, types.intp, limit)

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        out = context.make_array(signature.args[0])(context, b, arguments[0]).data
        scores = load(b, FLOATS, b.gep(out, [b.mul(arguments[1], INT(LANES))]))
        reaches = b.fcmp_ordered(">=", scores, splat(b, arguments[2], FLOATS))
        return b.zext(bits_of(b, reaches), INT)

    return signature, code


@kernel
def find_nearest(
    rows: NDArray[Any],
    columns: NDArray[np.float64],
    values: NDArray[np.float32],
    panels: NDArray[np.float32],
    slacks: NDArray[np.float32],
    nearest: NDArray[np.int64],
) -> None:
    """Write the number of the point nearest to each row.

    ``values`` are the rows in float32, each followed by a 1, and six more than there
    are rows; ``panels`` are the points. A row's largest score less its slack is the
    least that the nearest point can have. Float64 differences decide if several do.
    """
    out, largest = np.empty((ROWS, LANES), np.float32), np.empty(ROWS, np.float32)
    best, limits = np.empty(ROWS, np.float32), np.empty(ROWS, np.float32)
    is_sure, place = np.empty(ROWS, np.bool_), np.empty(ROWS, np.int64)
    for first in range(0, rows.shape[0], ROWS):
        size = min(ROWS, rows.shape[0] - first)
        for r in range(ROWS):
            best[r], limits[r] = -np.inf, -np.inf if r < size else np.inf
            is_sure[r] = False
        for panel in range(panels.shape[0]):
            reached = _tile_reaching(values, first, panels, panel, limits, out, largest)
            while reached:
                r = lowest_bit(reached)
                reached &= reached - np.uint64(1)
                limit = largest[r] - slacks[first + r]
                # Otherwise one that was noted before may be the nearest, too.
                is_alone = limit > best[r]
                if largest[r] > best[r]:
                    best[r], limits[r] = largest[r], limit
                lanes = _lanes_reaching(out, r, limits[r])
                place[r] = panel * LANES + lowest_bit(lanes)
                is_sure[r] = is_alone and (lanes & (lanes - np.uint64(1))) == 0
        for r in range(size):
            if is_sure[r]:
                nearest[first + r] = place[r]
                continue
            alone = np.full(ROWS, np.inf, np.float32)
            alone[r] = limits[r]
            nearest[first + r] = _decide_exactly(
                rows[first + r], columns, values, first, r, panels, alone, out, largest
            )


@kernel
def _decide_exactly(
    row: NDArray[Any],
    columns: NDArray[np.float64],
    values: NDArray[np.float32],
    first: int,
    r: int,
    panels: NDArray[np.float32],
    limits: NDArray[np.float32],
    out: NDArray[np.float32],
    largest: NDArray[np.float32],
) -> int:
    """Return the nearest point to a row of a tile, the only one that has a limit."""
    n_features, n_points = columns.shape
    nearest, shortest = -1, np.inf
    for panel in range(panels.shape[0]):
        if not _tile_reaching(values, first, panels, panel, limits, out, largest):
            continue
        for lane in range(min(LANES, n_points - panel * LANES)):
            if out[r, lane] >= limits[r]:
                point = panel * LANES + lane
                squared = 0.0
                for feature in range(n_features):
                    difference = columns[feature, point] - np.float64(row[feature])
                    squared += difference * difference
                if nearest < 0 or squared < shortest:
                    nearest, shortest = point, squared
    return nearest
