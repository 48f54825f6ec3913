"""Read features and labels from npz, npy, csv and parquet files.

Nothing is unpickled. Errors name the file and the place in it.
"""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.errors import FileFormatError

# Pairs of array names an npz may use, tried in this order.
ARRAY_NAMES = (("X", "y"), ("x", "y"), ("x_train", "y_train"), ("X_train", "y_train"))
CSV_ROWS = 20_000
KINDS = "npz, npy, csv, csv.gz, tsv or parquet"


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
    """

    X: NDArray[Any]
    y: NDArray[Any] | None
    feature_names: list[str] | None = None
    is_table: bool = False

    @property
    def labels(self) -> NDArray[Any]:
        """The labels of a data set that must have them."""
        if self.y is None:
            raise FileFormatError("the data have no labels")
        return self.y


def read_dataset(
    path: str | Path,
    *,
    label: str | None = None,
    labels: str | Path | None = None,
    drop: Sequence[str] = (),
    need_labels: bool = True,
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
        A file of their own for the labels: npy, or text with one a line.
    drop : sequence of str
        Columns of a table that are not features.
    need_labels : bool, default=True
        Whether it is an error to have none.

    Returns
    -------
    Dataset
        X and y.
    """
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(
            f"there is no file {path}"
            if not path.exists()
            else f"{path} is a directory, expected a file ({KINDS})"
        )
    name = path.name.lower()
    try:
        if name.endswith(".npz"):
            data = _read_npz(path, label)
        elif name.endswith(".npy"):
            data = Dataset(_as_rows(_read_npy(path), path), None)
        elif name.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
            data = _read_csv(path, label, drop)
        elif name.endswith((".parquet", ".pq")):
            data = _read_parquet(path, label, drop)
        else:
            raise FileFormatError(f"{path} is of an unknown kind, expected {KINDS}")
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error}") from None
    if drop and not data.is_table:
        raise FileFormatError(f"{path} has no columns to drop: it is not a table")
    if labels is not None:
        data = Dataset(
            data.X, _read_labels(Path(labels)), data.feature_names, data.is_table
        )
    if need_labels and data.y is None:
        how = "name the column with --label" if data.is_table else "give --labels FILE"
        raise FileFormatError(f"{path} was read without labels: {how}")
    return data


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
            X = _as_rows(bundle[pair[0]], path)
            y = bundle[label_name] if label_name in names else None
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        NotImplementedError,
    ) as error:
        raise FileFormatError(f"{path} is damaged or not an npz file") from error
    except ValueError as error:
        if isinstance(error, FileFormatError):
            raise
        raise _npy_error(path, error) from None
    return Dataset(X, y)


def _read_npy(path: Path) -> NDArray[Any]:
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


def _as_rows(X: NDArray[Any], path: Path) -> NDArray[Any]:
    """Return one row a sample, small integers as float32, which holds them exactly."""
    if X.ndim < 2:
        raise FileFormatError(
            f"{path} must hold a table of features, got an array of shape {X.shape}"
        )
    if X.dtype.kind == "b" or (X.dtype.kind in "iuf" and X.dtype.itemsize <= 2):
        X = X.astype(np.float32)
    return X.reshape(len(X), -1)


def _read_labels(path: Path) -> NDArray[Any]:
    if not path.is_file():
        raise FileFormatError(f"there is no file {path}")
    if path.suffix.lower() == ".npy":
        return np.asarray(_read_npy(path))
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not a text file of labels") from None
    return _as_labels([line.strip() for line in lines if line.strip()], path)


def _read_csv(path: Path, label: str | None, drop: Sequence[str]) -> Dataset:
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
            return _parse_csv(stream, path, label, drop)
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not a text file in UTF-8") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise FileFormatError(f"{path} is damaged or not a gzip file") from None
    except csv.Error as error:
        raise FileFormatError(f"{path} is not a csv file: {error}") from None


def _parse_csv(
    stream: Any, path: Path, label: str | None, drop: Sequence[str]
) -> Dataset:
    first_line = stream.readline()
    delimiter = max(",;\t", key=first_line.count)
    first = next(csv.reader([first_line], delimiter=delimiter), [])
    if not any(cell.strip() for cell in first):
        raise FileFormatError(f"{path} is empty, expected a header and rows")
    has_header = not all(_is_number(cell) for cell in first)
    names = (
        [c.strip() for c in first] if has_header else list(map(str, range(len(first))))
    )
    columns, label_column = _choose_columns(names, label, drop, path)
    source = stream if has_header else _chain(first_line, stream)
    parts: list[NDArray[np.float64]] = []
    label_cells: list[str] = []
    chunk: list[list[str]] = []
    reader = csv.reader(source, delimiter=delimiter)
    offset = 1 if has_header else 0
    first_of_chunk = 0

    def convert() -> None:
        parts.append(_numbers(chunk, columns, names, path, first_of_chunk))
        if label_column is not None:
            label_cells.extend(row[label_column].strip() for row in chunk)

    for row in reader:
        if not row:
            continue
        if len(row) != len(names):
            raise FileFormatError(
                f"{path}, line {reader.line_num + offset}: expected {len(names)} "
                f"cells as in the first line, got {len(row)}"
            )
        chunk.append(row)
        if len(chunk) == CSV_ROWS:
            convert()
            first_of_chunk += len(chunk)
            chunk = []
    if chunk or not parts:
        convert()
    y = None if label_column is None else _as_labels(label_cells, path)
    return Dataset(np.concatenate(parts), y, [names[c] for c in columns], True)


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


def _read_parquet(path: Path, label: str | None, drop: Sequence[str]) -> Dataset:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise FileFormatError(
            "reading parquet needs pyarrow: pip install 'structsmooth[parquet]'"
        ) from None
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, pa.ArrowException) as error:
        raise FileFormatError(f"{path} is damaged or not a parquet file") from error
    names = [str(name) for name in table.column_names]
    columns, label_column = _choose_columns(names, label, drop, path)
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
            raise FileFormatError(f"{path}, column {label!r}: labels are missing")
        y = np.array(values.to_pylist())
    X = np.column_stack(features)
    return Dataset(X, y, [names[column] for column in columns], True)


def _choose_columns(
    names: list[str], label: str | None, drop: Sequence[str], path: Path
) -> tuple[list[int], int | None]:
    """Return the positions of the features and of the label."""
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FileFormatError(f"{path} has two columns named {twice!r}")
    for name in [*drop, *([] if label is None else [label])]:
        if name not in names:
            listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            raise FileFormatError(f"{path} has no column {name!r}; it has {listed}")
    columns = [i for i, n in enumerate(names) if n != label and n not in drop]
    if not columns:
        raise FileFormatError(f"{path} has no column left for the features")
    return columns, None if label is None else names.index(label)


def _as_labels(cells: list[str], path: Path) -> NDArray[Any]:
    """Return whole numbers if all labels are, else text."""
    if not all(cells):
        raise FileFormatError(
            f"{path}: the label of row {cells.index('') + 1} is empty"
        )
    try:
        numbers = np.array(cells, dtype=np.float64)
    except ValueError:
        return np.array(cells)
    if np.isfinite(numbers).all() and np.array_equal(numbers, np.trunc(numbers)):
        return numbers.astype(np.int64)
    return np.array(cells)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _chain(first_line: str, stream: Any) -> Any:
    yield from io.StringIO(first_line)
    yield from stream
