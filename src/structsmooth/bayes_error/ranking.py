"""The order in which regions are listed: by what is certain.

The largest estimates are often those of the smallest regions, by chance. So regions
are listed by the low end of their interval, because the Bayes error is hardly lower,
and those that say little come last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.bayes_error.shrinkage import which_count


def says_little(regions: Sequence[BayesErrorBounds]) -> NDArray[np.bool_]:
    """Return which regions have few rows and may be like the others.

    They have fewer than `FEW_ROWS` rows, and their interval holds the mean Bayes error.
    None does if most rows are in such small regions.
    """
    return ~which_count(regions)


def order_of_regions(regions: Sequence[BayesErrorBounds]) -> NDArray[np.int64]:
    """Return the numbers of the regions, those that are hard for certain first.

    Sorted by the low end of the lower bound's interval; equal ones by the lower bound,
    then by size, then by number. Regions that say little come last, in the same order.
    """
    low = np.array([region.lower_interval[0] for region in regions])
    lower = np.array([region.lower for region in regions])
    sizes = np.array([region.n_samples for region in regions])
    return np.lexsort((-sizes, -lower, -low, says_little(regions)))
