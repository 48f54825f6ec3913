"""The rows of each seed, and the training and testing of one model on them."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from structsmooth.compare.records import Record
from structsmooth.compare.trainers import Predictor, Trainer, TrainingSet
from structsmooth.errors import InvalidInputError
from structsmooth.metrics import evaluate
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.controls import reversed_strengths, shuffled_strengths
from structsmooth.strengths.decision import Decision, decide
from structsmooth.strengths.solve import resolve_beta
from structsmooth.structure import Structure

Rows = tuple[Any, NDArray[np.int64]]  # features and class numbers


class Task(NamedTuple):
    """Everything that is the same for all seeds."""

    X: Any
    y: NDArray[np.int64]
    groups: NDArray[Any] | None
    test: Rows | None
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
    """The rows of one seed; calling it trains one model on them and tests it."""

    def __init__(self, task: Task, seed: int) -> None:
        self.task, self.seed = task, seed
        sequence = np.random.SeedSequence([task.random_state, seed])
        split_seed, self._fit_seed, self._shuffle_seed = (
            int(number) for number in sequence.generate_state(3) >> 1
        )
        rest = np.arange(len(task.y))
        self._test: NDArray[np.int64] | None = None
        if task.test is None:
            rest, self._test = _split(task, rest, task.test_size, split_seed)
        self.rows, self._validation = _split(
            task, rest, task.validation_size, split_seed
        )

    @cached_property  # not needed if all runs are finished
    def _structure(self) -> Structure:
        smoother: StructuralSmoother = clone(self.task.smoother)
        smoother.set_params(random_state=self._fit_seed)
        return smoother.fit(*self._take(self.rows)).structure_

    def _decide(self, alpha: float | str, beta: float | str) -> Decision:
        given = self.task.smoother
        return decide(
            self._structure, alpha, beta, shrink=given.shrink, regions=given.regions
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

    def training_set(
        self, method: str, alpha: float, beta: float | None
    ) -> TrainingSet:
        """Return the training rows with the strengths of a method."""
        task, (X, y) = self.task, self._take(self.rows)
        n_classes, soft_labels = task.n_classes, None
        if beta is None:  # none and uniform
            strengths = np.full(len(y), alpha)
        else:
            decision = self._decide(alpha, beta)
            values, weights = decision.strengths, decision.weights
            if method == "reversed":
                values = reversed_strengths(values, weights, n_classes=n_classes)
            elif method == "shuffled":
                seed = self._shuffle_seed
                values = shuffled_strengths(
                    values, weights, n_classes=n_classes, rng=seed
                )
            strengths = values[decision.region_labels(self._structure)]
            if task.smoother.spread == "overlap":  # of the controls, too
                smoother: StructuralSmoother = clone(task.smoother)
                smoother.fit_structure(
                    self._structure, decision, sample_strengths=strengths
                )
                soft_labels = smoother.smooth_fitted(y)
        return TrainingSet(X, y, strengths, n_classes, self._fit_seed, soft_labels)

    def __call__(self, method: str, alpha: float, beta: float | None) -> Record:
        """Train one model, and measure it on validation and test rows."""
        started = time.perf_counter()
        rows = self.training_set(method, alpha, beta)
        test = self.task.test or self._take(self._test)
        # One thread for BLAS, because its sums depend on the number of threads.
        with threadpool_limits(1, "blas"):
            predict = self.task.train(rows)
            validation = self._measure(predict, self._take(self._validation))
            tested = self._measure(predict, test)
        low, high = float(rows.strengths.min()), float(rows.strengths.max())
        return {
            "seed": self.seed,
            "method": method,
            "alpha": alpha,
            "beta": beta,
            "mean_strength": float(rows.strengths.mean()),
            "strength_range": [low, high],
            "spread": "even" if rows.soft_labels is None else "overlap",
            "n_train": len(rows.y),
            "n_validation": len(self._validation),
            "n_test": len(test[1]),
            "validation": validation,
            "test": tested,
            "seconds": round(time.perf_counter() - started, 3),
        }

    def _take(self, rows: NDArray[np.int64] | None) -> Rows:
        return _safe_indexing(self.task.X, rows), self.task.y[rows]

    def _measure(self, predict: Predictor, rows: Rows) -> dict[str, float]:
        """Return the metrics of a model on some rows."""
        probabilities = np.asarray(predict(rows[0]))
        expected = (len(rows[0]), self.task.n_classes)
        if probabilities.shape != expected:
            raise InvalidInputError(
                f"classifier must predict {expected[1]} probabilities for each of "
                f"{expected[0]} rows, got shape {probabilities.shape}"
            )
        return evaluate(rows[1], probabilities)


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
        kept, held_out = next(splitter.split(rows, y))
    if len(np.unique(task.y[rows[kept]])) < task.n_classes:
        raise InvalidInputError(
            "the training rows of a split must have all classes; some class has too "
            "few groups for that"
        )
    return np.sort(rows[kept]), np.sort(rows[held_out])
