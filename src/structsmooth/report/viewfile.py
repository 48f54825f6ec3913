"""A view as a file beside the smoother; reading it never executes code."""

from __future__ import annotations

import dataclasses
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from structsmooth.errors import FileFormatError
from structsmooth.io.atomic import written_beside
from structsmooth.io.store import write_arrays
from structsmooth.report.view import View

FILE_NAME = "view.npz"
AMBIGUITY = ("ambiguity", "ambiguity_around")
# Without these, a view was written before rows were ranked by what is certain.
NEW = {"ambiguity_around", "n_unranked"}


def save_view(view: View, path: Path) -> None:
    """Write a view as an npz file."""
    arrays = {
        field.name: np.asarray(getattr(view, field.name))
        for field in dataclasses.fields(view)
    }
    for name in ("positions", "errors", "strengths", "agreement", *AMBIGUITY):
        arrays[name] = arrays[name].astype(np.float32)
    with written_beside(path) as temporary:
        write_arrays(temporary, arrays)


def load_view(path: Path, n_classes: int, n_clusters: int) -> View | None:
    """Read a view; None if there is none that can be read, as of earlier versions."""
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as bundle:
            if not NEW & set(bundle.files) and "ambiguity" in bundle.files:
                return None
            found = {f.name: bundle[f.name] for f in dataclasses.fields(View)}
        plain: dict[str, Any] = {n: v if v.ndim else v.item() for n, v in found.items()}
        view = View(**plain)
        _check_agreement(view, n_classes, n_clusters)
    except (
        OSError,
        ValueError,
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        MemoryError,
    ) as error:
        raise FileFormatError(f"{path} is damaged") from error
    return view


def _check_agreement(view: View, n_classes: int, n_clusters: int) -> None:
    """Refuse arrays that do not fit together."""
    shown, chosen = len(view.rows), len(view.ambiguous)
    limits = (
        (view.classes, shown, 0, n_classes),
        (view.clusters, shown, 0, n_clusters),
        (view.rows, shown, 0, view.n_rows),
        (view.ambiguous, chosen, 0, view.n_rows),
        (view.ambiguous_classes, chosen, 0, n_classes),
        (view.ambiguous_clusters, chosen, 0, n_clusters),
        (view.picture_of, chosen, -1, len(view.pictures)),
    )
    for array, length, low, high in limits:
        fits = array.shape == (length,) and array.dtype.kind in "iu"
        if not fits or (length and (array.min() < low or array.max() >= high)):
            raise ValueError("row, class or cluster numbers out of range")
    near = view.ambiguous_neighbors
    if near.ndim != 2 or len(near) != chosen or near.dtype.kind not in "iu":
        raise ValueError("neighbors of the wrong shape")
    if near.size and (near.min() < -1 or near.max() >= n_classes):
        raise ValueError("class numbers out of range")
    if view.positions.shape != (shown, 2) or not np.isfinite(view.positions).all():
        raise ValueError("positions that are none")
    for values, length in (
        (view.errors, shown),
        (view.strengths, shown),
        (view.agreement, shown),
        (view.ambiguity, chosen),
        (view.ambiguity_around, chosen),
    ):
        if values.shape != (length,) or values.dtype.kind != "f":
            raise ValueError("numbers of the wrong shape")
    pictures = view.pictures
    if (
        pictures.ndim != 4
        or pictures.dtype != np.uint8
        or pictures.shape[3]
        not in (
            1,
            3,
        )
    ):
        raise ValueError("pictures of the wrong shape")
    if not 0 <= view.n_unranked <= view.n_looked_at:
        raise ValueError("more rows than there are")
    for number in (view.variance_shown, view.duplicate_share, view.conflict_share):
        if not 0.0 <= float(number) <= 1.0:
            raise ValueError("shares out of range")
