"""The same values give the same result, however they are stored."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from structsmooth import (
    StructuralSmoother,
    bayes_error_bounds,
    euclidean_mst,
    find_suspects,
    fit_out_of_core,
)

few = settings(max_examples=15, deadline=None, derandomize=True)


@st.composite
def data_sets(draw, ties=True):
    """Features that float32 holds exactly, tied or not, near zero or far from it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_features = (
        draw(st.integers(40, 300)),
        draw(st.sampled_from([1, 2, 5, 40])),
    )
    y = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, n_features)) + y[:, np.newaxis]
    if ties and draw(st.booleans()):
        X = np.round(X)
    X *= 10.0 ** draw(st.sampled_from([-3, 0, 4]))
    X += draw(st.sampled_from([0.0, 1e5])) if ties else 0.0
    return X.astype(np.float32).astype(np.float64), y


options = st.fixed_dictionaries(
    {
        "reducer": st.sampled_from(["pca", "scaled-pca", "none"]),
        "clusterer": st.sampled_from(["kmeans", "gmm"]),
        "regions": st.sampled_from(["cluster", "point"]),
        "spread": st.sampled_from(["even", "overlap"]),
        "shrink": st.booleans(),
        "ties": st.sampled_from(["index", "average"]),
    }
)

LAYOUTS = {
    "columns": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: np.array(X[::-1, ::-1])[::-1, ::-1],
}
STORED = {**LAYOUTS, "float32": lambda X: X.astype(np.float32)}


def fitted(X, y, chosen):
    smoother = StructuralSmoother(n_clusters=3, random_state=0, **chosen)
    soft = smoother.fit_smooth(X, y)
    new = smoother.predict_strength(X)
    return smoother.cluster_labels_, smoother.sample_strengths_, soft, new


@pytest.mark.filterwarnings("ignore")
@given(data_sets(), options, st.sampled_from(sorted(STORED)))
@few
def test_memory_layout_and_float_type_do_not_change_a_fit(data, chosen, stored):
    X, y = data
    expected = fitted(X, y, chosen)
    found = fitted(STORED[stored](X), y, chosen)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("stored", sorted(STORED))
@pytest.mark.parametrize("reducer", ["pca", "scaled-pca"])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_tied_data_and_data_far_from_zero_too(stored, reducer, offset):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 2000)
    X = rng.normal(size=(2000, 6)) + y[:, np.newaxis]
    X = np.round(X) if offset == 0.0 else X + offset
    X = X.astype(np.float32).astype(np.float64)
    settings = {"reducer": reducer, "regions": "cluster"}
    for one, other in zip(
        fitted(X, y, settings), fitted(STORED[stored](X), y, settings), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_features", [1, 6, 40])
@pytest.mark.parametrize("stored", sorted(STORED))
def test_out_of_core_too(stored, n_features, tmp_path):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 900)
    X = np.round(rng.normal(size=(900, n_features)) + y[:, np.newaxis], 1) + 1e4
    X = X.astype(np.float32).astype(np.float64)
    smoother = StructuralSmoother(reducer="scaled-pca", random_state=0)
    found = [
        fit_out_of_core(data, tmp_path / name, labels=y, smoother=smoother)
        for name, data in (("one", X), ("other", STORED[stored](X)))
    ]
    one, other = (np.array(s.sample_strengths_) for s in found)
    np.testing.assert_array_equal(one, other)


@given(data_sets(), st.sampled_from(sorted(STORED)))
@few
def test_nor_does_it_change_trees_bounds_and_suspects(data, stored):
    X, y = data
    other = STORED[stored](X)
    trees = euclidean_mst(X), euclidean_mst(other)
    np.testing.assert_array_equal(trees[0].edges, trees[1].edges)
    np.testing.assert_array_equal(trees[0].lengths, trees[1].lengths)
    assert bayes_error_bounds(X, y).lower == bayes_error_bounds(other, y).lower
    suspects = find_suspects(X, y), find_suspects(other, y)
    np.testing.assert_array_equal(suspects[0].rows, suspects[1].rows)


SPARSE = {
    "csc": sp.csc_matrix,
    "coo": sp.coo_matrix,
    "lil": sp.lil_matrix,
    "array": sp.csr_array,
    "float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "duplicates": lambda X: _halves(sp.csr_matrix(X)),
    "zeros": lambda X: _stored_zeros(sp.csr_matrix(X)),
    "unsorted": lambda X: _backwards(sp.csr_matrix(X)),
}


def _halves(X):
    return sp.csr_matrix(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), X.shape
    )


def _stored_zeros(X):
    every = np.tile(np.arange(X.shape[1]), X.shape[0])
    starts = np.arange(X.shape[0] + 1) * X.shape[1]
    return sp.csr_matrix((X.toarray().ravel(), every, starts), X.shape)


def _backwards(X):
    order = np.concatenate(
        [np.arange(b - 1, a - 1, -1) for a, b in itertools.pairwise(X.indptr)]
    ).astype(int)
    return sp.csr_matrix((X.data[order], X.indices[order], X.indptr), X.shape)


@pytest.mark.filterwarnings("ignore")
@given(data_sets(), options, st.sampled_from(sorted(SPARSE)))
@few
def test_the_format_of_a_sparse_matrix_does_not_change_a_fit(data, chosen, stored):
    X, y = data
    X = np.where(np.quantile(X, 0.6) < X, X, 0.0)
    X[0] = np.arange(X.shape[1]) + 1.0
    expected = fitted(sp.csr_matrix(X), y, chosen)
    found = fitted(SPARSE[stored](X), y, chosen)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore")
@given(data_sets(ties=False), options, st.randoms(use_true_random=False))
@few
def test_the_order_of_the_rows_does_not_change_a_fit_without_ties(data, chosen, random):
    X, y = data
    order = random.sample(range(len(X)), len(X))
    _, strengths, soft, _ = fitted(X, y, chosen)
    _, moved, moved_soft, _ = fitted(X[order], y[order], chosen)
    np.testing.assert_allclose(moved, strengths[order], rtol=0, atol=1e-12)
    np.testing.assert_allclose(moved_soft, soft[order], rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@given(data_sets(), options, st.sampled_from(["pandas", "polars", "pyarrow"]))
@few
def test_the_library_of_a_table_does_not_change_a_fit(data, chosen, library):
    frames = pytest.importorskip(library)
    X, y = data
    X[::7, 0] = np.nan  # a gap, so that columns are encoded
    columns = {f"x{i}": column for i, column in enumerate(X.T.tolist())}
    columns["text"] = ["abc"[k % 3] for k in range(len(X))]
    reference = pd.DataFrame(columns)
    table = frames.table if library == "pyarrow" else frames.DataFrame
    expected = fitted(reference, y, chosen)
    for one, other in zip(expected, fitted(table(columns), y, chosen), strict=True):
        np.testing.assert_array_equal(one, other)
