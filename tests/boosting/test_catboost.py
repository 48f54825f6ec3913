"""Smoothed labels in CatBoost."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import log_loss

from structsmooth.boosting import catboost_arguments

catboost = pytest.importorskip("catboost")

# No randomness that would depend on the number of rows.
COMMON = {
    "iterations": 10,
    "depth": 3,
    "learning_rate": 0.3,
    "bootstrap_type": "No",
    "random_strength": 0,
    "boosting_type": "Plain",
    "thread_count": 1,
    "verbose": False,
    "allow_writing_files": False,
}
# CatBoost multiplies its regularizer by the mean weight of a row, which the expansion
# divides by the number of rows that one row becomes.
REGULARIZER = 3.0


def train(arguments, X, **options):
    pool = catboost.Pool(X, **arguments.dataset)
    return catboost.train(
        pool, {**COMMON, **arguments.params, **options}, **arguments.train_options
    )


def test_without_smoothing_it_is_the_librarys_own_objective(five_digits, weights_of):
    X, y, _ = five_digits
    weights = weights_of(len(y))
    arguments = catboost_arguments(y, 0.0, 5, sample_weight=weights)
    own = catboost.train(
        catboost.Pool(X, y, weight=weights), {**COMMON, "loss_function": "MultiClass"}
    )
    np.testing.assert_allclose(
        train(arguments, X).predict(X), own.predict(X), rtol=0, atol=1e-10
    )


def test_without_smoothing_the_defaults_are_the_librarys_own(five_digits):
    X, y, _ = five_digits
    few = {"iterations": 5, "learning_rate": 0.3, "thread_count": 1, "verbose": False}
    few["allow_writing_files"] = False
    arguments = catboost_arguments(y, 0.0, 5)
    model = arguments.estimator(**few).fit(X, **arguments.fit_options)
    own = catboost.CatBoostClassifier(**few).fit(X, y)
    np.testing.assert_allclose(
        arguments.probabilities(model.predict(X, **arguments.raw_options)),
        own.predict_proba(X),
        rtol=0,
        atol=1e-10,
    )


def test_equals_a_fit_on_expanded_rows(five_digits, weights_of, expanded):
    X, y, strengths = five_digits
    weights = weights_of(len(y))
    arguments = catboost_arguments(y, strengths, 5, sample_weight=weights)
    model = train(arguments, X)
    rows, labels, row_weights = expanded(y, strengths, 5, weights)
    assert len(rows) == 5 * len(y)
    by_rows = catboost.train(
        catboost.Pool(X[rows], labels, weight=row_weights),
        {**COMMON, "loss_function": "MultiClass", "l2_leaf_reg": 5 * REGULARIZER},
    ).predict(X, prediction_type="Probability")
    got = model.predict(X, prediction_type="Probability")
    np.testing.assert_allclose(got, by_rows, rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        arguments.probabilities(model.predict(X, **arguments.raw_options)), got
    )
    plain = train(catboost_arguments(y, 0.0, 5, sample_weight=weights), X)
    plain = plain.predict(X, prediction_type="Probability")
    assert np.abs(got - plain).max() > 0.1  # so that equality means something


def test_two_classes_equal_a_fit_on_expanded_rows(two_classes, weights_of, expanded):
    X, y, strengths = two_classes
    weights = weights_of(len(y))
    arguments = catboost_arguments(y, strengths, 2, sample_weight=weights)
    rows, labels, row_weights = expanded(y, strengths, 2, weights)
    by_rows = catboost.train(
        catboost.Pool(X[rows], labels, weight=row_weights),
        {**COMMON, "loss_function": "Logloss", "l2_leaf_reg": 2 * REGULARIZER},
    ).predict(X, prediction_type="Probability")
    got = train(arguments, X).predict(X, **arguments.raw_options)
    np.testing.assert_allclose(arguments.probabilities(got), by_rows, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_estimator_does_what_the_training_function_does(
    five_digits, two_classes, weights_of, n_classes
):
    X, y, strengths = two_classes if n_classes == 2 else five_digits
    arguments = catboost_arguments(
        y, strengths, n_classes, sample_weight=weights_of(len(y))
    )
    expected = train(arguments, X).predict(X, **arguments.raw_options)
    model = arguments.estimator(**COMMON).fit(X, **arguments.fit_options)
    np.testing.assert_array_equal(model.predict(X, **arguments.raw_options), expected)
    model = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(model.predict(X, **arguments.raw_options), expected)
    pickle.dumps(arguments)  # CatBoost has not changed the objective


def test_hard_labels_are_one_hot_rows():
    np.testing.assert_array_equal(
        catboost_arguments([0, 1, 2], 0.3, 3).hard_labels([2, 0]),
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_validation_is_on_hard_labels(five_digits, weighted):
    X, y, strengths = five_digits
    fitted, held_out = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    weights = np.linspace(0, 2, len(held_out)) if weighted else None
    arguments = catboost_arguments(y[fitted], strengths[fitted], 5)
    model = arguments.estimator(
        **{**COMMON, "iterations": 60, "learning_rate": 1.0}, early_stopping_rounds=3
    )
    model.fit(
        X[fitted],
        **arguments.fit_options,
        eval_set=catboost.Pool(
            X[held_out], arguments.hard_labels(y[held_out]), weight=weights
        ),
    )
    got = model.get_evals_result()["validation"]["SoftmaxCrossEntropy"]
    losses = [
        log_loss(y[held_out], arguments.probabilities(scores), sample_weight=weights)
        for scores in model.staged_predict(X[held_out], **arguments.raw_options)
    ]
    np.testing.assert_allclose(got[: len(losses)], losses, rtol=1e-6)
    assert model.get_best_iteration() == np.argmin(got) < 57
    assert len(losses) == np.argmin(got) + 1


def test_a_class_that_does_not_occur(five_digits):
    X, y, _ = five_digits
    X, y = X[y < 4], y[y < 4]
    model = train(catboost_arguments(y, 0.2, 5), X, iterations=40)
    probabilities = model.predict(X, prediction_type="Probability")
    assert probabilities[:, 4].mean() == pytest.approx(0.05, abs=0.01)
