"""Smoothed labels in XGBoost."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from structsmooth.boosting import xgboost_arguments
from structsmooth.errors import InvalidInputError

xgboost = pytest.importorskip("xgboost")

# Split at any value, so that repeated rows cannot change the bins. The remaining
# differences come from float32, in which XGBoost computes.
COMMON = {"max_depth": 3, "tree_method": "exact", "nthread": 1}
OWN = {**COMMON, "objective": "multi:softprob", "num_class": 5}


def train(arguments, X, rounds=20, **options):
    return xgboost.train(
        {**COMMON, **arguments.params},
        xgboost.DMatrix(X, **arguments.dataset),
        rounds,
        **arguments.train_options,
        **options,
    )


def test_without_smoothing_it_is_the_librarys_own_objective(five_digits, weights_of):
    X, y, _ = five_digits
    weights = weights_of(len(y))
    arguments = xgboost_arguments(y, 0.0, 5, sample_weight=weights)
    data = xgboost.DMatrix(X, y, weight=weights)
    own = xgboost.train(OWN, data, 20).predict(data)
    np.testing.assert_allclose(
        train(arguments, X).predict(data), own, rtol=0, atol=2e-6
    )


def test_equals_a_fit_on_expanded_rows(five_digits, weights_of, expanded):
    X, y, strengths = five_digits
    weights = weights_of(len(y))
    arguments = xgboost_arguments(y, strengths, 5, sample_weight=weights)
    data = xgboost.DMatrix(X)
    booster = train(arguments, X)
    got = booster.predict(data)
    rows, labels, row_weights = expanded(y, strengths, 5, weights)
    assert len(rows) == 5 * len(y)
    repeated = xgboost.DMatrix(X[rows], labels, weight=row_weights)
    by_rows = xgboost.train(OWN, repeated, 20).predict(data)
    np.testing.assert_allclose(got, by_rows, rtol=0, atol=2e-6)
    scores = booster.predict(data, **arguments.raw_options)
    np.testing.assert_allclose(
        arguments.probabilities(scores), by_rows, rtol=0, atol=2e-6
    )
    plain = xgboost.train(OWN, xgboost.DMatrix(X, y, weight=weights), 20).predict(data)
    assert np.abs(got - plain).max() > 0.1  # so that equality means something


def test_two_classes_equal_a_fit_on_expanded_rows(two_classes, weights_of, expanded):
    X, y, strengths = two_classes
    weights = weights_of(len(y))
    arguments = xgboost_arguments(y, strengths, 2, sample_weight=weights)
    data = xgboost.DMatrix(X)
    rows, labels, row_weights = expanded(y, strengths, 2, weights)
    by_rows = xgboost.train(
        {**COMMON, "objective": "binary:logistic"},
        xgboost.DMatrix(X[rows], labels, weight=row_weights),
        20,
    ).predict(data)
    booster = train(arguments, X)
    np.testing.assert_allclose(booster.predict(data), by_rows, rtol=0, atol=2e-6)
    scores = booster.predict(data, **arguments.raw_options)
    np.testing.assert_allclose(
        arguments.probabilities(scores)[:, 1], by_rows, rtol=0, atol=2e-6
    )


def test_starts_from_the_mean_soft_label():
    # Soft labels (0.8, 0.1, 0.1), (0.25, 0.5, 0.25) and (1, 0, 0), weights 1, 2, 1.
    arguments = xgboost_arguments(
        [0, 1, 0], [0.2, 0.5, 0.0], 3, sample_weight=[1, 2, 1]
    )
    np.testing.assert_allclose(
        arguments.probabilities([arguments.params["base_score"]]),
        [[2.3 / 4, 1.1 / 4, 0.6 / 4]],
        atol=1e-5,
    )


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_estimator_does_what_the_training_function_does(
    five_digits, two_classes, weights_of, n_classes
):
    X, y, strengths = two_classes if n_classes == 2 else five_digits
    weights = weights_of(len(y))
    arguments = xgboost_arguments(y, strengths, n_classes, sample_weight=weights)
    model = clone(arguments.estimator(n_estimators=20, **COMMON))
    model.fit(X, **arguments.fit_options)
    scores = model.predict(X, **arguments.raw_options)
    expected = train(arguments, X).predict(xgboost.DMatrix(X))
    np.testing.assert_allclose(
        arguments.probabilities(scores),
        np.column_stack([1 - expected, expected]) if n_classes == 2 else expected,
        atol=1e-6,
    )
    model = pickle.loads(pickle.dumps(model))  # noqa: S301
    probabilities = model.predict(X) if n_classes == 2 else model.predict_proba(X)
    np.testing.assert_array_equal(probabilities, expected)


def test_validation_is_on_hard_labels(five_digits):
    X, y, strengths = five_digits
    fitted, held_out = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    arguments = xgboost_arguments(y[fitted], strengths[fitted], 5)
    data = xgboost.DMatrix(X[held_out], arguments.hard_labels(y[held_out]))
    history = {}
    booster = xgboost.train(
        {**COMMON, "learning_rate": 0.8, **arguments.params},
        xgboost.DMatrix(X[fitted], **arguments.dataset),
        60,
        evals=[(data, "valid")],
        early_stopping_rounds=5,
        evals_result=history,
        verbose_eval=False,
        **arguments.train_options,
    )
    losses = [
        log_loss(y[held_out], booster.predict(data, iteration_range=(0, i)))
        for i in range(1, booster.num_boosted_rounds() + 1)
    ]
    np.testing.assert_allclose(history["valid"]["mlogloss"], losses, rtol=1e-5)
    assert booster.best_iteration == np.argmin(losses) < 59


def test_cross_validation_with_one_strength_for_all(five_digits):
    X, y, _ = five_digits
    arguments = xgboost_arguments(y, 0.0, 5)
    data = xgboost.DMatrix(X, y)
    params = {**COMMON, **arguments.params}
    options = {"num_boost_round": 5, "nfold": 3, "seed": 1, "as_pandas": False}
    smoothed = xgboost.cv(params, data, **options, **arguments.train_options)
    own = xgboost.cv(params, data, **options)
    np.testing.assert_allclose(
        smoothed["test-mlogloss-mean"], own["test-mlogloss-mean"], rtol=1e-5
    )


def test_a_grid_search_in_processes_with_one_strength_for_all(five_digits):
    X, y, _ = five_digits
    arguments = xgboost_arguments(y, 0.2, 5)
    search = GridSearchCV(
        arguments.estimator(n_estimators=5, n_jobs=1),
        {"max_depth": [1, 3]},
        cv=2,
        scoring="neg_log_loss",
        n_jobs=2,
    ).fit(X, y)
    assert search.best_params_ == {"max_depth": 3}
    # Five steps of 0.3 toward labels with a largest value of 0.8 stay well below it.
    assert search.predict_proba(X).max() < 0.85


def test_other_rows_than_those_of_the_strengths_are_refused(five_digits):
    X, y, strengths = five_digits
    arguments = xgboost_arguments(y, strengths, 5)
    with pytest.raises(InvalidInputError, match="XGBoost must train on the 756 rows"):
        xgboost.cv(
            arguments.params, xgboost.DMatrix(X, y), 1, **arguments.train_options
        )


def test_weights_that_were_not_handed_on_are_missed(five_digits):
    X, y, strengths = five_digits
    arguments = xgboost_arguments(y, strengths, 5, sample_weight=np.full(len(y), 2.0))
    with pytest.raises(InvalidInputError, match="objective but not to XGBoost"):
        arguments.estimator().fit(X, y)


def test_a_class_that_does_not_occur(five_digits):
    X, y, _ = five_digits
    X, y = X[y < 4], y[y < 4]
    data = xgboost.DMatrix(X, y)
    own = xgboost.train(OWN, data, 5).predict(data)
    got = train(xgboost_arguments(y, 0.0, 5), X, 5).predict(data)
    np.testing.assert_allclose(got, own, rtol=0, atol=2e-6)
    arguments = xgboost_arguments(y, 0.2, 5)
    with pytest.raises(InvalidInputError, match="each of the 5 classes, got 4"):
        xgboost.XGBClassifier(objective=arguments.train_options["obj"]).fit(X, y)
    got = train(arguments, X, 40).predict(data)
    assert got[:, 4].mean() == pytest.approx(0.05, abs=0.01)
    model = arguments.estimator(n_estimators=40, **COMMON)
    model.fit(X, **arguments.fit_options, eval_set=[(X, y)], verbose=False)
    by_estimator = arguments.probabilities(model.predict(X, output_margin=True))
    np.testing.assert_allclose(by_estimator, got, atol=1e-6)
    losses = model.evals_result()["validation_0"]["mlogloss"]
    assert losses[-1] == pytest.approx(log_loss(y, got, labels=range(5)), rel=1e-5)


def test_one_row():
    booster = train(xgboost_arguments([2], 0.2, 3), np.zeros((1, 1)), 2)
    np.testing.assert_allclose(
        booster.predict(xgboost.DMatrix(np.zeros((1, 1)))),
        [[0.1, 0.1, 0.8]],
        atol=1e-5,
    )
