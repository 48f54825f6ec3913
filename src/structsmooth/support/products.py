"""Products of matrices whose sums are taken in one order, in float64.

A library's product depends on its version, on the processor, on the number of threads,
and for each row on how many others there are. Here the sums of a row depend on that row
alone: they run from left to right in parts of `CHUNK`, and every product is rounded
only once it has been added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numpy.typing import NDArray

from structsmooth.support.jit import kernel
from structsmooth.support.vectors import (
    FLOATS,
    INT,
    add_product,
    aligned,
    intrinsic,
    load,
    loop,
    splat,
    store,
    zeros,
)

F64 = NDArray[np.float64]
# The sums of a tile of 8 x 16 stay in registers, and what so many steps need stays in
# the nearest cache.
ROWS, PANEL, PANEL32, CHUNK = 8, 16, 32, 128
WIDTH = 8  # numbers in a vector; the compiler splits it where registers are shorter
_DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)


@intrinsic
def add_tile(
    _typing_context: Any,
    left: Any,
    _start: Any,
    _across: Any,
    _along: Any,
    right: Any,
    _first: Any,
    _length: Any,
    out: Any,
    _place: Any,
    _stride: Any,
) -> Any:
    """Add 8 x 16 sums of products to a matrix; all arrays are flat.

    In Python, for all 128 sums at a time::

        for r, c in product(range(8), range(16)):
            out[place + r * stride + c] += sum(
                left[start + r * across + step * along] * right[first + 16 * step + c]
                for step in range(length)
            )

    Of float32 it is 8 x 32 sums, with 32 in the place of 16: they take as many bytes.
    """
    index = types.intp
    vector, panel = (
        (FLOATS, PANEL32) if left.dtype == types.float32 else (_DOUBLES, PANEL)
    )
    signature = types.void(
        left, index, index, index, right, index, index, out, index, index
    )

    def code(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        left, right, out = (
            context.make_array(signature.args[at])(context, b, arguments[at]).data
            for at in (0, 4, 7)
        )
        _, start, across, along, _, first, length, _, place, stride = arguments
        rows = [b.gep(left, [b.add(start, b.mul(INT(r), across))]) for r in range(ROWS)]
        columns = b.gep(right, [first])
        parts = panel // vector.count
        sums = zeros(b, vector, ROWS * parts)
        with loop(b, INT(0), length) as step:
            at = b.mul(step, INT(panel))
            values = [
                load(b, vector, b.gep(columns, [b.add(at, INT(vector.count * part))]))
                for part in range(parts)
            ]
            for r, row in enumerate(rows):
                value = splat(b, b.load(b.gep(row, [b.mul(step, along)])), vector)
                for part in range(parts):
                    total = sums[r * parts + part]
                    b.store(add_product(b, b.load(total), value, values[part]), total)
        for number, total in enumerate(sums):
            r, part = divmod(number, parts)
            offset = b.add(b.mul(INT(r), stride), INT(vector.count * part))
            to = b.gep(out, [b.add(place, offset)])
            store(b, b.fadd(load(b, vector, to), b.load(total)), to)
        return context.get_dummy_value()

    return signature, code


def scatter_of(rows: NDArray[Any], shift: F64) -> tuple[F64, F64]:
    """Return the sum of the rows' differences from a shift, and that of their products.

    The latter is ``(rows - shift).T @ (rows - shift)``.
    """
    d = rows.shape[1]
    n_panels = -(-d // PANEL)
    scatter = aligned((n_panels * PANEL, n_panels * PANEL), np.float64, 0.0)
    total = np.zeros(n_panels * PANEL)
    panels = aligned((n_panels, CHUNK, PANEL), np.float64, 0.0)
    _add_scatter(rows, shift, panels, total, scatter.ravel())
    upper = np.triu(scatter[:d, :d])
    return total[:d], upper + np.triu(upper, 1).T


@kernel
def _add_scatter(
    rows: NDArray[Any], shift: F64, panels: F64, total: F64, scatter: F64
) -> None:
    """Add the products of a few rows at a time, for pairs of panels of features.

    Of a panel with itself and with those after it.
    """
    n, d = rows.shape
    n_panels = panels.shape[0]
    flat, stride = panels.ravel(), n_panels * PANEL
    size = CHUNK * PANEL
    for begin in range(0, n, CHUNK):
        count = min(CHUNK, n - begin)
        for i in range(count):
            for panel in range(n_panels):
                first = panel * PANEL
                for lane in range(min(PANEL, d - first)):
                    value = np.float64(rows[begin + i, first + lane])
                    panels[panel, i, lane] = value - shift[first + lane]
                for lane in range(PANEL):
                    total[first + lane] += panels[panel, i, lane]
        for column in range(n_panels):
            for panel in range(column + 1):
                for lane in range(0, PANEL, ROWS):
                    add_tile(
                        flat,
                        panel * size + lane,
                        1,
                        PANEL,
                        flat,
                        column * size,
                        count,
                        scatter,
                        (panel * PANEL + lane) * stride + column * PANEL,
                        stride,
                    )


def project(rows: NDArray[Any], center: F64, scale: F64 | None, components: F64) -> F64:
    """Return ``(rows - center) / scale @ components.T``."""
    n, d = rows.shape
    n_components = len(components)
    n_panels = -(-n_components // PANEL)
    padded = np.zeros((n_panels * PANEL, d))
    padded[:n_components] = components
    panels = padded.reshape(n_panels, PANEL, d).transpose(0, 2, 1)
    panels = aligned(panels.shape, np.float64, panels)
    projected = np.empty((n, n_components))
    few = aligned((CHUNK, d), np.float64, 0.0)
    out = aligned((CHUNK, n_panels * PANEL), np.float64, 0.0)
    divisor = np.empty(0) if scale is None else scale
    _project(rows, center, divisor, panels, few, out, projected)
    return projected


@kernel
def _project(
    rows: NDArray[Any],
    center: F64,
    scale: F64,
    panels: F64,
    few: F64,
    out: F64,
    projected: F64,
) -> None:
    """Project a few rows at a time, a part of their features after the other."""
    n, d = rows.shape
    n_panels, stride = panels.shape[0], out.shape[1]
    left, right, sums = few.ravel(), panels.ravel(), out.ravel()
    for begin in range(0, n, CHUNK):
        count = min(CHUNK, n - begin)
        for i in range(count):
            for feature in range(d):
                value = np.float64(rows[begin + i, feature])
                few[i, feature] = value - center[feature]
            if len(scale) > 0:
                for feature in range(d):
                    few[i, feature] /= scale[feature]
        sums[:] = 0.0
        for panel in range(n_panels):
            for first in range(0, d, CHUNK):
                for i in range(0, count, ROWS):
                    add_tile(
                        left,
                        i * d + first,
                        d,
                        1,
                        right,
                        (panel * d + first) * PANEL,
                        min(CHUNK, d - first),
                        sums,
                        i * stride + panel * PANEL,
                        stride,
                    )
        for i in range(count):
            for component in range(projected.shape[1]):
                projected[begin + i, component] = out[i, component]
