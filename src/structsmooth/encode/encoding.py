"""A fitted encoding: from the columns of a table to features, and back to words.

Numbers and dates are standardized. Categories are one-hot encoded and scaled so that
two rows differ, on average, as much in a category as in a number. A gap in a number
counts as the mean and, if there are many gaps, is marked: then a row with a gap is on
average as far from one without as two other rows are from each other.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.encode.cells import CATEGORY, DATE, EMPTY, NUMBER, level_of
from structsmooth.encode.table import (
    Table,
    as_table,
    is_table,
    table_of_array,
)
from structsmooth.errors import InvalidInputError, NewLevelsWarning

CONSTANT = "has the same value in every row"
# Rows that are encoded at a time, which limits the memory in use.
BLOCK_ROWS = 65_536


@dataclass(frozen=True)
class Column:
    """How one column is encoded.

    Attributes
    ----------
    name, kind : str
        Its name, and "number", "date", "category" or "empty".
    left_out : str
        Why the column is not used; empty if it is.
    center, scale : float
        What is subtracted from a number, or from the 0 or 1 of a category with two
        levels, and what the difference is divided by. Of a category with more levels
        only the scale is used.
    levels : tuple of str
        The levels of a category that are kept, sorted.
    has_rare, has_gaps : bool
        Whether rare levels together are a level, and whether gaps are.
    n_rare : int
        How many levels are rare.
    n_missing : float
        How many cells have no value; a sum of weights, if there are weights.
    """

    name: str
    kind: str
    left_out: str = ""
    center: float = 0.0
    scale: float = 1.0
    levels: tuple[str, ...] = ()
    has_rare: bool = False
    has_gaps: bool = False
    n_rare: int = 0
    n_missing: float = 0.0

    @property
    def n_codes(self) -> int:
        """Levels of a category, that of the rare ones and that of gaps included."""
        return len(self.levels) + self.has_rare + self.has_gaps

    @property
    def width(self) -> int:
        """Number of features."""
        if self.left_out:
            return 0
        if self.kind == CATEGORY:
            return 1 if self.n_codes == 2 else self.n_codes
        return 1 + self.has_gaps

    @property
    def is_one_hot(self) -> bool:
        """Whether each level has a feature; two levels need only one."""
        return self.kind == CATEGORY and self.width > 1

    def codes_of(self, levels: tuple[str, ...]) -> NDArray[np.float64]:
        """Return the number of each level here, and of a gap, which comes last.

        A level that the fit did not see counts as a rare one. NaN stands for what the
        encoding has no place for.
        """
        rare = float(len(self.levels)) if self.has_rare else math.nan
        known = {level: float(place) for place, level in enumerate(self.levels)}
        gap = float(self.n_codes - 1) if self.has_gaps else rare
        return np.array([*(known.get(level, rare) for level in levels), gap])


@dataclass(frozen=True, eq=False)
class TableEncoding:
    """A fitted encoding of tables with these columns."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def n_features(self) -> int:
        """Number of encoded features."""
        return sum(column.width for column in self.columns)

    def read(self, X: Any) -> Table:
        """Return new rows, a table or an array, with the columns of the fit.

        The columns of a table may have any order, and there may be others.
        """
        text = [column.name for column in self.columns if column.kind == CATEGORY]
        if is_table(X):
            used = [column.name for column in self.columns if column.width]
            return self._align(as_table(X, text, used))
        return self._align(table_of_array(X, self.names, text))

    def transform(self, table: Table) -> NDArray[np.float64]:
        """Return the features of a table as it was fitted, or as `read` returns it."""
        features = np.empty((len(table), self.n_features))
        for start in range(0, len(table), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            self._fill(features[rows], table[rows])
        return features

    def _fill(self, features: NDArray[np.float64], table: Table) -> None:
        """Write the features of some rows."""
        columns, places = self.columns, self._places
        values = table.values.copy()
        for j, column in enumerate(columns):
            if column.width and column.kind == CATEGORY:
                codes = np.where(np.isnan(values[:, j]), -1.0, values[:, j])
                values[:, j] = column.codes_of(table.levels[j])[codes.astype(np.int64)]
        wide = [j for j, c in enumerate(columns) if c.is_one_hot]
        single = [j for j, c in enumerate(columns) if c.width and not c.is_one_hot]
        centers = np.array([columns[j].center for j in single])
        scales = np.array([columns[j].scale for j in single])
        numbers = (values[:, single] - centers) / scales
        gaps = np.isnan(numbers)
        features[:, places[single]] = np.where(gaps, 0.0, numbers)
        for k, j in enumerate(single):
            if columns[j].width > 1:
                features[:, places[j] + 1] = gaps[:, k]
        if not wide:
            return
        # What has no place is none of the levels.
        codes = np.where(np.isnan(values[:, wide]), -1.0, values[:, wide])
        coded = self._one_hot.transform(codes.astype(np.int64))
        start = 0
        for j in wide:
            stop = start + columns[j].width
            place = slice(places[j], places[j] + columns[j].width)
            features[:, place] = coded[:, start:stop] / columns[j].scale
            start = stop

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """The first feature of each column."""
        widths = np.array([column.width for column in self.columns])
        return np.asarray(np.cumsum(widths) - widths)

    def _align(self, table: Table) -> Table:
        """Return the columns of the fit in its order, or say which one is missing."""
        used = [column.name for column in self.columns if column.width]
        lacking = [name for name in used if name not in table.names]
        if lacking:
            columns = "column" if len(lacking) == 1 else "columns"
            raise InvalidInputError(
                f"X lacks the {columns} {', '.join(map(repr, lacking))}; expected all "
                f"columns that fit has used: {', '.join(map(repr, used))}"
            )
        if table.names != self.names:
            place = {name: j for j, name in enumerate(table.names)}
            chosen = [place.get(name, -1) for name in self.names]
            table = Table(
                self.names,
                tuple(table.kinds[j] if j >= 0 else EMPTY for j in chosen),
                tuple(table.levels[j] if j >= 0 else () for j in chosen),
                table.values[:, chosen],
            )
        kinds, levels, values = list(table.kinds), list(table.levels), table.values
        for j, (column, kind) in enumerate(zip(self.columns, kinds, strict=True)):
            if not column.width or kind in (EMPTY, column.kind):
                continue
            if (kind, column.kind) != (NUMBER, CATEGORY):
                example = next(iter(levels[j]), "")
                raise InvalidInputError(
                    f"the column {column.name!r} of X holds {_PLURAL[kind]}"
                    f"{f' such as {example!r}' if example else ''}, expected "
                    f"{_PLURAL[column.kind]} as in fit"
                )
            # Numbers can be levels too.
            distinct, codes = np.unique(values[:, j], return_inverse=True)
            kinds[j] = CATEGORY
            known = distinct[~np.isnan(distinct)]
            levels[j] = tuple(level_of(value) for value in known.tolist())
            values = values.copy()
            values[:, j] = np.where(codes < len(levels[j]), codes, np.nan)
        table = Table(table.names, tuple(kinds), tuple(levels), values)
        self._warn_about_new_levels(table)
        return table

    def _warn_about_new_levels(self, table: Table) -> None:
        for j, column in enumerate(self.columns):
            levels = table.levels[j]
            if not column.width or column.n_rare or set(levels) <= set(column.levels):
                continue
            values = table.values[:, j]
            present = np.unique(values[~np.isnan(values)]).astype(int).tolist()
            new = [levels[k] for k in present if levels[k] not in column.levels]
            if new:
                warnings.warn(
                    f"the column {column.name!r} of X has values that fit did not see: "
                    f"{_listed([repr(level) for level in new])}; they count as none of "
                    "those that it saw",
                    NewLevelsWarning,
                    stacklevel=2,
                )

    @cached_property
    def _one_hot(self) -> Any:
        """The encoder of numbered levels, made from how many there are."""
        wide = [column for column in self.columns if column.is_one_hot]
        from sklearn.preprocessing import OneHotEncoder  # slow to load

        encoder = OneHotEncoder(
            categories=[np.arange(column.n_codes) for column in wide],
            handle_unknown="ignore",
            sparse_output=False,
        )
        return encoder.fit(np.zeros((1, len(wide)), dtype=np.int64))

    def feature_names(self) -> list[str]:
        """Return a name for each encoded feature."""
        names = []
        for column in self.columns:
            levels = [f"={level}" for level in column.levels]
            levels += [" is rare"] * column.has_rare + [" is missing"] * column.has_gaps
            if not column.width:
                continue
            if column.kind != CATEGORY:
                names += [column.name, f"{column.name} is missing"][: column.width]
            else:
                names += [column.name + level for level in levels[-column.width :]]
        return names

    def summary(self) -> str:
        """Return one line on what was done with which columns."""
        used = [column for column in self.columns if column.width]
        parts = []
        for kind, done in _DONE.items():
            some = [column for column in used if column.kind == kind]
            if some:
                parts.append(
                    f"{len(some)} {_PLURAL[kind] if some[1:] else kind} {done}"
                )
        n_rare = sum(column.n_rare for column in used)
        if n_rare:
            levels = "rare level" if n_rare == 1 else "rare levels"
            parts.append(f"{n_rare} {levels} taken together")
        gaps = [column.name for column in used if column.n_missing]
        if gaps:
            parts.append(f"missing values in {_listed(gaps)}")
        left_out = [c for c in self.columns if c.left_out]
        if left_out:
            parts.append("left out " + _listed([c.name for c in left_out]))
        columns = "column" if len(self.columns) == 1 else "columns"
        return f"{len(self.columns)} {columns}: {', '.join(parts)}"

    def to_dict(self) -> list[dict[str, Any]]:
        """Return what is known of each column, ready for JSON."""
        return [asdict(column) for column in self.columns]


_PLURAL = {NUMBER: "numbers", DATE: "dates", CATEGORY: "categories"}
_DONE = {
    NUMBER: "standardized",
    DATE: "standardized",
    CATEGORY: "one-hot encoded",
}


def _listed(names: list[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
