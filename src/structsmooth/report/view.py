"""What a report shows of single rows: a map of some, and the most ambiguous ones.

A fitted smoother does not keep the data, so a view is made while they are available;
``structsmooth fit`` stores it beside the smoother.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from structsmooth.report.pictures import check_images, make_pictures
from structsmooth.report.placement import draw_rows, place_rows
from structsmooth.smoother import StructuralSmoother
from structsmooth.support.rowkeys import row_keys

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
    """Some rows of the data, as a report shows them.

    Attributes
    ----------
    n_rows, n_looked_at : int
        Rows of the data, and those of them that were looked at, chosen at random.
    variance_shown : float
        Share of the variance of the reduced features that the map holds.
    duplicate_share, conflict_share : float
        Share of the rows looked at that equal another row, and one with another label.
    rows, classes, clusters, positions, errors, strengths : ndarray
        The rows on the map, with their Bayes errors and strengths.
    agreement : ndarray of shape (m,)
        Share of a row's neighbors in its cluster that have its label; nan if it has no
        neighbors.
    ambiguous, ambiguous_classes, ambiguous_clusters : ndarray of shape (a,), int64
        Each cluster's most ambiguous rows, all in one order, by ``ambiguity_around``.
    ambiguous_neighbors : ndarray of shape (a, k), int64
        Classes of their neighbors, the nearest first; -1 in place of a missing one.
    ambiguity, ambiguity_around : ndarray of shape (a,)
        Share of unequal pairs among the labels of a row and its neighbors, and the mean
        of that share over the row and its neighbors, which is less noisy.
    n_unranked : int
        Rows looked at that cannot be among the ambiguous ones, because they have too
        few neighbors in their cluster or the cluster says little.
    picture_of, pictures : ndarray of shape (a,) and (p, h, w, 1 or 3)
        Small pictures, and which of them shows each ambiguous row, -1 for none.
    """

    n_rows: int
    n_looked_at: int
    variance_shown: float
    duplicate_share: float
    conflict_share: float
    rows: NDArray[np.int64]
    classes: NDArray[np.int64]
    clusters: NDArray[np.int64]
    positions: NDArray[np.float64]
    errors: NDArray[np.float64]
    strengths: NDArray[np.float64]
    agreement: NDArray[np.float64]
    ambiguous: NDArray[np.int64]
    ambiguous_classes: NDArray[np.int64]
    ambiguous_clusters: NDArray[np.int64]
    ambiguous_neighbors: NDArray[np.int64]
    ambiguity: NDArray[np.float64]
    ambiguity_around: NDArray[np.float64]
    n_unranked: int
    picture_of: NDArray[np.int64]
    pictures: NDArray[np.uint8]


def make_view(
    smoother: StructuralSmoother, X: Any, y: ArrayLike, images: Any = None
) -> View:
    """Collect what a report shows of the training rows, or of other ones.

    Parameters
    ----------
    smoother : StructuralSmoother
        Fitted.
    X, y : array-like of shape (n, d) and (n,)
        Rows and their labels. Of many rows, a random choice is looked at.
    images : array-like of shape (n, h, w), (n, h, w, c) or (n, c, h, w), optional
        A picture of each row.

    Returns
    -------
    View
        For `build_report`.
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
    known = (near >= 0).sum(axis=1)
    same = (near == classes[:, np.newaxis]).sum(axis=1)
    agreement = np.where(known > 0, same / np.maximum(known, 1), np.nan)
    return View(
        n_rows=n_rows,
        n_looked_at=len(placed.rows),
        variance_shown=placed.variance_shown,
        duplicate_share=duplicates,
        conflict_share=conflicts,
        rows=placed.rows[shown],
        classes=classes[shown],
        clusters=placed.clusters[shown],
        positions=placed.positions[shown],
        errors=placed.errors[shown],
        strengths=placed.strengths[shown],
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
