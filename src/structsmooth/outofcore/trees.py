"""Rows sorted by region on disk, and the bounds of one region after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds, region_bounds
from structsmooth.io.codec import (
    bounds_from_arrays,
    bounds_to_arrays,
    from_plain,
    to_plain,
)
from structsmooth.outofcore.spill import Spill
from structsmooth.support.groups import order_by_group
from structsmooth.support.progress import Stage
from structsmooth.tree.algorithms import prim_seconds

FEATURES, LABELS, BOUNDS = "sorted_rows.bin", "sorted_codes.bin", "bounds.jsonl"


class Sorted(NamedTuple):
    """Rows sorted by region, and how many each region has."""

    rows: NDArray[Any]
    codes: NDArray[np.int32]
    counts: NDArray[np.int64]


def sort_piece(
    rows: NDArray[Any],
    coded: NDArray[np.int64],
    region_of: NDArray[np.int64],
    n_regions: int,
) -> Sorted:
    """Sort rows and their class numbers by region."""
    order = order_by_group(region_of)
    counts = np.bincount(region_of, minlength=n_regions)
    return Sorted(rows[order], coded[order].astype(np.int32), counts)


def sort_rows(
    spill: Spill,
    pieces: Iterable[Sorted],
    sizes: NDArray[np.int64],
    width: int,
    dtype: np.dtype[Any],
) -> None:
    """Write the rows of each region in one place, in the order they come.

    Parameters
    ----------
    spill : Spill
        Where.
    pieces : iterable of Sorted
        All rows, each piece sorted by itself.
    sizes : ndarray of shape (C,)
        Rows of each region.
    width, dtype
        Of the features.
    """
    row_bytes = width * dtype.itemsize
    n_rows = int(sizes.sum())
    place = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    with (
        spill.writing(LABELS, 4 * n_rows) as labels,
        spill.writing(FEATURES, row_bytes * n_rows) as features,
    ):
        for rows, codes, counts in pieces:
            stop = 0
            for region in np.flatnonzero(counts):
                start, stop = stop, stop + int(counts[region])
                features.seek(int(place[region]) * row_bytes)
                features.write(rows[start:stop].data)
                labels.seek(int(place[region]) * 4)
                labels.write(codes[start:stop].data)
            place += counts


def bound_regions(
    spill: Spill,
    sizes: NDArray[np.int64],
    width: int,
    dtype: np.dtype[Any],
    *,
    at_once: int,
    n_threads: int,
    stage: Stage,
    **settings: Any,
) -> list[BayesErrorBounds]:
    """Bound each region, the largest first; finished ones are kept as they come.

    Parameters
    ----------
    spill : Spill
        Where `sort_rows` has put the rows.
    sizes, width, dtype
        As there.
    at_once : int
        Regions in memory side by side.
    n_threads : int
        Threads inside each.
    stage : Stage
        Shows the progress.
    **settings
        For `region_bounds`.
    """
    bounds = {
        entry["region"]: bounds_from_arrays(from_plain(entry["bounds"]))[0]
        for entry in spill.entries(BOUNDS)
    }
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    workload = sum(prim_seconds(int(size), width) for size in sizes)

    def one_region(region: int) -> tuple[int, BayesErrorBounds]:
        start = int(starts[region])
        stop = start + int(sizes[region])
        return region, region_bounds(
            spill.read(FEATURES, dtype, start, stop, width),
            spill.read(LABELS, np.int32, start, stop).astype(np.int64),
            n_threads=n_threads,
            workload=workload,
            **settings,
        )

    for _ in bounds:
        stage.advance()
    left = [r for r in np.argsort(-sizes, kind="stable").tolist() if r not in bounds]
    results = Parallel(
        n_jobs=at_once,
        require="sharedmem",
        return_as="generator_unordered",
        pre_dispatch=at_once,
        batch_size=1,
    )(delayed(one_region)(region) for region in left)
    for region, found in results:
        plain = to_plain(bounds_to_arrays([found]))
        spill.append(BOUNDS, {"region": region, "bounds": plain})
        bounds[region] = found
        stage.advance()
    return [bounds[region] for region in range(len(sizes))]
