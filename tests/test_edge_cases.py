"""Wrong and extreme input of the smoother: one clear sentence, nothing written."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from structsmooth import StructuralSmoother
from structsmooth.errors import InvalidInputError

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
Y = np.arange(30) % 3


def with_value(value):
    changed = X.copy()
    changed[4, 2] = value
    return changed


CASES = {
    "NaN": (with_value(np.nan), Y, {}, "X contains NaN in row 4, column 2"),
    "infinity": (with_value(-np.inf), Y, {}, "X contains infinity .* row 4, column 2"),
    "empty": (np.empty((0, 3)), [], {}, "0 sample"),
    "no features": (np.empty((30, 0)), Y, {}, "0 feature"),
    "one class": (
        X,
        np.zeros(30),
        {},
        r"y has only one class \(.*\); expected at least",
    ),
    "one row": (X[:1], Y[:1], {}, "1 sample"),
    "mismatched lengths": (X, Y[:-1], {}, "X has 30 rows, y has 29 labels"),
    "labels all distinct": (X, np.arange(30), {}, "no other row has in 30 of 30 rows"),
    "continuous labels": (
        X,
        X[:, 0],
        {},
        "Unknown label type: y holds frac",
    ),
    "NaN label": (X, np.where(Y == 0, np.nan, Y), {}, "y has missing labels .*NaN"),
    "missing label": (X, np.array([None, "a", "b"] * 10), {}, "y has missing labels"),
    "mixed labels": (
        X,
        np.array([1, "a"] * 15, dtype=object),
        {},
        r"different types \(int, str\)",
    ),
    "constant features": (np.ones((30, 3)), Y, {}, "X is constant in every feature"),
    "text": (X.astype(str).astype(object) + "x", Y, {}, "X must hold numbers only"),
    "objects": (np.full((30, 3), print, dtype=object), Y, {}, "must be .*number"),
    "complex": (X + 1j, Y, {}, "Complex data not supported"),
    "three dimensions": (
        X[:, :, None],
        Y,
        {},
        r"two-dimensional .* shape \(30, 3, 1\)",
    ),
    "one dimension": (X[:, 0], Y, {}, r"two-dimensional .* shape \(30,\)"),
    "ragged": ([[1.0], [1.0, 2.0]] * 15, Y, {}, "ragged"),
    "two-dimensional y": (X, np.zeros((30, 2)), {}, r"y has shape \(30, 2\), several"),
    "alpha too large": (X, Y, {"alpha": 2 / 3}, r"alpha must be below \(K-1\)/K"),
    "alpha negative": (X, Y, {"alpha": -0.1}, "alpha must be a number of at least 0"),
    "alpha unknown": (X, Y, {"alpha": "big"}, "alpha must be a number, 'auto' or"),
    "alpha None": (X, Y, {"alpha": None}, "alpha must be a number"),
    "beta negative": (X, Y, {"beta": -1}, "beta must be a number of at least 0"),
    "n_clusters > n": (X, Y, {"n_clusters": 31}, "must not exceed the 30 rows of X"),
    "n_clusters 0": (X, Y, {"n_clusters": 0}, "n_clusters must be a whole number"),
    "clusterer unknown": (X, Y, {"clusterer": "dbscan"}, "clusterer must be"),
    "reducer unknown": (X, Y, {"reducer": "umap"}, "reducer must be"),
    "regions unknown": (X, Y, {"regions": "tree"}, "regions must be one of 'cluster'"),
    "ties unknown": (X, Y, {"ties": "maybe"}, "ties must be one of"),
    "confidence": (X, Y, {"confidence": 95}, "confidence must be a number between"),
    "n_components": (X, Y, {"n_components": 4}, "from 1 to 3, got 4"),
    "y None": (X, None, {}, "requires y to be passed"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_of_fit(name):
    features, labels, parameters, message = CASES[name]
    with pytest.raises((ValueError, TypeError), match=message):
        StructuralSmoother(**parameters).fit(features, labels)


def test_errors_are_one_line():
    for name, (features, labels, parameters, _) in CASES.items():
        with pytest.raises((ValueError, TypeError)) as caught:
            StructuralSmoother(**parameters).fit(features, labels)
        if isinstance(caught.value, InvalidInputError):
            assert "\n" not in str(caught.value), name


def test_using_it_before_fitting():
    for call in (
        lambda s: s.predict_strength(X),
        lambda s: s.soft_labels(X, Y),
        lambda s: s.save("nowhere"),
    ):
        with pytest.raises(NotFittedError):
            call(StructuralSmoother())


def test_another_number_of_features():
    fitted = StructuralSmoother().fit(X, Y)
    with pytest.raises(ValueError, match=r"2 features, but .* expecting 3"):
        fitted.predict_strength(X[:, :2])


@pytest.mark.parametrize("n", [3, 4, 5])
def test_a_handful_of_rows(n):
    smoother = StructuralSmoother(alpha=0.1).fit(X[:n], np.arange(n) % 2)
    assert smoother.sample_strengths_.mean() == pytest.approx(0.1)


def test_one_feature():
    smoother = StructuralSmoother(n_clusters=2, random_state=0).fit(X[:, :1], Y)
    assert smoother.predict_strength(X[:, :1]).shape == (30,)


def test_more_clusters_than_distinct_rows():
    repeated = np.repeat([[0.0], [5.0]], 20, axis=0)
    labels = np.tile([0, 1], 20)
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        smoother = StructuralSmoother(n_clusters=5, ties="average").fit(
            repeated, labels
        )
    assert len(smoother.strengths_) == 2


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_extreme_scales(scale):
    plain = StructuralSmoother(n_clusters=2, random_state=0).fit(X, Y)
    scaled = StructuralSmoother(n_clusters=2, random_state=0).fit(scale * X, Y)
    np.testing.assert_allclose(
        scaled.sample_strengths_, plain.sample_strengths_, atol=1e-12
    )


def test_a_thousand_classes():
    n_classes = 1000
    labels = np.arange(3000) % n_classes
    features = rng.normal(size=(3000, 2))
    smoother = StructuralSmoother(n_clusters=1).fit(features, labels)
    assert smoother.bayes_error_bounds_.crossing.shape == (n_classes, n_classes)


def test_the_given_arrays_are_not_changed():
    before, labels = X.copy(), Y.copy()
    StructuralSmoother(n_components=2).fit(X, Y).soft_labels(X, Y)
    assert np.array_equal(X, before)
    assert np.array_equal(Y, labels)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e155, 1e300])
@pytest.mark.parametrize("clusterer", ["kmeans", "gmm"])
def test_the_unit_of_measurement_does_not_matter(scale, clusterer):
    features = np.random.default_rng(1).normal(size=(400, 3))
    labels = (features[:, 0] > 0).astype(int)
    smoother = StructuralSmoother(clusterer=clusterer, n_clusters=4, random_state=0)
    plain = smoother.fit(features, labels).sample_strengths_
    scaled = smoother.fit(features * scale, labels)
    np.testing.assert_allclose(scaled.sample_strengths_, plain, atol=1e-12)
    np.testing.assert_allclose(
        scaled.predict_strength(features * scale), plain, atol=1e-12
    )


@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e18, 1e30])
def test_the_unit_of_float32_data_does_not_matter_either(scale):
    features = np.random.default_rng(1).normal(size=(400, 3)).astype(np.float32)
    labels = (features[:, 0] > 0).astype(int)
    smoother = StructuralSmoother(n_clusters=4, random_state=0)
    plain = smoother.fit(features, labels).sample_strengths_
    factor = np.float32(2.0 ** np.round(np.log2(scale)))
    scaled = smoother.fit(features * factor, labels).sample_strengths_
    np.testing.assert_allclose(scaled, plain, atol=1e-12)


def test_a_failed_fit_leaves_nothing_of_an_earlier_one():
    smoother = StructuralSmoother().fit(X, Y)
    with pytest.raises(InvalidInputError):
        smoother.fit(X, np.zeros(30))
    with pytest.raises(NotFittedError):
        smoother.predict_strength(X)
    with pytest.raises(NotFittedError):
        smoother.save("nowhere")


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(np.where(Y == 0, "a", "b"), dtype="string"),
        pd.Series(Y, dtype="Int64"),
        Y.astype(object),
        (Y == 1).astype(object),
        np.where(Y == 0, b"a", b"b"),
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[Y % 2],
    ],
    ids=["string", "Int64", "object", "bool", "bytes", "dates"],
)
def test_labels_of_every_type(labels):
    smoother = StructuralSmoother().fit(X, labels)
    assert smoother.classes_.dtype.kind in "iUbOM"
    assert smoother.soft_labels(X, labels).shape[0] == 30


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["a", "b", None] * 10, dtype="string"),
        pd.Series([0, 1, None] * 10, dtype="Int64"),
        np.array(["2020-01-01", "NaT"] * 15, dtype="datetime64[D]"),
    ],
    ids=["string", "Int64", "dates"],
)
def test_missing_labels_of_every_type(labels):
    with pytest.raises(InvalidInputError, match="missing labels"):
        StructuralSmoother().fit(X, labels)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones((30, 2), dtype="datetime64[D]"), "dates or times"),
        (np.ma.masked_less(X, 0), "masked values"),
        (pd.DataFrame({"a": X[:, 0], "b": X[:, 1] + 1j}), "'b' holds .*complex"),
    ],
)
def test_numbers_that_are_none(features, message):
    with pytest.raises(InvalidInputError, match=message):
        StructuralSmoother().fit(features, Y)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"])
def test_bad_n_jobs(n_jobs):
    with pytest.raises(InvalidInputError, match="n_jobs must be"):
        StructuralSmoother(n_jobs=n_jobs).fit(X, Y)


def test_entries_of_a_sparse_matrix_that_are_given_twice_count_as_their_sum():
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.5, size=(300, 6)).astype(float)
    y = (dense.sum(axis=1) + rng.normal(size=300) > 3).astype(int)
    once = sp.csr_matrix(dense)
    twice = sp.csr_matrix(
        (np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), once.indptr * 2)
    )
    for regions in ("cluster", "point"):
        smoother = StructuralSmoother(regions=regions, ties="average", random_state=0)
        expected = smoother.fit(once, y).sample_strengths_
        found = smoother.fit(twice, y).sample_strengths_
        assert np.array_equal(found, expected)
        assert np.array_equal(smoother.predict_strength(twice), expected)
    assert not twice.has_canonical_format  # the matrix given is not changed
