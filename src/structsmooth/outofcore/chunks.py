"""Rows in pieces: from a npy file, an array, or a table copied to the spill directory.

A npy file is read a piece at a time, so that no more of it is ever resident.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from structsmooth.errors import FileFormatError, InvalidInputError
from structsmooth.io.readers import as_rows, read_npy
from structsmooth.io.tables import Piece, TableOptions, csv_pieces, parquet_pieces
from structsmooth.outofcore.labels import LabelCoder, label_pieces
from structsmooth.outofcore.request import PARQUET, Request, files_of
from structsmooth.outofcore.spill import Spill
from structsmooth.support.validation import check_features

# In the spill directory: a table's rows as numbers, the labels numbered as they came,
# and what these numbers mean.
ROWS, CODES, CLASSES = "rows.bin", "codes.bin", "classes.npz"


class Source(Protocol):
    """Rows that can be read in any order, as often as needed."""

    n_rows: int
    n_features: int
    dtype: np.dtype[Any]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return some rows as float32 or float64."""


class ArraySource:
    """The rows of a npy file, or of an array or memory map."""

    def __init__(self, data: Any) -> None:
        self._path = Path(data) if isinstance(data, str | Path) else None
        self._array = data if hasattr(data, "shape") else None
        if self._path is None and self._array is None:
            self._array = np.asarray(data)
        whole = self._open()
        first = self.read(0, 1)
        self.n_rows, self.n_features = len(whole), first.shape[1]
        self.dtype = first.dtype

    def _copy(self, start: int, stop: int) -> NDArray[Any]:
        whole = self._open()
        if self._path is None or not whole.flags.c_contiguous or whole.ndim == 0:
            return np.array(whole[start:stop])
        # To read is several times as fast as to copy from a map.
        count = len(range(*slice(start, stop).indices(len(whole))))
        width = math.prod(whole.shape[1:])
        offset = whole.offset + start * width * whole.itemsize
        rows = np.fromfile(self._path, whole.dtype, count * width, offset=offset)
        return rows.reshape(count, *whole.shape[1:])

    def _open(self) -> Any:
        return self._array if self._path is None else read_npy(self._path)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return some rows, converted as for a fit in memory."""
        rows = self._copy(start, stop)
        if self._path is not None:
            rows = as_rows(rows, self._path)
        if rows.ndim != 2 or rows.dtype.kind not in "biuf":
            rows = check_features(rows, first_row=start)
        return rows if rows.dtype in (np.float32, np.float64) else rows.astype(float)


class SpilledSource:
    """The rows of a table, copied as numbers into the spill directory."""

    dtype: np.dtype[Any] = np.dtype(np.float64)

    def __init__(self, spill: Spill, n_rows: int, n_features: int) -> None:
        self._spill = spill
        self.n_rows, self.n_features = n_rows, n_features

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return some rows."""
        return self._spill.read(ROWS, self.dtype, start, stop, self.n_features)


class Labels:
    """The class number of each row, and what the numbers mean."""

    def __init__(self, spill: Spill) -> None:
        kept = spill.kept(CLASSES)
        self._spill, self._place = spill, kept["place"].astype(np.int64)
        self.n_rows, self.counts = int(kept["n_rows"]), kept["counts"]
        self.feature_names: list[str] | None = kept["names"].tolist() or None
        self.classes = kept["classes"]
        if bool(kept["are_objects"]):
            self.classes = self.classes.astype(object)

    def read(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the class numbers of some rows."""
        return np.asarray(self._place[self._spill.read(CODES, np.int32, start, stop)])


def open_data(request: Request, spill: Spill) -> tuple[Source, Labels]:
    """Return the rows and labels; a table is copied first, for text is read once."""
    if not request.is_table:
        source: Source = ArraySource(request.data)
        if not spill.has(CLASSES):
            _code_labels(request.labels, spill, source.n_rows, [])
        return source, Labels(spill)
    if not spill.has(CLASSES):
        _copy_table(request, spill)
    labels = Labels(spill)
    return SpilledSource(spill, labels.n_rows, len(labels.feature_names or ())), labels


def _copy_table(request: Request, spill: Spill) -> None:
    coder = LabelCoder(request.name)
    names: list[str] = []
    n_rows = 0
    with spill.writing(ROWS) as rows, spill.writing(CODES) as codes:
        for piece in _table_pieces(request):
            names = piece.feature_names
            if len(piece.X) == 0:
                continue
            checked = check_features(piece.X, first_row=n_rows)
            rows.write(np.ascontiguousarray(checked).data)
            if request.label is not None:
                codes.write(coder.add(piece.y).data)
            n_rows += len(piece.X)
    if n_rows == 0:
        raise FileFormatError(f"{request.path} has no rows")
    if request.label is None:
        _code_labels(request.labels, spill, n_rows, names)
    else:
        _keep_classes(coder, spill, n_rows, names)


def _table_pieces(request: Request) -> Iterator[Piece]:
    """Give the rows of all files; the first one says which columns are features."""
    options = TableOptions(
        request.label,
        request.drop,
        request.header,
        separate_labels=request.labels is not None,
    )
    for path in files_of(Path(request.data)):
        is_parquet = path.name.lower().endswith(PARQUET)
        read_pieces = parquet_pieces if is_parquet else csv_pieces
        for piece in read_pieces(path, options):
            options = options._replace(features=piece.feature_names)
            yield piece


def _code_labels(labels: Any, spill: Spill, n_rows: int, names: list[str]) -> None:
    coder = LabelCoder(str(labels) if isinstance(labels, str | Path) else "y")
    n_labels = 0
    with spill.writing(CODES) as stream:
        for values in label_pieces(labels):
            n_labels += len(values)
            if n_labels > n_rows:
                break
            stream.write(coder.add(values).data)
        if n_labels != n_rows:
            more = "or more " if n_labels > n_rows else ""
            raise InvalidInputError(
                f"X and y must have the same length: X has {n_rows} rows, y has "
                f"{n_labels} {more}labels"
            )
    _keep_classes(coder, spill, n_rows, names)


def _keep_classes(
    coder: LabelCoder, spill: Spill, n_rows: int, names: list[str]
) -> None:
    classes, place, counts = coder.classes()
    are_objects = classes.dtype.kind == "O"
    spill.keep(
        CLASSES,
        classes=classes.astype(str) if are_objects else classes,
        are_objects=are_objects,
        place=place,
        counts=counts,
        n_rows=n_rows,
        names=np.array(names, dtype=str),
    )
