"""A view as a file beside the smoother; reading it never executes code."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from structsmooth.errors import FileFormatError
from structsmooth.io.atomic import written_beside
from structsmooth.io.store import write_arrays
from structsmooth.report.view import View

FILE_NAME = "view.npz"
# A view without these was written by a version that ranked rows differently.
NEW = {"ambiguity_around", "n_unranked"}
LARGEST = np.finfo(np.float64).max


def save_view(view: View, path: Path) -> None:
    """Write a view as an npz file, its numbers in single precision."""
    arrays = {
        field.name: np.asarray(getattr(view, field.name))
        for field in dataclasses.fields(view)
    }
    for name, array in arrays.items():
        if array.ndim and array.dtype.kind == "f":
            arrays[name] = array.astype(np.float32)
    with written_beside(path) as temporary:
        write_arrays(temporary, arrays)


def load_view(path: Path, n_classes: int, n_clusters: int) -> View | None:
    """Read a view; None if there is no file, or one of an earlier version."""
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as bundle:
            if not NEW & set(bundle.files) and "ambiguity" in bundle.files:
                return None
            found = {f.name: bundle[f.name] for f in dataclasses.fields(View)}
        plain: dict[str, Any] = {n: v if v.ndim else v.item() for n, v in found.items()}
        view = View(**plain)
        if not _fits_together(view, n_classes, n_clusters):
            raise ValueError("arrays that do not fit together")
    except Exception as error:  # a damaged file can lead to errors of many kinds
        raise FileFormatError(f"{path} is damaged") from error
    return view


def _fits_together(view: View, n_classes: int, n_clusters: int) -> bool:
    """Whether arrays have the right shapes and kinds, and numbers are in range."""
    shown, chosen = len(view.rows), len(view.ambiguous)
    near, pictures = view.ambiguous_neighbors, view.pictures
    agreement = np.nan_to_num(view.agreement)
    shares = (view.variance_shown, view.duplicate_share, view.conflict_share)
    expected = (
        (view.rows, (shown,), "iu", 0, view.n_rows - 1),
        (view.classes, (shown,), "iu", 0, n_classes - 1),
        (view.clusters, (shown,), "iu", 0, n_clusters - 1),
        (view.positions, (shown, 2), "f", -LARGEST, LARGEST),
        (view.errors, (shown,), "f", -LARGEST, LARGEST),
        (view.strengths, (shown,), "f", -LARGEST, LARGEST),
        (agreement, (shown,), "f", -LARGEST, LARGEST),
        (view.ambiguous, (chosen,), "iu", 0, view.n_rows - 1),
        (view.ambiguous_classes, (chosen,), "iu", 0, n_classes - 1),
        (view.ambiguous_clusters, (chosen,), "iu", 0, n_clusters - 1),
        (near, (chosen, near.shape[-1]), "iu", -1, n_classes - 1),
        (view.ambiguity, (chosen,), "f", -LARGEST, LARGEST),
        (view.ambiguity_around, (chosen,), "f", -LARGEST, LARGEST),
        (view.picture_of, (chosen,), "iu", -1, len(pictures) - 1),
    )
    return (
        all(
            array.shape == shape
            and array.dtype.kind in kind
            and bool(((low <= array) & (array <= high)).all())
            for array, shape, kind, low, high in expected
        )
        and pictures.ndim == 4
        and pictures.dtype == np.uint8
        and pictures.shape[3] in (1, 3)
        and 0 <= view.n_unranked <= view.n_looked_at
        and all(0.0 <= share <= 1.0 for share in shares)
    )
