"""Does structural smoothing help on these data? A paired comparison.

On every seed the same rows train five models: without smoothing, and with uniform,
structural, reversed and shuffled strengths of the same mean. The last two are controls:
they have the structural strengths in the wrong places.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from structsmooth.compare.records import Record, Records
from structsmooth.compare.result import METHODS, METRICS, Comparison, best, choose
from structsmooth.compare.seeds import SeedWork, Task
from structsmooth.compare.statistics import Difference
from structsmooth.compare.trainers import check_is_named, describe, trainer_of
from structsmooth.encode.table import as_table, is_table
from structsmooth.errors import InvalidInputError, StructsmoothWarning
from structsmooth.io.store import versions
from structsmooth.settings import check_settings
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.solve import resolve_alpha_beta
from structsmooth.support.progress import Progress, Stage
from structsmooth.support.validation import (
    check_choice,
    check_features,
    check_integer,
    check_label_structure,
    check_share,
    encode_as,
    encode_labels,
)

__all__ = ["Comparison", "Difference", "compare"]


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
    strength alpha is the one at which *uniform* smoothing is best on the validation
    rows, which favors uniform smoothing. Beta is the one at which structural smoothing
    of that mean is best; each control chooses its own in the same way. The test rows
    choose nothing. All metrics are computed on hard labels.

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
        regression on standardized features. Each ``random_state`` of the classifier
        is set to that of the seed.
    smoother : StructuralSmoother, optional
        Its alpha and beta are not used. With ``spread="overlap"``, structural smoothing
        and its controls are spread by overlap, and a function given as classifier must
        have the parameter ``soft_labels``, which gets an (n, K) array.
    alpha, beta : float, "auto", "cautious", or a sequence of them
        Mean strengths, and slopes of the structural strengths, to choose from.
    n_seeds : int, default=10
        Number of splits, at least 3; with fewer than 10 only large effects are seen.
    test : pair of features and labels, optional
        A test set that is the same for all seeds; the intervals hold for it alone.
    test_size, validation_size : float
        Share of test rows, without ``test``, and of validation rows among the others.
    groups : array-like of shape (n,), optional
        Rows of one group, such as one speaker, stay on one side of every split.
    criterion : {"nll", "error", "brier", "ece", "aurc"}
        The metric on validation rows by which alpha and beta are chosen.
    confidence : float, default=0.95
        Of the intervals, for all metrics of a pair of methods together.
    results : path-like, optional
        A file for finished runs, one line of JSON each. If it exists, the comparison
        continues where it was interrupted.
    random_state : int, default=0
        Seed of everything; the same seed gives the same bits.
    verbose : int
        Show progress on standard error if positive.
    """
    features = _check_rows(X, min_rows=8)
    classes, coded = encode_labels(y, len(features), owner="compare")
    check_label_structure(classes, np.bincount(coded))
    n_classes = len(classes)
    n_seeds = check_integer(n_seeds, "n_seeds", 3)
    task = Task(
        X=features,
        y=coded,
        groups=_check_groups(groups, len(features)),
        test=None if test is None else _check_test(test, X, classes),
        n_classes=n_classes,
        train=trainer_of(classifier, is_table(X)),
        smoother=_check_smoother(smoother, classifier),
        alphas=_check_candidates(alpha, "alpha", n_classes),
        betas=_check_candidates(beta, "beta", n_classes),
        test_size=check_share(test_size, "test_size"),
        validation_size=check_share(validation_size, "validation_size"),
        criterion=check_choice(criterion, "criterion", METRICS),
        random_state=check_integer(random_state, "random_state", 0),
    )
    check_share(confidence, "confidence")
    description = _describe(task, describe(classifier), classes)
    # Whatever can be refused is refused before anything is trained.
    seeds = [SeedWork(task, seed) for seed in range(n_seeds)]
    shape = len(seeds[0].rows), features.shape[1]
    check_settings(task.smoother.get_params(deep=False), n_classes, shape)
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
            chosen += _run_seed(work, records, stage, description["settings"])
    return Comparison(description, chosen, confidence)


def _check_candidates(
    given: float | str | Sequence[float | str], name: str, n_classes: int
) -> tuple[float | str, ...]:
    """Return the values to choose from, each one checked."""
    values: Any = [given] if np.ndim(given) == 0 else given  # text has no dimension
    if len(values) == 0:
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
    """Return features and class numbers of a test set."""
    try:
        X, y = test
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"test must be a pair of features and labels, got {type(test).__name__}"
        ) from None
    if hasattr(X, "columns") and hasattr(like, "columns"):
        X = X[list(like.columns)]
    features, n_features = _check_rows(X), np.shape(like)[1]
    if features.shape[1] != n_features:
        raise InvalidInputError(
            f"test must have {n_features} features as X has, got {features.shape[1]}"
        )
    coded = encode_as(classes, y, len(features), owner="compare", name="test")
    return features, coded


