"""`fit_smoothed`: one call from a classifier to a model of smoothed labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.utils.validation import check_is_fitted

from structsmooth import boosting
from structsmooth.boosting import SmoothedModel, fit_smoothed
from structsmooth.errors import InvalidInputError

FEW = {
    "lightgbm": {"n_estimators": 8, "n_jobs": 1, "verbose": -1},
    "xgboost": {"n_estimators": 8, "n_jobs": 1},
    "catboost": {"iterations": 8, "thread_count": 1, "verbose": 0, "depth": 4},
}
FEW["catboost"]["allow_writing_files"] = False
CLASSIFIERS = {
    "lightgbm": "LGBMClassifier",
    "xgboost": "XGBClassifier",
    "catboost": "CatBoostClassifier",
}


@pytest.fixture(params=CLASSIFIERS)
def library(request):
    pytest.importorskip(request.param)
    return request.param


def classifier(library, **parameters):
    kind = getattr(pytest.importorskip(library), CLASSIFIERS[library])
    return kind(**FEW[library], learning_rate=0.3, **parameters)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_is_the_arguments_and_a_fit(
    library, five_digits, two_classes, weights_of, n_classes
):
    X, y, strengths = two_classes if n_classes == 2 else five_digits
    weights = weights_of(len(y))
    estimator = classifier(library)
    before = estimator.get_params()
    model = fit_smoothed(estimator, X, y, strengths, n_classes, sample_weight=weights)
    assert estimator.get_params() == before
    arguments = getattr(boosting, f"{library}_arguments")(
        y, strengths, n_classes, sample_weight=weights
    )
    by_hand = arguments.estimator(**FEW[library], learning_rate=0.3)
    by_hand.fit(X, **arguments.fit_options)
    expected = arguments.probabilities(by_hand.predict(X, **arguments.raw_options))
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    np.testing.assert_array_equal(model.predict(X), expected.argmax(axis=1))
    assert np.mean(model.predict(X) == y) > 0.8


@pytest.mark.filterwarnings("error", "ignore:X does not have valid feature")  # 4.6
@pytest.mark.parametrize("n_classes", [2, 5])
def test_validation_sets_are_not_smoothed(library, five_digits, two_classes, n_classes):
    X, y, strengths = two_classes if n_classes == 2 else five_digits
    train, held_out = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    options = {"verbose": False} if library == "xgboost" else {}
    model = fit_smoothed(
        classifier(library),
        X[train],
        y[train],
        strengths[train],
        n_classes,
        eval_set=[(X[held_out], y[held_out])],
        **options,
    )
    history = {
        "lightgbm": lambda: model.model.evals_result_,
        "xgboost": lambda: model.model.evals_result(),
        "catboost": lambda: model.model.get_evals_result(),
    }[library]()
    (losses,) = next(v for k, v in history.items() if k.startswith("valid")).values()
    expected = log_loss(y[held_out], model.predict_proba(X[held_out]))
    # CatBoost keeps the best iteration, the others the last one.
    got = min(losses) if library == "catboost" else losses[-1]
    assert got == pytest.approx(expected, rel=1e-5)


def test_data_frames_with_missing_values(library, five_digits):
    X, y, strengths = five_digits
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    frame.loc[::7, "c"] = np.nan
    model = fit_smoothed(classifier(library), frame, y, strengths, 5)
    probabilities = model.predict_proba(frame)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_an_objective_that_would_be_lost_is_refused(library, two_classes):
    X, y, _ = two_classes
    name = "loss_function" if library == "catboost" else "objective"
    wrong = "MultiClassOneVsAll" if library == "catboost" else "multiclassova"
    with pytest.raises(InvalidInputError, match=f"of classifiers, got '{wrong}'"):
        fit_smoothed(classifier(library, **{name: wrong}), X, y, 0.1, 2)
    known = {"catboost": "Logloss", "xgboost": "multi:softmax", "lightgbm": "binary"}
    model = fit_smoothed(classifier(library, **{name: known[library]}), X, y, 0.1, 2)
    assert model.predict_proba(X).shape == (len(y), 2)


def test_class_weights_are_refused(library, two_classes):
    X, y, _ = two_classes
    name = {"lightgbm": "class_weight", "xgboost": "scale_pos_weight"}
    wrong = {name.get(library, "auto_class_weights"): "Balanced"}
    with pytest.raises(InvalidInputError, match="has no meaning for soft labels"):
        fit_smoothed(classifier(library, **wrong), X, y, 0.1, 2)


@pytest.mark.parametrize("estimator", [LogisticRegression(), "lightgbm", None])
def test_other_estimators_are_refused(two_classes, estimator):
    X, y, _ = two_classes
    with pytest.raises(
        InvalidInputError, match=f"CatBoost, got {type(estimator).__name__}"
    ):
        fit_smoothed(estimator, X, y, 0.1, 2)


NAMES = np.array(["zero", "one", "two", "three", "four"])  # not in sorted order


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pd.Categorical])
def test_labels_may_be_text(library, five_digits, kind):
    X, y, strengths = five_digits
    train, held_out = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    names = NAMES[y]
    model = fit_smoothed(
        classifier(library),
        X[train],
        kind(names[train]),
        strengths[train],
        eval_set=[(X[held_out], kind(names[held_out]))],
        **({"verbose": False} if library == "xgboost" else {}),
    )
    assert model.classes_.tolist() == ["four", "one", "three", "two", "zero"]
    # The order of the classes makes no difference, except for rounding.
    by_number = fit_smoothed(
        classifier(library), X[train], y[train], strengths[train], 5
    ).predict_proba(X)
    order = np.argsort(NAMES)
    if library != "catboost":  # which keeps the iteration that is best in validation
        np.testing.assert_allclose(
            model.predict_proba(X), by_number[:, order], rtol=0, atol=1e-4
        )
    assert model.score(X, names) == np.mean(model.predict(X) == names) > 0.8


def test_columns_of_soft_labels_are_in_the_order_of_the_sorted_labels(library):
    X = np.repeat(np.arange(3.0), 40)[:, np.newaxis]
    names = np.repeat(["pear", "apple", "fig"], 40)
    soft = np.repeat([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.2, 0.8, 0.0]], 40, axis=0)
    many = {"n_estimators": 60} if library != "catboost" else {"iterations": 60}
    model = fit_smoothed(
        classifier(library).set_params(**many), X, names, soft_labels=soft
    )
    np.testing.assert_allclose(model.predict_proba(X), soft, atol=0.02)
    assert model.predict(X[::40]).tolist() == ["pear", "apple", "fig"]


def test_is_an_estimator(library, five_digits):
    X, y, strengths = five_digits
    model = SmoothedModel(classifier(library))
    assert is_classifier(model)
    for unfitted in (model, clone(model)):
        with pytest.raises(NotFittedError):
            check_is_fitted(unfitted)
        with pytest.raises(NotFittedError):
            unfitted.predict(X)
    assert model.fit(X, y, strengths) is model
    check_is_fitted(model)
    assert model.n_features_in_ == 8
    assert "SmoothedModel" in model._repr_html_()
    expected = fit_smoothed(classifier(library), X, y, strengths).predict_proba(X)
    np.testing.assert_array_equal(
        clone(model).fit(X, y, strengths).predict_proba(X), expected
    )


def test_a_grid_search_gives_each_fold_its_own_strengths(library, five_digits):
    X, y, strengths = five_digits
    name = "estimator__depth" if library == "catboost" else "estimator__max_depth"
    search = GridSearchCV(SmoothedModel(classifier(library)), {name: [1, 4]}, cv=2)
    search.fit(X, y, strengths=strengths)
    assert search.best_params_ == {name: 4}
    assert search.best_score_ > 0.75


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "exactly one of strengths and soft_labels must be given, got neither"),
        ({"strengths": 0.1, "soft_labels": [[0, 1]]}, "must be given, got both"),
        ({"y": None, "strengths": 0.1}, "y must hold labels if strengths"),
        ({"y": ["a", "a"], "strengths": 0.1}, "n_classes must be .* got 1"),
        ({"strengths": 0.1, "eval_set": 3}, "list of such pairs, got int"),
        ({"strengths": 0.1, "eval_set": [([[0]], ["c"])]}, "has the label 'c'"),
        (
            {"strengths": 0.1, "eval_set": ([[0]], [[0.5, 0.6]])},
            "labels in eval_set must have rows of probabilities",
        ),
    ],
)
def test_wrong_input_is_named(library, given, message):
    with pytest.raises(InvalidInputError, match=message):
        fit_smoothed(classifier(library), [[0], [1]], **{"y": ["a", "b"], **given})


def test_metrics_that_would_not_be_computed_are_refused(five_digits):
    X, y, _ = five_digits
    with pytest.raises(TypeError, match=r"multiple values .* 'eval_metric'"):
        fit_smoothed(classifier("lightgbm"), X, y, 0.1, eval_metric="multi_error")
    with pytest.raises(InvalidInputError, match="eval_metric is set by the arguments"):
        fit_smoothed(
            classifier("xgboost", eval_metric="merror"),
            X,
            y,
            0.1,
            eval_set=(X, np.eye(5)[y]),
        )
    model = fit_smoothed(
        classifier("xgboost", eval_metric="merror"),
        X,
        y,
        0.1,
        eval_set=(X, y),
        verbose=False,
    )
    (errors,) = model.model.evals_result()["validation_0"].values()
    assert errors[-1] == pytest.approx(1 - model.score(X, y))


@pytest.mark.parametrize("name", ["application", "loss", "objective_type"])
def test_other_names_of_the_objective_do_not_undo_the_smoothing(five_digits, name):
    X, y, _ = five_digits
    model = fit_smoothed(classifier("lightgbm", **{name: "softmax"}), X, y, 0.3)
    expected = fit_smoothed(classifier("lightgbm"), X, y, 0.3).predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    with pytest.raises(InvalidInputError, match="of classifiers, got 'poisson'"):
        fit_smoothed(classifier("lightgbm", **{name: "poisson"}), X, y, 0.3)
