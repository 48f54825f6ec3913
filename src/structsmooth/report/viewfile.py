"""A view as a file beside the smoother; reading it never executes code."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from structsmooth.io.atomic import reading, written_beside
from structsmooth.io.codec import (
    fields_from_arrays,
    fields_to_arrays,
    read_arrays,
    write_arrays,
)
from structsmooth.report.view import View

FILE_NAME = "view.npz"
# Without these, a view was written before rows were ranked by what is certain.
NEW = {"ambiguity_around", "n_unranked"}


def save_view(view: View, path: Path) -> None:
    """Write a view as an npz file, in single precision."""
    arrays = {
        name: array.astype(np.float32)
        if array.ndim and array.dtype.kind == "f"
        else array
        for name, array in fields_to_arrays(view).items()
    }
    with written_beside(path) as temporary:
        write_arrays(temporary, arrays)


def load_view(path: Path, n_classes: int, n_clusters: int) -> View | None:
    """Read a view; None if there is none, or only one of an earlier version."""
    if not path.exists():
        return None
    with reading(path):
        arrays = read_arrays(path)
        if not NEW & set(arrays) and "ambiguity" in arrays:
            return None
        view: View = fields_from_arrays(View, arrays)
        _check_view(view, n_classes, n_clusters)
    return view


def _check_view(view: View, n_classes: int, n_clusters: int) -> None:
    """Refuse arrays that do not fit together."""
    shown, chosen = len(view.rows), len(view.ambiguous)
    near, pictures = view.ambiguous_neighbors, view.pictures
    for array, shape, low, high in (
        (view.classes, (shown,), 0, n_classes),
        (view.clusters, (shown,), 0, n_clusters),
        (view.rows, (shown,), 0, view.n_rows),
        (view.ambiguous, (chosen,), 0, view.n_rows),
        (view.ambiguous_classes, (chosen,), 0, n_classes),
        (view.ambiguous_clusters, (chosen,), 0, n_clusters),
        (view.picture_of, (chosen,), -1, len(pictures)),
        (near, (chosen, near.shape[1]), -1, n_classes),
    ):
        _require(array.shape == shape and array.dtype.kind in "iu")
        _require(not array.size or (array.min() >= low and array.max() < high))
    for values, shape in (
        (view.positions, (shown, 2)),
        (view.errors, (shown,)),
        (view.strengths, (shown,)),
        (view.agreement, (shown,)),
        (view.ambiguity, (chosen,)),
        (view.ambiguity_around, (chosen,)),
    ):
        _require(values.shape == shape and values.dtype.kind == "f")
    _require(bool(np.isfinite(view.positions).all()))
    _require(pictures.ndim == 4 and pictures.shape[3] in (1, 3))
    _require(pictures.dtype == np.uint8)
    _require(0 <= view.n_unranked <= view.n_looked_at)
    for share in (view.variance_shown, view.duplicate_share, view.conflict_share):
        _require(0.0 <= share <= 1.0)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("the arrays of a view do not fit together")
