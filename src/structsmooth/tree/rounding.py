"""A float32 copy of the data for finding candidates, and how far it can be trusted.

The copy is moved to a center, rotated to its principal axes (widest first) where that
pays, scaled by a power of two and rounded. Its distances are not exact, but their error
is bounded, and that is enough: candidates are found in the copy and decided by
`structsmooth.tree.exact`.

For a row i and any row j, with ``z`` in the copy and ``x`` in the data::

    | |z_i - z_j| / scale - |x_i - x_j| |  <=  c |z_i| / scale + c |z_j| / scale

because rounding moves each z by at most c |z|, c about 2**-24. With ``|z_j| <= |z_i|
+ |z_i - z_j|`` the right side needs only row i: a slack of ``2 c |z_i|`` and a
relative ``c``. So a distant outlier does not loosen the bounds of all other rows. A
tiny constant is added for what underflows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.columns import range_of_columns
from structsmooth.support.jit import kernel
from structsmooth.tree.exact import F32, F64

# Rows that the axes are estimated from, and those whose median is the center.
SAMPLE, MEDIAN_OF = 1024, 9
# Numbers that are worked on at a time, so that they stay in the cache.
BLOCK = 32_768
# The largest coordinate becomes about 2**30, so that squares fit float32 well.
TARGET_EXPONENT = 30


class ErrorBound(NamedTuple):
    """How far distances in the float32 copy can be off."""

    slack: F64  # allowance for a distance from each row, in units of the copy
    scale: float  # a unit of the data in units of the copy, a power of two
    relative: float  # allowance relative to a squared distance computed in float32


def round_points(X: NDArray[Any], rotate: bool) -> tuple[F32, ErrorBound]:
    """Return the float32 copy of X, rotated to its principal axes or not."""
    n, d = X.shape
    center, reach = _extent(X)
    points = np.empty((n, d), dtype=np.float32)
    norms = np.empty(n)
    if not rotate:
        scale = _scale_of(float(reach.max()))
        _round_rows(X, center, scale, points, norms)
    else:
        # A rotation may put all of a row's length into one coordinate.
        scale = _scale_of(math.sqrt(reach @ reach))
        axes = _principal_axes(X)
        origin = np.zeros(d)
        step = max(16, BLOCK // d)
        for start in range(0, n, step):
            part = slice(start, start + step)
            block = (X[part] - center) @ axes
            _round_rows(block, origin, scale, points[part], norms[part])
    # float32 rounding, and float64 rounding of a product of matrices, generously.
    share = 2.0**-24 * 1.01 + 16.0 * (d + 8) * 2.0**-53
    # Differences below 2**-63 lose digits when they are squared in float32. (To move
    # the rows to the center costs none: it is rounded relative to what is left.)
    common = math.sqrt(d) * 2.0**-60
    return points, ErrorBound(
        slack=2.0 * share * norms * (1.0 + 1e-6) + 2.0 * common,
        scale=scale,
        relative=(d + 8) * 2.0**-24 + 4.0 * share,
    )


def no_rounding(n: int, d: int) -> ErrorBound:
    """Return the error of distances of the data themselves, which are exact.

    Only the distances of boxes are sums in another order.
    """
    return ErrorBound(slack=np.zeros(n), scale=1.0, relative=2.0 * (d + 8) * 2.0**-53)


def _scale_of(largest: float) -> float:
    """Return the power of two that brings the largest coordinate to the target."""
    return 2.0 ** (TARGET_EXPONENT - math.frexp(largest)[1]) if largest > 0 else 1.0


def _extent(X: NDArray[Any]) -> tuple[F64, F64]:
    """Return a center, and how far the values of each feature reach from it.

    The center is a median of a few rows, which no distant row can move, so that all
    others stay near it.
    """
    few = X[np.arange(MEDIAN_OF) * (len(X) - 1) // (MEDIAN_OF - 1)]
    center = np.sort(few, axis=0)[MEDIAN_OF // 2].astype(np.float64)
    low, high = range_of_columns(X)
    return center, np.maximum(high - center, center - low)


# A kernel, because NumPy would hold the interpreter's lock.
@kernel(fastmath={"reassoc", "contract"})
def _round_rows(
    X: NDArray[Any], center: F64, scale: float, points: F32, norms: F64
) -> None:
    """Write the rows from the center, scaled, and their lengths."""
    for i in range(X.shape[0]):
        total = 0.0
        for feature in range(X.shape[1]):
            value = (np.float64(X[i, feature]) - center[feature]) * scale
            points[i, feature] = value
            total += value * value
        norms[i] = np.sqrt(total)


def _principal_axes(X: NDArray[Any]) -> F64:
    """Return the axes of a sample, the widest first; any rotation would be valid."""
    sample = X[:: max(1, len(X) // SAMPLE)][:SAMPLE]
    sample = sample - sample.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(sample.T @ sample)
    return np.ascontiguousarray(axes[:, ::-1])
