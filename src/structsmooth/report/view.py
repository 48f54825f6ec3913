"""What a report shows of single rows: a map of some, and the most ambiguous ones.

A fitted smoother does not keep the data, so ``structsmooth fit`` stores a view of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples
from threadpoolctl import threadpool_limits

from structsmooth.bayes_error.neighborhoods import (
    NOBODY,
    disagreement_around,
    mean_around,
    neighbors_within,
)
from structsmooth.bayes_error.ranking import says_little
from structsmooth.io.atomic import reading, written_beside
from structsmooth.io.codec import (
    fields_from_arrays,
    fields_to_arrays,
    read_arrays,
    write_arrays,
)
from structsmooth.report.drawing import draw_rows, place_rows
from structsmooth.report.pictures import check_images, make_pictures
from structsmooth.smoother import StructuralSmoother
from structsmooth.support.rowkeys import row_keys

FILE_NAME = "view.npz"
ON_MAP = ("rows", "classes", "clusters", "positions", "errors", "strengths")
# Rows that are looked at, and those of them that the map shows.
MOST_ROWS = 20_000
MOST_ON_MAP = 4_000
# Rows of each cluster that are kept as its most ambiguous, and pictures of all rows.
AMBIGUOUS = 8
MOST_PICTURES = 320
# Bytes of all pictures before compression. Pictures of noise cannot be compressed.
PICTURE_BYTES = 900_000
# Neighbors that are looked at. A row with fewer in its cluster is not ranked.
N_NEIGHBORS = 10


@dataclass(frozen=True, eq=False)
class View:
    """Some rows of the data, as a report shows them."""

    n_rows: int
    n_looked_at: int  # of more rows, a random choice
    variance_shown: float  # share of the variance of the reduced features on the map
    duplicate_share: float  # of the rows looked at, those that equal another row
    conflict_share: float  # and those that equal one with another label
    # The rows on the map.
    rows: NDArray[np.int64]
    classes: NDArray[np.int64]
    clusters: NDArray[np.int64]
    positions: NDArray[np.float64]
    errors: NDArray[np.float64]
    strengths: NDArray[np.float64]
    agreement: NDArray[np.float64]  # share of the neighbors with the same label, or nan
    # Each cluster's most ambiguous rows, all in one order, by `ambiguity_around`.
    ambiguous: NDArray[np.int64]
    ambiguous_classes: NDArray[np.int64]
    ambiguous_clusters: NDArray[np.int64]
    ambiguous_neighbors: NDArray[np.int64]  # their classes, the nearest first; -1: none
    ambiguity: NDArray[np.float64]  # share of unequal pairs of labels, row included
    ambiguity_around: NDArray[np.float64]  # its mean over the row and its neighbors
    n_unranked: int  # rows with too few neighbors, or in a cluster that says little
    picture_of: NDArray[np.int64]  # which picture shows each ambiguous row; -1: none
    pictures: NDArray[np.uint8]  # of shape (p, h, w, 1 or 3)


def make_view(
    smoother: StructuralSmoother, X: Any, y: ArrayLike, images: Any = None
) -> View:
    """Collect what a report shows of the training rows, or of other ones.

    Parameters
    ----------
    X, y : array-like of shape (n, d) and (n,)
        Rows and their labels. Of many rows, a random choice is looked at.
    images : array-like of shape (n, h, w), (n, h, w, c) or (n, c, h, w), optional
        A picture of each row.
    """
    n_rows = _num_samples(X)
    if images is not None:
        images = check_images(images, n_rows)
    with threadpool_limits(1):
        placed = place_rows(smoother, X, y, MOST_ROWS)
        rows_near = neighbors_within(
            placed.features, placed.clusters, N_NEIGHBORS, n_jobs=None
        )
    classes = placed.classes
    near = np.where(rows_near == NOBODY, NOBODY, classes[rows_near])
    duplicates, conflicts = _duplicates(placed.given, classes)
    ambiguity = disagreement_around(rows_near, classes)
    around = mean_around(rows_near, ambiguity)
    little = says_little(smoother.cluster_bounds_)[placed.clusters]
    ranked = (near[:, -1] != NOBODY) & ~little
    chosen = _most_ambiguous(ambiguity, around, placed.clusters, ranked)
    picture_of, pictures = _take_pictures(images, placed.rows[chosen])
    shown = draw_rows(len(placed.rows), MOST_ON_MAP)
    known = np.count_nonzero(near != NOBODY, axis=1)
    same = np.count_nonzero(near == classes[:, np.newaxis], axis=1)
    agreement = np.where(known > 0, same / np.maximum(known, 1), np.nan)
    return View(
        n_rows=n_rows,
        n_looked_at=len(placed.rows),
        variance_shown=placed.variance_shown,
        duplicate_share=duplicates,
        conflict_share=conflicts,
        **{name: getattr(placed, name)[shown] for name in ON_MAP},
        agreement=agreement[shown],
        ambiguous=placed.rows[chosen],
        ambiguous_classes=classes[chosen],
        ambiguous_clusters=placed.clusters[chosen],
        ambiguous_neighbors=near[chosen],
        ambiguity=ambiguity[chosen],
        ambiguity_around=around[chosen],
        n_unranked=int(np.count_nonzero(~ranked)),
        picture_of=picture_of,
        pictures=pictures,
    )


def _duplicates(X: Any, classes: NDArray[np.int64]) -> tuple[float, float]:
    """Return the share of rows with an equal one, and with one of another class."""
    _, group, sizes = np.unique(row_keys(X), return_inverse=True, return_counts=True)
    kinds = np.unique(np.column_stack([group, classes]), axis=0)
    n_classes = np.bincount(kinds[:, 0])
    return float(np.mean(sizes[group] > 1)), float(np.mean(n_classes[group] > 1))


def _most_ambiguous(
    ambiguity: NDArray[np.float64],
    around: NDArray[np.float64],
    clusters: NDArray[np.int64],
    ranked: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return each cluster's most ambiguous rows, all in one order.

    Rows among equal labels are not ambiguous. The labels of a row and its few neighbors
    are noisy, and the largest numbers are the noisiest, so the mean around a row
    decides; rows of equal means are ordered by their own ambiguity, then by number.
    """
    rows = np.flatnonzero(ranked & (ambiguity > 0.0))
    # Means of the same numbers in another order are equal except for rounding.
    rows = rows[np.lexsort((-ambiguity[rows], -around[rows].round(9)))]
    by_cluster = np.argsort(clusters[rows], kind="stable")
    grouped = clusters[rows][by_cluster]
    first = np.searchsorted(grouped, grouped, side="left")
    kept = by_cluster[np.arange(len(rows)) - first < AMBIGUOUS]
    return np.asarray(rows[np.sort(kept)])


