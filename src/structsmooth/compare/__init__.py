"""Does structural smoothing help here? A paired, honest answer.

On every seed the same rows train five models: without smoothing, with uniform,
structural, reversed and shuffled strengths, all of the same mean. The last two are
controls: they have the structural strengths, in the wrong places.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from structsmooth.bounds import check_confidence
from structsmooth.compare.records import Record, Records
from structsmooth.compare.result import Comparison, best, choose
from structsmooth.compare.statistics import Difference
from structsmooth.compare.trainers import (
    Predictor,
    Trainer,
    check_is_named,
    describe,
    trainer_of,
)
from structsmooth.errors import InvalidInputError, StructsmoothWarning
from structsmooth.metrics import evaluate
from structsmooth.progress import Progress, Stage
from structsmooth.smoother import StructuralSmoother
from structsmooth.store import versions
from structsmooth.strengths import (
    resolve_alpha_beta,
    reversed_strengths,
    shuffled_strengths,
    solve_strengths,
    uniform_strengths,
)
from structsmooth.validation import (
    check_choice,
    check_features,
    check_integer,
    encode_labels,
)

__all__ = ["Comparison", "Difference", "compare"]

CRITERIA = ("nll", "error", "brier", "ece", "aurc")


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


def compare(
    X: Any,
    y: ArrayLike,
    classifier: Any = None,
    *,
    smoother: StructuralSmoother | None = None,
    alpha: float | str | Sequence[float | str] = (0.02, 0.05, 0.1, 0.2),
    beta: float | str | Sequence[float | str] = (0.5, "auto"),
    n_seeds: int = 10,
    test: tuple[Any, ArrayLike] | None = None,
    test_size: float = 0.25,
    validation_size: float = 0.2,
    groups: ArrayLike | None = None,
    criterion: str = "nll",
    confidence: float = 0.95,
    results: str | os.PathLike[str] | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Comparison:
    """Compare training with and without smoothing, over paired seeds.

    On each seed the rows are split into training, validation and test rows. The mean
    strength alpha is the one at which *uniform* smoothing does best on the validation
    rows: a choice in favor of the rival. Beta is the one at which structural
    smoothing, with that mean, does; the controls choose theirs in the same way. The
    test rows choose nothing. All metrics are taken on hard labels.

    Parameters
    ----------
    X : array-like, DataFrame or memory map of shape (n, d)
        Features.
    y : array-like of shape (n,)
        Labels of any kind.
    classifier : classifier or callable, optional
        A scikit-learn classifier or pipeline whose ``fit`` takes ``sample_weight``
        (its rows are then repeated), a classifier of LightGBM, XGBoost or CatBoost, or
        a function ``train(X, y, strengths, n_classes, random_state)`` that gets class
        numbers and returns a model with ``predict_proba``. By default a logistic
        regression on standardized features. Each ``random_state`` it has is set to
        that of the seed.
    smoother : StructuralSmoother, optional
        By default one with its default parameters; its alpha and beta are not used.
    alpha : float, "auto", or a sequence of them
        Mean strengths to choose from.
    beta : float, "auto", or a sequence of them
        Slopes of the structural strengths to choose from.
    n_seeds : int, default=10
        How many splits; at least 3, and 10 to see more than large effects.
    test : pair of features and labels, optional
        A test set that is always the same, as an official one. Then only training and
        validation rows are split, and the intervals speak of this test set alone.
    test_size : float, default=0.25
        Share of the rows that test, without ``test``.
    validation_size : float, default=0.2
        Share of the other rows that choose hyper-parameters.
    groups : array-like of shape (n,), optional
        Rows of one group, such as one speaker, stay on one side of every split.
    criterion : {"nll", "error", "brier", "ece", "aurc"}
        The metric that chooses on validation rows.
    confidence : float, default=0.95
        Of the intervals, for all metrics of a pair of methods together.
    results : path-like, optional
        A file that finished runs are written to, one line of JSON each. If it is
        there, the comparison goes on where it was interrupted.
    random_state : int, default=0
        Seed of everything; the same seed gives the same bits.
    verbose : int
        Show progress on standard error if positive.

    Returns
    -------
    Comparison
        ``verdict`` and ``findings`` in words, ``to_markdown()`` for tables.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from structsmooth.compare import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare(X, y, alpha=0.1, beta="auto", n_seeds=3)
    >>> result.findings[0]
    'structural against none: no clear difference on error, NLL, Brier, ECE and AURC'
    """
    features = check_features(X, min_rows=8)
    classes, coded = encode_labels(y, len(features), owner="compare")
    n_classes = check_integer(len(classes), "the number of classes in y", 2)
    n_seeds = check_integer(n_seeds, "n_seeds", 3)
    random_state = check_integer(random_state, "random_state", 0)
    task = Task(
        X=features,
        y=coded,
        groups=_check_groups(groups, len(features)),
        test=None if test is None else _check_test(test, X, classes),
        n_classes=n_classes,
        smoother=_check_smoother(smoother),
        train=trainer_of(classifier),
        alphas=_candidates(alpha, "alpha", n_classes),
        betas=_candidates(beta, "beta", n_classes),
        test_size=_check_share(test_size, "test_size"),
        validation_size=_check_share(validation_size, "validation_size"),
        criterion=check_choice(criterion, "criterion", CRITERIA),
        random_state=random_state,
    )
    check_confidence(confidence)
    description = _describe(task, describe(classifier), classes)
    # All that can be refused is refused before anything is trained.
    seeds = [_SeedWork(task, seed) for seed in range(n_seeds)]
    task.smoother._check_parameters(n_classes, (len(seeds[0].rows), features.shape[1]))
    if results is not None:
        check_is_named(classifier)
    records = Records(results, description)
    chosen: list[Record] = []
    n_runs = n_seeds * (1 + len(task.alphas) + 3 * len(task.betas))
    with (
        _each_warning_once(),
        Progress(verbose > 0) as progress,
        progress.stage("compare", n_runs) as stage,
    ):
        for work in seeds:
            chosen.extend(_run_seed(work, records, stage))
    return Comparison(description, chosen, confidence)


@contextlib.contextmanager
def _each_warning_once() -> Iterator[None]:
    """Let warnings that every seed would repeat pass only once, when all is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StructsmoothWarning)
        yield
    first_of = {type(w.message): w.message for w in reversed(caught)}
    for message in first_of.values():
        warnings.warn(message, stacklevel=4)


