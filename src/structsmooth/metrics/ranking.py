"""Sums along a ranking that has ties."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def sums_of_lowest(
    keys: NDArray[Any], amounts: NDArray[Any], counts: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the sum of the amounts over the samples with the lowest keys.

    Equal keys say nothing about order, so the sum is its mean over all orders of the
    tied: j of m tied samples hold j/m of what they hold together. The sum runs
    straight from the start of a tie to its end; and so across a single sample, where a
    count is no whole number.
    """
    order = np.argsort(keys)
    ranked = keys[order]
    ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]) + 1, len(ranked))
    sums = np.cumsum(amounts[order])[ends - 1]
    return np.asarray(np.interp(counts, np.append(0, ends), np.append(0, sums)))
