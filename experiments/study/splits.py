"""Training, validation and test rows of a study: one split for all seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from experiments.datasets import load


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a memory map, read on access."""

    source: np.ndarray
    numbers: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, key) -> np.ndarray:
        return self.source[self.numbers[key]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, and what a row is."""
        return (len(self), *self.source.shape[1:])

    @property
    def ndim(self) -> int:
        """Axes."""
        return self.source.ndim


def _take(X: np.ndarray, numbers: np.ndarray) -> np.ndarray | Rows:
    return Rows(X, numbers) if isinstance(X, np.memmap) else X[numbers]


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows, validation rows for the choice of beta, and test rows."""

    X: np.ndarray | Rows
    y: np.ndarray
    X_validation: np.ndarray | Rows
    y_validation: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def n_classes(self) -> int:
        """Number of classes of the task."""
        return int(self.y.max()) + 1


def hold_out(rows, y, groups, size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to keep and those to hold out, given their number or share.

    Whole groups are held out if they are known, otherwise the same share of each class.
    """
    if groups is None:
        return train_test_split(
            rows, test_size=size, stratify=y[rows], random_state=seed
        )
    share = size if size < 1 else size / len(rows)
    splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
    kept, held = next(splitter.split(rows, groups=groups[rows]))
    return rows[kept], rows[held]


def split_of(config: dict) -> Split:
    """Return the rows that a config names.

    ``rows`` is the number of rows taken from the start of the training set, of which
    ``validation_rows`` are held out: whole speakers if they are known, otherwise the
    same share of each class. If the data have no test set, ``test_rows`` are drawn at
    random.
    """
    data, seed = load(config["data"], config.get("scale", "cpu")), config["split_seed"]
    rows = np.arange(len(data.y))[: config.get("rows")]
    if data.test is None:
        rows, chosen = hold_out(rows, data.y, None, config["test_rows"], seed)
        test = _take(data.X, chosen), data.y[chosen]
    else:
        test = data.test
    train, validation = hold_out(
        rows, data.y, data.groups, config["validation_rows"], seed
    )
    train, validation = np.sort(train), np.sort(validation)
    return Split(
        _take(data.X, train),
        np.asarray(data.y[train]),
        _take(data.X, validation),
        np.asarray(data.y[validation]),
        test[0],
        np.asarray(test[1]),
    )
