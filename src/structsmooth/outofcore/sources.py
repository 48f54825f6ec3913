"""The data of a fit, as rows and labels that are read in pieces."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from structsmooth.encode.fitting import fit_encoding
from structsmooth.encode.table import Table
from structsmooth.errors import FileFormatError, InvalidInputError
from structsmooth.io import readers, tables
from structsmooth.io.codec import (
    encoding_from_arrays,
    encoding_to_arrays,
    texts_from_array,
    texts_to_array,
)
from structsmooth.io.readers import read_npy
from structsmooth.outofcore.plan import Plan, Request, files_of
from structsmooth.outofcore.spill import Spill
from structsmooth.reduce.reduction import LinearReduction
from structsmooth.support.parallel import side_by_side
from structsmooth.support.validation import check_features, encode_labels

# In the spill directory: the rows of a table as numbers, the labels numbered in the
# order in which they appear, and what these numbers mean.
ROWS, CODES, CLASSES = "rows.bin", "codes.bin", "classes.npz"
# Rows and class numbers sorted by region.
SORTED_ROWS, SORTED_CODES = "sorted_rows.bin", "sorted_codes.bin"
ENCODING = "encoding.npz"  # how the columns of a table become features
# Rows of a table that are read at a time to fit its encoding.
TABLE_ROWS = 65_536
# More labels than this are identifiers, and would fill the memory.
MOST_CLASSES = 1_000_000

Result = TypeVar("Result")


class ArraySource:
    """The rows of a npy file, an array or a memory map.

    A file is opened anew for each piece, so that no more of it is ever resident.
    """

    def __init__(self, data: Any) -> None:
        self._path = Path(data) if isinstance(data, str | Path) else None
        self._array = data if hasattr(data, "shape") else np.asarray(data)
        first = self.read(0, 1)
        self.n_rows, self.n_features = len(self._open()), first.shape[1]
        self.dtype = first.dtype
        self.sample_shape = tuple(self._open().shape[1:])

    def _open(self) -> Any:
        path = self._path
        return self._array if path is None else np.atleast_1d(read_npy(path))

    def samples(self) -> Any:
        """Return all samples, in the shape that they have in the data."""
        return self._open()

    def _copy(self, start: int, stop: int) -> NDArray[Any]:
        whole = self._open()
        part = whole[start:stop]
        if self._path is None or not whole.flags.c_contiguous:
            return np.array(part, order="C")
        # Reading is several times as fast as copying from a memory map.
        offset = whole.offset + start * whole.strides[0]
        values = np.fromfile(self._path, part.dtype, part.size, offset=offset)
        return values.reshape(part.shape)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return some rows as float32 or float64, converted as for a fit in memory."""
        rows = self._copy(start, stop)
        if self._path is not None:
            rows = readers.as_rows(rows, self._path)
        if rows.ndim != 2 or rows.dtype.kind not in "bf":
            rows = check_features(rows, first_row=start)
        return rows if rows.dtype in (np.float32, np.float64) else rows.astype(float)


