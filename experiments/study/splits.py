"""Training, validation and test rows of a study: one split, whatever the seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from experiments.datasets import load


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on, to choose beta by, and to report."""

    X: np.ndarray
    y: np.ndarray
    X_validation: np.ndarray
    y_validation: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def n_classes(self) -> int:
        """Classes of the task."""
        return int(self.y.max()) + 1


def split_of(config: dict) -> Split:
    """Return the rows that a config names.

    ``rows`` are the first of the training set, of which ``validation_rows`` are put
    aside: whole speakers where they are known, else the same share of each class. Data
    without a test set give ``test_rows`` drawn at random.
    """
    data, seed = load(config["data"], config.get("scale", "cpu")), config["split_seed"]
    rows = np.arange(len(data.y))[: config.get("rows")]
    if data.test is None:
        rows, chosen = train_test_split(
            rows,
            test_size=config["test_rows"],
            stratify=data.y[rows],
            random_state=seed,
        )
        test = data.X[chosen], data.y[chosen]
    else:
        test = data.test
    n_validation = config["validation_rows"]
    if data.groups is not None:
        share = n_validation / len(rows)
        splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
        train, validation = next(splitter.split(rows, groups=data.groups[rows]))
        train, validation = rows[train], rows[validation]
    else:
        train, validation = train_test_split(
            rows, test_size=n_validation, stratify=data.y[rows], random_state=seed
        )
    train, validation = np.sort(train), np.sort(validation)
    return Split(
        data.X[train], data.y[train], data.X[validation], data.y[validation], *test
    )
