"""A float32 copy of the data for finding candidates, and how far it can be trusted.

The shadow is the data moved to a center, rotated to its principal axes (widest
first) where that pays, scaled by a power of two and rounded to float32. Distances in
the shadow are not exact, but their error is bounded, and that is enough: candidates
are found by the shadow and decided by `structsmooth.tree.exact`.

For a row i and any row j, with ``z`` in the shadow and ``x`` in the data::

    | |z_i - z_j| / scale - |x_i - x_j| |  <=  c |z_i| / scale + c |z_j| / scale

because rounding moves each z by at most c |z|, c about 2**-24. With ``|z_j| <= |z_i|
+ |z_i - z_j|`` the right side needs only row i: a slack of ``2 c |z_i|`` and a
relative ``c``. So one far outlier does not spoil the bounds of all other rows. A tiny
constant is added for what underflows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.support.jit import kernel

# Rows that the axes are estimated from.
SAMPLE = 4096
# Numbers that are worked on at a time, so that they stay in the cache.
BLOCK = 32_768
# The largest coordinate becomes about 2**30, so that squares fit float32 well.
TARGET_EXPONENT = 30


@dataclass(frozen=True)
class Shadow:
    """The float32 copy.

    Attributes
    ----------
    points : ndarray of shape (n, d), float32
        Coordinates, the widest direction first.
    slack : ndarray of shape (n,), float64
        What to allow for in a distance from this row, in units of the shadow.
    scale : float
        Shadow units in a unit of the data, a power of two.
    relative : float
        What to allow for relative to a squared distance computed in float32.
    """

    points: NDArray[np.float32]
    slack: NDArray[np.float64]
    scale: float
    relative: float


def cast_shadow(X: NDArray[Any], rotate: bool) -> Shadow:
    """Return the shadow of the rows of X, rotated to its principal axes or not."""
    n, d = X.shape
    center, reach = _extent(X)
    points = np.empty((n, d), dtype=np.float32)
    norms = np.empty(n)
    if not rotate:
        scale = _scale_of(float(reach.max()))
        _place(X, center, scale, points, norms)
    else:
        # A rotation may put all of a row's length into one coordinate.
        scale = _scale_of(math.sqrt(reach @ reach))
        axes = _principal_axes(X, center)
        origin = np.zeros(d)
        step = max(16, BLOCK // d)
        for start in range(0, n, step):
            part = slice(start, start + step)
            block = (X[part] - center) @ axes
            _place(block, origin, scale, points[part], norms[part])
    # float32 rounding, and float64 rounding of a product of matrices, generously.
    share = 2.0**-24 * 1.01 + 16.0 * (d + 8) * 2.0**-53
    common = 16.0 * (d + 8) * 2.0**-53 * float(np.abs(center).max()) * scale * d
    # Differences below 2**-63 lose digits when they are squared in float32.
    common += math.sqrt(d) * 2.0**-60
    return Shadow(
        points=points,
        slack=2.0 * share * norms * (1.0 + 1e-6) + 2.0 * common,
        scale=scale,
        relative=(d + 8) * 2.0**-24 + 4.0 * share,
    )


def _scale_of(largest: float) -> float:
    """Return the power of two that brings the largest coordinate to the target."""
    return 2.0 ** (TARGET_EXPONENT - math.frexp(largest)[1]) if largest > 0 else 1.0


# Kernels, because NumPy would hold the interpreter's lock for these short calls, and
# with it the threads that build other trees.
@kernel
def _extent(X: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of each feature, and how far the values reach from it."""
    n, d = X.shape
    low = X[0].astype(np.float64)
    high = low.copy()
    center = np.zeros(d)
    for i in range(n):
        _add_row(X[i], center, low, high)
    center /= n
    return center, np.maximum(high - center, center - low)


@kernel
def _add_row(
    row: NDArray[Any],
    total: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    for feature in range(row.shape[0]):
        value = np.float64(row[feature])
        total[feature] += value
        low[feature] = value if value < low[feature] else low[feature]
        high[feature] = value if value > high[feature] else high[feature]


@kernel
def _place(
    X: NDArray[Any],
    center: NDArray[np.float64],
    scale: float,
    points: NDArray[np.float32],
    norms: NDArray[np.float64],
) -> None:
    """Write the rows from the center, scaled, and their lengths."""
    for i in range(X.shape[0]):
        norms[i] = np.sqrt(_place_row(X[i], center, scale, points[i]))


@kernel(fastmath={"reassoc", "contract"})
def _place_row(
    row: NDArray[Any],
    center: NDArray[np.float64],
    scale: float,
    point: NDArray[np.float32],
) -> float:
    total = 0.0
    for feature in range(row.shape[0]):
        value = (np.float64(row[feature]) - center[feature]) * scale
        point[feature] = value
        total += value * value
    return total


def _principal_axes(
    X: NDArray[Any], center: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the axes of a sample, the widest first; any rotation would be valid."""
    sample = X[:: max(1, len(X) // SAMPLE)][:SAMPLE] - center
    _, axes = np.linalg.eigh(sample.T @ sample)
    return np.ascontiguousarray(axes[:, ::-1])
