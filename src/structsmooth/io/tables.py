"""Tables of named columns: csv, tsv, parquet.

Errors name the file, and the line or row and column in it.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.errors import FileFormatError

CSV_ROWS = 20_000
PARQUET_ROWS = 65_536


@dataclass(frozen=True)
class Dataset:
    """Features and labels as read from a file.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Features, each row flattened.
    y : ndarray of shape (n,) or None
        Labels, if there are any.
    feature_names : list of str or None
        Column names of a table.
    is_table : bool
        Whether it came from a table, whose columns may have different units.
    sample_shape : tuple of int or None
        Shape of a sample before it was flattened, if that was more than a row.
    """

    X: NDArray[Any]
    y: NDArray[Any] | None
    feature_names: list[str] | None = None
    is_table: bool = False
    sample_shape: tuple[int, ...] | None = None

    @property
    def labels(self) -> NDArray[Any]:
        """The labels of a data set that must have them."""
        if self.y is None:
            raise FileFormatError("the data have no labels")
        return self.y


class Wish(NamedTuple):
    """Which columns of a table the user wants, and how."""

    label: str | None
    drop: tuple[str, ...]
    features: Sequence[str] | None
    text_labels: bool


class Piece(NamedTuple):
    """Some rows of a table: features, labels as they stand, names of the features."""

    X: NDArray[np.float64]
    y: Any
    feature_names: list[str]


def read_csv(path: Path, wish: Wish, header: bool | None) -> Dataset:
    """Read a text table, compressed or not."""
    pieces = list(csv_pieces(path, wish, header))
    y = None
    if wish.label is not None:
        cells = [cell for piece in pieces for cell in piece.y]
        y = labels_from_text(cells, path, wish.text_labels)
    X = np.concatenate([piece.X for piece in pieces])
    return Dataset(X, y, pieces[0].feature_names, True)


def csv_pieces(path: Path, wish: Wish, header: bool | None) -> Iterator[Piece]:
    """Read a text table some rows at a time, its labels as text."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
            yield from _parse_csv(stream, path, wish, header)
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not a text file in UTF-8") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise FileFormatError(f"{path} is damaged or not a gzip file") from None
    except csv.Error as error:
        raise FileFormatError(f"{path} is not a csv file: {error}") from None


def _parse_csv(
    stream: Any, path: Path, wish: Wish, header: bool | None
) -> Iterator[Piece]:
    lines = _Numbered(stream)
    reader = csv.reader(lines, delimiter=_delimiter(lines), strict=True)
    first = next((row for row in reader if any(cell.strip() for cell in row)), None)
    if first is None:
        raise FileFormatError(f"{path} is empty, expected a header and rows")
    if header is None:
        header = not all(_is_number(cell) for cell in first)
    names = (
        [c.strip() for c in first] if header else [str(i) for i in range(len(first))]
    )
    columns, label_column = _choose_columns(names, wish, path)
    chosen = [names[column] for column in columns]
    chunk: list[list[str]] = [] if header else [first]
    first_of_chunk = 0

    def convert() -> Piece:
        cells = None
        if label_column is not None:
            cells = [row[label_column].strip() for row in chunk]
            refuse_missing(cells, path, first_of_chunk)
        return Piece(
            _numbers(chunk, columns, names, path, first_of_chunk), cells, chosen
        )

    for row in reader:
        if not row:
            continue
        if len(row) != len(names):
            raise FileFormatError(
                f"{path}, line {lines.number}: expected {len(names)} "
                f"cells as in the first line, got {len(row)}"
            )
        chunk.append(row)
        if len(chunk) == CSV_ROWS:
            yield convert()
            first_of_chunk += len(chunk)
            chunk = []
    if chunk or first_of_chunk == 0:
        yield convert()


class _Numbered:
    """The lines of a stream, counted, with a look at the first."""

    def __init__(self, stream: Any) -> None:
        self.number = 0
        self._lines = iter(stream)
        self._ahead: list[str] = []

    def look(self) -> str:
        """Return the first line with something in it, without taking it."""
        while not self._ahead or not self._ahead[-1].strip():
            line = next(self._lines, None)
            if line is None:
                return ""
            self._ahead.append(line)
        return self._ahead[-1]

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._ahead.pop(0) if self._ahead else next(self._lines)
        self.number += 1
        return line


def _delimiter(lines: _Numbered) -> str:
    """Return what separates the cells of the first line, outside quotes."""
    outside = "".join(lines.look().split('"')[::2])
    return max(",;\t", key=outside.count)


def _numbers(
    rows: list[list[str]],
    columns: list[int],
    names: list[str],
    path: Path,
    first_row: int,
) -> NDArray[np.float64]:
    cells = [[row[column] for column in columns] for row in rows]
    try:
        return np.array(cells, dtype=np.float64).reshape(len(rows), len(columns))
    except ValueError:
        for i, row in enumerate(cells):
            for column, cell in zip(columns, row, strict=True):
                if not _is_number(cell):
                    raise FileFormatError(
                        f"{path}, row {first_row + i + 1}, column {names[column]!r}: "
                        f"expected a number, got {cell!r} (leave a column out with "
                        "--drop)"
                    ) from None
        raise


