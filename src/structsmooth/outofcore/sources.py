"""Rows and labels that can be read in pieces, in any order, as often as needed."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.errors import FileFormatError, InvalidInputError
from structsmooth.io.paths import check_is_file
from structsmooth.io.readers import as_rows, read_npy
from structsmooth.io.tables import (
    Piece,
    TableOptions,
    csv_pieces,
    labels_from_text,
    parquet_pieces,
    refuse_missing,
)
from structsmooth.outofcore.request import PARQUET, Request, files_of
from structsmooth.outofcore.spill import Spill
from structsmooth.support.validation import check_features, encode_labels

# In the spill directory: the rows of a table as numbers, the labels numbered in the
# order in which they appear, and what these numbers mean.
ROWS, CODES, CLASSES = "rows.bin", "codes.bin", "classes.npz"
# Labels that are read at a time.
LABEL_ROWS = 2**18
# More labels than this are identifiers, and would fill the memory.
MOST_CLASSES = 1_000_000


class ArraySource:
    """The rows of a npy file, an array or a memory map.

    A file is opened anew for each piece, so that no more of it is ever resident.
    """

    def __init__(self, data: Any) -> None:
        self._path: Path | None = None
        self._array: Any = None
        if isinstance(data, str | Path):
            self._path = Path(data)
        else:
            self._array = data if hasattr(data, "shape") else np.asarray(data)
        first = self.read(0, 1)
        self.n_rows, self.n_features = len(self._open()), first.shape[1]
        self.dtype = first.dtype

    def _open(self) -> Any:
        return (
            self._array if self._path is None else np.atleast_1d(read_npy(self._path))
        )

    def _copy(self, start: int, stop: int) -> NDArray[Any]:
        whole = self._open()
        part = whole[start:stop]
        if self._path is None or not whole.flags.c_contiguous:
            return np.array(part)
        # Reading is several times as fast as copying from a memory map.
        offset = whole.offset + start * whole.strides[0]
        values = np.fromfile(self._path, part.dtype, part.size, offset=offset)
        return values.reshape(part.shape)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return some rows as float32 or float64, converted as for a fit in memory."""
        rows = self._copy(start, stop)
        if self._path is not None:
            rows = as_rows(rows, self._path)
        if rows.ndim != 2 or rows.dtype.kind not in "biuf":
            rows = check_features(rows, first_row=start)
        return rows if rows.dtype in (np.float32, np.float64) else rows.astype(float)


class TableSource:
    """The rows of a table, after they were copied into the spill directory."""

    dtype: np.dtype[Any] = np.dtype(np.float64)

    def __init__(self, spill: Spill, n_rows: int, n_features: int) -> None:
        self._spill = spill
        self.n_rows, self.n_features = n_rows, n_features

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return some rows."""
        return self._spill.read(ROWS, self.dtype, start, stop, self.n_features)


Source = ArraySource | TableSource


class Labels:
    """The class number of each row, and which labels the numbers stand for."""

    def __init__(self, spill: Spill, kept: dict[str, NDArray[Any]]) -> None:
        self._spill, self._place = spill, kept["place"].astype(np.int64)
        self.classes, self.counts = kept["classes"], kept["counts"]
        if bool(kept["are_objects"]):
            self.classes = self.classes.astype(object)
        self.n_rows = int(self.counts.sum())
        self.feature_names: list[str] | None = None
        if "names" in kept:
            self.feature_names = kept["names"].tolist()

    def read(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the class numbers of some rows."""
        return np.asarray(self._place[self._spill.read(CODES, np.int32, start, stop)])


def open_data(request: Request, spill: Spill) -> tuple[Source, Labels]:
    """Return rows and labels; a table is copied, because parsing text is slow."""
    if request.is_table:
        kept = spill.once(CLASSES, lambda: _copy_table(request, spill))
        labels = Labels(spill, kept)
        return TableSource(spill, labels.n_rows, len(kept["names"])), labels
    source = ArraySource(request.data)
    kept = spill.once(
        CLASSES, lambda: _number_labels(request.labels, spill, source.n_rows)
    )
    return source, Labels(spill, kept)


