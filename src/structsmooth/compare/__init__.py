"""Does smoothing help on these data, and what should be used? A paired comparison.

On every seed the same rows train models without smoothing, with uniform, structural,
reversed and shuffled strengths of the same mean (the last two are controls: they have
the structural strengths in the wrong places), and with smoothers as they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from structsmooth.compare.arms import arms_of
from structsmooth.compare.budget import Clock, OutOfTimeError, in_words, seconds_of
from structsmooth.compare.checks import (
    check_candidates,
    check_groups,
    check_rows,
    check_smoother,
    check_suspects,
    check_takes_soft_labels,
    check_test,
    identity_of,
    sample_rows,
)
from structsmooth.compare.choice import Choice
from structsmooth.compare.records import Key, Record, Records
from structsmooth.compare.result import (
    METHODS,
    METRICS,
    Comparison,
    best,
    choose,
    plain_parameters,
)
from structsmooth.compare.seeds import SeedWork, Task, describe_arm
from structsmooth.compare.statistics import Difference
from structsmooth.compare.trainers import (
    check_is_named,
    describe,
    describe_training,
    trainer_of,
)
from structsmooth.encode.table import is_table
from structsmooth.errors import InvalidParameterError, StructsmoothWarning
from structsmooth.io.store import versions
from structsmooth.settings import check_settings
from structsmooth.smoother import StructuralSmoother
from structsmooth.support.progress import Progress, Stage
from structsmooth.support.validation import (
    check_choice,
    check_integer,
    check_label_structure,
    check_share,
    encode_labels,
)

__all__ = ["Choice", "Comparison", "Difference", "compare"]


def compare(
    X: Any,
    y: ArrayLike,
    classifier: Any = None,
    *,
    smoother: StructuralSmoother | None = None,
    arms: str | Sequence[str] | Mapping[str, StructuralSmoother] = (),
    alpha: float | str | Sequence[float | str] = (0.02, 0.05, 0.1, 0.2),
    beta: float | str | Sequence[float | str] = (0.5, "auto"),
    n_seeds: int = 10,
    test: tuple[Any, ArrayLike] | None = None,
    test_size: float = 0.25,
    validation_size: float = 0.2,
    groups: ArrayLike | None = None,
    suspects: str = "keep",
    criterion: str = "nll",
    confidence: float = 0.95,
    max_rows: int | None = None,
    budget: float | str | None = None,
    results: str | os.PathLike[str] | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Comparison:
    """Compare training with and without smoothing, over paired seeds.

    On each seed the rows are split into training, validation and test rows. The mean
    strength alpha is the one at which *uniform* smoothing is best on the validation
    rows, which favors uniform smoothing. Beta is the one at which structural smoothing
    of that mean is best; each control chooses its own in the same way. The smoother as
    it is takes part too, under the name "default". Validation rows also choose what to
    recommend, see `Comparison.choice`; test rows choose nothing. All metrics are
    computed on hard labels.

    Parameters
    ----------
    X : array-like, DataFrame or memory map of shape (n, d)
        Features.
    y : array-like of shape (n,)
        Labels of any kind.
    classifier : classifier or callable, optional
        A scikit-learn classifier or pipeline whose ``fit`` takes ``sample_weight``
        (its rows are then repeated, except for a logistic regression), a classifier of
        LightGBM, XGBoost or CatBoost, or a function ``train(X, y, strengths, n_classes,
        random_state)`` that gets class numbers and returns a model with
        ``predict_proba``. By default a logistic regression on standardized features.
        Each ``random_state`` of the classifier is set to that of the seed.
    smoother : StructuralSmoother, optional
        The arm "default", by default a `StructuralSmoother` with its defaults; and with
        other alpha and beta the structural smoothing and its controls. With
        ``spread="overlap"`` a function given as classifier must have the parameter
        ``soft_labels``, which gets an (n, K) array.
    arms : sequence of str, "all", or dict of StructuralSmoother by name
        What else to train with: "points", "overlap", "shrink" change one option of the
        smoother, "out-of-fold" measures the outputs of a first model, which is trained
        in five folds. "points+overlap" changes both.
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
    suspects : {"keep", "weigh", "drop"}
        What to do with training rows whose labels look like mistakes, see
        `find_suspects`: "weigh" trains every model with weights reduced by their
        scores, "drop" with weight 0 for suspects. They are searched for among the
        training rows of each split alone; validation and test rows keep weight and
        label. Both imply ``ignore_suspects=True`` in all smoothers, and a function
        given as classifier must have the parameter ``sample_weight``.
    criterion : {"nll", "error", "brier", "ece", "aurc"}
        The metric on validation rows by which everything is chosen.
    confidence : float, default=0.95
        Of the intervals, for all metrics of a pair of methods together.
    max_rows : int, optional
        Use a random sample of at most so many rows, with the same share of each class.
    budget : float or str, optional
        Seconds, or a time like "5min", after which no further run is started. The
        result has the seeds that are finished.
    results : path-like, optional
        A file for finished runs, one line of JSON each. If it exists, the comparison
        continues where it was interrupted. Seeds and arms can be added.
    random_state : int, default=0
        Seed of everything; the same seed gives the same bits.
    verbose : int
        Show progress on standard error if positive, with an estimate of the time left.
    """
    rows = check_rows(X, min_rows=8)
    classes, coded = encode_labels(y, len(rows), owner="compare")
    check_label_structure(classes, np.bincount(coded))
    n_classes = len(classes)
    n_seeds = check_integer(n_seeds, "n_seeds", 3)
    seed = check_integer(random_state, "random_state", 0)
    groups = check_groups(groups, len(coded))
    test = None if test is None else check_test(test, X, classes)
    if max_rows is not None:
        max_rows = check_integer(max_rows, "max_rows", 8 * n_classes)
    sample = sample_rows(coded, max_rows, seed)
    if sample is not None:
        rows, coded = _safe_indexing(rows, sample), coded[sample]
        groups = None if groups is None else check_groups(groups[sample], len(sample))
    smoother = check_smoother(smoother)
    check_suspects(suspects, classifier)
    named = arms_of(arms, smoother)
    if suspects != "keep":
        named = tuple(
            replace(arm, smoother=clone(arm.smoother).set_params(ignore_suspects=True))
            for arm in named
        )
    task = Task(
        X=rows,
        y=coded,
        groups=groups,
        test=test,
        n_classes=n_classes,
        train=trainer_of(classifier, is_table(X)),
        smoother=named[0].smoother,  # the smoother that was given
        alphas=check_candidates(alpha, "alpha", n_classes),
        betas=check_candidates(beta, "beta", n_classes),
        test_size=check_share(test_size, "test_size"),
        validation_size=check_share(validation_size, "validation_size"),
        criterion=check_choice(criterion, "criterion", METRICS),
        random_state=seed,
        arms=named,
        suspects=suspects,
    )
    check_share(confidence, "confidence")
    clock = Clock(seconds_of(budget))
    description = _describe(task, describe_training(classifier), classes)
    # Whatever can be refused is refused before anything is trained.
    seeds = [SeedWork(task, seed) for seed in range(n_seeds)]
    check_takes_soft_labels(task.arms, classifier)
    for arm in task.arms:
        shape = len(seeds[0].rows), n_classes if arm.out_of_fold else rows.shape[1]
        check_settings(arm.smoother.get_params(deep=False), n_classes, shape)
    if results is not None:
        check_is_named(classifier)
    records = Records(results, description)
    chosen: list[Record] = []
    n_runs = n_seeds * (1 + len(task.alphas) + 3 * len(task.betas) + len(task.arms))
    with (
        _each_warning_once(),
        contextlib.suppress(OutOfTimeError),
        Progress(verbose > 0) as progress,
        progress.stage("compare", n_runs) as stage,
    ):
        runs = Runs(records, stage, clock, n_runs)
        for work in seeds:
            chosen += _run_seed(work, runs, description["settings"])
    if not chosen:
        raise InvalidParameterError(
            f"no seed was finished within the budget of {budget}: one of "
            f"{n_runs // n_seeds} runs takes {in_words(clock.each)}; expected a larger "
            "budget, or fewer rows (max_rows)"
        )
    return Comparison(description, chosen, confidence, task.arms, n_seeds)


# A value as it was given, which may be a word, and as a number.
Candidate = tuple[Any, Any]


class Runs:
    """The runs of a comparison: known ones are looked up, others take their time."""

    def __init__(
        self, records: Records, stage: Stage, clock: Clock, n_runs: int
    ) -> None:
        self._records, self._stage = records, stage
        self._clock, self._n_left = clock, n_runs

    def get(self, key: Key, make: Callable[[], Record]) -> Record:
        """Return a run; raise if there is no time to make it."""
        if key not in self._records:
            self._clock.check()
            started = time.monotonic()
            self._records.get(key, make)
            self._clock.add(time.monotonic() - started)
        self._n_left -= 1
        self._stage.advance()
        self._stage.say(self._clock.left(self._n_left))
        return self._records.get(key, make)


def _run_seed(work: SeedWork, runs: Runs, settings: dict[str, Any]) -> list[Record]:
    """Train all methods on the rows of one seed, and return the chosen runs."""

    def run(method: str, alpha: Candidate, beta: Candidate) -> Record:
        (given, a), (slope, b) = alpha, beta
        words = {"given": [given, slope]}
        key = (work.seed, method, a, b)
        return runs.get(key, lambda: work.run(method, a, b) | words)

    alphas = list(zip(work.task.alphas, work.alphas(), strict=True))
    found = [run("none", (0.0, 0.0), (None, None))]
    found += [run("uniform", alpha, (None, None)) for alpha in alphas]
    chosen = best(found[1:], settings["criterion"])["alpha"]
    alpha = next(pair for pair in alphas if pair[1] == chosen)
    for method in METHODS[2:]:
        for beta in zip(work.task.betas, work.betas(), strict=True):
            found.append(run(method, alpha, beta))
    for arm in work.task.arms:
        key = (work.seed, arm.name, describe_arm(arm))
        found.append(runs.get(key, partial(work.run_arm, arm)))
    return choose(found, settings)


@contextlib.contextmanager
def _each_warning_once() -> Iterator[None]:
    """Show warnings that every seed would repeat once, at the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StructsmoothWarning)
        yield
    first_of = {type(w.message): w.message for w in reversed(caught)}
    for message in first_of.values():
        warnings.warn(message, stacklevel=4)


def _describe(task: Task, classifier: str, classes: NDArray[Any]) -> dict[str, Any]:
    """Return data, settings and versions, with a digest that identifies them."""
    digest = hashlib.sha256()
    for array in (task.X, task.y, *(task.test or ())):
        digest.update(identity_of(array))
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
    if task.suspects != "keep":  # files of earlier versions do not name it
        settings["suspects"] = task.suspects
    digest.update(repr(settings).encode())
    return {
        "run": digest.hexdigest()[:16],
        "n_rows": len(task.y),
        "n_features": task.X.shape[1],
        "classes": [str(label) for label in classes],
        "settings": settings,
        "parameters": plain_parameters(task.smoother),
        "versions": versions(),
    }


class _Callable(types.ModuleType):
    """A module that can be called like its function, whose name it hides."""

    def __call__(self, *args: Any, **options: Any) -> Comparison:
        return compare(*args, **options)


sys.modules[__name__].__class__ = _Callable
