"""Tables of named columns: csv, tsv, parquet."""

from __future__ import annotations

import csv
import gzip
import itertools
import re
import shlex
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsmooth.encode.table import TableReader, unusable_columns
from structsmooth.errors import (
    FileFormatError,
    FileOptionError,
    LeftOutColumnsWarning,
    missing_package,
)
from structsmooth.io.atomic import reading

TEXT_TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq")
CSV_ROWS, CSV_CELLS = 20_000, 2_000_000
# Longer lines, in characters, are not read: they may be all of a small file's memory.
LONGEST_LINE = 2**26
PARQUET_ROWS = 65_536
# What stands for a missing label; "none" and "?" may well be classes.
MISSING_LABELS = frozenset(("", "nan", "na", "n/a", "#n/a", "null", "<na>"))
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


@dataclass(frozen=True)
class Dataset:
    """Features and labels as read from a file.

    X is a `Table`, or an array with one flattened row for each sample; then
    ``sample_shape`` is the shape before, if it had several dimensions.
    """

    X: Any
    y: Any
    sample_shape: tuple[int, ...] | None = None


class TableOptions(NamedTuple):
    """Which columns of a table to read, and how; see `read_dataset`."""

    label: str | None
    drop: tuple[str, ...] = ()
    header: bool | None = None
    separate_labels: bool = False
    features: Sequence[str] | None = None
    text_features: Collection[str] = ()
    text_labels: bool = False


class Piece(NamedTuple):
    """Some rows of a table, by columns; labels of a text table are a list of text."""

    names: list[str]
    columns: list[Any]
    labels: Any
    n_rows: int


def read_table(path: Path, options: TableOptions) -> Dataset:
    """Read a text table, compressed or not, or a parquet file."""
    rows: list[NDArray[np.float64]] = []
    labels: list[Any] = []

    def keep(values: NDArray[np.float64], some: Any) -> None:
        rows.append(values)
        labels.append(some)

    def start() -> None:
        rows.clear()
        labels.clear()

    pieces = partial(table_pieces, path, options)
    reader = read_pieces(path, pieces, options, start, keep)
    y = None
    if options.label is not None and isinstance(labels[0], list):
        cells = [cell for some in labels for cell in some]
        y = labels_from_text(cells, options.text_labels)
    elif options.label is not None:
        y = np.concatenate(labels)
    return Dataset(reader.table(np.concatenate(rows)), y)


def read_pieces(
    path: Path,
    pieces: Callable[[], Iterator[Piece]],
    options: TableOptions,
    start: Callable[[], None],
    keep: Callable[[NDArray[np.float64], Any], None],
) -> TableReader:
    """Read all pieces, and give the rows and labels of each to ``keep``.

    If text appears late in a column that looked like numbers, all is read once more,
    and ``start`` is called again.
    """

    def read(text: Collection[str]) -> TableReader:
        start()
        reader = None
        for piece in pieces():
            reader = reader or TableReader(piece.names, text)
            if piece.n_rows:
                keep(reader.add(piece.columns), piece.labels)
        if reader is None or not reader.n_rows:
            raise FileFormatError(f"{path} has no rows")
        return reader

    reader = read(options.text_features)
    if reader.mistaken:
        reader = read({*options.text_features, *reader.mistaken})
    if reader.faults:
        names = ",".join(reader.faults)
        remedy = f"leave out with --drop {shlex.quote(names)}"
        raise FileFormatError(unusable_columns(str(path), reader.faults, remedy))
    return reader


def table_pieces(path: Path, options: TableOptions) -> Iterator[Piece]:
    """Read a table some rows at a time."""
    is_parquet = path.name.lower().endswith(PARQUET)
    return _parquet_pieces(path, options) if is_parquet else _csv_pieces(path, options)


def _csv_pieces(path: Path, options: TableOptions) -> Iterator[Piece]:
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with reading(path), opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
        try:
            yield from _parse_csv(stream, path, options)
        except UnicodeDecodeError:
            raise FileFormatError(f"{path} is not a text file in UTF-8") from None
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise FileFormatError(f"{path} is damaged or not a gzip file") from None
        except csv.Error as error:
            raise FileFormatError(f"{path} is not a csv file: {error}") from None


def lines_of(stream: Any, path: Path) -> Iterator[str]:
    """Give the lines of a text file, unless one would fill the memory."""
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise FileFormatError(
                f"{path} has a line of more than {LONGEST_LINE} characters"
            )
        yield line


