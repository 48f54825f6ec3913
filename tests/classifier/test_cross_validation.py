"""SmoothedClassifierCV smooths only if that is better by more than noise."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from structsmooth import SmoothedClassifier, SmoothedClassifierCV, StructuralSmoother
from structsmooth.errors import InvalidInputError

pytestmark = pytest.mark.filterwarnings(
    "ignore::structsmooth.errors.StructsmoothWarning"
)
SMOOTHER = StructuralSmoother(0.1, n_clusters=3, random_state=0)


class Fixed(ClassifierMixin, BaseEstimator):
    """Predicts what it was told."""

    def __init__(self, table=None):
        self.table = table

    def fit(self, _X, y, sample_weight=None):  # noqa: ARG002 (must be taken)
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, _X):
        return self.table


@pytest.fixture
def noisy(rng):
    """A task on which a tree that fits every row is far too confident."""
    X = rng.normal(size=(300, 2))
    return X, (X[:, 0] + rng.normal(size=300) > 0).astype(int)


def test_scores_and_the_standard_error_by_hand(overlapping):
    X, y = overlapping
    candidates = [None, SMOOTHER]
    model = SmoothedClassifierCV(GaussianNB(), candidates, cv=4).fit(X, y)
    results = model.cv_results_
    scores = np.array([results[f"split{n}_test_score"] for n in range(4)]).T
    assert results["mean_test_score"] == pytest.approx(scores.mean(axis=1))
    best = scores.mean(axis=1).argmax()
    behind = scores[best] - scores[1 - best]
    # Four folds of 100 rows, and 300 training rows for each.
    expected = behind.std(ddof=1) * np.sqrt(1 / 4 + 1 / 3)
    assert results["standard_error"][1 - best] == pytest.approx(expected)
    assert results["standard_error"][best] == 0.0
    is_near = behind.mean() <= expected
    assert model.best_index_ == (0 if is_near else best)
    assert model.best_score_ == results["mean_test_score"][model.best_index_]


def test_the_score_of_a_fold_is_the_log_likelihood_of_a_model_trained_without_it(
    overlapping,
):
    X, y = overlapping
    mixed = np.random.default_rng(0).permutation(400)
    folds = [(mixed[100:], mixed[:100]), (mixed[:300], mixed[300:])]
    model = SmoothedClassifierCV(GaussianNB(), [None, SMOOTHER], cv=folds).fit(X, y)
    for number, (kept, held) in enumerate(folds):
        plain = GaussianNB().fit(X[kept], y[kept])
        smoothed = SmoothedClassifier(GaussianNB(), SMOOTHER).fit(X[kept], y[kept])
        for candidate, one in enumerate((plain, smoothed)):
            own = one.predict_proba(X[held])[np.arange(100), y[held]]
            found = model.cv_results_[f"split{number}_test_score"][candidate]
            assert found == pytest.approx(np.log(own).mean())


def test_it_smooths_a_learner_that_is_too_confident(noisy):
    smoother = StructuralSmoother(0.2, random_state=0)
    model = SmoothedClassifierCV(
        DecisionTreeClassifier(random_state=0), [None, smoother]
    ).fit(*noisy)
    assert model.best_smoother_ is smoother
    expected = SmoothedClassifier(DecisionTreeClassifier(random_state=0), smoother)
    expected.fit(*noisy)
    np.testing.assert_array_equal(
        model.predict_proba(noisy[0]), expected.predict_proba(noisy[0])
    )
    assert model.smoother_.alpha_ == 0.2


class Blurred(ClassifierMixin, BaseEstimator):
    """Far too confident without smoothing; with it, modest but with wrong classes."""

    def fit(self, _X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        # Smoothed labels reach a classifier as weights of repeated rows.
        self.is_smoothed_ = len(np.unique(sample_weight)) > 1
        return self

    def predict_proba(self, X):
        is_right = (np.arange(len(X)) % 10 < (7 if self.is_smoothed_ else 8)) * 1.0
        p = np.where(X[:, 0] > 0, is_right, 1.0 - is_right)
        p = 0.3 + 0.4 * p if self.is_smoothed_ else p
        return np.column_stack([1.0 - p, p])


def test_a_better_likelihood_must_not_cost_errors():
    # 30 % wrong in place of 20 %, in every fold, at a far better likelihood.
    X = np.where(np.arange(400) % 2, 1.0, -1.0)[:, np.newaxis] * np.ones((1, 2))
    X[:, 1] += np.linspace(0.0, 1.0, 400)
    y = (X[:, 0] > 0).astype(int)
    smoother = StructuralSmoother(0.1, 0.0, n_clusters=2, random_state=0)
    folds = [(np.r_[:200], np.r_[200:400]), (np.r_[200:400], np.r_[:200])]
    model = SmoothedClassifierCV(Blurred(), [None, smoother], cv=folds).fit(X, y)
    results = model.cv_results_
    assert results["mean_test_score"][1] > results["mean_test_score"][0] + 1.0
    # All rows are equally confident, so the area is the error.
    assert results["mean_test_aurc"] == pytest.approx([0.2, 0.3])
    assert results["split1_test_aurc"] == pytest.approx([0.2, 0.3])
    assert results["does_harm"].tolist() == [False, True]
    assert model.best_smoother_ is None
    # Whoever asks for a score gets what is best by it.
    asked = SmoothedClassifierCV(
        Blurred(), [None, smoother], cv=folds, scoring="neg_log_loss"
    ).fit(X, y)
    assert asked.best_smoother_ is smoother
    assert "mean_test_aurc" not in asked.cv_results_


def test_confidence_in_errors_is_guarded_too():
    table = np.array([[0.9, 0.1], [0.6, 0.4]])  # the first is wrong, and confident
    model = SmoothedClassifierCV(Fixed(table), [None], cv=[([2, 3], [0, 1])])
    model.fit(np.arange(8.0).reshape(4, 2), [1, 0, 0, 1])
    # The most confident row is wrong, one of both is: (1 + 1/2) / 2.
    assert model.cv_results_["mean_test_aurc"] == pytest.approx([0.75])


def test_it_leaves_a_calibrated_learner_alone(rng):
    y = np.arange(600) % 2
    X = rng.normal(size=(600, 2)) + y[:, np.newaxis]
    model = SmoothedClassifierCV(GaussianNB()).fit(X, y)
    assert model.best_smoother_ is None
    assert model.smoother_ is None
    plain = GaussianNB().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_the_order_of_candidates_is_a_preference(overlapping):
    same = [StructuralSmoother(0.1, n_clusters=3, random_state=0) for _ in range(2)]
    model = SmoothedClassifierCV(GaussianNB(), [*same, None], cv=3).fit(*overlapping)
    assert model.best_index_ == 0


def test_other_scores(overlapping):
    X, y = overlapping
    model = SmoothedClassifierCV(GaussianNB(), [None], scoring="accuracy", cv=3)
    assert 0.5 < model.fit(X, y).best_score_ <= 1.0
    svm = SmoothedClassifierCV(LinearSVC(), [None, SMOOTHER], cv=3).fit(X, y)
    assert 0.5 < svm.best_score_ <= 1.0
    assert not hasattr(svm, "predict_proba")


def test_groups_reach_the_splitter(overlapping):
    X, y = overlapping
    model = SmoothedClassifierCV(GaussianNB(), [None], cv=GroupKFold(4))
    with pytest.raises(ValueError, match="groups"):
        model.fit(X, y)
    assert model.fit(X, y, groups=np.arange(400) // 10).n_splits_ == 4


def test_weights_of_zero_leave_rows_out(overlapping):
    X, y = overlapping
    kept = np.arange(400) % 4 > 0
    mixed = np.random.default_rng(0).permutation(400)
    folds = [(mixed[200:], mixed[:200]), (mixed[:200], mixed[200:])]
    of_kept = np.cumsum(kept) - 1
    smaller = [tuple(of_kept[rows[kept[rows]]] for rows in fold) for fold in folds]
    candidates = [None, SMOOTHER]
    one = SmoothedClassifierCV(GaussianNB(), candidates, cv=folds)
    one.fit(X, y, sample_weight=kept.astype(float))
    other = SmoothedClassifierCV(GaussianNB(), candidates, cv=smaller)
    other.fit(X[kept], y[kept])
    for name in ("score", "aurc"):
        np.testing.assert_allclose(
            one.cv_results_[f"mean_test_{name}"], other.cv_results_[f"mean_test_{name}"]
        )


def test_tables_are_taken(rng):
    table = pd.DataFrame({"a": rng.normal(size=120), "b": ["x", "y", "z"] * 40})
    y = np.where(table["a"] + (table["b"] == "x") > 0, "yes", "no")
    model = SmoothedClassifierCV(cv=3).fit(table, y)
    assert model.score(table, y) > 0.8
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_without_refit_there_is_nothing_to_predict_with(overlapping):
    model = SmoothedClassifierCV(GaussianNB(), [None], refit=False, cv=2)
    model.fit(*overlapping)
    assert model.best_index_ == 0
    with pytest.raises(NotFittedError):
        model.predict(overlapping[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": []}, "got no candidate"),
        ({"candidates": [None, "auto"]}, "StructuralSmoothers or None, got str"),
        ({"estimator": KNeighborsClassifier()}, "KNeighborsClassifier does not"),
        ({"refit": "yes"}, "refit"),
        ({"cv": [(np.arange(3), np.arange(3, 400))]}, "must have all classes"),
    ],
)
def test_wrong_arguments_get_one_sentence(options, message, rng):
    X, y = rng.normal(size=(400, 2)), np.repeat([0, 1], 200)
    model = SmoothedClassifierCV(**{"estimator": LogisticRegression()} | options)
    with pytest.raises(InvalidInputError, match=message) as caught:
        model.fit(X, y)
    assert "\n" not in str(caught.value)