def _copy_table(request: Request, spill: Spill) -> dict[str, Any]:
    """Copy the rows and labels of a table, and return what to keep."""
    numbering = _LabelNumbering(request.name)
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
                codes.write(numbering.add(piece.y).data)
            n_rows += len(piece.X)
    if n_rows == 0:
        raise FileFormatError(f"{request.path} has no rows")
    if request.label is None:
        found = _number_labels(request.labels, spill, n_rows)
    else:
        found = numbering.classes()
    return found | {"names": np.array(names, dtype=str)}


def _table_pieces(request: Request) -> Iterator[Piece]:
    """Read the rows of all files; the first one decides which columns are features."""
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


def _number_labels(labels: Any, spill: Spill, n_rows: int) -> dict[str, Any]:
    """Assign numbers to labels outside a table, and return what to keep."""
    numbering = _LabelNumbering(str(labels) if isinstance(labels, str | Path) else "y")
    n_labels = 0
    with spill.writing(CODES) as stream:
        for values in _label_pieces(labels):
            n_labels += len(values)
            if n_labels > n_rows:
                break
            stream.write(numbering.add(values).data)
        if n_labels != n_rows:
            more = "or more " if n_labels > n_rows else ""
            raise InvalidInputError(
                f"X and y must have the same length: X has {n_rows} rows, y has "
                f"{n_labels} {more}labels"
            )
    return numbering.classes()


def _label_pieces(labels: Any) -> Iterator[Any]:
    """Give the labels of an array, a npy file or a text file, some at a time."""
    if not isinstance(labels, str | Path):
        if getattr(labels, "dtype", None) is None or not hasattr(labels, "ndim"):
            labels = np.asarray(labels)
        for start in range(0, len(labels), LABEL_ROWS):
            yield labels[start : start + LABEL_ROWS]
        return
    path = Path(labels)
    check_is_file(path)
    if path.suffix.lower() == ".npy":
        yield from _label_pieces(read_npy(path))
        return
    n_before = 0
    try:
        with path.open(encoding="utf-8-sig") as stream:
            lines = (line.strip() for line in stream if line.strip())
            while cells := list(itertools.islice(lines, LABEL_ROWS)):
                refuse_missing(cells, path, n_before)
                yield cells
                n_before += len(cells)
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not a text file of labels") from None


class _LabelNumbering:
    """Numbers for labels, in the order in which they appear in the source ``name``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._numbers: dict[Any, int] = {}
        self._parts: list[NDArray[Any]] = []
        self._counts = np.zeros(0, dtype=np.int64)
        self._is_text = False

    def add(self, values: Any) -> NDArray[np.int32]:
        """Return numbers for labels, given as an array or, from text, as a list."""
        if isinstance(values, list):
            self._is_text = True
            distinct, coded = np.unique(np.array(values), return_inverse=True)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a short piece may repeat no label
                distinct, coded = encode_labels(values, None)
        numbers = self._numbers
        is_new = [label not in numbers for label in distinct.tolist()]
        if any(is_new):
            self._parts.append(distinct[is_new])
        codes = [numbers.setdefault(label, len(numbers)) for label in distinct.tolist()]
        if len(numbers) > MOST_CLASSES:
            raise InvalidInputError(
                f"y has more than {MOST_CLASSES} different labels; expected classes "
                "that repeat (is it an identifier or a regression target?)"
            )
        numbered = np.array(codes, dtype=np.int32)[coded]
        counts = np.bincount(numbered, minlength=len(numbers))
        counts[: len(self._counts)] += self._counts
        self._counts = counts
        return numbered

    def classes(self) -> dict[str, Any]:
        """Return the sorted labels, the place of each number in them, and counts."""
        if len({part.dtype.kind in "UO" for part in self._parts}) > 1:
            raise FileFormatError(
                f"{self._name}: the labels are text in one place and numbers in another"
            )
        labels = np.concatenate(self._parts)
        if self._is_text:
            labels = labels_from_text(labels.tolist(), Path(self._name), False)
        # Labels that were read as text may turn out to be numbers only now.
        classes, place = encode_labels(labels, None)
        are_objects = classes.dtype.kind == "O"
        return {
            "classes": classes.astype(str) if are_objects else classes,
            "are_objects": are_objects,
            "place": place.astype(np.int32),
            "counts": np.bincount(place, self._counts).astype(np.int64),
        }
