"""Every algorithm, block size and thread count returns the same tree, always."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kinds import KINDS, as_tree, draw, exact_tree
from oracles import kruskal, prim
from structsmooth import euclidean_mst, nearest_neighbors
from structsmooth.tree import (
    algorithms,
    boruvka,
    minimum_spanning_tree,
    neighbor_lists,
    prim_gram,
    prim_rounded,
)
from structsmooth.tree.duplicates import first_of_equal
from structsmooth.tree.rounding import round_points


def with_distinct(build):
    """Apply an algorithm for distinct rows to any rows, as the package does."""

    def edges(X):
        first = first_of_equal(X)
        distinct = np.flatnonzero(first == np.arange(len(X)))
        equal = np.flatnonzero(first != np.arange(len(X)))
        left = right = np.empty(0, dtype=np.int64)
        squared = np.empty(0)
        if len(distinct) > 1:
            left, right, squared = build(X[distinct])
        return as_tree(
            (
                np.concatenate([first[equal], distinct[left]]),
                np.concatenate([equal, distinct[right]]),
                np.concatenate([np.zeros(len(equal)), squared]),
            )
        )

    return edges


def with_settings(n_listed, n_threads):
    def build(X):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(boruvka, "N_LISTED", n_listed)
            return boruvka.boruvka(X, n_threads)

    return with_distinct(build)


def comparing_all_panels(n_threads):
    def build(X):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(neighbor_lists, "MOST_SEARCHED", -1.0)
            return boruvka.boruvka(X, n_threads)

    return with_distinct(build)


def without_float32(X):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boruvka, "EXACT_DISTANCES", 0)
        return boruvka.boruvka(X, n_threads=2)


def never_giving_up(build):
    def edges(X):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(prim_rounded, "CLOSE_CALLS", 10**12)
            return build(X)

    return with_distinct(edges)


def placed_first(X):
    """Prim on the rotated points of a tree, in its order."""
    return prim_rounded.prim_placed(X, *neighbor_lists.place_points(X))


ALGORITHMS = {
    "float32": never_giving_up(prim_rounded.prim_rounded),
    "float32, placed": never_giving_up(placed_first),
    "Gram matrix": with_distinct(prim_gram.prim_gram),
    "Boruvka": with_distinct(boruvka.boruvka),
    "short lists": with_settings(1, 1),
    "two threads": with_settings(boruvka.N_LISTED, 2),
    "long lists, three threads": with_settings(9, 3),
    "without float32": with_distinct(without_float32),
    "all panels": comparing_all_panels(1),
    "all panels, three threads": comparing_all_panels(3),
}
SETS_PER_CHUNK = 64


@pytest.mark.parametrize("chunk", range(8))
def test_5120_random_cases_give_the_tree_of_exact_prim(chunk):
    """512 data sets, ten algorithms and settings each."""
    generator = np.random.default_rng(chunk)
    for number in range(SETS_PER_CHUNK):
        n = int(generator.choice([2, 3, 5, 15, 16, 17, 33, 64, 65, 130, 400, 900]))
        d = int(generator.choice([1, 2, 3, 5, 9, 17, 28, 70]))
        kind = KINDS[(number + chunk) % len(KINDS)]
        dtype = (np.float32, np.float64)[number % 2]
        X = draw(generator, n, d, kind).astype(dtype)
        edges, squared = exact_tree(X)
        for name, build in ALGORITHMS.items():
            case = (name, n, d, kind, dtype.__name__, chunk, number)
            got_edges, got_squared = build(X)
            assert np.array_equal(got_edges, edges), case
            assert np.array_equal(got_squared, squared), case


@pytest.mark.parametrize("seed", range(30))
def test_exact_prim_equals_kruskal_over_all_pairs(seed):
    generator = np.random.default_rng(seed)
    n, d = int(generator.integers(2, 50)), int(generator.integers(1, 7))
    X = draw(generator, n, d, KINDS[seed % len(KINDS)])
    assert np.array_equal(exact_tree(X)[0], kruskal(X))


@pytest.mark.parametrize(("n", "d"), [(3000, 2), (2500, 12), (2200, 40), (1500, 128)])
def test_large_trees_equal_an_independent_prim(rng, n, d):
    X = rng.normal(size=(n, d)).astype(np.float32)
    edges, lengths = prim(X)
    for build in (
        boruvka.boruvka,
        prim_gram.prim_gram,
        prim_rounded.prim_rounded,
    ):
        got, squared = as_tree(build(X))
        assert np.array_equal(got, edges)
        np.testing.assert_allclose(np.sqrt(squared), lengths, rtol=1e-14)


@pytest.mark.parametrize(
    ("kind", "d", "expected"),
    [
        ("normal", 3, [False]),
        ("far clusters", 12, [False]),
        ("wild norms", 12, [False]),
        ("exponential", 3, [False, True]),
        ("exponential", 28, [False, True]),
        ("exponential line", 3, [False, True]),
        ("exponential coordinates", 3, [False, True]),
        ("ulps apart", 3, [False]),
        ("ulps apart", 28, [False]),
    ],
)
def test_float32_is_given_up_where_it_tells_nothing_apart(
    rng, monkeypatch, kind, d, expected
):
    """Otherwise every pair would be compared, once in every round."""
    used = []

    def watched(X, exactly=False):
        used.append(exactly)
        return neighbor_lists.place_points(X, exactly)

    monkeypatch.setattr(boruvka, "place_points", watched)
    X = draw(rng, 2500, d, kind)
    edges, squared = exact_tree(X)
    got_edges, got_squared = with_distinct(boruvka.boruvka)(X)
    assert np.array_equal(got_edges, edges)
    assert np.array_equal(got_squared, squared)
    assert used == expected


@pytest.mark.parametrize("kind", ["binary", "exponential"])
def test_prim_on_float32_is_given_up_where_close_calls_are_the_rule(rng, kind):
    build = prim_rounded.prim_rounded
    X = draw(rng, 1500, 28, kind)
    X = X[np.unique(first_of_equal(X))]
    assert build(X) is None
    assert build(draw(rng, 1500, 28, "normal")) is not None


def test_one_distant_row_does_not_make_close_calls_of_all_others(rng):
    X = rng.normal(size=(1000, 10))
    X[3] *= 1e6
    got, _ = as_tree(prim_rounded.prim_rounded(X))
    assert np.array_equal(got, exact_tree(X)[0])


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("d", [1, 2, 3, 6, 20])
@pytest.mark.parametrize("kind", ["normal", "rounded", "cauchy", "clumps"])
def test_neighbors_at_very_different_distances(rng, kind, d, n_threads):
    """Hundreds of panels, whose points have limits of very different size."""
    X = draw(rng, 7000, d, kind)
    if kind == "cauchy":
        X = rng.standard_cauchy(size=(7000, d))
    if kind == "clumps":
        group = rng.integers(0, 300, 7000)
        scale = np.exp(rng.uniform(-9.0, -2.0, 300))
        X = rng.random((300, d))[group] + scale[group, np.newaxis] * X
    edges, squared = exact_tree(X)
    build = with_settings(boruvka.N_LISTED, n_threads)
    got_edges, got_squared = build(X)
    assert np.array_equal(got_edges, edges)
    assert np.array_equal(got_squared, squared)


@pytest.mark.usefixtures("all_compiled")
@pytest.mark.parametrize("kind", ["rounded", "binary", "duplicates", "line"])
def test_large_tied_data(rng, kind):
    X = draw(rng, 4000, 6, kind)
    edges, _ = exact_tree(X)
    for n_jobs in (1, 2):
        assert np.array_equal(euclidean_mst(X, n_jobs=n_jobs).edges, edges)


@pytest.mark.parametrize("rotate", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_distances_in_float32_are_within_their_bound(rng, kind, rotate):
    X = draw(rng, 120, 6, kind)
    points, error = round_points(X, rotate)
    for i in range(0, 120, 7):
        squared = np.zeros(120, dtype=np.float32)  # in float32, as the tiles do
        for feature in range(6):
            difference = points[:, feature] - points[i, feature]
            squared += difference * difference
        rounded = np.sqrt(squared.astype(np.float64))
        truth = np.sqrt(((X - X[i]) ** 2).sum(axis=1)) * error.scale
        allowed = error.slack[i] + error.relative * rounded
        assert (np.abs(rounded - truth) <= allowed).all()


@pytest.mark.usefixtures("all_compiled")
def test_trees_in_many_threads_at_once(rng):
    sets = [rng.normal(size=(950 + i, 4)) for i in range(12)]
    expected = [exact_tree(X)[0] for X in sets]
    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(minimum_spanning_tree, sets))
    for tree, edges in zip(trees, expected, strict=True):
        assert np.array_equal(tree.edges, edges)


def test_concurrent_first_runs_share_a_cold_cache(tmp_path):
    script = (
        "import numpy as np; from structsmooth.tree import minimum_spanning_tree\n"
        "X = np.random.default_rng(0).normal(size=(3000, 3))\n"
        "print(minimum_spanning_tree(X, workload=np.inf).lengths.sum())"
    )
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    outputs = [run.communicate() for run in runs]
    assert len({out for out, _ in outputs}) == 1, outputs
    assert all(run.returncode == 0 for run in runs), outputs
    assert any(tmp_path.rglob("*.nbi"))


@pytest.mark.usefixtures("all_compiled")
def test_differences_too_small_to_square_give_one_tree_always(monkeypatch):
    X = np.arange(1000.0)[:, np.newaxis]
    X[:3, 0] = [0.0, 1e-170, 1e-170]
    fast = euclidean_mst(X).edges
    monkeypatch.setattr(algorithms, "is_compiled", lambda _: False)
    assert np.array_equal(euclidean_mst(X).edges, fast)


@pytest.mark.usefixtures("all_compiled")
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_constant_column_of_nanoseconds_changes_nothing(rng, kind):
    X = rng.normal(size=(300, 200)).astype(kind)
    X[:, 0] = 0.0
    tree, near = euclidean_mst(X), nearest_neighbors(X, 3)
    X[:, 0] = 1.7e18
    assert np.array_equal(euclidean_mst(X).edges, tree.edges)
    assert np.array_equal(euclidean_mst(X).lengths, tree.lengths)
    assert np.array_equal(nearest_neighbors(X, 3).indices, near.indices)


@pytest.mark.usefixtures("all_compiled")
def test_ordinary_rows_between_two_giants():
    X = np.random.default_rng(0).normal(size=(2000, 2)).astype(np.float32)
    X[0], X[1] = [3e38, 0.0], [-3e38, 0.0]
    assert np.array_equal(euclidean_mst(X).edges, exact_tree(X)[0])


@pytest.mark.parametrize("most_searched", [-1.0, 2.0])
@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("d", [3, 9, 28])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_nothing_outside_of_a_list_is_nearer_than_its_bound(
    rng, monkeypatch, d, exactly, most_searched, n_threads
):
    monkeypatch.setattr(neighbor_lists, "MOST_SEARCHED", most_searched)
    X, k = rng.normal(size=(1500, d)), 5
    placed = neighbor_lists.place_points(X, exactly)
    points = neighbor_lists.list_neighbors(X, *placed, k, n_threads)
    squared = ((points.X[:, np.newaxis] - points.X) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    np.testing.assert_allclose(points.squared, np.sort(squared, axis=1)[:, :k])
    listed = np.take_along_axis(squared, points.place[:1500].astype(int), axis=1)
    np.testing.assert_allclose(listed, points.squared)
    np.put_along_axis(squared, points.place[:1500].astype(int), np.inf, axis=1)
    assert (points.beyond <= squared.min(axis=1)).all()
    assert (points.beyond > 0.99 * points.squared[:, -1]).all()