def _take_pictures(
    images: Any, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return which picture shows each row, and the pictures, of the first rows."""
    picture_of = np.full(len(rows), -1, dtype=np.int64)
    if images is None or not len(rows):
        return picture_of, np.zeros((0, 1, 1, 1), dtype=np.uint8)
    size = make_pictures(np.asarray(images[rows[:1]])).size
    most = min(MOST_PICTURES, PICTURE_BYTES // size, len(rows))
    picture_of[:most] = np.arange(most)
    return picture_of, make_pictures(np.asarray(images[rows[:most]]))


def save_view(view: View, path: Path) -> None:
    """Write a view as an npz file, in single precision."""
    arrays = fields_to_arrays(view)
    for name, array in arrays.items():
        if array.ndim and array.dtype.kind == "f":
            arrays[name] = array.astype(np.float32)
    with written_beside(path) as temporary:
        write_arrays(temporary, arrays)


def load_view(path: Path, n_classes: int, n_clusters: int) -> View | None:
    """Read a view; None if there is none, or only one of an earlier version."""
    if not path.exists():
        return None
    with reading(path):
        arrays = read_arrays(path)
        if "ambiguity_around" not in arrays:  # written before rows were ranked by it
            return None
        view: View = fields_from_arrays(View, arrays)
        _check_view(view, n_classes, n_clusters)
    return view


def _check_view(view: View, n_classes: int, n_clusters: int) -> None:
    """Refuse numbers of rows, classes, clusters or pictures that do not exist."""
    for numbers, low, high in (
        (view.rows, 0, view.n_rows),
        (view.classes, 0, n_classes),
        (view.clusters, 0, n_clusters),
        (view.ambiguous, 0, view.n_rows),
        (view.ambiguous_classes, 0, n_classes),
        (view.ambiguous_clusters, 0, n_clusters),
        (view.ambiguous_neighbors, NOBODY, n_classes),
        (view.picture_of, -1, len(view.pictures)),
        (view.positions, -math.inf, math.inf),
    ):
        if not ((low <= numbers) & (numbers < high)).all():
            raise ValueError("the arrays of a view do not fit together")
