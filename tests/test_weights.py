"""A row of weight 2 is two rows, and a row of weight 0 is none."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from structsmooth import (
    SmoothedClassifier,
    StructuralSmoother,
    compare,
    expand_rows,
    fit_out_of_core,
)
from structsmooth.bayes_error.bounds import region_bounds
from structsmooth.errors import InvalidInputError
from structsmooth.reduce.fit import fit_reduction

CONFIGURATIONS = {
    "default": {},
    "shrink": {"shrink": True},
    "scaled": {"reducer": "scaled-pca"},
    "components": {"n_components": 3},
    "raw": {"correct_forced_edges": False},
    "overlap": {"spread": "overlap"},
    "auto": {"alpha": "auto", "beta": "auto"},
    "foreign k-means": {"clusterer": KMeans(4, n_init=1, random_state=0)},
    "dbscan": {"clusterer": DBSCAN(eps=1.0)},
    "agglomerative": {"clusterer": AgglomerativeClustering(4)},
    "gmm": {"clusterer": "gmm", "n_clusters": 3},
    "point": {"regions": "point"},
    "point overlap": {"regions": "point", "spread": "overlap", "shrink": True},
    "suspects": {"ignore_suspects": True},
    "transformer": {"reducer": TruncatedSVD(3)},
}
MEASURED = (
    "alpha_",
    "strengths_",
    "bayes_error_lower_",
    "bayes_error_upper_",
    "cluster_weights_",
    "bias_",
)


def overlapping(n_samples=600, n_features=5):
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, size=n_samples)
    X = rng.normal(size=(n_samples, n_features))
    X[:, 0] += np.array([0.0, 1.5, 6.0])[y]
    return X, y, rng.integers(0, 4, size=n_samples)


def assert_same_fit(weighted, repeated, X, y, weights):
    for name in MEASURED:
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-9, err_msg=name
        )
    for one, two in zip(
        weighted.cluster_bounds_, repeated.cluster_bounds_, strict=True
    ):
        np.testing.assert_allclose(one.interval, two.interval, rtol=1e-9)
        np.testing.assert_array_equal(one.class_counts, two.class_counts)
    kept = weights > 0
    first = np.cumsum(weights)[kept] - weights[kept]
    np.testing.assert_array_equal(
        weighted.cluster_labels_[kept], repeated.cluster_labels_[first]
    )
    np.testing.assert_allclose(
        weighted.sample_strengths_[kept], repeated.sample_strengths_[first], rtol=1e-9
    )
    np.testing.assert_allclose(
        weighted.soft_labels(X, y), repeated.soft_labels(X, y), rtol=1e-9
    )


@pytest.mark.filterwarnings("ignore::structsmooth.errors.StructsmoothWarning")
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_weights_are_numbers_of_rows(name):
    X, y, weights = overlapping()
    smoother = StructuralSmoother(random_state=0, **CONFIGURATIONS[name])
    weighted = smoother.fit(X, y, weights)
    soft = weighted.smooth_fitted(weighted.encode(y))
    rows = np.repeat(np.arange(len(y)), weights)
    again = StructuralSmoother(random_state=0, **CONFIGURATIONS[name])
    repeated = again.fit(X[rows], y[rows])
    assert_same_fit(weighted, repeated, X, y, weights)
    np.testing.assert_allclose(soft, weighted.soft_labels(X, y), rtol=1e-12)
    assert len(weighted.sample_strengths_) == len(soft) == len(y)
    mean = np.average(weighted.sample_strengths_, weights=weights)
    assert mean == pytest.approx(weighted.alpha_, rel=1e-9)
    plain = StructuralSmoother(random_state=0, **CONFIGURATIONS[name]).fit(X, y)
    assert np.abs(plain.soft_labels(X, y) - soft).max() > 1e-4  # weights do something


@pytest.mark.parametrize("reducer", ["pca", "scaled-pca"])
@pytest.mark.filterwarnings("ignore::structsmooth.errors.StructsmoothWarning")
def test_principal_components_are_weighted_too(reducer):
    X, y = load_digits(return_X_y=True)
    weights = np.random.default_rng(1).integers(0, 3, size=len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    for data in (X, sp.csr_matrix(X)):
        settings = {"random_state": 0, "reducer": reducer}
        weighted = StructuralSmoother(**settings).fit(data, y, weights)
        repeated = StructuralSmoother(**settings).fit(data[rows], y[rows])
        assert_same_fit(weighted, repeated, data, y, weights)


@pytest.mark.filterwarnings("ignore::structsmooth.errors.StructsmoothWarning")
def test_truncated_components_of_sparse_rows_are_weighted_too(monkeypatch):
    X, y = load_digits(return_X_y=True)
    weights = np.random.default_rng(1).integers(1, 3, size=len(y))
    data, reductions = sp.csr_matrix(X), []
    for full in (2048, 8):  # a full eigendecomposition, and a truncated one
        monkeypatch.setattr("structsmooth.reduce.moments.FULL_SPECTRUM", full)
        reductions.append(fit_reduction(data, "pca", 5, 0, weights).transform(data))
    np.testing.assert_allclose(*reductions, atol=1e-6)


def test_unit_weights_change_no_bit():
    X, y, _ = overlapping()
    plain = StructuralSmoother(random_state=0).fit(X, y)
    ones = StructuralSmoother(random_state=0).fit(X, y, np.ones(len(y)))
    np.testing.assert_array_equal(plain.sample_strengths_, ones.sample_strengths_)


def test_a_label_of_weight_zero_is_no_class():
    X, y, _ = overlapping()
    weights = (y != 1).astype(float)
    smoother = StructuralSmoother(random_state=0).fit(X, y, weights)
    assert smoother.classes_.tolist() == [0, 2]
    assert smoother.sample_strengths_.shape == y.shape


# Eight points on a line, labels a a a a b a b b: edges 3-4, 4-5 and 5-6 cross.
LINE = np.array([[0.0], [1.0], [3.0], [6.0], [10.0], [15.0], [21.0], [28.0]])
LABELS = np.array([0, 0, 0, 0, 1, 0, 1, 1])
SETTINGS = {
    "n_classes": 2,
    "correct_forced_edges": True,
    "ties": "index",
    "confidence": 0.95,
}


@pytest.mark.parametrize(
    ("weights", "fraction"),
    [
        (np.ones(8), 2 / 6),
        (np.array([3, 1, 1, 1, 1, 1, 1, 1]), 2 / 8),  # two copies, two more edges
        (np.full(8, 0.5), 2 / 6),  # everything counts half
        # Edges count 1 but for 3-4 and 4-5, which end at the light point: 6 in 7. So
        # 2 cross, less the forced one, of 7.5 points less two.
        (np.array([1, 1, 1, 1, 0.5, 1, 1, 1]), (2 - 6 / 7) / (7.5 - 2 * 6 / 7)),
    ],
)
def test_crossing_fractions_by_hand(weights, fraction):
    bounds = region_bounds(LINE, LABELS, weights, **SETTINGS)
    assert bounds.crossing_fraction == pytest.approx(fraction, rel=1e-12)
    assert bounds.n_samples == weights.sum()


def test_fractions_keep_the_weighted_mean():
    X, y, _ = overlapping()
    weights = np.random.default_rng(2).uniform(0.2, 3.0, size=len(y))
    smoother = StructuralSmoother(0.1, random_state=0).fit(X, y, weights)
    mean = np.average(smoother.sample_strengths_, weights=weights)
    assert mean == pytest.approx(0.1, abs=1e-12)
    shares = np.bincount(smoother.cluster_labels_, weights) / weights.sum()
    np.testing.assert_allclose(smoother.cluster_weights_, shares)


def test_the_scale_of_fractions_means_nothing():
    X, y, _ = overlapping()
    plain = StructuralSmoother(random_state=0).fit(X, y)
    halves = StructuralSmoother(random_state=0).fit(X, y, np.full(len(y), 0.5))
    np.testing.assert_array_equal(plain.sample_strengths_, halves.sample_strengths_)
    weights = np.random.default_rng(2).uniform(0.2, 3.0, size=len(y))
    one = StructuralSmoother(random_state=0).fit(X, y, weights)
    two = StructuralSmoother(random_state=0).fit(X, y, weights / weights.sum())
    np.testing.assert_allclose(one.sample_strengths_, two.sample_strengths_, rtol=1e-9)
    assert len(one.strengths_) == len(plain.strengths_)


@pytest.mark.filterwarnings("ignore::structsmooth.errors.StructsmoothWarning")
@pytest.mark.parametrize("name", ["default", "point overlap", "suspects"])
def test_a_weighted_smoother_comes_back_from_a_file(name, tmp_path):
    X, y, weights = overlapping()
    smoother = StructuralSmoother(random_state=0, **CONFIGURATIONS[name])
    soft = smoother.fit_smooth(X, y, weights)
    smoother.save(tmp_path / "s.zip")
    loaded = StructuralSmoother.load(tmp_path / "s.zip")
    np.testing.assert_array_equal(loaded.smooth_fitted(loaded.encode(y)), soft)
    np.testing.assert_array_equal(loaded.cluster_labels_, smoother.cluster_labels_)
    smoother.report(tmp_path / "r.html", X, y)
    assert "<html" in (tmp_path / "r.html").read_text()


def test_fractional_weights_can_be_reported(tmp_path):
    X, y, _ = overlapping()
    weights = np.random.default_rng(2).uniform(0.2, 3.0, size=len(y))
    smoother = StructuralSmoother(random_state=0).fit(X, y, weights)
    smoother.report(tmp_path / "r.html", X, y)
    assert "rows" in smoother._html_repr()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "sample_weight.shape == \\(2,\\), expected \\(600,\\)"),
        (np.full(600, -1.0), "Negative values"),
        (np.full(600, np.nan), "sample_weight contains NaN"),
        (np.zeros(600), "zero"),
        (np.full(600, "a"), "could not convert"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    X, y, _ = overlapping()
    with pytest.raises(ValueError, match=message):
        StructuralSmoother().fit(X, y, weights)


@pytest.mark.parametrize("name", ["gmm", "point", "suspects", "agglomerative"])
def test_fractions_are_refused_where_rows_are_repeated(name):
    X, y, _ = overlapping()
    weights = np.where(y == 0, 0.3, 1.0)
    with pytest.raises(InvalidInputError, match=r"whole numbers .* got 0\.3"):
        StructuralSmoother(**CONFIGURATIONS[name]).fit(X, y, weights)


@pytest.mark.filterwarnings("ignore::structsmooth.errors.TiedDistancesWarning")
@pytest.mark.parametrize("inner", [GaussianNB(), make_pipeline(GaussianNB())])
def test_classifiers_take_weights_as_numbers_of_rows(inner):
    X, y, weights = overlapping()
    rows = np.repeat(np.arange(len(y)), weights)
    smoother = StructuralSmoother(random_state=0)
    model = SmoothedClassifier(inner, smoother)
    weighted = model.fit(X, y, sample_weight=weights).predict_proba(X)
    repeated = model.fit(X[rows], y[rows]).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-7)


def test_one_weight_for_all_rows():
    X, y, _ = overlapping()
    smoother = StructuralSmoother(random_state=0)
    one = SmoothedClassifier(GaussianNB(), smoother).fit(X, y, 2.0).predict_proba(X)
    twos = np.full(len(y), 2)
    many = SmoothedClassifier(GaussianNB(), smoother).fit(X, y, twos).predict_proba(X)
    np.testing.assert_array_equal(one, many)


def test_weights_for_more_rows_than_memory_holds_are_refused():
    X, y, _ = overlapping()
    with pytest.raises(InvalidInputError, match="stands for 6000000000000 rows"):
        StructuralSmoother(regions="point").fit(X, y, np.full(len(y), 10**10))


def test_has_fit_parameter_finds_the_weights():
    assert has_fit_parameter(SmoothedClassifier(), "sample_weight")
    assert has_fit_parameter(StructuralSmoother(), "sample_weight")


def test_metadata_routing():
    X, y, weights = overlapping()
    smoother = StructuralSmoother(random_state=0)
    expected = SmoothedClassifier(smoother=smoother).fit(X, y, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        model = SmoothedClassifier(
            LogisticRegression().set_fit_request(sample_weight=True),
            smoother.set_fit_request(sample_weight=True),
        ).set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"smoother__beta": ["cautious"]}, cv=2)
        search.fit(X, y, sample_weight=weights)
        inside = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), model
        )
        inside.fit(X, y, sample_weight=weights)
        make_pipeline(SmoothedClassifier()).fit(X, y, sample_weight=weights)
        only_smoother = SmoothedClassifier(
            LogisticRegression().set_fit_request(sample_weight=False), model.smoother
        ).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        search.best_estimator_.predict_proba(X), expected.predict_proba(X), rtol=1e-6
    )
    np.testing.assert_array_equal(
        only_smoother.smoother_.strengths_, expected.smoother_.strengths_
    )
    unweighted = only_smoother.predict_proba(X) - expected.predict_proba(X)
    assert np.abs(unweighted).max() > 1e-4


def test_an_inner_classifier_without_weights_is_refused_as_before():
    X, y, weights = overlapping()
    with pytest.raises(InvalidInputError, match="must take sample_weight"):
        SmoothedClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=weights)


def test_what_takes_no_weights_says_so(tmp_path):
    X, y, weights = overlapping()
    for train in (
        lambda: compare(X, y, sample_weight=weights),
        lambda: fit_out_of_core(X, tmp_path / "o", labels=y, sample_weight=weights),
        lambda: expand_rows(y, 0.1, 3, sample_weight=weights),
    ):
        with pytest.raises(TypeError, match="sample_weight"):
            train()