def _check_rows(X: Any, *, min_rows: int = 1) -> Any:
    """Return rows that can be taken: a table as it is, else an array."""
    if not is_table(X):
        return check_features(X, min_rows=min_rows)
    if len(as_table(X)) < min_rows:
        raise InvalidInputError(
            f"X has {len(X)} rows, expected at least {min_rows} to compare on"
        )
    return X


def _identity_of(rows: Any) -> bytes:
    """Return bytes that are the same for equal features or labels."""
    if is_table(rows):
        table = as_table(rows)
        head = repr((table.names, table.kinds, table.levels)).encode()
        return head + np.ascontiguousarray(table.values).tobytes()
    head = repr((rows.shape, str(rows.dtype))).encode()
    return head + np.ascontiguousarray(rows).tobytes()


def _check_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """Return the group of each row, if there are groups."""
    if groups is None:
        return None
    array, n_groups = np.asarray(groups), len(np.unique(groups))
    if array.shape != (n_rows,) or n_groups < 3:
        raise InvalidInputError(
            f"groups must have one value for each of the {n_rows} rows, and at least 3 "
            f"distinct values, got shape {array.shape} with {n_groups} values"
        )
    return array


def _check_smoother(smoother: Any, classifier: Any) -> StructuralSmoother:
    """Return the smoother, or one with its defaults, if its labels can be trained."""
    if smoother is None:
        return StructuralSmoother()
    if not isinstance(smoother, StructuralSmoother):
        raise InvalidInputError(
            "smoother must be a StructuralSmoother or None, got "
            f"{type(smoother).__name__}"
        )
    is_function = callable(classifier) and not hasattr(classifier, "fit")
    names = inspect.signature(classifier).parameters if is_function else ()
    if smoother.spread == "overlap" and is_function and "soft_labels" not in names:
        raise InvalidInputError(
            "a function given as classifier must have the parameter soft_labels if the "
            f"smoother has spread='overlap'; {describe(classifier)} does not"
        )
    return smoother


@contextlib.contextmanager
def _each_warning_once() -> Iterator[None]:
    """Show warnings that every seed would repeat once, at the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StructsmoothWarning)
        yield
    first_of = {type(w.message): w.message for w in reversed(caught)}
    for message in first_of.values():
        warnings.warn(message, stacklevel=4)


def _run_seed(
    work: SeedWork, records: Records, stage: Stage, settings: dict[str, Any]
) -> list[Record]:
    """Train all methods on the rows of one seed, and return the chosen runs."""

    def run(method: str, alpha: float, beta: float | None) -> Record:
        key = (work.seed, method, alpha, beta)
        record = records.get(key, lambda: work(method, alpha, beta))
        stage.advance()
        return record

    runs = [run("none", 0.0, None)]
    runs += [run("uniform", alpha, None) for alpha in work.alphas()]
    alpha = best(runs[1:], settings["criterion"])["alpha"]
    for method in METHODS[2:]:
        runs += [run(method, alpha, beta) for beta in work.betas()]
    return choose(runs, settings)


def _describe(task: Task, classifier: str, classes: NDArray[Any]) -> dict[str, Any]:
    """Return data, settings and versions, with a digest that identifies them."""
    digest = hashlib.sha256()
    for array in (task.X, task.y, *(task.test or ())):
        digest.update(_identity_of(array))
    if task.groups is not None:
        digest.update(repr(task.groups.tolist()).encode())
    # These parameters are set for each run, so they do not identify a comparison.
    smoother = clone(task.smoother).set_params(alpha=0.0, beta="auto", random_state=0)
    settings = {
        "classifier": classifier,
        "smoother": describe(smoother),
        "alpha": list(task.alphas),
        "beta": list(task.betas),
        "test_size": None if task.test is not None else task.test_size,
        "validation_size": task.validation_size,
        "criterion": task.criterion,
        "random_state": task.random_state,
    }
    digest.update(repr(settings).encode())
    return {
        "run": digest.hexdigest()[:16],
        "n_rows": len(task.y),
        "n_features": task.X.shape[1],
        "classes": [str(label) for label in classes],
        "settings": settings,
        "versions": versions(),
    }


class _Callable(types.ModuleType):
    """A module that can be called like its function, whose name it hides."""

    def __call__(self, *args: Any, **options: Any) -> Comparison:
        return compare(*args, **options)


sys.modules[__name__].__class__ = _Callable
