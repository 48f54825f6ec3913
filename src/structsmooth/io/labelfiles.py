"""Smoothed labels as files, in the forms that training programs read."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.errors import FileOptionError
from structsmooth.io.atomic import written_beside
from structsmooth.io.codec import write_arrays
from structsmooth.io.paths import check_columns_path
from structsmooth.labels.forms import expand_rows, flip_labels
from structsmooth.smoother import StructuralSmoother


def label_columns(
    smoother: StructuralSmoother,
    kind: str,
    coded: NDArray[np.int64],
    X: Any = None,
    seed: int = 0,
) -> dict[str, NDArray[Any]]:
    """Return the columns of one form of the labels of X, or of the training rows.

    The forms are soft, sparse, flipped and expanded.
    """
    classes, n_classes = smoother.classes_, len(smoother.classes_)
    if kind == "soft":
        soft = (
            smoother.smooth_fitted(coded)
            if X is None
            else smoother.soft_labels(X, classes[coded])
        )
        return {str(label): soft[:, k] for k, label in enumerate(classes.tolist())}
    if smoother.spread != "even":
        raise FileOptionError(
            f"{kind} labels have even shares, and the smoother was fitted with "
            f"--spread {smoother.spread}; expected --kind soft"
        )
    strengths = (
        smoother.sample_strengths_ if X is None else smoother.predict_strength(X)
    )
    if kind == "sparse":
        return {"label": classes[coded], "strength": strengths}
    if kind == "flipped":
        return {"label": classes[flip_labels(coded, strengths, n_classes, seed)]}
    rows, labels, weights = expand_rows(coded, strengths, n_classes)
    return {"row": rows, "label": classes[labels], "weight": weights}


def write_columns(path: str | Path, columns: dict[str, NDArray[Any]]) -> None:
    """Write columns to csv (with a header), npz (by name) or npy (stacked)."""
    target = check_columns_path(path)
    kind = target.suffix.lower()
    arrays = [c.astype(str) if c.dtype.kind == "O" else c for c in columns.values()]
    if kind == ".npy" and len({array.dtype.kind for array in arrays}) > 1:
        raise FileOptionError(
            f"{target}: an npy file holds one kind of number, and this form of labels "
            "has several; write a .csv or .npz"
        )
    with written_beside(target) as temporary:
        if kind == ".csv":
            with temporary.open("w", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream)
                writer.writerow(columns)
                writer.writerows(zip(*(a.tolist() for a in arrays), strict=True))
        elif kind == ".npz":
            write_arrays(temporary, dict(zip(columns, arrays, strict=True)))
        else:
            stacked = np.column_stack(arrays) if len(arrays) > 1 else arrays[0]
            with temporary.open("wb") as binary:
                np.save(binary, stacked, allow_pickle=False)
