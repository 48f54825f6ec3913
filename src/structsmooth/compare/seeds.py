"""The rows of each seed, and the training and testing of one model on them."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import (
    GroupShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from structsmooth.bayes_error.suspects import Suspects
from structsmooth.classifier.measured import MeasuredRows
from structsmooth.compare.arms import Arm
from structsmooth.compare.measures import measure
from structsmooth.compare.records import Record
from structsmooth.compare.trainers import Predictor, Trainer, TrainingSet, describe
from structsmooth.errors import InvalidInputError
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.controls import reversed_strengths, shuffled_strengths
from structsmooth.strengths.solve import resolve_beta

Rows = tuple[Any, NDArray[np.int64]]  # features and class numbers
N_FOLDS = 5
# Log-probabilities below this one differ without meaning.
LEAST_PROBABILITY = 1e-7


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
    arms: tuple[Arm, ...] = ()
    suspects: str = "keep"


class SeedWork:
    """The rows of one seed; trains models on them and tests them."""

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

    def alphas(self) -> list[float]:
        """Return the mean strengths to try, as numbers."""
        return [
            value if isinstance(value, float) else self._structural(value, 0.0).alpha_
            for value in self.task.alphas
        ]

    def betas(self) -> list[float]:
        """Return the slopes to try, as numbers."""
        return [resolve_beta(value, self.task.n_classes) for value in self.task.betas]

    def training_set(
        self, method: str, alpha: float, beta: float | None
    ) -> TrainingSet:
        """Return the training rows with the strengths of a method."""
        X, y = self._take(self.rows)
        n_classes, soft_labels = self.task.n_classes, None
        if beta is None:  # none and uniform
            strengths = np.full(len(y), alpha)
        else:
            smoother = self._structural(alpha, beta)
            decision, structure = smoother.decision_, smoother.structure_
            values, weights = decision.strengths, decision.weights
            if method == "reversed":
                values = reversed_strengths(values, weights, n_classes=n_classes)
            elif method == "shuffled":
                seed = self._shuffle_seed
                values = shuffled_strengths(
                    values, weights, n_classes=n_classes, rng=seed
                )
            strengths = values[decision.region_labels(structure)]
            if smoother.spread == "overlap":  # of the controls, too
                smoother.fit_structure(structure, decision, sample_strengths=strengths)
                soft_labels = smoother.smooth_fitted(y)
        return TrainingSet(
            X, y, strengths, n_classes, self._fit_seed, soft_labels, self.sample_weight
        )

    def run(self, method: str, alpha: float, beta: float | None) -> Record:
        """Train and test a model without smoothing, or with strengths of a method."""
        started = time.perf_counter()
        key = {"seed": self.seed, "method": method, "alpha": alpha, "beta": beta}
        return key | self._test_model(self.training_set(method, alpha, beta), started)

    def run_arm(self, arm: Arm) -> Record:
        """Train and test a model with the strengths of an arm."""
        started = time.perf_counter()
        X, y = self._take(self.rows)
        measured = self._measured_outputs if arm.out_of_fold else self._measured
        fitted = measured.fitted(self._seeded(arm.smoother))
        soft = fitted.smooth_fitted(y) if fitted.spread == "overlap" else None
        strengths, n_classes = fitted.sample_strengths_, self.task.n_classes
        rows = TrainingSet(
            X, y, strengths, n_classes, self._fit_seed, soft, self.sample_weight
        )
        return {
            "seed": self.seed,
            "method": arm.name,
            "alpha": fitted.alpha_,
            "beta": fitted.beta_,
            "arm": describe_arm(arm),
            **self._test_model(rows, started),
        }

    def _test_model(self, rows: TrainingSet, started: float) -> Record:
        """Train one model, and measure it on validation and test rows."""
        validation = self._take(self._validation)
        test = self.task.test or self._take(self._test)
        # One thread for BLAS, because its sums depend on the number of threads.
        with threadpool_limits(1, "blas"):
            predict = self.task.train(rows)
            found = measure(
                (validation[1], self._probabilities(predict, validation)),
                (test[1], self._probabilities(predict, test)),
            )
        low, high = float(rows.strengths.min()), float(rows.strengths.max())
        return {
            "mean_strength": float(rows.strengths.mean()),
            "strength_range": [low, high],
            "spread": "even" if rows.soft_labels is None else "overlap",
            "n_train": len(rows.y),
            **self._about_suspects(),
            "n_validation": len(validation[1]),
            "n_test": len(test[1]),
            **found,
            "seconds": round(time.perf_counter() - started, 3),
        }

    @cached_property
    def sample_weight(self) -> NDArray[np.float64] | None:
        """Weights of the training rows, by the suspects among them alone."""
        found = self._suspects
        return None if found is None else found.sample_weight(self.task.suspects)

    @cached_property
    def _suspects(self) -> Suspects | None:
        if self.task.suspects == "keep":
            return None
        return self._measured.fitted(self._seeded(self.task.smoother)).suspects_

    def _about_suspects(self) -> dict[str, int]:
        return {} if self._suspects is None else {"n_suspects": len(self._suspects)}

    def _structural(self, alpha: float | str, beta: float | str) -> StructuralSmoother:
        smoother = self._seeded(self.task.smoother)
        return self._measured.fitted(smoother.set_params(alpha=alpha, beta=beta))

    def _seeded(self, smoother: StructuralSmoother) -> StructuralSmoother:
        copy: StructuralSmoother = clone(smoother)
        copy.set_params(random_state=self._fit_seed)
        return copy

    @cached_property  # not needed if all runs are finished
    def _measured(self) -> MeasuredRows:
        own = [arm.smoother for arm in self.task.arms if not arm.out_of_fold]
        smoothers = [self._seeded(smoother) for smoother in (self.task.smoother, *own)]
        return MeasuredRows(*self._take(self.rows), smoothers)

    @cached_property
    def _measured_outputs(self) -> MeasuredRows:
        """What a first model says of each row, trained without it nor smoothing."""
        (X, y), task = self._take(self.rows), self.task
        groups = None if task.groups is None else task.groups[self.rows]
        folds: Any = StratifiedKFold if groups is None else StratifiedGroupKFold
        n_folds = max(2, min(N_FOLDS, int(np.bincount(y).min())))
        splitter = folds(n_folds, shuffle=True, random_state=self._fit_seed)
        found = np.empty((len(y), task.n_classes))
        with threadpool_limits(1, "blas"):
            for known, others in splitter.split(y, y, groups):
                if len(np.unique(y[known])) < task.n_classes:
                    raise InvalidInputError(
                        "the arm out-of-fold needs all classes in every fold of the "
                        "training rows; some class has too few rows or groups"
                    )
                rows = _safe_indexing(X, known), y[known], np.zeros(len(known))
                weights = self.sample_weight
                predict = task.train(
                    TrainingSet(
                        *rows,
                        task.n_classes,
                        self._fit_seed,
                        sample_weight=None if weights is None else weights[known],
                    )
                )
                others_rows = _safe_indexing(X, others), y[others]
                found[others] = self._probabilities(predict, others_rows)
        logs = np.log(np.maximum(found, LEAST_PROBABILITY))
        smoothers = [self._seeded(a.smoother) for a in task.arms if a.out_of_fold]
        return MeasuredRows(logs, y, smoothers)

    def _take(self, rows: NDArray[np.int64] | None) -> Rows:
        return _safe_indexing(self.task.X, rows), self.task.y[rows]

    def _probabilities(self, predict: Predictor, rows: Rows) -> NDArray[np.float64]:
        probabilities = np.asarray(predict(rows[0]))
        expected = (len(rows[1]), self.task.n_classes)
        if probabilities.shape != expected:
            raise InvalidInputError(
                f"classifier must predict {expected[1]} probabilities for each of "
                f"{expected[0]} rows, got shape {probabilities.shape}"
            )
        return probabilities


def describe_arm(arm: Arm) -> str:
    """Return text that tells an arm from others of the same name."""
    text = describe(clone(arm.smoother).set_params(random_state=0))
    return f"out-of-fold {text}" if arm.out_of_fold else text


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
