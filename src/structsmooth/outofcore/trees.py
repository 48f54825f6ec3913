"""Rows sorted by region on disk, and the bounds of one region after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds, region_bounds
from structsmooth.cluster.regions import Regions
from structsmooth.io.codec import bounds_from_arrays, bounds_to_arrays
from structsmooth.outofcore.clusters import CLUSTERS
from structsmooth.outofcore.rows import Rows
from structsmooth.outofcore.sources import Labels
from structsmooth.outofcore.spill import Spill
from structsmooth.support.groups import order_by_group
from structsmooth.support.parallel import side_by_side
from structsmooth.support.progress import Stage
from structsmooth.tree.paths import prim_seconds

FEATURES, LABELS = "sorted_rows.bin", "sorted_codes.bin"
BOUNDS = "bounds-{}.npz"  # of one region


def sort_rows(
    spill: Spill,
    rows: Rows,
    labels: Labels,
    regions: Regions,
    sizes: NDArray[np.int64],
    stage: Stage,
) -> None:
    """Write the rows of each region, and their class numbers, one after the other."""

    def sort(start: int, piece: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        stop = start + len(piece)
        clusters = spill.read(CLUSTERS, np.int32, start, stop)
        region_of = regions.region_of_cluster[clusters]
        order = order_by_group(region_of)
        codes = labels.read(start, stop)[order].astype(np.int32)
        return piece[order], codes, np.bincount(region_of, minlength=len(sizes))

    row_bytes = rows.width * rows.dtype.itemsize
    place = np.cumsum(sizes) - sizes
    with (
        spill.writing(LABELS, 4 * rows.n_rows) as label_file,
        spill.writing(FEATURES, row_bytes * rows.n_rows) as feature_file,
    ):
        for piece, codes, counts in rows.reduced_pieces(sort):
            stop = 0
            for region in np.flatnonzero(counts):
                start, stop = stop, stop + int(counts[region])
                feature_file.seek(int(place[region]) * row_bytes)
                feature_file.write(piece[start:stop].data)
                label_file.seek(int(place[region]) * 4)
                label_file.write(codes[start:stop].data)
            place += counts
            stage.advance()


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
    """Bound each region of the sorted rows, the largest first.

    ``at_once`` regions are in memory together, with ``n_threads`` threads for each. The
    settings are those of `region_bounds`.
    """
    starts = np.cumsum(sizes) - sizes
    workload = sum(prim_seconds(int(size), width) for size in sizes)

    def bound(region: int) -> BayesErrorBounds:
        start, stop = int(starts[region]), int(starts[region] + sizes[region])

        def find() -> dict[str, Any]:
            found = region_bounds(
                spill.read(FEATURES, dtype, start, stop, width),
                spill.read(LABELS, np.int32, start, stop).astype(np.int64),
                n_threads=n_threads,
                workload=workload,
                **settings,
            )
            return bounds_to_arrays([found])

        kept = spill.once(BOUNDS.format(region), find)
        stage.advance()
        return bounds_from_arrays(kept)[0]

    largest_first = np.argsort(-sizes, kind="stable").tolist()
    bounds = side_by_side(bound, largest_first, at_once, share_memory=True)
    by_region = dict(zip(largest_first, bounds, strict=True))
    return [by_region[region] for region in range(len(sizes))]
