"""The rows of a seed, and the features in which distances are measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from experiments import datasets
from experiments.study.regions import codes_of
from experiments.study.splits import hold_out
from experiments.suspects import with_mistakes
from experiments.synthetic.data import draw
from structsmooth.compare.trainers import Trainer, TrainingSet


@dataclass(frozen=True, eq=False)
class Parts:
    """Training, validation and test rows.

    Attributes
    ----------
    train, validation, test : tuple of ndarrays
        Inputs of the model, and class numbers.
    features : ndarray of shape (n, d)
        Features of the training rows, for clusters and neighbors.
    groups : ndarray of shape (n,), optional
        Groups of training rows that belong together, such as a speaker's sounds.
    """

    train: tuple[np.ndarray, np.ndarray]
    validation: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    features: np.ndarray
    groups: np.ndarray | None

    @property
    def n_rows(self) -> list[int]:
        """Number of rows in each part."""
        return [len(part[1]) for part in (self.train, self.validation, self.test)]


def parts_of(config: dict, seed: int) -> Parts:
    """Return the rows of a seed: a new split, or new data for the synthetic task."""
    data = _load(config, seed)
    rows, test = np.arange(len(data.y)), data.test
    if test is None:
        rows, chosen = hold_out(rows, data.y, None, config["test_share"], seed)
        test = data.X[chosen], data.y[chosen]
    share = config["validation_share"]
    kept, held = hold_out(rows, data.y, data.groups, share, seed)
    # In practice, wrong labels occur among the validation rows too.
    y, _ = with_mistakes(data.y, config.get("wrong_labels", 0.0), seed)
    return Parts(
        (data.X[kept], y[kept]),
        (data.X[held], y[held]),
        test,
        _features(config, data.X)[kept],
        None if data.groups is None else data.groups[kept],
    )


def _load(config: dict, seed: int) -> datasets.Data:
    if config["data"] == "synthetic":
        return datasets.Data(
            *draw(config, seed, "train"), test=draw(config, seed, "test")
        )
    return datasets.load(config["data"])


def _features(config: dict, X: np.ndarray) -> np.ndarray:
    """Return the rows themselves, or an autoencoder's codes of images.

    It is trained once, on all rows except test rows, without their labels.
    """
    if "autoencoder" not in config:
        return X
    facts = {"data": config["data"], "autoencoder": config["autoencoder"]}
    return codes_of(facts, {"train": X})["train"]


def out_of_fold(
    train: Trainer, parts: Parts, n_folds: int, n_classes: int, seed: int
) -> np.ndarray:
    """Return log-probabilities of each row by a model that did not train on it."""
    X, y = parts.train
    folds = StratifiedKFold if parts.groups is None else StratifiedGroupKFold
    splitter = folds(n_folds, shuffle=True, random_state=seed)
    found = np.empty((len(y), n_classes))
    for known, unknown in splitter.split(y, y, parts.groups):
        none = np.zeros(len(known))
        predict = train(TrainingSet(X[known], y[known], none, n_classes, seed))
        found[unknown] = predict(X[unknown])
    return np.log(np.clip(found, 1e-7, None))
