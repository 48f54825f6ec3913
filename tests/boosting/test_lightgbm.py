"""Smoothed labels in LightGBM."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

from structsmooth import smooth_labels
from structsmooth.boosting import lightgbm_arguments
from structsmooth.errors import InvalidInputError

lightgbm = pytest.importorskip("lightgbm")

# LightGBM counts the rows of a leaf by their share of its Hessian, rounded, and
# refuses leaves with too few rows. Repeated rows count more often, so a limit on the
# Hessian replaces those on counts. All other settings are defaults.
COMMON = {
    "num_leaves": 8,
    "min_data_in_leaf": 1,
    "min_data_in_bin": 1,
    "min_sum_hessian_in_leaf": 1.0,
    "num_threads": 1,
    "verbose": -1,
    "deterministic": True,
}
OWN = {**COMMON, "objective": "multiclass", "num_class": 5}


def train(arguments, X, rounds=20, **options):
    return lightgbm.train(
        {**COMMON, **arguments.params},
        lightgbm.Dataset(X, **arguments.dataset),
        rounds,
        **arguments.train_options,
        **options,
    )


def predict(arguments, model, X):
    return arguments.probabilities(model.predict(X, **arguments.raw_options))


def test_without_smoothing_it_is_the_librarys_own_objective(five_digits, weights_of):
    X, y, _ = five_digits
    weights = weights_of(len(y))
    arguments = lightgbm_arguments(y, 0.0, 5, sample_weight=weights)
    own = lightgbm.train(OWN, lightgbm.Dataset(X, y, weight=weights), 20)
    got = predict(arguments, train(arguments, X), X)
    # Weights are rounded to float32 by LightGBM before it takes their mean.
    tolerance = 1e-12 if weights is None else 1e-7
    np.testing.assert_allclose(got, own.predict(X), rtol=0, atol=tolerance)


def test_equals_a_fit_on_expanded_rows(five_digits, weights_of, expanded):
    X, y, strengths = five_digits
    weights = weights_of(len(y))
    arguments = lightgbm_arguments(y, strengths, 5, sample_weight=weights)
    got = predict(arguments, train(arguments, X), X)
    rows, labels, row_weights = expanded(y, strengths, 5, weights)
    assert len(rows) == 5 * len(y)
    by_rows = lightgbm.train(
        OWN, lightgbm.Dataset(X[rows], labels, weight=row_weights), 20
    ).predict(X)
    np.testing.assert_allclose(got, by_rows, rtol=0, atol=1e-6)
    plain = lightgbm.train(OWN, lightgbm.Dataset(X, y, weight=weights), 20).predict(X)
    assert np.abs(got - plain).max() > 0.1  # so that equality means something


def test_two_classes_equal_a_fit_on_expanded_rows(two_classes, weights_of, expanded):
    X, y, strengths = two_classes
    weights = weights_of(len(y))
    arguments = lightgbm_arguments(y, strengths, 2, sample_weight=weights)
    rows, labels, row_weights = expanded(y, strengths, 2, weights)
    by_rows = lightgbm.train(
        {**COMMON, "objective": "binary"},
        lightgbm.Dataset(X[rows], labels, weight=row_weights),
        20,
    ).predict(X)
    got = predict(arguments, train(arguments, X), X)
    np.testing.assert_allclose(got[:, 1], by_rows, rtol=0, atol=1e-6)
    np.testing.assert_allclose(got.sum(axis=1), 1.0)


def test_starts_from_the_mean_soft_label():
    # Soft labels (0.8, 0.1, 0.1), (0.25, 0.5, 0.25) and (1, 0, 0), weights 1, 2, 1.
    arguments = lightgbm_arguments(
        [0, 1, 0], [0.2, 0.5, 0.0], 3, sample_weight=[1, 2, 1]
    )
    np.testing.assert_allclose(
        arguments.initial_scores, np.log([2.3 / 4, 1.1 / 4, 0.6 / 4])
    )
    # Raw scores of 0 mean that boosting has not begun.
    np.testing.assert_allclose(
        arguments.probabilities(np.zeros((1, 3))), [[2.3 / 4, 1.1 / 4, 0.6 / 4]]
    )


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_estimator_does_what_the_training_function_does(
    five_digits, two_classes, weights_of, n_classes
):
    X, y, strengths = two_classes if n_classes == 2 else five_digits
    arguments = lightgbm_arguments(
        y, strengths, n_classes, sample_weight=weights_of(len(y))
    )
    names = {"min_data_in_leaf": "min_child_samples", "num_threads": "n_jobs"}
    names["min_sum_hessian_in_leaf"] = "min_child_weight"
    parameters = {names.get(name, name): value for name, value in COMMON.items()}
    model = arguments.estimator(n_estimators=20, **parameters)
    model = clone(model).fit(X, **arguments.fit_options)
    expected = predict(arguments, train(arguments, X), X)
    np.testing.assert_array_equal(predict(arguments, model, X), expected)
    model = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(predict(arguments, model, X), expected)


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
@pytest.mark.parametrize("weighted", [False, True])
def test_validation_is_on_hard_labels(five_digits, weighted):
    X, y, strengths = five_digits
    fitted, held_out = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    weights = np.linspace(0, 2, len(held_out)) if weighted else None
    arguments = lightgbm_arguments(y[fitted], strengths[fitted], 5)
    history = {}
    data = lightgbm.Dataset(X[fitted], **arguments.dataset)
    booster = lightgbm.train(
        {**COMMON, "learning_rate": 0.5, **arguments.params},
        data,
        120,
        valid_sets=[
            lightgbm.Dataset(
                X[held_out],
                arguments.hard_labels(y[held_out]),
                weight=weights,
                reference=data,
            )
        ],
        callbacks=[
            lightgbm.record_evaluation(history),
            lightgbm.early_stopping(5, verbose=False),
        ],
        **arguments.train_options,
    )
    losses = [
        log_loss(
            y[held_out],
            arguments.probabilities(booster.predict(X[held_out], num_iteration=i)),
            sample_weight=weights,
        )
        for i in range(1, booster.current_iteration() + 1)
    ]
    got = history["valid_0"]["multi_logloss"]
    np.testing.assert_allclose(got[: len(losses)], losses)
    # LightGBM drops what came after the best iteration.
    assert booster.best_iteration == np.argmin(got) + 1 == len(losses) < 115
    model = arguments.estimator(n_estimators=3, verbose=-1, n_jobs=1)
    model.fit(
        X[fitted],
        **arguments.fit_options,
        eval_set=[(X[held_out], y[held_out])],
        eval_sample_weight=[weights],
    )
    assert list(model.evals_result_["valid_0"]) == ["multi_logloss"]  # ours only
    assert len(model.evals_result_["valid_0"]["multi_logloss"]) == 3
    expected = log_loss(
        y[held_out], predict(arguments, model, X[held_out]), sample_weight=weights
    )
    got = model.evals_result_["valid_0"]["multi_logloss"][-1]
    assert got == pytest.approx(expected)


def test_cross_validation_gives_each_fold_its_own_strengths(five_digits):
    X, y, strengths = five_digits
    arguments = lightgbm_arguments(y, strengths, 5)
    folds = [(np.arange(0, len(y), 2), np.arange(1, len(y), 2))]
    soft = smooth_labels(y, strengths, 5)

    def objective(scores, _):  # an independent implementation with dense soft labels
        p = np.exp(scores + arguments.initial_scores)
        p /= p.sum(axis=1, keepdims=True)
        return p - soft[folds[0][0]], 5 / 4 * p * (1 - p)

    def train_and_score(params, **options):
        result = lightgbm.cv(
            {**COMMON, **params},
            lightgbm.Dataset(X, y, params={"verbose": -1}),
            10,
            folds=folds,
            feval=arguments.train_options["feval"],
            **options,
        )
        return result["valid multi_logloss-mean"]

    np.testing.assert_allclose(
        train_and_score(arguments.params),
        train_and_score({**arguments.params, "objective": objective}),
        atol=1e-6,
    )


def test_one_strength_for_all_serves_any_rows(five_digits):
    X, y, _ = five_digits
    one = lightgbm_arguments(y, 0.2, 5).params["objective"]
    each = lightgbm_arguments(y, np.full(len(y), 0.2), 5).params["objective"]
    scores = X[:, :5] / 50
    some = np.arange(3, 99)
    np.testing.assert_array_equal(
        one(y[some], scores[some]), np.array(each(y, scores))[:, some]
    )


def test_other_rows_than_those_of_the_strengths_are_refused(five_digits):
    X, y, strengths = five_digits
    arguments = lightgbm_arguments(y, strengths, 5)
    for data in (
        lightgbm.Dataset(X[:100], y[:100]),
        lightgbm.Dataset(X[::-1], y[::-1]),
    ):
        with pytest.raises(InvalidInputError, match="LightGBM must train on the 756"):
            lightgbm.train({**COMMON, **arguments.params}, data, 1)


def test_weights_that_were_not_handed_on_are_missed(five_digits):
    X, y, strengths = five_digits
    arguments = lightgbm_arguments(y, strengths, 5, sample_weight=np.full(len(y), 2.0))
    with pytest.raises(InvalidInputError, match="objective but not to LightGBM"):
        arguments.estimator(verbose=-1, n_jobs=1).fit(X, y)


def test_a_class_that_does_not_occur(five_digits):
    X, y, _ = five_digits
    X, y = X[y != 3], y[y != 3]
    arguments = lightgbm_arguments(y, 0.0, 5)
    own = lightgbm.train(OWN, lightgbm.Dataset(X, y), 5).predict(X)
    got = predict(arguments, train(arguments, X, 5), X)
    np.testing.assert_allclose(got, own, rtol=0, atol=1e-12)
    with pytest.raises(InvalidInputError, match="each of the 5 classes, got 4"):
        lightgbm.LGBMClassifier(
            objective=arguments.params["objective"], verbose=-1, n_jobs=1
        ).fit(X, **arguments.fit_options)
    smoothed = lightgbm_arguments(y, 0.2, 5)
    got = predict(smoothed, train(smoothed, X), X)
    assert got[:, 3].mean() == pytest.approx(0.05, abs=0.01)


def test_one_row():
    # The initial probabilities are the mean soft label, which is that of the only row.
    objective = lightgbm_arguments([2], 0.2, 3).params["objective"]
    gradient, hessian = objective(np.array([2.0]), np.zeros((1, 3)))
    np.testing.assert_allclose(gradient, np.zeros((1, 3)), atol=1e-7)
    np.testing.assert_allclose(hessian, [[0.135, 0.135, 0.24]], rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_standalone_model_needs_nothing_else(
    five_digits, two_classes, n_classes, tmp_path
):
    X, y, strengths = two_classes if n_classes == 2 else five_digits
    arguments = lightgbm_arguments(y, strengths, n_classes)
    booster = train(arguments, X)
    before = booster.model_to_string()
    arguments.standalone(booster).save_model(tmp_path / "model.txt")
    loaded = lightgbm.Booster(model_file=tmp_path / "model.txt")
    expected = predict(arguments, booster, X)
    if n_classes == 2:
        expected = expected[:, 1]
    np.testing.assert_allclose(loaded.predict(X), expected, rtol=0, atol=1e-12)
    assert booster.model_to_string() == before


def test_a_standalone_model_keeps_the_best_iteration(five_digits):
    X, y, strengths = five_digits
    arguments = lightgbm_arguments(y, strengths, 5)
    model = arguments.estimator(n_estimators=5, verbose=-1, n_jobs=1)
    model.fit(X, **arguments.fit_options)
    model.booster_.best_iteration = 2
    expected = arguments.probabilities(model.booster_.predict(X, num_iteration=2))
    np.testing.assert_allclose(
        arguments.standalone(model).predict(X), expected, atol=1e-12
    )


def test_only_models_of_these_arguments_become_standalone(five_digits):
    X, y, strengths = five_digits
    arguments = lightgbm_arguments(y, strengths, 5)
    with pytest.raises(InvalidInputError, match="model must be trained with"):
        arguments.standalone(lightgbm.train(OWN, lightgbm.Dataset(X, y), 1))
    linear = lightgbm.train(
        {**COMMON, **arguments.params, "linear_tree": True},
        lightgbm.Dataset(X, **arguments.dataset, params={"verbose": -1}),
        2,
    )
    with pytest.raises(InvalidInputError, match="without linear trees"):
        arguments.standalone(linear)