def read_parquet(path: Path, wish: Wish) -> Dataset:
    """Read a parquet file."""
    with _parquet_errors(path) as pq:
        table = pq.read_table(path)
    piece = _piece_of_table(table, path, wish)
    return Dataset(piece.X, piece.y, piece.feature_names, True)


def parquet_pieces(path: Path, wish: Wish) -> Iterator[Piece]:
    """Read a parquet file some rows at a time."""
    with _parquet_errors(path) as pq:
        import pyarrow as pa

        source = pq.ParquetFile(path)
        # One batch after the other: reading ahead would hold whole row groups.
        for batch in source.iter_batches(PARQUET_ROWS, use_threads=False):
            if batch.num_rows:
                yield _piece_of_table(pa.Table.from_batches([batch]), path, wish)


@contextlib.contextmanager
def _parquet_errors(path: Path) -> Iterator[Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise FileFormatError(
            "reading parquet needs pyarrow: pip install 'structsmooth[parquet]'"
        ) from None
    try:
        yield pq
    except (pa.ArrowInvalid, pa.ArrowException) as error:
        raise FileFormatError(f"{path} is damaged or not a parquet file") from error


def _piece_of_table(table: Any, path: Path, wish: Wish) -> Piece:
    import pyarrow as pa

    names = [str(name) for name in table.column_names]
    columns, label_column = _choose_columns(names, wish, path)
    features = []
    for column in columns:
        values = table.column(column)
        if not (
            pa.types.is_integer(values.type)
            or pa.types.is_floating(values.type)
            or pa.types.is_boolean(values.type)
        ):
            raise FileFormatError(
                f"{path}, column {names[column]!r}: expected numbers, got "
                f"{values.type} (leave a column out with --drop)"
            )
        if values.null_count:
            raise FileFormatError(
                f"{path}, column {names[column]!r}: {values.null_count} values missing"
            )
        features.append(np.asarray(values.to_numpy(), dtype=np.float64))
    y = None
    if label_column is not None:
        values = table.column(label_column)
        if values.null_count:
            raise FileFormatError(f"{path}, column {wish.label!r}: labels are missing")
        y = np.array(values.to_pylist())
    X = np.column_stack(features)
    return Piece(X, y, [names[column] for column in columns])


def _choose_columns(
    names: list[str], wish: Wish, path: Path
) -> tuple[list[int], int | None]:
    """Return the positions of the features and of the label."""
    label = wish.label
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FileFormatError(f"{path} has two columns named {twice!r}")
    for name in [
        *wish.drop,
        *(wish.features or ()),
        *([] if label is None else [label]),
    ]:
        if name not in names:
            listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            raise FileFormatError(f"{path} has no column {name!r}; it has {listed}")
    if wish.features is not None:
        columns = [names.index(name) for name in wish.features]
    else:
        columns = [i for i, n in enumerate(names) if n != label and n not in wish.drop]
        if "" in (names[i] for i in columns):
            raise FileFormatError(
                f"{path} has a column without a name, perhaps row numbers; leave it "
                "out with --drop ''"
            )
    if not columns:
        raise FileFormatError(f"{path} has no column left for the features")
    return columns, None if label is None else names.index(label)


def labels_from_text(cells: list[str], path: Path, as_text: bool) -> NDArray[Any]:
    """Return whole numbers if all labels are and none would become another's.

    Fractions come back as numbers too: they are no classes, and whoever encodes them
    says so.
    """
    refuse_missing(cells, path)
    distinct = set(cells)
    text = np.array(cells)
    if as_text or not all(_is_number(cell) for cell in distinct):
        return text
    values = {cell: float(cell) for cell in distinct}
    if not all(value.is_integer() for value in values.values()):
        return np.array([values[cell] for cell in cells])
    if any(cell.lstrip("+-").isdigit() for cell in distinct):
        # Written as whole numbers: only as Python writes them, so not 007.
        if any(cell != str(_whole(cell)) for cell in distinct):
            return text
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    is_exact = all(abs(value) < 2**53 for value in values.values())
    if not is_exact or len(set(values.values())) < len(distinct):
        return text
    return np.array([int(values[cell]) for cell in cells], dtype=np.int64)


def refuse_missing(cells: list[str], path: Path, first_row: int = 0) -> None:
    """Refuse text labels that are not there; the first is that of ``first_row``."""
    for row, cell in enumerate(cells, first_row + 1):
        if not cell or cell.lower() == "nan":
            raise FileFormatError(f"{path}: the label of row {row} is missing")


def _whole(cell: str) -> int | None:
    try:
        value = int(cell)
    except ValueError:
        return None
    return value if abs(value) < 2**63 else None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