def _parse_csv(stream: Any, path: Path, options: TableOptions) -> Iterator[Piece]:
    every_line = lines_of(stream, path)
    lines = [next(every_line, "")]
    while lines[-1].isspace():
        lines.append(next(every_line, ""))
    # The first line that is not blank shows, outside quotes, what separates the cells.
    unquoted = "".join(lines[-1].split('"')[::2])
    delimiter = max(",;\t", key=unquoted.count)
    if path.name.lower().endswith((".tsv", ".tsv.gz")) and "\t" in unquoted:
        delimiter = "\t"
    lines_again = itertools.chain(lines, every_line)
    reader = csv.reader(lines_again, delimiter=delimiter, strict=True)
    first = next((row for row in reader if any(cell.strip() for cell in row)), None)
    if first is None:
        raise FileFormatError(f"{path} is empty, expected a header and rows")
    has_header = options.header
    if has_header is None:
        has_header = not all(_is_number(cell) for cell in first)
    names = [c.strip() if has_header else str(i) for i, c in enumerate(first)]
    names = [name or f"Unnamed: {i}" for i, name in enumerate(names)]  # as in pandas
    columns, label_column = _choose_columns(names, options, path)
    chosen = [names[column] for column in columns]
    rows: list[list[str]] = [] if has_header else [first]
    n_before = 0

    def convert() -> Piece:
        by_column: list[Any] = list(zip(*rows, strict=True)) or [()] * len(names)
        labels = None
        if label_column is not None:
            labels = [cell.strip() for cell in by_column[label_column]]
            refuse_missing(labels, path, n_before)
        cells = [list(by_column[column]) for column in columns]
        return Piece(chosen, cells, labels, len(rows))

    for row in reader:
        if not row:
            continue
        if len(row) != len(names):
            raise FileFormatError(
                f"{path}, line {reader.line_num}: expected {len(names)} "
                f"cells as in the first line, got {len(row)}"
            )
        rows.append(row)
        if len(rows) == CSV_ROWS or len(rows) * len(names) >= CSV_CELLS:
            yield convert()
            n_before += len(rows)
            rows = []
    if rows or n_before == 0:
        yield convert()


def _parquet_pieces(path: Path, options: TableOptions) -> Iterator[Piece]:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise missing_package("pyarrow", "reading parquet") from error
    with reading(path, "is damaged or not a parquet file"):
        # One batch after the other: reading ahead would hold whole row groups.
        file = pq.ParquetFile(path)
        index = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        index = [name for name in index if isinstance(name, str)]
        for batch in file.iter_batches(PARQUET_ROWS, use_threads=False):
            names = [str(name) for name in batch.schema.names]
            if options.features is None:
                options = _without_index(options, index, names)
            columns, label_column = _choose_columns(names, options, path)
            labels = None
            if label_column is not None:
                values = batch.column(label_column)
                if values.null_count:
                    raise FileFormatError(
                        f"{path}, column {options.label!r}: labels are missing"
                    )
                labels = np.array(values.to_pylist())
            chosen = [names[column] for column in columns]
            cells = [batch.column(column) for column in columns]
            yield Piece(chosen, cells, labels, batch.num_rows)


def _without_index(
    options: TableOptions, index: list[str], names: list[str]
) -> TableOptions:
    """Leave out the row labels that pandas writes beside its columns, with a note."""
    named = [name for name in index if name in names and name != options.label]
    named = [name for name in named if name not in options.drop]
    if not named:
        return options
    listed = ", ".join(map(repr, named))
    warnings.warn(
        f"the index that pandas has written ({listed}) is not a feature",
        LeftOutColumnsWarning,
        stacklevel=2,
    )
    return options._replace(drop=(*options.drop, *named))


def _choose_columns(
    names: list[str], options: TableOptions, path: Path
) -> tuple[list[int], int | None]:
    """Return the positions of the features and of the label."""
    label, features = options.label, options.features
    listed = ", ".join(names[:50]) + (", ..." if len(names) > 50 else "")
    if label is None and not options.separate_labels:
        raise FileOptionError(
            f"{path} was read without labels: name the column with --label; it has "
            f"{listed}"
        )
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FileFormatError(f"{path} has two columns named {twice!r}")
    # Several columns can be given as one text, unless one column is named like that.
    drop = [
        column
        for text in options.drop
        for column in ([text] if text in names else map(str.strip, text.split(",")))
    ]
    for name in (*drop, *(features or ()), *(() if label is None else (label,))):
        if name not in names:
            kind = FileFormatError if name in (features or ()) else FileOptionError
            raise kind(f"{path} has no column {name!r}; it has {listed}")
    if features is not None:
        columns = [names.index(name) for name in features]
    else:
        columns = [i for i, n in enumerate(names) if n != label and n not in drop]
    if not columns:
        raise FileFormatError(f"{path} has no column left for the features")
    return columns, None if label is None else names.index(label)


def labels_from_text(cells: list[str], as_text: bool = False) -> NDArray[Any]:
    """Return integers if all labels are, and different labels stay different.

    Fractions become numbers too: they are not classes, and are refused when the labels
    are encoded. Everything else stays text.
    """
    distinct = set(cells)
    text = np.array(cells)
    if as_text or not all(_is_number(cell) for cell in distinct):
        return text
    values = {cell: float(cell) for cell in distinct}
    if not all(value.is_integer() for value in values.values()):
        return np.array([values[cell] for cell in cells])
    if any(cell.lstrip("+-").isdigit() for cell in distinct):
        # Written as integers: only as Python writes them, so not 007.
        if not all(_INTEGER.fullmatch(c) and abs(int(c)) < 2**63 for c in distinct):
            return text
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    is_exact = all(abs(value) < 2**53 for value in values.values())
    if not is_exact or len(set(values.values())) < len(distinct):
        return text
    return np.array([int(values[cell]) for cell in cells], dtype=np.int64)


def refuse_missing(cells: list[str], path: Path, n_before: int = 0) -> None:
    """Refuse missing labels; ``n_before`` is the number of labels before these."""
    for row, cell in enumerate(cells, n_before + 1):
        if cell.lower() in MISSING_LABELS:
            found = f" ({cell})" if cell else ""
            raise FileFormatError(f"{path}: the label of row {row} is missing{found}")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
