"""Read features and labels from npz, npy, csv and parquet files, without pickle."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.encode.table import Table
from structsmooth.errors import FileFormatError, FileOptionError
from structsmooth.io import tables
from structsmooth.io.atomic import reading
from structsmooth.io.paths import KINDS, check_is_file
from structsmooth.io.tables import Dataset

# Pairs of array names an npz may use, tried in this order.
ARRAY_NAMES = (("X", "y"), ("x", "y"), ("x_train", "y_train"), ("X_train", "y_train"))
# Labels of a text file that are read at a time.
LABEL_ROWS = 2**18


def read_dataset(
    path: str | Path,
    *,
    label: str | None = None,
    labels: str | Path | None = None,
    drop: Sequence[str] = (),
    header: bool | None = None,
    features: Sequence[str] | None = None,
    text_features: Collection[str] = (),
    text_labels: bool = False,
) -> Dataset:
    """Read features and labels, as the options of the command line say.

    ``label`` is a column of a table or an array of an npz, ``labels`` a separate file:
    npy, or text with one label on each line. Columns without names are 0, 1, ...
    ``features`` are the columns to read, in this order; by default all but the label
    and those in ``drop``. The columns ``text_features``, and the labels of text files
    with ``text_labels``, stay text even if all are numbers.
    """
    path = Path(path)
    if label is not None and labels is not None:
        raise FileOptionError("--label and --labels both name the labels: give one")
    check_is_file(path)
    name = path.name.lower()
    options = tables.TableOptions(
        label=label,
        drop=tuple(drop),
        header=header,
        separate_labels=labels is not None,
        features=features,
        text_features=text_features,
        text_labels=text_labels,
    )
    if name.endswith(".npz"):
        data = _read_npz(path, label)
    elif name.endswith(".npy"):
        data = _from_array(read_npy(path), None, path)
    elif name.endswith((*tables.TEXT_TABLES, *tables.PARQUET)):
        data = tables.read_table(path, options)
    else:
        raise FileFormatError(f"{path} is of an unknown kind, expected {KINDS}")
    if drop and not isinstance(data.X, Table):
        raise FileOptionError(f"{path} has no columns to drop: it is not a table")
    if labels is not None:
        data = dataclasses.replace(data, y=_read_labels(Path(labels), text_labels))
    if data.y is None:
        raise FileOptionError(f"{path} was read without labels: give --labels FILE")
    return data


def _read_npz(path: Path, label: str | None) -> Dataset:
    with (
        reading(path, "is damaged or not an npz file"),
        np.load(path, allow_pickle=False) as bundle,
    ):
        pair = next((p for p in ARRAY_NAMES if p[0] in bundle.files), None)
        if pair is None:
            listed = ", ".join(sorted(bundle.files)) or "nothing"
            raise FileFormatError(
                f"{path} must hold arrays X and y (or x_train and y_train), "
                f"found {listed}"
            )
        if label is not None and label not in bundle.files:
            raise FileOptionError(f"{path} has no array {label!r} for the labels")
        label = pair[1] if label is None else label
        y = bundle[label] if label in bundle.files else None
        return _from_array(bundle[pair[0]], y, path)


def _from_array(X: NDArray[Any], y: NDArray[Any] | None, path: Path) -> Dataset:
    shape = tuple(X.shape[1:]) if X.ndim > 2 else None
    return Dataset(as_rows(X, path), y, sample_shape=shape)


def read_npy(path: str | Path) -> NDArray[Any]:
    """Return the array of an npy file as a memory map."""
    path = Path(path)
    check_is_file(path)
    with reading(path, "is damaged or not a NumPy file"):
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(found, np.ndarray):
            found.close()
            raise FileFormatError(f"{path} is an npz file, expected an npy file")
    array: NDArray[Any] = found
    return array


def as_rows(X: NDArray[Any], path: Path) -> NDArray[Any]:
    """Return one row for each sample, in float32 if a number has at most two bytes."""
    if X.ndim < 2 or X.size == 0:
        raise FileFormatError(
            f"{path} must hold a table of features, got an array of shape {X.shape}"
        )
    if X.dtype.kind == "b" or (X.dtype.kind in "iuf" and X.dtype.itemsize <= 2):
        X = X.astype(np.float32)
    return X.reshape(len(X), -1)


def _read_labels(path: Path, as_text: bool) -> NDArray[Any]:
    if path.suffix.lower() == ".npy":
        return np.asarray(read_npy(path))
    cells = [cell for some in text_labels_of(path) for cell in some]
    return tables.labels_from_text(cells, as_text)


def text_labels_of(path: Path) -> Iterator[list[str]]:
    """Read a file with one label on each line, some labels at a time."""
    check_is_file(path)
    n_before = 0
    with (
        reading(path, "is not a text file of labels"),
        path.open(encoding="utf-8-sig") as stream,
    ):
        lines = (line.strip() for line in tables.lines_of(stream, path) if line.strip())
        while cells := list(itertools.islice(lines, LABEL_ROWS)):
            tables.refuse_missing(cells, path, n_before)
            yield cells
            n_before += len(cells)
