"""The rows of a seed, and how one model is trained and tested on them."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from structsmooth.compare.records import Record
from structsmooth.compare.trainers import Predictor, Trainer
from structsmooth.errors import InvalidInputError
from structsmooth.metrics import evaluate
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.controls import (
    reversed_strengths,
    shuffled_strengths,
)
from structsmooth.strengths.decision import Decision, decide
from structsmooth.strengths.solve import resolve_beta
from structsmooth.structure import Structure


class Task(NamedTuple):
    """Everything that is the same for all seeds."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    groups: NDArray[Any] | None
    test: tuple[NDArray[Any], NDArray[np.int64]] | None
    n_classes: int
    smoother: StructuralSmoother
    train: Trainer
    alphas: tuple[float | str, ...]
    betas: tuple[float | str, ...]
    test_size: float
    validation_size: float
    criterion: str
    random_state: int


class SeedWork:
    """The rows of one seed, and how one model is trained and tested on them.

    The smoother is fitted only when a run needs it: not if all are known already.
    """

    def __init__(self, task: Task, seed: int) -> None:
        self.task, self.seed = task, seed
        sequence = np.random.SeedSequence([task.random_state, seed])
        split_seed, self._fit_seed, self._shuffle_seed = (
            int(number) for number in sequence.generate_state(3) >> 1
        )
        rest = np.arange(len(task.y))
        self._held_out: NDArray[np.int64] | None = None
        if task.test is None:
            rest, self._held_out = _split(task, rest, task.test_size, split_seed)
        self.rows, self._validation = _split(
            task, rest, task.validation_size, split_seed
        )
        self._measured: Structure | None = None

    @property
    def _test(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        if self.task.test is not None:
            return self.task.test
        return self.task.X[self._held_out], self.task.y[self._held_out]

    @property
    def _structure(self) -> Structure:
        if self._measured is None:
            smoother = clone(self.task.smoother).set_params(random_state=self._fit_seed)
            rows = self.rows
            smoother.fit(self.task.X[rows], self.task.y[rows])
            self._measured = smoother.structure_
        return self._measured

    def _decide(self, alpha: float | str, beta: float | str) -> Decision:
        smoother = self.task.smoother
        return decide(
            self._structure,
            alpha,
            beta,
            shrink=smoother.shrink,
            regions=smoother.regions,
        )

    def alphas(self) -> list[float]:
        """Return the mean strengths to try, as numbers."""
        return [
            value if isinstance(value, float) else self._decide(value, 0.0).alpha
            for value in self.task.alphas
        ]

    def betas(self) -> list[float]:
        """Return the slopes to try, as numbers."""
        return [resolve_beta(value, self.task.n_classes) for value in self.task.betas]

    def strengths(
        self, method: str, alpha: float, beta: float | None
    ) -> NDArray[np.float64]:
        """Return the strength of each training row."""
        n_classes = self.task.n_classes
        if beta is None:  # none and uniform
            return np.full(len(self.rows), alpha)
        decision = self._decide(alpha, beta)
        values, weights = decision.strengths, decision.weights
        if method == "reversed":
            values = reversed_strengths(values, weights, n_classes=n_classes)
        elif method == "shuffled":
            values = shuffled_strengths(
                values, weights, n_classes=n_classes, random_state=self._shuffle_seed
            )
        return values[decision.region_labels(self._structure)]

    def __call__(self, method: str, alpha: float, beta: float | None) -> Record:
        """Train one model, and measure it on validation and test rows."""
        task = self.task
        started = time.perf_counter()
        strengths = self.strengths(method, alpha, beta)
        # One thread for BLAS: its sums depend on how many it has.
        with threadpool_limits(1, "blas"):
            predict = task.train(
                task.X[self.rows],
                task.y[self.rows],
                strengths,
                task.n_classes,
                self._fit_seed,
            )
            validation = _measure(
                predict, task.X[self._validation], task.y[self._validation], task
            )
            test = _measure(predict, *self._test, task)
        return {
            "seed": self.seed,
            "method": method,
            "alpha": alpha,
            "beta": beta,
            "mean_strength": float(strengths.mean()),
            "strength_range": [float(strengths.min()), float(strengths.max())],
            "n_train": len(self.rows),
            "n_validation": len(self._validation),
            "n_test": len(self._test[1]),
            "validation": validation,
            "test": test,
            "seconds": round(time.perf_counter() - started, 3),
        }


def _measure(
    predict: Predictor, X: NDArray[Any], y: NDArray[np.int64], task: Task
) -> dict[str, float]:
    """Return the metrics of a model on some rows."""
    probabilities = np.asarray(predict(X))
    if probabilities.shape != (len(X), task.n_classes):
        raise InvalidInputError(
            f"classifier must predict {task.n_classes} probabilities for each of "
            f"{len(X)} rows, got shape {probabilities.shape}"
        )
    return evaluate(y, probabilities)


def _split(
    task: Task, rows: NDArray[np.int64], share: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows to keep and rows to hold out, sorted."""
    y = task.y[rows]
    if task.groups is not None:
        splitter: Any = GroupShuffleSplit(1, test_size=share, random_state=seed)
        kept, held_out = next(splitter.split(rows, y, task.groups[rows]))
    else:
        splitter = StratifiedShuffleSplit(1, test_size=share, random_state=seed)
        try:
            kept, held_out = next(splitter.split(rows, y))
        except ValueError:
            raise InvalidInputError(
                "y must have enough rows of each class to have some in training, "
                f"validation and test rows; class counts are {np.bincount(y).tolist()}"
            ) from None
    if len(np.unique(task.y[rows[kept]])) < task.n_classes:
        raise InvalidInputError(
            "the training rows of a split must have all classes; groups leave "
            "some out, so there are too few groups of some class"
        )
    return np.sort(rows[kept]), np.sort(rows[held_out])
