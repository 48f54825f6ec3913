"""The stages of a fit on rows that come in blocks: moments, clusters, trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds, region_bounds
from structsmooth.cluster import clusterers
from structsmooth.cluster.assign import Assigner
from structsmooth.cluster.regions import Regions
from structsmooth.io.codec import bounds_from_arrays, bounds_to_arrays
from structsmooth.outofcore.sources import SORTED_CODES, SORTED_ROWS, Labels, Rows
from structsmooth.outofcore.spill import Spill
from structsmooth.reduce.moments import Blocks, Sums
from structsmooth.reduce.reduction import LinearReduction
from structsmooth.support.columns import range_of_columns, sums_of_columns
from structsmooth.support.groups import order_by_group
from structsmooth.support.parallel import side_by_side
from structsmooth.support.progress import Stage

# Files in the spill directory: moments, the cluster of each row, bounds of regions.
RANGE, VARIANCE, COMPONENTS = "range.npz", "variance.npz", "components.npz"
CLUSTERS = "clusters.bin"
BOUNDS = "bounds-{}.npz"
# Bytes per row to draw the sample for clustering: distances, their order, the workspace
# of sorting them, and a permutation.
DRAW_BYTES = 32
# The bounds of smaller regions are kept together: to write and read a file takes as
# long as the tree of a thousand rows.
ROWS_TOGETHER = 50_000


class BlockMoments:
    """The `Moments` of rows in blocks, kept in the spill directory.

    Sums run from row to row in the order of the data, as NumPy's do over the first
    axis of an array, so that two or more features have the same mean and variance, to
    the last bit, as in memory.
    """

    def __init__(self, rows: Rows, spill: Spill) -> None:
        self._rows, self._spill = rows, spill
        self.n_rows = rows.n_rows
        found = spill.once(RANGE, self._find_range)
        self.low, self.high = found["low"], found["high"]
        self._blocks = Blocks(self._each_block, rows.n_rows, len(self.low))

    def _find_range(self) -> dict[str, Any]:
        ranges = self._rows.raw(range_of_columns, check=True)
        low, high = next(ranges)
        for lowest, highest in ranges:
            low, high = np.minimum(low, lowest), np.maximum(high, highest)
        return {"low": low, "high": high}

    def _each_block(self, work: Callable[..., Any]) -> Iterator[Any]:
        return self._rows.raw(
            lambda rows: work(np.ascontiguousarray(rows), np.ones(len(rows)))
        )

    def mean_and_variance(
        self, exponent: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the moments of ``2**-exponent X``, the variance divided by n."""

        def find() -> dict[str, Any]:
            found = self._blocks.sums(exponent)._asdict()
            return {name: sums for name, sums in found.items() if sums is not None}

        self._sums = Sums(**self._spill.once(VARIANCE, find))
        return self._sums.mean, self._sums.variance

    def principal_components(
        self, standardize: LinearReduction, most: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return leading components of the standardized rows, and variance ratios."""

        def find() -> dict[str, Any]:
            components, ratio = self._blocks.principal_components(
                self._sums, standardize, most
            )
            return {"components": components, "ratio": ratio}

        found = self._spill.once(COMPONENTS, find)
        return found["components"], found["ratio"]


def fit_assigner(
    rows: Rows, clusterer: str, n_clusters: int, seed: int | None, n_jobs: int
) -> Assigner:
    """Cluster a sample of the reduced rows: that of a fit in memory, if possible."""
    size = clusterers.kmeans_sample_size(rows.n_rows, n_clusters)
    responsibilities = 4 * 8 * n_clusters if clusterer == "gmm" else 0
    needed = size * (16 * rows.width + responsibilities)
    rows.plan.require(needed, "the sample for clustering")
    sample = _gather(rows, _draw_sample(rows, n_clusters, size, seed))
    if clusterer == "gmm":
        return clusterers.gaussian_mixture(sample, n_clusters, seed)
    return clusterers.kmeans_centers(
        sample, n_clusters, seed, full=size == rows.n_rows, n_jobs=n_jobs
    )


def _draw_sample(
    rows: Rows, n_clusters: int, size: int, seed: int | None
) -> NDArray[np.int64]:
    """Return the numbers of the rows in the sample, in its order.

    The sample is that of a fit in memory, provided that the distances of all rows from
    their mean can be sorted in memory; otherwise it is drawn by row number.
    """
    n_rows = rows.n_rows
    if DRAW_BYTES * n_rows > rows.plan.free:
        return np.random.default_rng(seed).choice(n_rows, size, replace=False)
    blocks = rows.reduced(lambda block: block)
    mean = sums_of_columns(blocks, np.zeros(rows.width))[0] / n_rows
    distances = np.empty(n_rows)
    start = 0
    for some in rows.reduced(lambda block: clusterers.squared_distances(block, mean)):
        distances[start : start + len(some)] = some
        start += len(some)
    order = np.argsort(distances, kind="stable")
    draws = clusterers.kmeans_sample(n_rows, n_clusters, seed)
    return order if draws is None else order[draws]


def _gather(rows: Rows, chosen: NDArray[np.int64]) -> NDArray[Any]:
    """Return the chosen rows, in that order."""
    by_row = np.argsort(chosen)
    ordered = chosen[by_row]
    sample = np.empty((len(chosen), rows.width), rows.dtype)
    start = 0
    for block in rows.reduced(lambda block: block):
        low, high = np.searchsorted(ordered, [start, start + len(block)])
        sample[by_row[low:high]] = block[ordered[low:high] - start]
        start += len(block)
    return sample


def assign_rows(
    rows: Rows, assigner: Assigner, spill: Spill, stage: Stage
) -> dict[str, Any]:
    """Write the cluster of each row; return the clusters' sizes and sums of rows."""

    def assign(block: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        labels = assigner.assign(block)
        counts = np.bincount(labels, minlength=assigner.n_clusters)
        present = np.flatnonzero(counts)
        starts = np.cumsum(counts[present]) - counts[present]
        ordered = block[order_by_group(labels)]
        sums_present = np.add.reduceat(ordered, starts, axis=0, dtype=np.float64)
        return labels.astype(np.int32), counts, present, sums_present

    sizes = np.zeros(assigner.n_clusters)
    sums = np.zeros((assigner.n_clusters, rows.width))
    with spill.writing(CLUSTERS) as stream:
        for labels, counts, present, sums_present in rows.reduced(assign):
            stream.write(labels.data)
            sizes += counts
            sums[present] += sums_present
            stage.advance()
    return {"sizes": sizes, "sums": sums}


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
        spill.writing(SORTED_CODES, 4 * rows.n_rows) as label_file,
        spill.writing(SORTED_ROWS, row_bytes * rows.n_rows) as feature_file,
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
    rows: Rows,
    sizes: NDArray[np.int64],
    *,
    at_once: int,
    n_threads: int,
    stage: Stage,
    **settings: Any,
) -> list[BayesErrorBounds]:
    """Bound each region of the sorted rows, the largest first, ``at_once`` together.

    The settings are those of `region_bounds`.
    """
    from structsmooth.tree.algorithms import prim_seconds  # loads numba

    starts = np.cumsum(sizes) - sizes
    workload = sum(prim_seconds(int(size), rows.width) for size in sizes)

    def bound(region: int) -> BayesErrorBounds:
        start, stop = int(starts[region]), int(starts[region] + sizes[region])
        return region_bounds(
            spill.read(SORTED_ROWS, rows.dtype, start, stop, rows.width),
            spill.read(SORTED_CODES, np.int32, start, stop).astype(np.int64),
            n_threads=n_threads,
            workload=workload,
            **settings,
        )

    def bound_some(regions: NDArray[np.int64]) -> tuple[BayesErrorBounds, ...]:
        kept = spill.once(
            BOUNDS.format(regions[0]),
            lambda: bounds_to_arrays([bound(region) for region in regions.tolist()]),
        )
        for _ in regions:
            stage.advance()
        return bounds_from_arrays(kept)

    largest_first = np.argsort(-sizes, kind="stable")
    before = np.cumsum(sizes[largest_first]) - sizes[largest_first]
    cuts = np.flatnonzero(np.diff(before // ROWS_TOGETHER)) + 1
    groups = np.split(largest_first, cuts)
    found = side_by_side(bound_some, groups, at_once, share_memory=True)
    by_region = dict(zip(largest_first.tolist(), chain(*found), strict=True))
    return [by_region[region] for region in range(len(sizes))]
