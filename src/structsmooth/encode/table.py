"""Tables: columns with names, whatever library or file they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.encode.cells import (
    CATEGORY,
    DATE,
    EMPTY,
    NUMBER,
    Cells,
    UnusableColumnError,
    read_cells,
)
from structsmooth.errors import InvalidInputError

# Of more levels in a column, those that come later are one level: none is frequent.
MOST_LEVELS = 100_000
LATER_LEVELS = "…"
MISSING_TEXT = "missing"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of numbers, dates and categories as one array of numbers.

    Attributes
    ----------
    names : tuple of str
        The columns.
    kinds : tuple of str
        "number", "date", "category", or "empty" if no cell has a value.
    levels : tuple of tuple of str
        The levels of each category; empty for other columns.
    values : ndarray of shape (n, d)
        Numbers; seconds since 1970 for dates; positions in the levels for categories;
        NaN where a cell has no value.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    values: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        n_rows, n_columns = self.values.shape
        return n_rows, n_columns

    @property
    def ndim(self) -> int:
        """Two, as for every table."""
        return 2

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Table:
        """Return some rows: numbers, a mask or a slice."""
        if isinstance(rows, tuple):  # scikit-learn writes table[rows, ...]
            rows = rows[0]
        return replace(self, values=self.values[rows])

    def text(self, row: int, column: int) -> str:
        """Return a cell as people read it."""
        return text_of(
            float(self.values[row, column]), self.kinds[column], self.levels[column]
        )


def text_of(value: float, kind: str, levels: Sequence[str] = ()) -> str:
    """Return a value of a column of some kind as people read it."""
    if np.isnan(value):
        return MISSING_TEXT
    if kind == CATEGORY:
        return levels[int(value)]
    if kind == DATE:
        day, time = str(np.datetime64(round(value), "s")).split("T")
        return day if time == "00:00:00" else f"{day} {time}"
    is_whole = value == int(value) and abs(value) < 1e15
    return str(int(value)) if is_whole else f"{value:.6g}"


def is_table(X: Any) -> bool:
    """Whether X has columns with names: a Table or a DataFrame."""
    if isinstance(X, Table):
        return True
    kind = type(X)
    module = kind.__module__.partition(".")[0]
    return (module, kind.__name__) in {
        ("pandas", "DataFrame"),
        ("polars", "DataFrame"),
        ("pyarrow", "Table"),
        ("pyarrow", "RecordBatch"),
    }


def holds_numbers(X: Any) -> bool:
    """Whether a table holds nothing but numbers, none of them missing."""
    table = as_table(X)
    are_numbers = all(kind == NUMBER for kind in table.kinds)
    return are_numbers and not bool(np.isnan(table.values).any())


def as_table(X: Any) -> Table:
    """Return a DataFrame of pandas or polars, or an Arrow table, as a Table."""
    if isinstance(X, Table):
        return X
    columns = list(_columns_of(X))
    if not columns or len(X) == 0:
        raise InvalidInputError(
            f"X has shape {(len(X), len(columns))}, expected at least one row and one "
            "column"
        )
    reader = TableReader([str(name) for name, _ in columns])
    return reader.table(reader.add([column for _, column in columns]))


def table_of_array(X: Any, names: Sequence[str]) -> Table:
    """Return an array as a table with these columns."""
    array = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise InvalidInputError(
            f"X must be a table of {len(names)} columns as in fit, got an array of "
            f"shape {array.shape}"
        )
    reader = TableReader(names)
    return reader.table(reader.add(list(array.T)))


def _columns_of(X: Any) -> Iterator[tuple[Any, Any]]:
    if hasattr(X, "column_names"):  # Arrow
        yield from zip(X.column_names, X.columns, strict=True)
    elif hasattr(X, "get_columns"):  # polars
        yield from ((column.name, column) for column in X.get_columns())
    else:
        yield from ((name, X.iloc[:, i]) for i, name in enumerate(X.columns))


class TextColumn(Exception):  # noqa: N818
    """A column that looked like numbers or dates in earlier pieces, but is text.

    The pieces must be read again, with this column as text.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class TableReader:
    """Reads a table piece by piece.

    Parameters
    ----------
    names : sequence of str
        The columns.
    text : iterable of str
        Columns that stay text even where it is written like numbers or dates.
    """

    def __init__(self, names: Sequence[str], text: Iterable[str] = ()) -> None:
        if len(set(names)) != len(names):
            twice = next(name for name in names if list(names).count(name) > 1)
            raise InvalidInputError(f"X has two columns named {twice!r}")
        self.names = tuple(names)
        self.faults: dict[str, str] = {}
        self._text = frozenset(text)
        self._kinds = [EMPTY] * len(names)
        self._levels: list[dict[str, int]] = [{} for _ in names]

    def add(self, columns: Sequence[Any]) -> NDArray[np.float64]:
        """Return a piece of the table, given by columns, as rows of numbers."""
        found = [self._read(j, column) for j, column in enumerate(columns)]
        if not found:
            return np.zeros((0, 0))
        return np.column_stack(found)

    def table(self, values: NDArray[np.float64]) -> Table:
        """Return the table with these rows, or refuse all columns that cannot be used.

        The rows are those of all pieces; of a table larger than memory, a part.
        """
        if self.faults:
            raise InvalidInputError(unusable_columns("X", self.faults))
        levels = tuple(tuple(levels) for levels in self._levels)
        return Table(self.names, tuple(self._kinds), levels, values)

    def _read(self, j: int, column: Any) -> NDArray[np.float64]:
        name = self.names[j]
        try:
            cells = read_cells(column, as_text=name in self._text)
            if self._kinds[j] == CATEGORY and cells.kind in (NUMBER, DATE):
                cells = read_cells(column, as_text=True)
            before = self._kinds[j]
            if before not in (EMPTY, cells.kind) and cells.kind != EMPTY:
                if name not in self._text and before != CATEGORY:
                    raise TextColumn(name)
                raise UnusableColumnError(
                    f"holds a {before} in one place and a {cells.kind} in another"
                )
        except UnusableColumnError as error:
            self.faults.setdefault(name, str(error))
            return np.full(len(column), np.nan)
        if cells.kind == EMPTY:
            return cells.numbers
        self._kinds[j] = cells.kind
        return self._number(j, cells) if cells.kind == CATEGORY else cells.numbers

    def _number(self, j: int, cells: Cells) -> NDArray[np.float64]:
        """Return numbers of levels, in the order in which these appear."""
        known = self._levels[j]
        place = np.full(len(cells.levels) + 1, np.nan)
        for position, level in enumerate(cells.levels):
            if level not in known and len(known) >= MOST_LEVELS:
                level = LATER_LEVELS
            place[position] = known.setdefault(level, len(known))
        codes = np.where(np.isnan(cells.numbers), len(cells.levels), cells.numbers)
        return np.asarray(place[codes.astype(np.int64)])


def unusable_columns(what: str, faults: dict[str, str], remedy: str = "") -> str:
    """Return one sentence on all columns that cannot be used."""
    listed = ", ".join(f"{name!r} {fault}" for name, fault in faults.items())
    some = "a column" if len(faults) == 1 else f"{len(faults)} columns"
    if not remedy:
        remedy = "leave it out" if len(faults) == 1 else "leave them out"
    return (
        f"{what} has {some} that cannot be used: {listed}; expected numbers, text, "
        f"dates or truth values ({remedy}, or convert the values)"
    )
