"""The rows of a unit: test rows that stay, training and validation rows by seed."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    train_test_split,
)

from experiments import datasets
from experiments.beyond.parts import Parts
from experiments.study.splits import hold_out
from experiments.synthetic.data import draw

# Decides which rows of a data set without an official test set are test rows.
TEST_SEED = 20


def parts_of(config: dict, name: str, seed: int) -> Parts:
    """Return the rows of a seed.

    Test rows are always the same (but new ones for the synthetic task), at most
    ``test_rows`` and a share of ``test_share``. The others are a pool, of which each
    seed draws validation rows and training rows.
    """
    data = _load(config, name, seed)
    pool, test = np.arange(len(data.y)), data.test
    if test is None:
        size = min(config["test_rows"], round(config["test_share"] * len(pool)))
        pool, held = hold_out(pool, data.y, None, size, TEST_SEED)
        test = data.X[held], data.y[held]
    elif len(test[1]) > config["test_rows"]:
        held = _some(np.arange(len(test[1])), test[1], config["test_rows"], TEST_SEED)
        test = test[0][held], test[1][held]
    size = min(config["validation_rows"], round(config["validation_share"] * len(pool)))
    kept, validation = hold_out(pool, data.y, data.groups, size, seed)
    kept = np.sort(_some(kept, data.y, config["train_rows"], seed))
    validation = np.sort(validation)
    return Parts(
        (data.X[kept], data.y[kept]),
        (data.X[validation], data.y[validation]),
        test,
        flat(data.X[kept]),
        None if data.groups is None else data.groups[kept],
    )


def flat(rows: np.ndarray) -> np.ndarray:
    """Return rows as features in which distances are measured: images as pixels."""
    return rows if rows.ndim == 2 else rows.reshape(len(rows), -1).astype(np.float32)


def folds_of(parts: Parts, n_folds: int, seed: int) -> np.ndarray:
    """Return, for each fold, 0 for the rows in it and 1 for the others: (folds, n)."""
    y, groups = parts.train[1], parts.groups
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = kind(n_folds, shuffle=True, random_state=seed)
    weights = np.ones((n_folds, len(y)))
    for fold, (_, held) in enumerate(splitter.split(y, y, groups)):
        weights[fold, held] = 0.0
    return weights


def _some(rows: np.ndarray, y: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Return a number of rows, with the shares of the classes kept."""
    if len(rows) <= size:
        return rows
    chosen, _ = train_test_split(
        rows, train_size=size, stratify=y[rows], random_state=seed
    )
    return chosen


def _load(config: dict, name: str, seed: int) -> datasets.Data:
    if name != "synthetic":
        return datasets.load(name)
    sizes = {
        "n_train": config["train_rows"] + config["validation_rows"],
        "n_test": config["test_rows"],
    }
    task = config | sizes
    return datasets.Data(*draw(task, seed, "train"), test=draw(task, seed, "test"))
