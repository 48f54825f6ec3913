"""The tree is the exact minimum spanning tree, whatever the data look like."""

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from oracles import kruskal, prim
from structsmooth import euclidean_mst
from structsmooth.errors import InvalidInputError


def test_three_points_on_a_line_by_hand():
    tree = euclidean_mst([[0.0], [10.0], [4.0]])
    assert tree.edges.tolist() == [[0, 2], [1, 2]]
    assert tree.lengths.tolist() == [4.0, 6.0]
    assert tree.edges.dtype == np.int64
    assert tree.lengths.dtype == np.float64


def test_a_single_point_has_a_tree_without_edges():
    tree = euclidean_mst([[1.0, 2.0]])
    assert tree.edges.shape == (0, 2)
    assert tree.lengths.shape == (0,)


def test_two_points():
    tree = euclidean_mst([[0.0, 0.0], [3.0, 4.0]])
    assert tree.edges.tolist() == [[0, 1]]
    assert tree.lengths.tolist() == [5.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "d"), [(2, 1), (17, 1), (60, 2), (200, 3), (300, 20), (80, 200), (1500, 5)]
)
def test_equals_a_plain_prim_on_untied_data(rng, n, d, dtype):
    X = rng.normal(size=(n, d)).astype(dtype)
    tree = euclidean_mst(X)
    edges, lengths = prim(X)
    assert np.array_equal(tree.edges, edges)
    np.testing.assert_allclose(tree.lengths, lengths, rtol=1e-14)


def test_total_length_equals_scipy(rng):
    X = rng.normal(size=(400, 6))
    expected = minimum_spanning_tree(cdist(X, X)).sum()
    assert euclidean_mst(X).lengths.sum() == pytest.approx(expected, rel=1e-12)


def test_equals_mlpack(rng):
    mlpack = pytest.importorskip("mlpack")
    X = rng.normal(size=(500, 4))
    output = mlpack.emst(input_=X.copy())["output"]
    tree = euclidean_mst(X)
    expected = {tuple(sorted(map(int, row[:2]))) for row in output}
    assert {tuple(edge) for edge in tree.edges.tolist()} == expected
    np.testing.assert_allclose(tree.lengths, np.sort(output[:, 2]), rtol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_ties_are_broken_by_length_then_lower_then_higher_row(seed):
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 4, size=(generator.integers(2, 45), 1 + seed % 3))
    tree = euclidean_mst(X)
    expected = kruskal(X)
    assert np.array_equal(tree.edges, expected)


def test_all_points_equal_gives_a_star_at_the_first_row():
    tree = euclidean_mst(np.ones((6, 3)))
    assert tree.edges.tolist() == [[0, j] for j in range(1, 6)]
    assert not tree.lengths.any()


def test_duplicates_are_joined_by_edges_of_length_zero(rng):
    X = np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
    tree = euclidean_mst(X)
    assert len(tree.edges) == 39
    assert (tree.lengths == 0.0).sum() == 20


@pytest.mark.parametrize("offset", [1e4, -1e7])
def test_a_large_offset_changes_no_edge(rng, offset):
    # Multiples of 1/1024, so that adding the offset rounds nothing.
    X = np.round(rng.normal(size=(300, 8)) * 1024) / 1024
    assert np.array_equal(euclidean_mst(X + offset).edges, euclidean_mst(X).edges)


@pytest.mark.parametrize("exponent", [-1000, -300, 300, 1000])
def test_any_scale_gives_the_same_tree(rng, exponent):
    X = rng.normal(size=(100, 3))
    scaled = euclidean_mst(np.ldexp(X, exponent))
    plain = euclidean_mst(X)
    assert np.array_equal(scaled.edges, plain.edges)
    assert np.array_equal(scaled.lengths, np.ldexp(plain.lengths, exponent))


def test_the_input_is_not_changed(rng):
    X = rng.normal(size=(50, 2))
    before = X.copy()
    euclidean_mst(X)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("layout", ["fortran", "strided", "readonly", "list"])
def test_any_memory_layout(rng, layout):
    X = rng.normal(size=(40, 6))
    given = {
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "readonly": X.copy(),
        "list": X.tolist(),
    }[layout]
    if layout == "readonly":
        given.flags.writeable = False
    assert np.array_equal(euclidean_mst(given).edges, euclidean_mst(X).edges)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0.0, np.nan], [1.0, 2.0]], "NaN in row 0, column 1"),
        ([[0.0, 1.0], [np.inf, 2.0]], "inf.* in row 1, column 0"),
        (np.empty((0, 2)), "0 sample"),
        ([1.0, 2.0], "two-dimensional"),
        (np.zeros((2, 2, 2)), "two-dimensional"),
        ([[1j], [2j]], "Complex data not supported"),
        ([["a"], ["b"]], "numbers only"),
        ([[1.0], [1.0, 2.0]], "ragged"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(X, message):
    with pytest.raises((InvalidInputError, ValueError), match=message):
        euclidean_mst(X)