class TableSource:
    """The features of a table that was copied into the spill directory.

    Parameters
    ----------
    spill : Spill
        Where the rows are.
    table : Table
        The columns, without rows.
    n_rows : int
        How many rows there are.
    copy : callable
        Copies the rows again, if they are gone and needed.
    """

    dtype: np.dtype[Any] = np.dtype(np.float64)

    def __init__(
        self, spill: Spill, table: Table, n_rows: int, copy: Callable[[], Any]
    ) -> None:
        self._spill, self._table, self.n_rows = spill, table, n_rows
        self._copy, self._copying = copy, threading.Lock()
        kept = spill.once(
            ENCODING,
            lambda: encoding_to_arrays(fit_encoding(table, blocks=self._blocks)),
        )
        self.encoding = encoding_from_arrays(kept)
        self.n_features = self.encoding.n_features

    def values(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return some rows as they are in the table."""
        with self._copying:  # threads read side by side
            if not self._spill.has(ROWS):
                self._copy()
        return self._spill.read(ROWS, self.dtype, start, stop, len(self._table.names))

    def table_of(self, values: NDArray[np.float64]) -> Table:
        """Return the table with these rows."""
        return replace(self._table, values=values)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the features of some rows."""
        return self.encoding.transform(self.table_of(self.values(start, stop)))

    def _blocks(self) -> Iterator[NDArray[np.float64]]:
        for start in range(0, self.n_rows, TABLE_ROWS):
            yield self.values(start, min(start + TABLE_ROWS, self.n_rows))


Source = ArraySource | TableSource


class Labels:
    """The class number of each row, and which labels the numbers stand for."""

    def __init__(self, spill: Spill, kept: dict[str, NDArray[Any]]) -> None:
        self._spill, self._place = spill, kept["place"].astype(np.int64)
        self.classes, self.counts = kept["classes"], kept["counts"]
        if bool(kept["are_objects"]):
            self.classes = self.classes.astype(object)
        self.n_rows = int(self.counts.sum())

    def read(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the class numbers of some rows."""
        return np.asarray(self._place[self._spill.read(CODES, np.int32, start, stop)])


class Rows:
    """The rows of a source, as they are or reduced, in blocks that threads work on."""

    def __init__(self, source: Source, plan: Plan, n_jobs: int) -> None:
        self._source, self.plan = source, plan
        self._n_jobs = plan.blocks_at_once(n_jobs, source.n_features)
        self.reduction = LinearReduction()
        self.n_rows = source.n_rows
        self.n_pieces = -(-self.n_rows // plan.piece_rows)
        self.n_blocks = -(-self.n_rows // plan.block_rows)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the reduced features: that of rows that are left as they are."""
        changed = self.reduction.changes_values
        return np.dtype(np.float64) if changed else self._source.dtype

    @property
    def width(self) -> int:
        """Number of features after the reduction."""
        components = self.reduction.components
        return self._source.n_features if components is None else len(components)

    def raw(
        self, work: Callable[[NDArray[Any]], Result], *, check: bool = False
    ) -> Iterator[Result]:
        """Work on rows as they are; ``check`` refuses what is not finite."""

        def read_and_work(first: int) -> Result:
            rows = self._read(first, self.plan.block_rows)
            return work(check_features(rows, first_row=first) if check else rows)

        starts = range(0, self.n_rows, self.plan.block_rows)
        return side_by_side(
            read_and_work, starts, self._n_jobs, share_memory=True, ahead=2
        )

    def reduced(self, work: Callable[[NDArray[Any]], Result]) -> Iterator[Result]:
        """Work on reduced rows."""
        return self.raw(lambda rows: work(self.reduction.transform(rows)))

    def reduced_pieces(
        self, work: Callable[[int, NDArray[Any]], Result]
    ) -> Iterator[Result]:
        """Work on pieces of reduced rows, with the number of the first row."""

        def read_and_work(first: int) -> Result:
            piece = self._read(first, self.plan.piece_rows)
            return work(first, self.reduction.transform(piece))

        # A plan allows for three pieces: two are worked on while one is written.
        starts = range(0, self.n_rows, self.plan.piece_rows)
        n_jobs = min(2, self._n_jobs)
        return side_by_side(read_and_work, starts, n_jobs, share_memory=True, ahead=1)

    def _read(self, first: int, count: int) -> NDArray[Any]:
        return self._source.read(first, min(first + count, self.n_rows))


def open_data(request: Request, spill: Spill) -> tuple[Source, Labels]:
    """Return rows and labels; a table is copied, because parsing text is slow."""
    if request.is_table:
        copy = partial(_copy_table, request, spill)
        kept = spill.once(CLASSES, copy, CODES)
        labels = Labels(spill, kept)
        return TableSource(spill, _table_of(kept), labels.n_rows, copy), labels
    source = ArraySource(request.data)
    kept = spill.once(
        CLASSES, lambda: _number_labels(request.labels, spill, source.n_rows), CODES
    )
    return source, Labels(spill, kept)


def _copy_table(request: Request, spill: Spill) -> dict[str, Any]:
    """Copy the rows and labels of a table, and return what to keep."""
    options = tables.TableOptions(
        request.label, request.drop, request.header, request.labels is not None
    )
    path = Path(request.data)
    with spill.writing(ROWS) as rows, spill.writing(CODES) as codes:
        numbering = _LabelNumbering(request.name)

        def start() -> None:
            nonlocal numbering
            numbering = _LabelNumbering(request.name)
            for stream in (rows, codes):
                stream.seek(0)
                stream.truncate()

        def keep(values: NDArray[np.float64], labels: Any) -> None:
            rows.write(np.ascontiguousarray(values).data)
            if request.label is not None:
                codes.write(numbering.add(labels).data)

        reader = tables.read_pieces(
            path, lambda: _table_pieces(path, options), options, start, keep
        )
    if request.label is None:
        found = _number_labels(request.labels, spill, reader.n_rows)
    else:
        found = numbering.classes()
    table = reader.table(np.empty((0, len(reader.names))))
    return found | {
        "names": texts_to_array(table.names),
        "kinds": np.array(table.kinds, dtype=str),
        "levels": texts_to_array([text for some in table.levels for text in some]),
        "n_levels": np.array([len(some) for some in table.levels]),
    }


def _table_of(kept: dict[str, NDArray[Any]]) -> Table:
    """Return the columns of a table, without rows."""
    names, levels = (texts_from_array(kept[key]) for key in ("names", "levels"))
    rest = iter(levels)
    return Table(
        tuple(names),
        tuple(kept["kinds"].tolist()),
        tuple(tuple(islice(rest, number)) for number in kept["n_levels"].tolist()),
        np.empty((0, len(names))),
    )


def _table_pieces(path: Path, options: tables.TableOptions) -> Iterator[tables.Piece]:
    """Read the rows of all files; the first one decides which columns are features."""
    for file in files_of(path):
        for piece in tables.table_pieces(file, options):
            options = options._replace(features=piece.names)
            yield piece


def _number_labels(labels: Any, spill: Spill, n_rows: int) -> dict[str, Any]:
    """Assign numbers to labels outside a table, and return what to keep."""
    numbering = _LabelNumbering(str(labels) if isinstance(labels, str | Path) else "y")
    n_labels = 0
    with spill.writing(CODES) as stream:
        for values in _label_pieces(labels):
            n_labels += len(values)
            stream.write(numbering.add(values).data)
        if n_labels != n_rows:
            raise InvalidInputError(
                f"X and y must have the same length: X has {n_rows} rows, y has "
                f"{n_labels} labels"
            )
    return numbering.classes()


def _label_pieces(labels: Any) -> Iterator[Any]:
    """Give the labels of an array, a npy file or a text file, some at a time."""
    if isinstance(labels, str | Path):
        path = Path(labels)
        if path.suffix.lower() != ".npy":
            yield from readers.text_labels_of(path)
            return
        labels = read_npy(path)
    elif getattr(labels, "dtype", None) is None or not hasattr(labels, "ndim"):
        labels = np.asarray(labels)
    for start in range(0, len(labels), readers.LABEL_ROWS):
        yield labels[start : start + readers.LABEL_ROWS]


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
            values = np.array(values)
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
            labels = tables.labels_from_text(labels.tolist())
        # Labels that were read as text may turn out to be numbers only now.
        classes, place = encode_labels(labels, None)
        are_objects = classes.dtype.kind == "O"
        return {
            "classes": classes.astype(str) if are_objects else classes,
            "are_objects": are_objects,
            "place": place.astype(np.int32),
            "counts": np.bincount(place, self._counts).astype(np.int64),
        }
