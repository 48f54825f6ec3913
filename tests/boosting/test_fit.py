"""One call from a classifier to a model of smoothed labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from structsmooth import boosting
from structsmooth.boosting import fit_smoothed
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


@pytest.mark.filterwarnings("error")
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
