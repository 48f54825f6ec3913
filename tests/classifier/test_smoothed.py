"""SmoothedClassifier: soft labels for any classifier with sample weights."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from structsmooth import SmoothedClassifier, StructuralSmoother
from structsmooth.errors import InvalidInputError


def test_trains_on_the_soft_labels(overlapping):
    X, y = overlapping
    model = SmoothedClassifier(
        LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000),
        StructuralSmoother(alpha=0.2, n_clusters=3, random_state=0),
    ).fit(X, y)
    soft = model.smoother_.soft_labels(X, y)

    def loss(w):  # soft cross-entropy, implemented independently
        z = X @ w[:2] + w[2]
        p1 = np.logaddexp(0, -z)
        p0 = np.logaddexp(0, z)
        return (soft[:, 1] * p1 + soft[:, 0] * p0).sum() + 0.5 * w[:2] @ w[:2]

    expected = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-8}).x
    got = np.r_[model.estimator_.coef_[0], model.estimator_.intercept_]
    np.testing.assert_allclose(got, expected, atol=1e-4)


def test_alpha_zero_is_the_plain_classifier(overlapping):
    X, y = overlapping
    smoothed = SmoothedClassifier(smoother=StructuralSmoother(alpha=0.0)).fit(X, y)
    plain = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(smoothed.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize(
    "inner",
    [GaussianNB(), DecisionTreeClassifier(max_depth=3), RandomForestClassifier(5)],
)
def test_any_classifier_with_sample_weight(overlapping, inner):
    X, y = overlapping
    names = np.array(["left", "right"])[y]
    model = SmoothedClassifier(inner).fit(X, names)
    assert set(model.predict(X)) <= {"left", "right"}
    assert model.predict_proba(X).shape == (400, 2)
    assert model.score(X, names) > 0.6
    assert not hasattr(inner, "classes_")


def test_one_without_sample_weight_is_refused(overlapping):
    with pytest.raises(InvalidInputError, match="KNeighborsClassifier does not"):
        SmoothedClassifier(KNeighborsClassifier()).fit(*overlapping)


def test_has_only_the_methods_of_its_classifier(overlapping):
    assert not hasattr(SmoothedClassifier(LinearSVC()), "predict_proba")
    assert hasattr(SmoothedClassifier(LinearSVC()), "decision_function")
    assert not hasattr(SmoothedClassifier(GaussianNB()), "decision_function")
    model = SmoothedClassifier(LogisticRegression()).fit(*overlapping)
    np.testing.assert_allclose(
        np.exp(model.predict_log_proba(overlapping[0])),
        model.predict_proba(overlapping[0]),
    )


def test_sample_weight_multiplies_the_rows_weights(overlapping):
    X, y = overlapping
    kept = np.arange(400) % 5 > 0
    smoother = StructuralSmoother(random_state=0)
    model = SmoothedClassifier(smoother=smoother)
    weighted = model.fit(X, y, sample_weight=kept.astype(float)).predict_proba(X)
    # The same, but with the rows of weight zero taken out by hand.
    soft = smoother.fit(X[kept], y[kept]).soft_labels(X[kept], y[kept])
    by_hand = LogisticRegression().fit(
        np.vstack([X[kept], X[kept]]),
        np.repeat([0, 1], kept.sum()),
        sample_weight=np.r_[soft[:, 0], soft[:, 1]],
    )
    np.testing.assert_allclose(weighted, by_hand.predict_proba(X), atol=1e-4)


@pytest.mark.filterwarnings("ignore::structsmooth.errors.MergedClustersWarning")
def test_in_a_pipeline_and_a_grid_search_over_alpha_and_beta():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(
        StandardScaler(),
        SmoothedClassifier(smoother=StructuralSmoother(random_state=0)),
    )
    search = GridSearchCV(
        model,
        {
            "smoothedclassifier__smoother__alpha": [0.0, 0.1],
            "smoothedclassifier__smoother__beta": [0.0, "auto"],
        },
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.95


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "inner",
    [
        LogisticRegression(max_iter=500),
        HistGradientBoostingClassifier(max_iter=20),
        RandomForestClassifier(20),
        MLPClassifier((32,), max_iter=500, tol=0.01),
    ],
    ids=lambda inner: type(inner).__name__,
)
def test_real_data_in_a_pipeline_with_a_search_over_alpha_and_beta(inner):
    X, y = load_digits(return_X_y=True)
    X, y = X[y < 5], y[y < 5]  # 901 images of five digits
    train, test = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
    smoother = StructuralSmoother(n_clusters=5, min_cluster_size=1, random_state=0)
    inner.set_params(random_state=0)
    model = make_pipeline(StandardScaler(), SmoothedClassifier(inner, smoother))
    name = "smoothedclassifier__smoother"
    grid = {f"{name}__alpha": [0.0, 0.1], f"{name}__beta": [0.5, "auto"]}
    search = GridSearchCV(model, grid, cv=2, scoring="neg_log_loss")
    search.fit(X[train], y[train])
    scores = search.cv_results_["mean_test_score"].reshape(2, 2)
    assert np.isfinite(scores).all()
    assert scores[0, 0] == scores[0, 1]  # without smoothing beta has no effect
    assert scores[1, 0] != scores[0, 0]
    assert search.score(X[test], y[test]) > -0.6
    assert (search.predict(X[test]) == y[test]).mean() > 0.9


def test_data_frames_keep_their_names(overlapping):
    X = pd.DataFrame(overlapping[0], columns=["a", "b"])
    model = SmoothedClassifier().fit(X, overlapping[1])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    model.predict(X)


def test_pipelines_and_searches_as_the_inner_classifier(overlapping):
    X, y = overlapping
    smoother = StructuralSmoother(random_state=0, n_clusters=3)
    piped = SmoothedClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), smoother
    ).fit(X, y)
    assert piped.score(X, y) > 0.6
    half = {"logisticregression__sample_weight": np.full(400, 0.5)}
    plain = SmoothedClassifier(
        make_pipeline(StandardScaler(), LogisticRegression(C=0.5)), smoother
    )
    np.testing.assert_allclose(  # half the weight is half of C
        piped.fit(X, y, **half).predict_proba(X),
        plain.fit(X, y).predict_proba(X),
        atol=1e-3,
    )
    searched = SmoothedClassifier(
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2), smoother
    ).fit(X, y)
    assert searched.predict_proba(X).shape == (400, 2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SmoothedClassifier(LinearRegression()), "estimator must be a classifier"),
        (SmoothedClassifier(smoother=GaussianNB()), "smoother must be a Structural"),
    ],
)
def test_wrong_parts_are_refused(overlapping, model, message):
    with pytest.raises(InvalidInputError, match=message):
        model.fit(*overlapping)


def test_weights_of_the_wrong_length_are_refused(overlapping):
    with pytest.raises(ValueError, match=r"sample_weight.* expected \(400,\)"):
        SmoothedClassifier().fit(*overlapping, sample_weight=[1.0, 2.0])


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers the rows and weights that it was trained with."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.X_, self.weights_ = np.unique(y), X, sample_weight
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


@pytest.mark.parametrize("how", ["keep", "weigh", "drop"])
def test_suspects_can_be_weighed_or_dropped(how):
    X = np.concatenate([np.arange(100.0), 1e3 + np.arange(100.0)])[:, None]
    y = np.repeat([0, 1], 100)
    y[[10, 150]] = 1 - y[[10, 150]]
    smoother = StructuralSmoother(random_state=0, n_clusters=2)
    model = SmoothedClassifier(Recorder(), smoother, suspects=how)
    given = np.where(np.arange(200) < 180, 1, 2)
    model.fit(X, y, sample_weight=given)
    inner = model.estimator_
    total = np.bincount(
        np.searchsorted(X[:, 0], inner.X_[:, 0]), inner.weights_, minlength=200
    )
    expected = given.astype(float)
    if how == "keep":
        assert model.smoother_.suspects_ is None
    else:
        assert sorted(model.smoother_.suspects_.rows.tolist()) == [10, 150]
        scores = model.smoother_.suspects_.scores
        expected *= (
            1.0 - scores if how == "weigh" else ~np.isin(np.arange(200), [10, 150])
        )
    np.testing.assert_allclose(total, expected, atol=1e-12)


def test_other_ways_with_suspects_are_refused(overlapping):
    with pytest.raises(InvalidInputError, match="suspects must be"):
        SmoothedClassifier(suspects="remove").fit(*overlapping)
