"""Tables: columns with names, whatever library or file they come from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
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

# Of more levels in a column, those that come later are one level, which is rare.
MOST_LEVELS = 500_000
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

    @classmethod
    def of_numbers(cls, names: Sequence[str], values: NDArray[np.float64]) -> Table:
        """Return a table of numbers."""
        n_columns = len(names)
        return cls(tuple(names), (NUMBER,) * n_columns, ((),) * n_columns, values)

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


_TABLES = {
    ("pandas", "DataFrame"),
    ("polars", "DataFrame"),
    ("pyarrow", "Table"),
    ("pyarrow", "RecordBatch"),
}


def is_table(X: Any) -> bool:
    """Whether X has columns with names: a Table or a DataFrame."""
    if isinstance(X, Table):
        return True
    return any(
        (kind.__module__.partition(".")[0], kind.__name__) in _TABLES
        for kind in type(X).__mro__
    )


def holds_numbers(X: Any) -> bool:
    """Whether a table holds nothing but numbers, none of them missing."""
    table = as_table(X)
    are_numbers = all(kind == NUMBER for kind in table.kinds)
    return are_numbers and not bool(np.isnan(table.values).any())


def as_table(
    X: Any, text: Collection[str] = (), among: Collection[str] | None = None
) -> Table:
    """Return a DataFrame of pandas or polars, or an Arrow table, as a Table.

    The columns in ``text`` stay text even if it is written like numbers or dates. If
    ``among`` is given, other columns are not read.
    """
    if isinstance(X, Table):
        return X
    if not is_table(X):
        raise InvalidInputError(
            "X must be a DataFrame of pandas or polars, or an Arrow table, got "
            f"{type(X).__name__}"
        )
    columns = [c for c in _columns_of(X) if among is None or str(c[0]) in among]
    if len(X) == 0 or not (columns or among):
        raise InvalidInputError(
            f"X has shape {(len(X), len(columns))}, expected at least one row and one "
            "column"
        )
    reader = TableReader([str(name) for name, _ in columns], text)
    return reader.table(reader.add([column for _, column in columns]))


def numbers_of(table: Table) -> NDArray[np.float64]:
    """Return the rows of a table that holds nothing but numbers, else refuse it."""
    text = [n for n, k in zip(table.names, table.kinds, strict=True) if k != NUMBER]
    if text:
        raise InvalidInputError(
            f"X must hold numbers only, got others in {', '.join(map(repr, text))}"
        )
    return table.values


def table_of_array(X: Any, names: Sequence[str], text: Collection[str] = ()) -> Table:
    """Return an array as a table with these columns, those in ``text`` as text."""
    array = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise InvalidInputError(
            f"X must be a table of {len(names)} columns as in fit, got an array of "
            f"shape {array.shape}"
        )
    reader = TableReader(names, text)
    return reader.table(reader.add(list(array.T)))


def column_names(X: Any) -> list[Any]:
    """Return the names of the columns as they are given."""
    return [name for name, _ in _columns_of(X)]


def _columns_of(X: Any) -> Iterator[tuple[Any, Any]]:
    if hasattr(X, "column_names"):  # Arrow
        yield from zip(X.column_names, X.columns, strict=True)
    elif hasattr(X, "get_columns"):  # polars
        yield from ((column.name, column) for column in X.get_columns())
    else:
        yield from ((name, X.iloc[:, i]) for i, name in enumerate(X.columns))


class TableReader:
    """Reads a table piece by piece.

    Parameters
    ----------
    names : sequence of str
        The columns.
    text : collection of str
        Columns that stay text even where it is written like numbers or dates.

    Attributes
    ----------
    n_rows : int
        Rows read so far.
    mistaken : set of str
        Columns that looked like numbers or dates until text appeared in them. If there
        are any, the pieces must be read again with these as ``text``.
    faults : dict of str to str
        Columns that cannot be used, and why.
    """

    def __init__(self, names: Sequence[str], text: Collection[str] = ()) -> None:
        if len(set(names)) != len(names):
            twice = next(name for name in names if list(names).count(name) > 1)
            raise InvalidInputError(f"X has two columns named {twice!r}")
        self.names = tuple(names)
        self.n_rows = 0
        self.mistaken: set[str] = set()
        self.faults: dict[str, str] = {}
        self._text = frozenset(text)
        self._kinds = [EMPTY] * len(names)
        self._levels: list[dict[str, int]] = [{} for _ in names]

    def add(self, columns: Sequence[Any]) -> NDArray[np.float64]:
        """Return a piece of the table, given by columns, as rows of numbers."""
        found = [self._read(j, column) for j, column in enumerate(columns)]
        rows = np.column_stack(found) if found else np.empty((0, 0))
        self.n_rows += len(rows)
        return rows

    def table(self, values: NDArray[np.float64]) -> Table:
        """Return the table with these rows: those of all pieces, or a part."""
        if self.faults:
            raise InvalidInputError(unusable_columns("X", self.faults))
        levels = tuple(tuple(levels) for levels in self._levels)
        return Table(self.names, tuple(self._kinds), levels, values)

    def _read(self, j: int, column: Any) -> NDArray[np.float64]:
        name, before = self.names[j], self._kinds[j]
        try:
            is_text = name in self._text or before == CATEGORY
            cells = read_cells(column, as_text=is_text)
            if EMPTY not in (before, cells.kind) and before != cells.kind:
                if is_text:
                    raise UnusableColumnError(
                        f"holds a {before} in one place and a {cells.kind} in another"
                    )
                self.mistaken.add(name)
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
