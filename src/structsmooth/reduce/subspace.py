"""The leading principal components of many features, without all their products.

To sum the products of d features takes ``n d^2`` steps; to find what they do to a few
directions, ``n d`` for each of these. Directions that are multiplied by the products
turn to where the rows vary most. A sketch, in which the rows are added up with random
signs to a few thousand sums, shows nearly where that is, and costs one pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.reduce.reduction import LinearReduction, times_power
from structsmooth.support.jit import kernel
from structsmooth.support.products import CHUNK, PANEL32, ROWS, add_tile
from structsmooth.support.rowkeys import row_keys
from structsmooth.support.vectors import aligned

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
# Returns what some work makes of each block of rows and their weights, in their order.
EachBlock = Callable[[Callable[[NDArray[Any], F64], Any]], Iterator[Any]]
# Directions for each component: what the last components lack, directions beyond them
# hold.
DIRECTIONS = 1.5
# Sums in a sketch, and how many at least for each direction.
SUMS, SUMS_PER_DIRECTION = 2048, 8
# How often directions are turned by the sketch.
TURNS = 2
# The rows turn them until the standard deviation along a component grows by less than
# this share, on average, but not more often than so.
ENOUGH, MOST_TURNS = 0.015, 4
# Below these shares of the largest variance, to divide by what is left would show what
# float32 has rounded, and nothing is left but that.
ROUNDED, NOTHING = 1e-9, 1e-13
# The variance of rows of which all squares have vanished.
LEAST = 2.0**-1000


def leading_subspace(
    each_block: EachBlock,
    n_rows: float,
    variance: F64,
    standardize: LinearReduction,
    most: int,
) -> tuple[F64, F64]:
    """Return leading components as rows, and their shares of the variance.

    Of standardized rows; ``variance`` is that before they are divided by their scale,
    ``n_rows`` the sum of their weights.
    """
    d = len(variance)
    center = np.zeros(d) if standardize.center is None else standardize.center
    scale = np.ones(d) if standardize.scale is None else standardize.scale
    total = max(float(np.sum(variance / scale**2)), LEAST)
    # With a variance of about one, squares stay in the range of float32.
    unit = 2.0 ** -round(0.5 * math.log2(total))
    rows = _Rows(each_block, standardize.exponent, center, unit / scale)
    width = min(d, PANEL32 * math.ceil(DIRECTIONS * most / PANEL32))

    n_sums, few = max(SUMS, SUMS_PER_DIRECTION * width), rows
    if n_rows > n_sums:
        sketch = rows.sketch(n_sums)
        once = np.ones(n_sums)
        few = _Rows(lambda work: iter([work(sketch, once)]), 0, np.zeros(d), np.ones(d))
    turned = np.random.default_rng(0).normal(size=(d, width))
    for _ in range(TURNS):
        turned = few.times_scatter(np.linalg.qr(turned)[0])
    for _ in range(MOST_TURNS):
        directions = np.linalg.qr(turned)[0]
        turned = rows.times_scatter(directions)
        held = directions.T @ turned
        held = 0.5 * (held + held.T)
        components, values, before = _known_in_part(directions, turned, held)
        some = before[:most] > NOTHING * before[0]
        growth = np.sqrt(values[:most][some] / before[:most][some]) - 1.0
        if abs(growth.sum()) <= ENOUGH * len(growth):
            break
    return components.T[:most], values[:most] / (n_rows * total * unit**2)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows ``(2**-exponent X - center) * factor``."""

    each_block: EachBlock
    exponent: int
    center: F64
    factor: F64

    def sketch(self, n_sums: int) -> F32:
        """Return sums of rows with random signs.

        Sum and sign of a row depend on its values, not on the rows before it.
        """
        sketch = np.zeros((n_sums, len(self.center)), dtype=np.float32)
        read = self.each_block(lambda rows, weights: (rows, weights, row_keys(rows)))
        for rows, weights, keys in read:
            rows = times_power(rows, -self.exponent)
            _add_to_sketch(rows, weights, keys, self.center, self.factor, sketch)
        return sketch

    def times_scatter(self, directions: F64) -> F64:
        """Return ``rows.T @ (weights * (rows @ directions))``."""
        d, width = directions.shape
        across, along = -(-d // PANEL32), -(-width // PANEL32)
        padded = np.zeros((across * PANEL32, along * PANEL32), dtype=np.float32)
        padded[:d, :width] = directions
        right = padded.reshape(-1, along, PANEL32).transpose(1, 0, 2)
        right = aligned(right.shape, np.float32, right)

        def work(rows: NDArray[Any], weights: F64) -> F32:
            panels = aligned((across, CHUNK, PANEL32), np.float32, 0.0)
            images = aligned((along, CHUNK, PANEL32), np.float32, 0.0)
            out = aligned(padded.shape, np.float32, 0.0)
            rows = times_power(rows, -self.exponent)
            frame = self.center, self.factor
            _add_products(rows, weights, *frame, right, panels, images, out)
            return out[:d, :width]

        total = np.zeros(directions.shape)
        for part in self.each_block(work):
            total += part
        return total


def _known_in_part(directions: F64, turned: F64, held: F64) -> tuple[F64, F64, F64]:
    """Return the eigenvectors, as columns, and eigenvalues of Nystrom's approximation.

    That is ``turned @ inverse(held) @ turned.T``, which does to the directions what the
    products do, and no more than these to any other. And the variance that the
    directions held before they were turned.
    """
    before, vectors = np.linalg.eigh(held)
    before, vectors = before[::-1], vectors[:, ::-1]
    kept = before > ROUNDED * before[0]
    roots = turned @ (vectors[:, kept] / np.sqrt(before[kept]))
    components, rest = np.linalg.qr(roots)
    left, sizes, _ = np.linalg.svd(rest)
    # Directions with too little variance stay as they are.
    small = directions @ vectors[:, ~kept]
    components = np.linalg.qr(np.hstack([components @ left, small]))[0]
    values = np.zeros(len(before))
    values[: len(sizes)] = sizes**2
    return components, values, before


@kernel
def _add_to_sketch(
    rows: NDArray[Any],
    weights: F64,
    keys: NDArray[np.uint64],
    center: F64,
    factor: F64,
    sketch: F32,
) -> None:
    """Add each row to the sum that its key says, with the sign of the first bit."""
    n_sums = np.uint64(sketch.shape[0])
    for i in range(rows.shape[0]):
        place = keys[i] % n_sums
        signed = weights[i] if keys[i] >> np.uint64(63) else -weights[i]
        for j in range(rows.shape[1]):
            value = (np.float64(rows[i, j]) - center[j]) * factor[j]
            sketch[place, j] += np.float32(signed * value)


@kernel
def _add_products(
    rows: NDArray[Any],
    weights: F64,
    center: F64,
    factor: F64,
    right: F32,
    panels: F32,
    images: F32,
    out: F32,
) -> None:
    """Add what a few rows contribute at a time: project them, and turn back."""
    n, d = rows.shape
    size, stride = CHUNK * PANEL32, out.shape[1]
    left, directions = panels.ravel(), right.ravel()
    projected, sums = images.ravel(), out.ravel()
    for begin in range(0, n, CHUNK):
        count = min(CHUNK, n - begin)
        # What is left of the rows before, beyond count, is projected but not used.
        for i in range(count):
            for panel in range(len(panels)):
                first = panel * PANEL32
                for lane in range(min(PANEL32, d - first)):
                    value = np.float64(rows[begin + i, first + lane])
                    value = (value - center[first + lane]) * factor[first + lane]
                    panels[panel, i, lane] = np.float32(value)
        images[:] = 0.0
        for column in range(len(images)):
            for panel in range(len(panels)):
                for i in range(0, count, ROWS):
                    add_tile(
                        left,
                        panel * size + i * PANEL32,
                        PANEL32,
                        1,
                        directions,
                        (column * right.shape[1] + panel * PANEL32) * PANEL32,
                        PANEL32,
                        projected,
                        column * size + i * PANEL32,
                        PANEL32,
                    )
        for column in range(len(images)):
            for i in range(count):
                images[column, i] *= np.float32(weights[begin + i])
        for panel in range(len(panels)):
            for lane in range(0, PANEL32, ROWS):
                for column in range(len(images)):
                    add_tile(
                        left,
                        panel * size + lane,
                        1,
                        PANEL32,
                        projected,
                        column * size,
                        count,
                        sums,
                        (panel * PANEL32 + lane) * stride + column * PANEL32,
                        stride,
                    )
