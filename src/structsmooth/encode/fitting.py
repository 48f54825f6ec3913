"""Decides how the columns of a table are encoded, from one look at all rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.encode.cells import CATEGORY, EMPTY, NUMBER
from structsmooth.encode.encoding import CONSTANT, Column, TableEncoding
from structsmooth.encode.table import Table
from structsmooth.errors import InvalidInputError, LeftOutColumnsWarning

# A level with a smaller share of the rows, or with fewer rows, joins the other rare
# ones; gaps that are rarer than this are not marked.
RARE_SHARE = 0.01
RARE_ROWS = 10
# Levels of one column that are kept, and of all columns.
MOST_LEVELS = 30
MOST_LEVELS_OF_ALL = 512
# Whole numbers that never repeat are identifiers if, drawn at random from their range,
# so many pairs of them would be expected to be equal.
EXPECTED_REPEATS = 20.0
# Rows in which repeats are looked for.
IDENTIFIER_ROWS = 50_000
# Rows that are summed at a time.
BLOCK_ROWS = 8_192

Blocks = Callable[[], Iterable[NDArray[np.float64]]]


def encode_rows(
    X: Any, weights: NDArray[Any] | None = None
) -> tuple[TableEncoding | None, Any]:
    """Fit an encoding to a table and return it with the features.

    Rows that are not a `Table` are returned as they are.
    """
    if not isinstance(X, Table):
        return None, X
    encoding = fit_encoding(X, weights)
    return encoding, encoding.transform(X)


def fit_encoding(
    table: Table, weights: NDArray[Any] | None = None, blocks: Blocks | None = None
) -> TableEncoding:
    """Decide how the columns of a table are encoded.

    Parameters
    ----------
    table : Table
        Names, kinds and levels, and all rows unless ``blocks`` gives them.
    weights : ndarray of shape (n,), optional
        What each row counts for.
    blocks : callable, optional
        Returns an iterator over the rows in blocks, for tables larger than memory. The
        size of the blocks does not change the result.
    """
    if blocks is None:
        blocks = _blocks_of(table.values)
    is_category = np.array([kind == CATEGORY for kind in table.kinds])
    found = _Statistics(table, is_category, weights)
    for block in blocks():
        found.add(block)
    found.add_variances(blocks)
    n_categories = max(1, int(is_category.sum()))
    most = max(3, min(MOST_LEVELS, MOST_LEVELS_OF_ALL // n_categories))
    columns = []
    for j in range(len(table.names)):
        fit_column = _fit_category if is_category[j] else _fit_number
        columns.append(fit_column(table, j, found, most))
    encoding = TableEncoding(tuple(columns))
    if not encoding.n_features:
        reasons = "; ".join(f"{c.name!r} {c.left_out}" for c in columns)
        raise InvalidInputError(f"X has no column that can be used: {reasons}")
    _warn_about_left_out(columns)
    return encoding


def _warn_about_left_out(columns: list[Column]) -> None:
    """Name the columns that a user would expect to count."""
    left_out = [c for c in columns if c.left_out not in ("", CONSTANT)]
    if left_out:
        listed = "; ".join(f"{c.name!r} {c.left_out}" for c in left_out)
        some = "a column was" if len(left_out) == 1 else f"{len(left_out)} columns were"
        warnings.warn(f"{some} left out: {listed}", LeftOutColumnsWarning, stacklevel=2)


def _blocks_of(values: NDArray[np.float64]) -> Blocks:
    def blocks() -> Iterator[NDArray[np.float64]]:
        for start in range(0, len(values), BLOCK_ROWS):
            yield values[start : start + BLOCK_ROWS]

    return blocks


class _Statistics:
    """Counts, sums and ranges of all columns, gathered block by block.

    Sums are taken row after row, so that they do not depend on the blocks.
    """

    def __init__(
        self, table: Table, is_category: NDArray[np.bool_], weights: Any
    ) -> None:
        n_columns = len(table.names)
        self._weights, self._is_category = weights, is_category
        self._n_rows = 0
        self.n_rows = 0.0  # what all rows count for
        self.counts = [np.zeros(len(levels)) for levels in table.levels]
        self.present = np.zeros(n_columns)
        self.mean = np.zeros(n_columns)
        self.variance = np.zeros(n_columns)
        self.low = np.full(n_columns, np.inf)
        self.high = np.full(n_columns, -np.inf)
        self.may_be_identifier = ~is_category
        self._sums = np.zeros(n_columns)
        self._first_rows: list[NDArray[np.float64]] = []

    def add(self, block: NDArray[np.float64]) -> None:
        """Count a block."""
        weights = self._weights_of(block)
        known = ~np.isnan(block)
        self.n_rows += float(weights.sum())
        self.present += (known * weights[:, np.newaxis]).sum(axis=0)
        self._sums = _add_rows(
            self._sums, np.where(known, block, 0.0) * weights[:, np.newaxis]
        )
        with np.errstate(invalid="ignore"):
            self.low = np.fmin(self.low, np.fmin.reduce(block, axis=0))
            self.high = np.fmax(self.high, np.fmax.reduce(block, axis=0))
            self.may_be_identifier &= ((block == np.trunc(block)) | ~known).all(axis=0)
        for j in np.flatnonzero(self._is_category):
            rows = known[:, j]
            codes = block[rows, j].astype(np.int64)
            self.counts[j] += np.bincount(codes, weights[rows], len(self.counts[j]))
        n_kept = sum(map(len, self._first_rows))
        if n_kept < IDENTIFIER_ROWS:
            self._first_rows.append(block[: IDENTIFIER_ROWS - n_kept].copy())
        self._n_rows += len(block)

    def add_variances(self, blocks: Blocks) -> None:
        """Read all blocks again for the variances, which need the means."""
        self.mean = self._sums / np.maximum(self.present, 1e-300)
        self._n_rows = 0
        squares = np.zeros_like(self.mean)
        for block in blocks():
            weights = self._weights_of(block)
            deviations = np.where(np.isnan(block), 0.0, block - self.mean)
            squares = _add_rows(squares, deviations**2 * weights[:, np.newaxis])
            self._n_rows += len(block)
        self.variance = squares / np.maximum(self.present, 1e-300)

    def is_identifier(self, j: int) -> bool:
        """Whether a column holds whole numbers that were made not to repeat."""
        if not self.may_be_identifier[j]:
            return False
        values = np.concatenate([rows[:, j] for rows in self._first_rows])
        values = values[~np.isnan(values)]
        if len(values) < 2 or len(np.unique(values)) < len(values):
            return False
        places = float(np.ptp(values)) + 1.0
        return len(values) * (len(values) - 1) / 2.0 / places > EXPECTED_REPEATS

    @property
    def fewest(self) -> float:
        """Rows that a level needs to be kept, and gaps to be marked."""
        return max(float(RARE_ROWS), RARE_SHARE * self.n_rows)

    def _weights_of(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._weights is None:
            return np.ones(len(block))
        start = self._n_rows
        return np.asarray(self._weights[start : start + len(block)], dtype=np.float64)


def _add_rows(total: NDArray[np.float64], rows: Any) -> NDArray[np.float64]:
    """Add rows to a total one after the other, whatever the size of the block."""
    if rows.shape[1] == 1:  # NumPy would add a single column in another order
        return _add_rows(np.repeat(total, 2), np.repeat(rows, 2, axis=1))[:1]
    rows[0] += total
    return np.asarray(np.add.reduce(rows, axis=0))


def _fit_number(table: Table, j: int, found: _Statistics, _: int) -> Column:
    name, kind = table.names[j], table.kinds[j]
    n_missing = found.n_rows - found.present[j]
    has_gaps = n_missing >= found.fewest and found.present[j] >= found.fewest
    is_constant = found.low[j] == found.high[j]
    left_out = ""
    if kind == EMPTY or found.present[j] == 0:
        left_out = "has no values"
    elif is_constant and not has_gaps:
        left_out = CONSTANT
    elif kind == NUMBER and found.is_identifier(j):
        left_out = "looks like an identifier: whole numbers that never repeat"
    return Column(
        name,
        kind,
        left_out,
        center=float(found.low[j] if is_constant else found.mean[j]),
        scale=1.0 if is_constant else math.sqrt(found.variance[j]) or 1.0,
        has_gaps=bool(has_gaps),
        n_missing=float(n_missing),
    )


def _fit_category(table: Table, j: int, found: _Statistics, most: int) -> Column:
    counts, levels = found.counts[j], table.levels[j]
    n_missing = found.n_rows - found.present[j]
    # The most frequent levels, those that are equally frequent in the order of names.
    order = sorted(range(len(levels)), key=lambda k: (-counts[k], levels[k]))
    frequent = [k for k in order if counts[k] >= found.fewest][: most - 2]
    n_rare = int(np.count_nonzero(counts)) - len(frequent)
    rare_rows = float(counts.sum() - counts[frequent].sum())
    has_gaps = n_missing >= found.fewest
    if n_missing and not has_gaps:
        rare_rows += n_missing
    kept = tuple(sorted(levels[k] for k in frequent))
    sizes = [counts[levels.index(level)] for level in kept]
    sizes += [rare_rows] * bool(rare_rows) + [n_missing] * bool(has_gaps)
    shares = np.array(sizes) / found.n_rows
    left_out, center, scale = "", 0.0, 1.0
    if len(sizes) < 2:
        left_out = CONSTANT
        if rare_rows:
            left_out = f"has {n_rare} different values, each of them rare"
    elif len(sizes) == 2:
        center = float(shares[1])
        scale = math.sqrt(shares[0] * shares[1])
    else:
        scale = math.sqrt(1.0 - float(np.sum(shares**2)))
    return Column(
        table.names[j],
        CATEGORY,
        left_out,
        center=center,
        scale=scale,
        levels=kept,
        has_rare=bool(rare_rows),
        has_gaps=bool(has_gaps),
        n_rare=n_rare,
        n_missing=float(n_missing),
    )