def _run_seed(work: _SeedWork, records: Records, stage: Stage) -> list[Record]:
    """Train all methods on the rows of one seed, and return the chosen runs."""
    task, seed = work.task, work.seed

    def run(method: str, alpha: float, beta: float | None) -> Record:
        record = records.find((seed, method, alpha, beta))
        if record is None:
            record = records.add((seed, method, alpha, beta), work(method, alpha, beta))
        stage.advance()
        return record

    runs = [run("none", 0.0, None)]
    runs += [run("uniform", alpha, None) for alpha in work.alphas()]
    alpha = best(runs[1:], task.criterion)["alpha"]
    for method in ("structural", "reversed", "shuffled"):
        runs += [run(method, alpha, beta) for beta in work.betas()]
    return choose(runs, _settings(task))


class _SeedWork:
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
        self._fitted: StructuralSmoother | None = None

    @property
    def _test(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        if self.task.test is not None:
            return self.task.test
        return self.task.X[self._held_out], self.task.y[self._held_out]

    @property
    def _smoother(self) -> StructuralSmoother:
        if self._fitted is None:
            smoother = clone(self.task.smoother).set_params(
                alpha=0.0, random_state=self._fit_seed
            )
            rows = self.rows
            self._fitted = smoother.fit(self.task.X[rows], self.task.y[rows])
        return self._fitted

    def alphas(self) -> list[float]:
        """Return the mean strengths to try, as numbers."""
        return [
            value if isinstance(value, float) else self._resolve(value, 0.0)[0]
            for value in self.task.alphas
        ]

    def betas(self) -> list[float]:
        """Return the slopes to try, as numbers."""
        return [
            value if isinstance(value, float) else self._resolve(0.0, value)[1]
            for value in self.task.betas
        ]

    def _resolve(self, alpha: float | str, beta: float | str) -> tuple[float, float]:
        if alpha != "auto":  # then no smoother is needed
            nothing = np.zeros(1)
            return resolve_alpha_beta(
                alpha, beta, nothing, np.ones(1), self.task.n_classes
            )
        fitted = self._smoother
        return resolve_alpha_beta(
            alpha,
            beta,
            fitted.bayes_error_lower_,
            fitted.cluster_weights_,
            self.task.n_classes,
        )

    def strengths(
        self, method: str, alpha: float, beta: float | None
    ) -> NDArray[np.float64]:
        """Return the strength of each training row."""
        n_classes = self.task.n_classes
        if method in ("none", "uniform"):
            return np.repeat(
                uniform_strengths(1, alpha, n_classes=n_classes), len(self.rows)
            )
        fitted = self._smoother
        weights = fitted.cluster_weights_
        assert beta is not None  # noqa: S101 (for the type checker)
        values = solve_strengths(
            fitted.bayes_error_lower_, weights, alpha, beta, n_classes=n_classes
        )
        if method == "reversed":
            values = reversed_strengths(values, weights, n_classes=n_classes)
        elif method == "shuffled":
            values = shuffled_strengths(
                values, weights, n_classes=n_classes, random_state=self._shuffle_seed
            )
        return values[fitted.cluster_labels_]

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


def _describe(task: Task, classifier: str, classes: NDArray[Any]) -> dict[str, Any]:
    """Return what the comparison consists of, with a number that identifies it."""
    digest = hashlib.sha256()
    for array in (task.X, task.y, *(task.test or ())):
        digest.update(repr((array.shape, str(array.dtype))).encode())
        digest.update(np.ascontiguousarray(array).data)
    if task.groups is not None:
        digest.update(repr(task.groups.tolist()).encode())
    settings = {"classifier": classifier, **_settings(task)}
    digest.update(repr(settings).encode())
    return {
        "run": digest.hexdigest()[:16],
        "n_rows": len(task.y),
        "n_features": task.X.shape[1],
        "classes": [str(label) for label in classes],
        "settings": settings,
        "versions": versions(),
    }


def _settings(task: Task) -> dict[str, Any]:
    # What is set here for every run does not identify it.
    smoother = clone(task.smoother).set_params(alpha=0.0, beta="auto", random_state=0)
    return {
        "smoother": describe(smoother),
        "alpha": list(task.alphas),
        "beta": list(task.betas),
        "test_size": None if task.test is not None else task.test_size,
        "validation_size": task.validation_size,
        "criterion": task.criterion,
        "random_state": task.random_state,
    }


def _candidates(
    given: float | str | Sequence[float | str], name: str, n_classes: int
) -> tuple[float | str, ...]:
    several = not isinstance(given, str) and np.ndim(given) > 0
    values: Any = list(given) if several else [given]  # type: ignore[arg-type]
    if not values:
        raise InvalidInputError(f"{name} must have at least one value to choose from")
    checked: list[float | str] = []
    for value in values:
        alpha, beta = (value, 0.0) if name == "alpha" else (0.0, value)
        resolve_alpha_beta(alpha, beta, np.zeros(1), np.ones(1), n_classes)
        checked.append(value if isinstance(value, str) else float(value))
    return tuple(dict.fromkeys(checked))


def _check_test(
    test: Any, like: Any, classes: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    try:
        X, y = test
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"test must be a pair of features and labels, got {type(test).__name__}"
        ) from None
    if hasattr(X, "columns") and hasattr(like, "columns"):
        if set(X.columns) != set(like.columns):
            raise InvalidInputError("test must have the columns that X has")
        X = X[list(like.columns)]
    features, n_features = check_features(X), np.shape(like)[1]
    if features.shape[1] != n_features:
        raise InvalidInputError(
            f"test must have {n_features} features as X has, got {features.shape[1]}"
        )
    labels, coded = encode_labels(y, len(features), owner="compare")
    position = {label: i for i, label in enumerate(classes.tolist())}
    for label in labels.tolist():
        if label not in position:
            raise InvalidInputError(
                f"test has the label {label!r}, which y does not have"
            )
    return features, np.array([position[label] for label in labels.tolist()])[coded]


def _check_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    if groups is None:
        return None
    array = np.asarray(groups)
    if array.shape != (n_rows,):
        raise InvalidInputError(
            f"groups must have one value for each of the {n_rows} rows, got shape "
            f"{array.shape}"
        )
    if len(np.unique(array)) < 3:
        raise InvalidInputError(
            "groups must have at least 3 values, to have some in training, validation "
            "and test rows"
        )
    return array


def _check_smoother(smoother: Any) -> StructuralSmoother:
    if smoother is None:
        return StructuralSmoother()
    if not isinstance(smoother, StructuralSmoother):
        raise InvalidInputError(
            "smoother must be a StructuralSmoother or None, got "
            f"{type(smoother).__name__}"
        )
    return smoother


def _check_share(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InvalidInputError(f"{name} must be a number, got {value!r}")
    if not 0.0 < value < 1.0:
        raise InvalidInputError(f"{name} must lie between 0 and 1, got {value!r}")
    return float(value)
