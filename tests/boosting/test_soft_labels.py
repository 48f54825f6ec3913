"""Soft labels as a matrix of probabilities, in all three libraries."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import log_loss

from structsmooth import boosting, smooth_labels
from structsmooth.boosting import SmoothedModel, fit_smoothed
from structsmooth.errors import InvalidInputError

CLASSIFIERS = {
    "lightgbm": "LGBMClassifier",
    "xgboost": "XGBClassifier",
    "catboost": "CatBoostClassifier",
}
# Settings with which copied rows change neither bins nor limits; the tests of each
# library say why. LightGBM estimates the number of rows in a bin from its Hessian, so a
# limit on the Hessian must exclude leaves with few rows.
PLAIN = {
    "lightgbm": {
        "n_estimators": 10,
        "num_leaves": 8,
        "min_child_samples": 1,
        "min_data_in_bin": 1,
        "min_child_weight": 5.0,
        "n_jobs": 1,
        "verbose": -1,
    },
    "xgboost": {"n_estimators": 10, "max_depth": 3, "tree_method": "exact"},
    "catboost": {
        "iterations": 10,
        "depth": 3,
        "bootstrap_type": "No",
        "random_strength": 0,
        "boosting_type": "Plain",
        "thread_count": 1,
        "verbose": 0,
        "allow_writing_files": False,
    },
}


@pytest.fixture(params=CLASSIFIERS)
def library(request):
    pytest.importorskip(request.param)
    return request.param


def classifier(library, **parameters):
    kind = getattr(pytest.importorskip(library), CLASSIFIERS[library])
    return kind(**{**PLAIN[library], "learning_rate": 0.3, **parameters})


def uneven(y, n_classes, seed=3):
    """Return soft labels that differ in strength and in how the mass is spread."""
    drawn = np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.5), len(y))
    return 0.6 * np.eye(n_classes)[y] + 0.4 * drawn


def history(library, model):
    """Return the losses on each validation set."""
    found = {
        "lightgbm": lambda: model.model.evals_result_,
        "xgboost": lambda: model.model.evals_result(),
        "catboost": lambda: model.model.get_evals_result(),
    }[library]()
    return [next(iter(v.values())) for k, v in found.items() if k.startswith("valid")]


def quiet(library):
    return {"verbose": False} if library == "xgboost" else {}


@pytest.mark.parametrize("n_classes", [2, 5])
def test_soft_labels_made_of_strengths_give_the_same_model(
    library, five_digits, two_classes, weights_of, n_classes
):
    X, y, strengths = two_classes if n_classes == 2 else five_digits
    weights = weights_of(len(y))
    expected = fit_smoothed(
        classifier(library), X, y, strengths, sample_weight=weights
    ).predict_proba(X)
    soft = smooth_labels(y, strengths, n_classes)
    got = fit_smoothed(
        classifier(library), X, y, soft_labels=soft, sample_weight=weights
    ).predict_proba(X)
    # Gradients are equal to the bit; the mean soft label, from which LightGBM and
    # XGBoost start with more than two classes, is a sum in another order.
    if n_classes == 2 or library == "catboost":
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_uneven_soft_labels_equal_a_fit_on_expanded_rows(
    library, five_digits, two_classes, weights_of, n_classes
):
    X, y, _ = two_classes if n_classes == 2 else five_digits
    soft, weights = uneven(y, n_classes), weights_of(len(y))
    model = fit_smoothed(
        classifier(library), X, y, soft_labels=soft, sample_weight=weights
    )
    row_weights = soft if weights is None else soft * weights[:, np.newaxis]
    # CatBoost multiplies its regularizer by the mean weight of a row.
    own = {"l2_leaf_reg": 3.0 * n_classes} if library == "catboost" else {}
    by_rows = classifier(library, **own).fit(
        np.repeat(X, n_classes, axis=0),
        np.tile(np.arange(n_classes), len(y)),
        sample_weight=row_weights.ravel(),
    )
    got = model.predict_proba(X)
    np.testing.assert_allclose(got, by_rows.predict_proba(X), rtol=0, atol=5e-6)
    even = fit_smoothed(
        classifier(library), X, y, 1 - soft[np.arange(len(y)), y], sample_weight=weights
    ).predict_proba(X)
    if n_classes > 2:  # so that equality means something
        assert np.abs(got - even).max() > 0.03


@pytest.mark.parametrize("n_classes", [2, 5])
def test_hard_labels_are_not_needed(library, five_digits, two_classes, n_classes):
    X, y, _ = two_classes if n_classes == 2 else five_digits
    soft = uneven(y, n_classes)
    expected = fit_smoothed(classifier(library), X, y, soft_labels=soft)
    model = fit_smoothed(classifier(library), X, None, soft_labels=soft)
    np.testing.assert_array_equal(model.classes_, np.arange(n_classes))
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_a_class_need_not_be_the_most_probable_one_of_any_row(library, five_digits):
    X, y, _ = five_digits
    soft = np.full((len(y), 5), 0.02)
    soft[np.arange(len(y)), np.where(y == 3, 1, y)] = 0.92
    model = fit_smoothed(
        classifier(library, learning_rate=0.5), X, None, soft_labels=soft
    )
    probabilities = model.predict_proba(X)
    assert probabilities[:, 3].mean() == pytest.approx(0.02, abs=0.005)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lightgbm_and_xgboost_read_the_matrix_where_it_is(five_digits, dtype):
    _, y, _ = five_digits
    soft = uneven(y, 5).astype(dtype)
    for make in (boosting.lightgbm_arguments, boosting.xgboost_arguments):
        arguments = make(y, soft_labels=soft)
        objective = arguments.train_options.get("obj", arguments.params["objective"])
        assert objective.labels.soft is soft


def test_bagging_does_not_mix_up_rows(five_digits):
    pytest.importorskip("lightgbm")
    X, y, _ = five_digits
    bags = {"subsample": 0.5, "subsample_freq": 1, "random_state": 1}
    soft = np.eye(5)[y]
    own = classifier("lightgbm", **bags).fit(X, y).predict_proba(X)
    model = fit_smoothed(classifier("lightgbm", **bags), X, y, soft_labels=soft)
    np.testing.assert_allclose(model.predict_proba(X), own, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("error", "ignore:X does not have valid feature")  # 4.6
@pytest.mark.parametrize("n_classes", [2, 5])
def test_validation_labels_are_measured_as_they_are_given(
    library, five_digits, two_classes, n_classes
):
    X, y, _ = two_classes if n_classes == 2 else five_digits
    train, held_out, other = (np.arange(i, len(y), 3) for i in range(3))
    soft = uneven(y, n_classes)
    model = fit_smoothed(
        classifier(library),
        X[train],
        y[train],
        soft_labels=soft[train],
        eval_set=[
            (X[held_out], y[held_out]),
            (X[held_out], soft[held_out]),
            (X[other], soft[other]),
        ],
        **quiet(library),
    )
    if library == "catboost":  # which keeps the iteration that is best on the last set
        assert len(history(library, model)) == 3
        losses = [min(history(library, model)[-1])]
        pairs = [(other, soft[other])]
    else:
        losses = [values[-1] for values in history(library, model)]
        pairs = [(held_out, np.eye(n_classes)[y[held_out]])]
        pairs += [(held_out, soft[held_out]), (other, soft[other])]
    for loss, (rows, labels) in zip(losses, pairs, strict=True):
        logs = np.log(model.predict_proba(X[rows]))
        assert loss == pytest.approx(-(labels * logs).sum(axis=1).mean(), rel=1e-5)


@pytest.mark.parametrize("form", ["hard", "soft"])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_early_stopping_keeps_the_best_iteration(
    library, five_digits, two_classes, n_classes, form
):
    X, y, _ = two_classes if n_classes == 2 else five_digits
    train, held_out = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    labels = y if form == "hard" else uneven(y, n_classes, seed=5)
    name = "early_stopping_round" if library == "lightgbm" else "early_stopping_rounds"
    many = {"iterations" if library == "catboost" else "n_estimators": 80}
    model = fit_smoothed(
        classifier(library, learning_rate=1.0, **many, **{name: 3}),
        X[train],
        y[train],
        soft_labels=uneven(y, n_classes)[train],
        eval_set=(X[held_out], labels[held_out]),
        **quiet(library),
    )
    (losses,) = history(library, model)
    assert len(losses) == np.argmin(losses) + 4 < 80
    probabilities = model.predict_proba(X[held_out])
    if form == "hard":
        expected = log_loss(y[held_out], probabilities)
    else:
        logs = np.log(probabilities)
        expected = -(labels[held_out] * logs).sum(axis=1).mean()
    assert min(losses) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_weights_of_one_equal_no_weights_to_the_bit(
    library, five_digits, two_classes, n_classes
):
    X, y, strengths = two_classes if n_classes == 2 else five_digits
    expected = fit_smoothed(classifier(library), X, y, strengths).predict_proba(X)
    got = fit_smoothed(
        classifier(library), X, y, strengths, sample_weight=np.ones(len(y))
    ).predict_proba(X)
    np.testing.assert_array_equal(got, expected)


def test_a_model_of_soft_labels_can_be_pickled(library, five_digits):
    X, y, _ = five_digits
    model = fit_smoothed(classifier(library), X, y, soft_labels=uneven(y, 5))
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert isinstance(copy, SmoothedModel)
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_columns_and_labels_must_agree(library, five_digits):
    X, y, _ = five_digits
    with pytest.raises(InvalidInputError, match=r"shape \(n, 5\).* got \(756, 4\)"):
        fit_smoothed(classifier(library), X, y, soft_labels=np.full((756, 4), 0.25))


def test_soft_labels_of_other_rows_are_refused(five_digits):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _ = five_digits
    arguments = boosting.lightgbm_arguments(y, soft_labels=uneven(y, 5))
    with pytest.raises(InvalidInputError, match="LightGBM must train on the 756"):
        lightgbm.train(
            {**arguments.params, "verbose": -1}, lightgbm.Dataset(X[::-1], y[::-1]), 1
        )


def test_cross_validation_gives_each_fold_its_own_soft_labels(five_digits):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, strengths = five_digits
    folds = [(np.arange(0, len(y), 2), np.arange(1, len(y), 2))]
    losses = []
    for form in (
        {"strengths": strengths, "n_classes": 5},
        {"soft_labels": smooth_labels(y, strengths, 5)},
    ):
        arguments = boosting.lightgbm_arguments(y, **form)
        data = lightgbm.Dataset(X, **arguments.dataset, params={"verbose": -1})
        params = {**arguments.params, "verbose": -1, "num_threads": 1}
        result = lightgbm.cv(params, data, 5, folds=folds, **arguments.train_options)
        losses.append(result["valid multi_logloss-mean"])
    np.testing.assert_allclose(*losses, rtol=1e-9)
