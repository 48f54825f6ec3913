"""What a report shows of single rows: a map of some, and the most ambiguous ones.

A fitted smoother does not keep the data, so ``structsmooth fit`` stores a view of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.neighborhoods import NOBODY
from structsmooth.io.archive import read_arrays, write_arrays
from structsmooth.io.atomic import reading, written_beside
from structsmooth.io.codec import fields_from_arrays, fields_to_arrays
from structsmooth.report.conditions import Conditions
from structsmooth.report.values import Values

FILE_NAME = "view.npz"
# Parts of a view that not every view has, and how their arrays are named in the file.
PARTS: dict[str, type[Any]] = {"values": Values, "conditions": Conditions}


@dataclass(frozen=True, eq=False)
class View:
    """Some rows of the data, as a report shows them."""

    n_rows: int
    n_looked_at: int  # of more rows, a random choice
    variance_shown: float  # share of the variance of the reduced features on the map
    n_compared: int  # rows in which equal ones were looked for; 0: in none
    duplicate_share: float  # of these, those that equal another row
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
    # The first of the smoother's suspects, and their classes.
    suspects: NDArray[np.int64]
    suspect_classes: NDArray[np.int64]
    picture_of: NDArray[np.int64]  # which picture shows each ambiguous row; -1: none
    picture_of_suspect: NDArray[np.int64]
    pictures: NDArray[np.uint8]  # of shape (p, h, w, 1 or 3)
    # For data that people can read: the values of the ambiguous rows, then those of
    # the suspects, and what distinguishes the clusters.
    values: Values | None = None
    conditions: Conditions | None = None


def save_view(view: View, path: Path) -> None:
    """Write a view as an npz file, in single precision."""
    arrays = fields_to_arrays(replace(view, values=None, conditions=None))
    for name in PARTS:
        if getattr(view, name) is not None:
            arrays |= fields_to_arrays(getattr(view, name), f"{name}_")
    for name, array in arrays.items():
        if array.ndim and array.dtype.kind == "f":
            arrays[name] = array.astype(np.float32)
    with written_beside(path) as temporary:
        write_arrays(temporary, arrays)


def saved_names() -> frozenset[str]:
    """Return the names of all arrays that the file of a view may have."""
    parts = [("", View), *((f"{name}_", kind) for name, kind in PARTS.items())]
    return frozenset(p + field.name for p, kind in parts for field in fields(kind))


def load_view(path: Path, n_classes: int, n_clusters: int) -> View | None:
    """Read a view; None if there is none, or only one of an earlier version."""
    if not path.exists():
        return None
    with reading(path):
        arrays = read_arrays(path, saved_names())
        if "ambiguity_around" not in arrays:  # written before rows were ranked by it
            return None
        nothing = np.zeros(0, dtype=np.int64)
        absent = {
            "n_compared": arrays["n_looked_at"],
            "suspects": nothing,
            "suspect_classes": nothing,
            "picture_of_suspect": nothing,
        }
        view: View = fields_from_arrays(View, absent | arrays)
        parts = {
            name: fields_from_arrays(kind, arrays, f"{name}_")
            for name, kind in PARTS.items()
            if any(key.startswith(f"{name}_") for key in arrays)
        }
        for part in (view, *parts.values()):
            if any(
                getattr(part, f.name) is None
                for f in fields(part)
                if f.name not in PARTS
            ):
                raise ValueError("an array of a view is missing")
        view = replace(view, **parts)
        _check_view(view, n_classes, n_clusters)
    return view


def _check_view(view: View, n_classes: int, n_clusters: int) -> None:
    """Refuse numbers of rows, classes, clusters or pictures that do not exist."""
    limits: list[tuple[Any, float, float]] = [
        (view.rows, 0, view.n_rows),
        (view.classes, 0, n_classes),
        (view.clusters, 0, n_clusters),
        (view.ambiguous, 0, view.n_rows),
        (view.ambiguous_classes, 0, n_classes),
        (view.ambiguous_clusters, 0, n_clusters),
        (view.ambiguous_neighbors, NOBODY, n_classes),
        (view.suspects, 0, view.n_rows),
        (view.suspect_classes, 0, n_classes),
        (view.picture_of, -1, len(view.pictures)),
        (view.picture_of_suspect, -1, len(view.pictures)),
        (view.positions, -math.inf, math.inf),
    ]
    n_suspects = len(view.suspects)
    shapes = [n_suspects == len(view.suspect_classes) == len(view.picture_of_suspect)]
    if view.values is not None:
        values = view.values
        limits += [
            (values.columns, 0, len(values.names)),
            (values.values, 0, len(values.texts)),
            (values.middles, -1, len(values.texts)),
        ]
        shapes += [
            len(values.columns) == len(view.ambiguous) + n_suspects,
            values.columns.shape == values.values.shape == values.middles.shape,
            values.columns.shape == values.distances.shape,
        ]
    if view.conditions is not None:
        shape = view.conditions.features.shape
        n_features = 0 if view.values is None else len(view.values.names)
        limits.append((view.conditions.features, -1, n_features))
        shapes += [
            shape[0] == n_clusters,
            view.conditions.words.shape == shape,
            view.conditions.shares.shape == (*shape, 2),
        ]
    if not all(shapes) or not all(
        ((low <= numbers) & (numbers < high)).all() for numbers, low, high in limits
    ):
        raise ValueError("the arrays of a view do not fit together")
