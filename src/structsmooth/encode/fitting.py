"""Decides how the columns of a table are encoded, from one look at all rows."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from structsmooth.encode.cells import CATEGORY, EMPTY, NUMBER, parse_number
from structsmooth.encode.encoding import CONSTANT, Column, TableEncoding
from structsmooth.encode.table import LATER_LEVELS, Table
from structsmooth.errors import (
    InvalidInputError,
    LeftOutColumnsWarning,
    TextNumbersWarning,
)

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
# Rows in which repeats are looked for at the most.
IDENTIFIER_ROWS = 2**24
# Text that people read as a number, and the share of other text in such a column.
_NUMBER = re.compile(r"[-+]?[$€£]?\s?\d[\d.,' ]*\s?[%$€£]?|[-+]?\d*\.?\d+e[-+]?\d+")
FEW_WORDS = 0.1
# Rows that are summed at a time.
BLOCK_ROWS = 8_192

Blocks = Callable[[], Iterable[NDArray[np.float64]]]


def encode_rows(
    X: Any, weights: NDArray[Any] | None = None, numbers: NDArray[Any] | None = None
) -> tuple[TableEncoding | None, Any]:
    """Fit an encoding to a table and return it with the features.

    ``numbers`` are those of the rows that count, some perhaps repeated, and ``weights``
    what each of them counts for. Rows that are not a `Table` are returned as they are.
    """
    if not isinstance(X, Table):
        return None, X if numbers is None else _safe_indexing(X, numbers)
    if numbers is None:
        encoding = fit_encoding(X, weights)
        return encoding, encoding.transform(X)
    # Repeated rows are fitted as weights, because identifiers do not repeat.
    counts = np.bincount(numbers, weights, minlength=len(X))
    rows = np.flatnonzero(counts)
    encoding = fit_encoding(X[rows], counts[rows])
    return encoding, encoding.transform(X)[numbers]


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
    _warn_about_numbers(table, found)
    return encoding


def _warn_about_left_out(columns: list[Column]) -> None:
    """Name the columns that a user would expect to count."""
    left_out = [c for c in columns if c.left_out not in ("", CONSTANT)]
    if left_out:
        listed = "; ".join(f"{c.name!r} {c.left_out}" for c in left_out)
        some = "a column was" if len(left_out) == 1 else f"{len(left_out)} columns were"
        warnings.warn(f"{some} left out: {listed}", LeftOutColumnsWarning, stacklevel=2)


def _warn_about_numbers(table: Table, found: _Statistics) -> None:
    """Name columns that would be numbers but for a few words or signs."""
    for name, levels, counts in zip(
        table.names, table.levels, found.counts, strict=True
    ):
        others = [k for k, level in enumerate(levels) if not _NUMBER.fullmatch(level)]
        in_rows = float(counts[others].sum())
        if not levels or in_rows > FEW_WORDS * float(counts.sum()):
            continue
        written = [levels[k] for k in others or range(len(levels))][:3]
        written = [text for text in written if parse_number(text) is None]
        if written:
            warnings.warn(
                f"the column {name!r} counts as text, because not all of its numbers "
                f"are written as such: {', '.join(map(repr, written))}",
                TextNumbersWarning,
                stacklevel=3,
            )


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
        self._sums = np.zeros(n_columns)
        # Values of the columns that may be identifiers, and when to look for repeats.
        numbers = np.flatnonzero(~is_category)
        self._distinct: dict[int, list[Any]] = {int(j): [] for j in numbers}
        self._next_look = 1

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
        for j in np.flatnonzero(self._is_category):
            rows = known[:, j]
            codes = block[rows, j].astype(np.int64)
            self.counts[j] += np.bincount(codes, weights[rows], len(self.counts[j]))
        self._look_for_identifiers(block, known)
        self._n_rows += len(block)

    def add_variances(self, blocks: Blocks) -> None:
        """Read all blocks again for the variances, which need the means."""
        self.mean = self._sums / np.maximum(self.present, 1e-300)
        self._n_rows = 0
        sums, squares = np.zeros_like(self.mean), np.zeros_like(self.mean)
        for block in blocks():
            weights = self._weights_of(block)[:, np.newaxis]
            deviations = np.where(np.isnan(block), 0.0, block - self.mean)
            squares = _add_rows(squares, deviations**2 * weights)
            sums = _add_rows(sums, deviations * weights)
            self._n_rows += len(block)
        # The mean of large numbers is rounded; what it is off by corrects both.
        count = np.maximum(self.present, 1e-300)
        error = sums / count
        self.mean = self.mean + error
        self.variance = np.maximum(squares / count - error**2, 0.0)

    def is_identifier(self, j: int) -> bool:
        """Whether a column holds whole numbers that were made not to repeat."""
        if j not in self._distinct or not self._has_no_repeats(j):
            return False
        n_values = len(self._distinct[j][0])
        places = float(self.high[j] - self.low[j]) + 1.0
        return n_values * (n_values - 1) / 2.0 / places > EXPECTED_REPEATS

    def _look_for_identifiers(
        self, block: NDArray[np.float64], known: NDArray[np.bool_]
    ) -> None:
        """Keep the values of columns in which no number repeats, so far."""
        if self._n_rows >= IDENTIFIER_ROWS:
            return
        is_time = self._n_rows + len(block) >= self._next_look
        for j in list(self._distinct):
            values = block[known[:, j], j]
            self._distinct[j].append(values.copy())
            are_whole = bool((values == np.trunc(values)).all())
            if not are_whole or (is_time and not self._has_no_repeats(j)):
                del self._distinct[j]
        if is_time:
            self._next_look = 2 * (self._n_rows + len(block))

    def _has_no_repeats(self, j: int) -> bool:
        values = np.sort(np.concatenate(self._distinct[j]))
        self._distinct[j] = [values]
        return bool((values[1:] != values[:-1]).all())

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
    # Of the tiniest numbers the variance is 0 too.
    is_constant = found.low[j] == found.high[j] or found.variance[j] == 0.0
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
        scale=1.0 if is_constant else math.sqrt(found.variance[j]),
        has_gaps=bool(has_gaps),
        n_missing=float(n_missing),
    )


def _fit_category(table: Table, j: int, found: _Statistics, most: int) -> Column:
    counts, levels = found.counts[j], table.levels[j]
    n_missing = found.n_rows - found.present[j]
    # The most frequent levels, those that are equally frequent in the order of names.
    order = sorted(range(len(levels)), key=lambda k: (-counts[k], levels[k]))
    is_frequent = counts >= found.fewest
    if LATER_LEVELS in levels:
        is_frequent[levels.index(LATER_LEVELS)] = False
    frequent = [k for k in order if is_frequent[k]][: most - 2]
    frequent.sort(key=lambda k: levels[k])
    n_rare = int(np.count_nonzero(counts)) - len(frequent)
    rare_rows = float(counts.sum() - counts[frequent].sum())
    has_gaps = bool(n_missing >= found.fewest)
    if not has_gaps:
        rare_rows += n_missing
    # A level of a few rows would put them far away from all others.
    has_rare = bool(rare_rows >= found.fewest)
    kept = tuple(levels[k] for k in frequent)
    sizes = [float(counts[k]) for k in frequent]
    sizes += [rare_rows] * has_rare + [n_missing] * has_gaps
    shares = np.array(sizes) / sum(sizes) if sizes else np.zeros(0)
    left_out, center, scale = "", 0.0, 1.0
    if len(sizes) < 2:
        left_out = CONSTANT
        if n_rare:
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
        has_rare=has_rare,
        has_gaps=has_gaps,
        n_rare=n_rare,
        n_missing=float(n_missing),
    )
