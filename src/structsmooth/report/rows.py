"""Looks at the rows of the data, all or a random choice, and keeps a view of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
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
from structsmooth.encode.table import Table, as_table, is_table
from structsmooth.errors import InvalidInputError
from structsmooth.report.conditions import distinguish
from structsmooth.report.drawing import draw_rows, place_chosen, take_rows
from structsmooth.report.pictures import check_images, make_pictures
from structsmooth.report.values import values_of
from structsmooth.report.view import View
from structsmooth.smoother import StructuralSmoother
from structsmooth.support.rowkeys import row_keys

ON_MAP = ("rows", "classes", "clusters", "positions", "errors", "strengths")
# Rows that are looked at, and those of them that the map shows.
MOST_ROWS = 20_000
MOST_ON_MAP = 4_000
# Rows of each cluster that are kept as its most ambiguous, suspects, and pictures.
AMBIGUOUS = 8
MOST_SUSPECTS = 96
MOST_PICTURES = 320
# Bytes of all pictures before compression. Pictures of noise cannot be compressed.
PICTURE_BYTES = 900_000
# Neighbors that are looked at. A row with fewer in its cluster is not ranked.
N_NEIGHBORS = 10
# An array of more columns than this is nothing that people read value by value.
MOST_COLUMNS = 50


class Rows(NamedTuple):
    """Some rows of the data: their numbers, features, classes, and values to read."""

    numbers: NDArray[np.int64]
    X: Any
    classes: NDArray[np.int64]
    table: Table | None = None


class Duplicates(NamedTuple):
    """Which share of some rows equal another one, and one with another label."""

    n_compared: int
    share: float
    conflicts: float


def make_view(
    smoother: StructuralSmoother, X: Any, y: ArrayLike, images: Any = None
) -> View:
    """Collect what a report shows of the training rows, or of other ones.

    Parameters
    ----------
    X, y : array-like or DataFrame of shape (n, d), and array-like of shape (n,)
        Rows and their labels. Of many rows, a random choice is looked at; only equal
        rows are looked for among all.
    images : array-like of shape (n, h, w), (n, h, w, c) or (n, c, h, w), optional
        A picture of each row.
    """
    n_rows = _num_samples(X)
    if images is not None:
        images = check_images(images, n_rows)
    classes = smoother.encode(y, n_rows)
    table = _readable(X)

    def some(numbers: NDArray[np.int64]) -> Rows:
        values = None if table is None else table[numbers]
        return Rows(numbers, take_rows(X, numbers), classes[numbers], values)

    found, suspects = smoother.suspects_, None
    if found and n_rows == len(smoother.sample_strengths_):
        suspects = some(found.rows[:MOST_SUSPECTS])
    keys = _keys(smoother, X, table)
    return view_of_rows(
        smoother,
        some(rows_to_look_at(n_rows)),
        suspects,
        n_rows=n_rows,
        duplicates=None if keys is None else count_duplicates(keys, classes),
        images=images,
    )


def rows_to_look_at(n_rows: int, most: int = MOST_ROWS) -> NDArray[np.int64]:
    """Return the numbers of the rows that a view is made of, in ascending order."""
    return draw_rows(n_rows, min(most, MOST_ROWS))


def view_of_rows(
    smoother: StructuralSmoother,
    looked_at: Rows,
    suspects: Rows | None = None,
    *,
    n_rows: int,
    duplicates: Duplicates | None = None,
    images: Any = None,
) -> View:
    """Make a view without the other rows, which may be larger than memory.

    Parameters
    ----------
    looked_at : Rows
        The rows that `rows_to_look_at` names.
    suspects : Rows, optional
        The first of the smoother's suspects.
    n_rows : int
        Number of all rows.
    duplicates : Duplicates, optional
        What `count_duplicates` has found, among all rows or some.
    images : array-like, optional
        Pictures of all rows; only those of some rows are read.
    """
    with threadpool_limits(1):
        placed = place_chosen(
            smoother, looked_at.numbers, looked_at.X, looked_at.classes
        )
        rows_near = neighbors_within(
            placed.features, placed.clusters, N_NEIGHBORS, n_jobs=None
        )
    classes, clusters = placed.classes, placed.clusters
    near = np.where(rows_near == NOBODY, NOBODY, classes[rows_near])
    ambiguity = disagreement_around(rows_near, classes)
    around = mean_around(rows_near, ambiguity)
    little = says_little(smoother.cluster_bounds_)[clusters]
    ranked = (near[:, -1] != NOBODY) & ~little
    chosen = _most_ambiguous(ambiguity, around, clusters, ranked)
    if suspects is None:
        nothing = np.zeros(0, dtype=np.int64)
        suspects = Rows(nothing, None, nothing)
    picture_of, picture_of_suspect, pictures = _take_pictures(
        images, placed.rows[chosen], suspects.numbers
    )
    values: dict[str, Any] = {}
    if images is None or looked_at.table is not None:
        values = _values(smoother, looked_at, clusters, chosen, suspects)
    shown = draw_rows(len(placed.rows), MOST_ON_MAP)
    known = np.count_nonzero(near != NOBODY, axis=1)
    same = np.count_nonzero(near == classes[:, np.newaxis], axis=1)
    agreement = np.where(known > 0, same / np.maximum(known, 1), np.nan)
    return View(
        n_rows=n_rows,
        n_looked_at=len(placed.rows),
        variance_shown=placed.variance_shown,
        n_compared=0 if duplicates is None else duplicates.n_compared,
        duplicate_share=0.0 if duplicates is None else duplicates.share,
        conflict_share=0.0 if duplicates is None else duplicates.conflicts,
        **{name: getattr(placed, name)[shown] for name in ON_MAP},
        agreement=agreement[shown],
        ambiguous=placed.rows[chosen],
        ambiguous_classes=classes[chosen],
        ambiguous_clusters=clusters[chosen],
        ambiguous_neighbors=near[chosen],
        ambiguity=ambiguity[chosen],
        ambiguity_around=around[chosen],
        n_unranked=int(np.count_nonzero(~ranked)),
        suspects=suspects.numbers,
        suspect_classes=suspects.classes,
        picture_of=picture_of,
        picture_of_suspect=picture_of_suspect,
        pictures=pictures,
        **values,
    )


def count_duplicates(
    keys: NDArray[np.uint64], classes: NDArray[np.int64]
) -> Duplicates:
    """Count rows with an equal one, and with one of another class, by `row_keys`."""
    # Keys alone are sorted in much less time than rows by key, and most are unique.
    in_order = np.sort(keys)
    repeated = np.unique(in_order[1:][in_order[1:] == in_order[:-1]])
    if not len(repeated):
        return Duplicates(len(keys), 0.0, 0.0)
    group = np.minimum(np.searchsorted(repeated, keys), len(repeated) - 1)
    is_repeated = repeated[group] == keys
    group, classes = group[is_repeated], classes[is_repeated]
    lowest = np.empty(len(repeated), np.int64)
    lowest[group] = classes  # any of each group
    highest = lowest.copy()
    np.minimum.at(lowest, group, classes)
    np.maximum.at(highest, group, classes)
    conflicts = np.count_nonzero((lowest != highest)[group])
    return Duplicates(len(keys), len(group) / len(keys), conflicts / len(keys))


def _readable(X: Any) -> Table | None:
    """Return a DataFrame as a table; None for other rows, and for unusual columns."""
    if not is_table(X):
        return None
    try:
        return as_table(X)
    except InvalidInputError:  # a reducer of the user's own can take them
        return None


def _keys(
    smoother: StructuralSmoother, X: Any, table: Table | None
) -> NDArray[np.uint64] | None:
    """Return the key of each row, None if the rows cannot be compared."""
    if table is None:
        return None if is_table(X) else row_keys(smoother.check_rows(X))
    table, used = _columns(smoother, table)
    return row_keys(table.values[:, used])


def _columns(
    smoother: StructuralSmoother, table: Table
) -> tuple[Table, NDArray[np.bool_]]:
    """Return a table with the columns of the fit, and which of them count."""
    encoding = smoother.structure_.encoding
    if encoding is None:
        return table, np.ones(table.shape[1], dtype=bool)
    used = np.array([column.width > 0 for column in encoding.columns])
    return encoding.read(table), used


def _table_of(smoother: StructuralSmoother, rows: Rows) -> Table | None:
    """Return rows as a table to read, or None if there is nothing that people read."""
    if rows.table is not None or is_table(rows.X):
        return rows.table
    X = rows.X.toarray() if sp.issparse(rows.X) else np.asarray(rows.X)
    n_columns = X.shape[1]
    if n_columns > MOST_COLUMNS:
        return None
    names = getattr(
        smoother, "feature_names_in_", [f"feature {j}" for j in range(n_columns)]
    )
    return Table.of_numbers([str(name) for name in names], X.astype(np.float64))


def _values(
    smoother: StructuralSmoother,
    looked_at: Rows,
    clusters: NDArray[np.int64],
    chosen: NDArray[np.int64],
    suspects: Rows,
) -> dict[str, Any]:
    """Return the values of the rows shown, and what distinguishes the clusters."""
    table = _table_of(smoother, looked_at)
    if table is None:
        return {}
    table, used = _columns(smoother, table)
    shown, of_shown = table[chosen], clusters[chosen]
    others = _table_of(smoother, suspects) if len(suspects.numbers) else None
    if others is not None:
        others, _ = _columns(smoother, others)
        shown = replace(shown, values=np.concatenate([shown.values, others.values]))
        of_others = smoother.cluster_labels_[suspects.numbers]
        of_shown = np.concatenate([of_shown, of_others])
    n_clusters = len(smoother.cluster_bounds_)
    return {
        "values": values_of(shown, of_shown, table, clusters, n_clusters, used),
        "conditions": distinguish(table, clusters, n_clusters, used),
    }


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
    images: Any, ambiguous: NDArray[np.int64], suspects: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Return which picture shows each row, and the pictures, of the first rows."""
    rows = np.concatenate([ambiguous, suspects])
    places = np.full(len(rows), -1, dtype=np.int64)
    taken = np.zeros(0, dtype=np.int64)
    pictures = np.zeros((0, 1, 1, 1), dtype=np.uint8)
    if images is not None and len(rows):
        size = make_pictures(np.asarray(images[rows[:1]])).size
        most = min(MOST_PICTURES, PICTURE_BYTES // size)
        n_suspects = min(len(suspects), max(most // 3, most - len(ambiguous)))
        n_ambiguous = min(len(ambiguous), most - n_suspects)
        taken = np.concatenate(
            [np.arange(n_ambiguous), len(ambiguous) + np.arange(n_suspects)]
        )
        places[taken] = np.arange(len(taken))
        pictures = make_pictures(np.asarray(images[rows[taken]]))
    return places[: len(ambiguous)], places[len(ambiguous) :], pictures
