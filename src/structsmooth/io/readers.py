"""Read features and labels from npz, npy, csv and parquet files.

Nothing is unpickled.
"""

from __future__ import annotations

import dataclasses
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.errors import FileFormatError
from structsmooth.io.tables import (
    Dataset,
    Wish,
    labels_from_text,
    read_csv,
    read_parquet,
)

# Pairs of array names an npz may use, tried in this order.
ARRAY_NAMES = (("X", "y"), ("x", "y"), ("x_train", "y_train"), ("X_train", "y_train"))
KINDS = "npz, npy, csv, csv.gz, tsv or parquet"


def read_dataset(
    path: str | Path,
    *,
    label: str | None = None,
    labels: str | Path | None = None,
    drop: Sequence[str] = (),
    header: bool | None = None,
    features: Sequence[str] | None = None,
    text_labels: bool = False,
) -> Dataset:
    """Read a data set.

    Parameters
    ----------
    path : path-like
        An npz with arrays X and y (or x_train and y_train), an npy with X, or a
        csv, csv.gz, tsv or parquet table.
    label : str, optional
        Column of a table, or array of an npz, that holds the labels.
    labels : path-like, optional
        A file of their own for the labels: npy, or text with one label on each line.
    drop : sequence of str
        Columns of a table that are not features.
    header : bool, optional
        Whether the first line of a text table names the columns. By default it does
        unless all its cells are numbers; without names the columns are 0, 1, ...
    features : sequence of str, optional
        The columns of a table that are features, in this order. By default all but
        the label and the dropped ones.
    text_labels : bool, default=False
        Keep labels of text files as text even if they are all numbers.

    Returns
    -------
    Dataset
        X and y.
    """
    path = Path(path)
    if label is not None and labels is not None:
        raise FileFormatError("--label and --labels both name the labels: give one")
    check_is_file(path)
    name = path.name.lower()
    wish = Wish(label, tuple(drop), features, text_labels)
    try:
        if name.endswith(".npz"):
            data = _read_npz(path, label)
        elif name.endswith(".npy"):
            X = read_npy(path)
            data = Dataset(as_rows(X, path), None, sample_shape=_sample_shape(X))
        elif name.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
            data = read_csv(path, wish, header)
        elif name.endswith((".parquet", ".pq")):
            data = read_parquet(path, wish)
        else:
            raise FileFormatError(f"{path} is of an unknown kind, expected {KINDS}")
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error}") from None
    except (MemoryError, OverflowError) as error:
        raise FileFormatError(
            f"{path} is damaged, or larger than the memory of this machine"
        ) from error
    if drop and not data.is_table:
        raise FileFormatError(f"{path} has no columns to drop: it is not a table")
    if labels is not None:
        y = _read_labels(Path(labels), text_labels)
        data = dataclasses.replace(data, y=y)
    if data.y is None:
        how = "name the column with --label" if data.is_table else "give --labels FILE"
        raise FileFormatError(f"{path} was read without labels: {how}")
    return data


def check_is_file(path: Path) -> None:
    """Refuse what is not there, or is a directory."""
    try:
        if path.is_dir():
            raise FileFormatError(f"{path} is a directory, expected a file ({KINDS})")
        exists = path.exists()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileFormatError(f"cannot read {path}: {reason}") from None
    if not exists:
        raise FileFormatError(f"there is no file {path}")


def _read_npz(path: Path, label: str | None) -> Dataset:
    try:
        with np.load(path, allow_pickle=False) as bundle:
            names = set(bundle.files)
            pair = next((p for p in ARRAY_NAMES if p[0] in names), None)
            if pair is None:
                listed = ", ".join(sorted(names)) or "nothing"
                raise FileFormatError(
                    f"{path} must hold arrays X and y (or x_train and y_train), "
                    f"found {listed}"
                )
            label_name = pair[1] if label is None else label
            if label is not None and label not in names:
                raise FileFormatError(f"{path} has no array {label!r} for the labels")
            X = bundle[pair[0]]
            shape = _sample_shape(X)
            X = as_rows(X, path)
            y = bundle[label_name] if label_name in names else None
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        NotImplementedError,  # a damaged entry can ask for another kind of zip
        RuntimeError,  # encrypted
    ) as error:
        raise FileFormatError(f"{path} is damaged or not an npz file") from error
    except ValueError as error:
        if isinstance(error, FileFormatError):
            raise
        raise _npy_error(path, error) from None
    return Dataset(X, y, sample_shape=shape)


def read_npy(path: Path) -> NDArray[Any]:
    """Return the array of a npy file as a memory map."""
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise _npy_error(path, error) from None
    return array


def _npy_error(path: Path, error: Exception) -> FileFormatError:
    # The words of NumPy for an array of objects, read at once or memory-mapped.
    if "allow_pickle" in str(error) or "Python objects" in str(error):
        return FileFormatError(
            f"{path} holds Python objects, which are never loaded; expected numbers "
            "or text"
        )
    return FileFormatError(f"{path} is damaged or not a NumPy file")


def as_rows(X: NDArray[Any], path: Path) -> NDArray[Any]:
    """Return one row a sample; what float32 holds exactly, such as pixels, as that."""
    if X.ndim < 2 or X.size == 0:
        raise FileFormatError(
            f"{path} must hold a table of features, got an array of shape {X.shape}"
        )
    if X.dtype.kind == "b" or (X.dtype.kind in "iuf" and X.dtype.itemsize <= 2):
        X = X.astype(np.float32)
    return X.reshape(len(X), -1)


def _sample_shape(X: NDArray[Any]) -> tuple[int, ...] | None:
    return tuple(X.shape[1:]) if X.ndim > 2 else None


def read_images(path: str | Path) -> NDArray[Any]:
    """Read images of the rows, mapped into memory, from an npy file."""
    path = Path(path)
    check_is_file(path)
    try:
        return read_npy(path)
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error}") from None


def _read_labels(path: Path, as_text: bool) -> NDArray[Any]:
    check_is_file(path)
    try:
        if path.suffix.lower() == ".npy":
            return np.asarray(read_npy(path))
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not a text file of labels") from None
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error}") from None
    return labels_from_text(
        [line.strip() for line in lines if line.strip()], path, as_text
    )
