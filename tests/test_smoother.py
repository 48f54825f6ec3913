"""StructuralSmoother: the whole method, its invariances and its determinism."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD

from structsmooth import (
    StructuralSmoother,
    bayes_error_bias,
    bayes_error_bounds,
    smooth_labels,
    solve_strengths,
)
from structsmooth.errors import InvalidInputError, TiedDistancesWarning


def test_the_group_that_mixes_the_classes_is_smoothed_most(overlapping):
    X, y = overlapping
    smoother = StructuralSmoother(n_clusters=3, random_state=0).fit(X, y)
    mixed = np.argmax(smoother.strengths_)
    assert smoother.cluster_weights_[mixed] == pytest.approx(0.5, abs=0.02)
    low, high = smoother.cluster_bounds_[mixed].interval
    assert 0.1 < low < 0.31 < high
    assert np.delete(smoother.bayes_error_upper_, mixed).max() == 0.0
    assert smoother.sample_strengths_.mean() == pytest.approx(0.05, abs=1e-12)


def test_the_line_is_the_stages_one_after_the_other(overlapping):
    X, y = overlapping
    s = StructuralSmoother(0.2, 0.5, n_clusters=4, random_state=1).fit(X, y)
    sizes = np.bincount(s.cluster_labels_)
    for cluster in range(len(sizes)):
        rows = s.cluster_labels_ == cluster
        alone = bayes_error_bounds(X[rows], y[rows], n_classes=2)
        assert alone.lower == s.bayes_error_lower_[cluster]
        assert alone.upper == s.bayes_error_upper_[cluster]
    weights = sizes / 400
    expected = solve_strengths(s.bayes_error_lower_, weights, 0.2, 0.5, n_classes=2)
    assert np.array_equal(s.strengths_, expected)
    assert np.array_equal(s.sample_strengths_, expected[s.cluster_labels_])
    where = {"bayes_error": s.bayes_error_lower_, "weights": weights, "n_classes": 2}
    assert s.bias_ == bayes_error_bias(expected, **where)
    assert s.uniform_bias_ == bayes_error_bias(0.2, **where)
    assert s.bias_ < s.uniform_bias_


def test_auto_alpha_is_the_bayes_error_and_so_are_the_strengths(overlapping):
    s = StructuralSmoother("auto", "auto", n_clusters=3, random_state=0)
    s.fit(*overlapping)
    assert s.alpha_ == pytest.approx(s.bayes_error_bounds_.lower)
    np.testing.assert_allclose(s.strengths_, s.bayes_error_lower_, atol=1e-15)


def test_by_itself_it_is_cautious(overlapping):
    X, y = overlapping
    s = StructuralSmoother(n_clusters=3, random_state=0).fit(X, y)
    assert s.bayes_error_bounds_.lower > 0.1
    assert s.alpha_ == 0.05  # label_smoothing=0.1 of two classes
    assert s.beta_ == 0.5  # (K-1)/K of two classes
    some = np.flatnonzero(np.abs(X).max(axis=1) < 6.0)[
        30:
    ]  # leave 30 of the rows that mix
    fewer, labels = np.delete(X, some, axis=0), np.delete(y, some)
    s = StructuralSmoother(n_clusters=3, random_state=0).fit(fewer, labels)
    whole = s.bayes_error_bounds_.lower
    assert s.alpha_ == whole < 0.1
    np.testing.assert_allclose(s.strengths_, (s.bayes_error_lower_ + whole) / 2)


def test_training_rows_are_predicted_as_they_were_fitted(overlapping):
    X, y = overlapping
    for clusterer in ("kmeans", "gmm", AgglomerativeClustering(3)):
        s = StructuralSmoother(clusterer=clusterer, random_state=0).fit(X, y)
        assert np.array_equal(s.predict_strength(X), s.sample_strengths_)


def test_new_rows_get_the_strength_of_their_region(overlapping):
    X, y = overlapping
    s = StructuralSmoother(n_clusters=3, random_state=0).fit(X, y)
    strong, weak = s.predict_strength([[0.0, 0.0], [12.0, 12.0]])
    assert strong == s.strengths_.max()
    assert weak == s.strengths_.min()


def test_soft_labels_have_the_columns_of_the_sorted_classes(overlapping):
    X, y = overlapping
    names = np.array(["zebra", "ant"])[y]
    s = StructuralSmoother(n_clusters=3, random_state=0)
    soft = s.fit_smooth(X, names)
    assert s.classes_.tolist() == ["ant", "zebra"]
    assert np.array_equal(soft, smooth_labels(1 - y, s.sample_strengths_, 2))
    assert np.array_equal(soft, s.soft_labels(X, names))


def test_a_label_unseen_at_fit_is_refused(overlapping):
    X, y = overlapping
    s = StructuralSmoother(random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="label 7, which fit did not see; exp"):
        s.soft_labels(X[:2], [0, 7])


def test_raw_counts_and_forced_edges_differ_by_the_classes_less_one(overlapping):
    X, y = overlapping
    raw = StructuralSmoother(n_clusters=1, correct_forced_edges=False).fit(X, y)
    corrected = StructuralSmoother(n_clusters=1).fit(X, y)
    # Of 400 rows of two classes: C / 400, and (C - 1) / 398.
    crossing = 400 * raw.bayes_error_upper_[0]
    assert corrected.bayes_error_upper_[0] == pytest.approx((crossing - 1) / 398)


@pytest.mark.parametrize(
    "kind", ["frame", "csr", "csc", "coo", "list", "memmap", "f32"]
)
def test_any_kind_of_features(overlapping, tmp_path, kind):
    X, y = overlapping
    X = np.round(X, 3)
    expected = StructuralSmoother(n_clusters=4, random_state=0).fit(X, y)
    if kind == "memmap":
        np.save(tmp_path / "X.npy", X)
    given_X = {
        "frame": lambda: pd.DataFrame(X, columns=["a", "b"]),
        "csr": lambda: sp.csr_matrix(X),
        "csc": lambda: sp.csc_array(X),
        "coo": lambda: sp.coo_matrix(X),
        "list": X.tolist,
        "memmap": lambda: np.load(tmp_path / "X.npy", mmap_mode="r"),
        "f32": lambda: X.astype(np.float32),
    }[kind]()
    got = StructuralSmoother(n_clusters=4, random_state=0).fit(given_X, y)
    np.testing.assert_allclose(
        got.sample_strengths_, expected.sample_strengths_, atol=1e-12
    )
    np.testing.assert_allclose(
        got.predict_strength(given_X), got.sample_strengths_, atol=1e-12
    )
    if kind == "frame":
        assert got.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("labels", ["text", "object", "bool", "categorical", "float"])
def test_any_kind_of_labels(overlapping, labels):
    X, y = overlapping
    given_y = {
        "text": np.array(["no", "yes"])[y],
        "object": np.array(["no", "yes"], dtype=object)[y],
        "bool": y.astype(bool),
        "categorical": pd.Series(np.array(["no", "yes"])[y], dtype="category"),
        "float": y * 10.0,
    }[labels]
    expected = StructuralSmoother(random_state=0).fit(X, y)
    got = StructuralSmoother(random_state=0).fit(X, given_y)
    assert np.array_equal(got.sample_strengths_, expected.sample_strengths_)
    assert got.soft_labels(X, given_y).shape == (400, 2)


def test_clone_pickle_and_parameters(overlapping):
    X, y = overlapping
    s = StructuralSmoother(alpha=0.2, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(s))  # noqa: S301 (what users do in joblib)
    assert np.array_equal(again.predict_strength(X), s.sample_strengths_)
    assert clone(s).get_params() == s.get_params()
    assert s.set_params(alpha=0.3).fit(X, y).alpha_ == 0.3


def test_a_reducer_of_the_users(rng, overlapping):
    X, y = overlapping
    wide = np.hstack([X, rng.normal(size=(400, 10))])
    s = StructuralSmoother(reducer=TruncatedSVD(2), random_state=0).fit(wide, y)
    assert s.structure_.regions.centers.shape[1] == 2


def test_verbose_writes_to_standard_error_only(overlapping, capsys):
    StructuralSmoother(random_state=0, verbose=1).fit(*overlapping)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "spanning trees" in captured.err


def test_many_ties_are_pointed_out_and_can_be_averaged(rng):
    X = rng.integers(0, 6, size=(400, 2)).astype(float)
    y = rng.integers(0, 2, size=400)
    with pytest.warns(TiedDistancesWarning, match="pass ties='average'"):
        StructuralSmoother(n_clusters=2, random_state=0).fit(X, y)
    averaged = StructuralSmoother(n_clusters=2, random_state=0, ties="average")
    counts = averaged.fit(X, y).bayes_error_bounds_.crossing_counts
    assert (counts % 1 != 0).any()  # a mean of 16 counts, and no warning


def similar(got, expected):
    np.testing.assert_allclose(got, expected, atol=1e-12)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**20), scale=st.sampled_from([1e-5, 0.3, 1e7]))
def test_invariant_to_rotation_translation_scaling(seed, scale):
    generator = np.random.default_rng(seed)
    X, y = generator.normal(size=(240, 3)), generator.integers(0, 3, 240)
    rotation, _ = np.linalg.qr(generator.normal(size=(3, 3)))
    moved = scale * (X @ rotation + generator.normal(size=3))
    s = StructuralSmoother(n_clusters=3, min_cluster_size=1, random_state=0)
    similar(clone(s).fit(moved, y).sample_strengths_, s.fit(X, y).sample_strengths_)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**20), clusterer=st.sampled_from(["kmeans", "gmm"]))
def test_invariant_to_order_of_rows_and_names_of_classes(seed, clusterer):
    generator = np.random.default_rng(seed)
    X, y = generator.normal(size=(240, 40)), generator.integers(0, 3, 240)
    X[:, 4:] *= 0.05  # so that PCA is used
    order = generator.permutation(240)
    s = StructuralSmoother(
        clusterer=clusterer, n_clusters=3, min_cluster_size=1, random_state=0
    )
    names = np.array(["z", "m", "a"])
    got = clone(s).fit(X[order], names[y[order]]).sample_strengths_
    similar(got, s.fit(X, y).sample_strengths_[order])


FINGERPRINT = """
import hashlib, json, sys
from sklearn.datasets import load_digits
from structsmooth import StructuralSmoother
X, y = load_digits(return_X_y=True)
s = StructuralSmoother(n_jobs=int(sys.argv[1]), random_state=5).fit(X, y)
centers = s.structure_.regions.centers
print(hashlib.sha256(s.sample_strengths_.tobytes() + centers.tobytes()).hexdigest())
"""


def test_same_bits_for_any_number_of_jobs_and_blas_threads():
    seen = set()
    for jobs, threads in (("1", "1"), ("2", "1"), ("1", "2"), ("2", "2")):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, threads)
        run = subprocess.run(
            [sys.executable, "-c", FINGERPRINT, jobs],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(run.stdout.strip())
    assert len(seen) == 1


def test_another_seed_gives_other_clusters():
    X, y = load_digits(return_X_y=True)
    first = StructuralSmoother(random_state=0).fit(X, y)
    second = StructuralSmoother(random_state=1).fit(X, y)
    assert not np.array_equal(first.cluster_labels_, second.cluster_labels_)


def test_parameters_are_json_and_have_the_documented_order():
    import inspect

    names = list(inspect.signature(StructuralSmoother).parameters)
    assert names[:10] == [
        "alpha",
        "beta",
        "reducer",
        "n_components",
        "clusterer",
        "n_clusters",
        "regions",
        "n_jobs",
        "random_state",
        "verbose",
    ]
    json.dumps(StructuralSmoother().get_params())


def test_labels_are_encoded_by_their_place_among_the_classes(overlapping):
    X, y = overlapping
    smoother = StructuralSmoother(random_state=0).fit(X, np.array(["no", "yes"])[y])
    assert smoother.encode(["yes", "no", "yes"]).tolist() == [1, 0, 1]
    with pytest.raises(InvalidInputError, match="2 rows"):
        smoother.encode(["yes"], n_rows=2)
