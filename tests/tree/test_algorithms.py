"""Every algorithm, block size and thread count returns the same tree, always."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from oracles import kruskal, prim
from structsmooth import euclidean_mst, nearest_neighbors
from structsmooth.errors import InvalidInputError
from structsmooth.tree import (
    algorithms,
    boruvka,
    duplicates,
    minimum_spanning_tree,
    neighbor_lists,
    prim_gram,
    prim_rounded,
)
from structsmooth.tree.algorithms import choose_algorithm, prim_seconds
from structsmooth.tree.duplicates import first_of_equal
from structsmooth.tree.neighbors import find_neighbors
from structsmooth.tree.prim import prim as exact_prim
from structsmooth.tree.rounding import round_points

KINDS = (
    "normal",
    "rounded",
    "duplicates",
    "offset",
    "far clusters",
    "wild norms",
    "all equal",
    "binary",
    "tiny",
    "huge",
    "line",
    "outlier",
    "vanishing",
    "exponential",
    "exponential line",
    "exponential coordinates",
    "ulps apart",
    "huge constant column",
)


def draw(generator, n, d, kind):
    """Return data of some difficult kind."""
    X = generator.normal(size=(n, d))
    if kind == "rounded":
        return np.round(2 * X)
    if kind == "duplicates":
        return X[generator.integers(0, max(1, n // 4), n)]
    if kind == "offset":
        return X + 1e4
    if kind == "far clusters":
        return X + 50 * generator.integers(0, 4, (n, 1))
    if kind == "wild norms":
        return X * np.exp(3 * generator.normal(size=(n, 1)))
    if kind == "all equal":
        return np.repeat(X[:1], n, axis=0)
    if kind == "binary":
        return (X > 0).astype(float)
    if kind == "tiny":
        return X * 1e-30
    if kind == "huge":
        return X * 1e30
    if kind == "line":
        return X[:, :1] * np.ones(d)
    if kind == "huge constant column":
        X[:, 0] = 1e25
    if kind == "outlier":
        X[0] *= 1e9
    if kind == "exponential":  # float32 holds a small part of the range
        return X * np.exp(generator.uniform(-40, 40, (n, 1)))
    if kind == "exponential line":
        return 2.0 ** np.linspace(-50, 50, n)[:, np.newaxis] * np.ones(d)
    if kind == "exponential coordinates":
        return np.exp(generator.uniform(-40, 40, (n, d)))
    if kind == "ulps apart":
        return 1.0 + generator.integers(0, 40, (n, d)) * 2.0**-52
    if kind == "vanishing":  # half of the rows are closer than float32 can square
        pairs = n // 4 * 2  # the mean must be that of the small ones
        X[1:pairs:2] = -X[0:pairs:2]
        X[pairs:] *= 1e-35
    return X


def as_tree(edges):
    """Return (left, right, squared) as sorted (edges, squared)."""
    left, right, squared = edges
    pairs = np.column_stack([np.minimum(left, right), np.maximum(left, right)])
    order = np.lexsort((pairs[:, 1], pairs[:, 0], squared))
    return pairs[order], squared[order]


def exact_tree(X):
    return as_tree(exact_prim(X))


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


@pytest.fixture
def all_compiled(monkeypatch):
    """Let the crossovers alone decide, whatever is in the cache."""
    monkeypatch.setattr(algorithms, "is_compiled", lambda _: True)


@pytest.fixture
def watch(monkeypatch):
    """Return a list to which functions of modules add their names when called."""

    def watch(*functions):
        used = []
        for module, name in functions:
            real = getattr(module, name)

            def watched(*arguments, _real=real, _name=name):
                used.append(_name)
                return _real(*arguments)

            monkeypatch.setattr(module, name, watched)
        return used

    return watch


@pytest.mark.usefixtures("all_compiled")
@pytest.mark.parametrize("kind", ["rounded", "binary", "duplicates", "line"])
def test_large_tied_data(rng, kind):
    X = draw(rng, 4000, 6, kind)
    edges, _ = exact_tree(X)
    for n_jobs in (1, 2):
        assert np.array_equal(euclidean_mst(X, n_jobs=n_jobs).edges, edges)


@pytest.mark.usefixtures("all_compiled")
def test_the_public_function_uses_every_algorithm(rng, watch):
    used = watch(
        (algorithms, "prim"),
        (boruvka, "boruvka"),
        (prim_gram, "prim_gram"),
        (prim_rounded, "prim_rounded"),
    )
    for n, d in ((100, 3), (3600, 3), (300, 200), (900, 10)):
        X = rng.normal(size=(n, d))
        assert np.array_equal(euclidean_mst(X).edges, exact_tree(X)[0])
    assert used == ["prim", "boruvka", "prim_gram", "prim_rounded"]


@pytest.mark.usefixtures("all_compiled")
@pytest.mark.parametrize(
    ("n", "rank", "scale", "expected"),
    [
        (5000, 2, 0.0, "boruvka_placed"),
        (5000, 12, 0.0, "prim_placed"),
        (8000, 12, 0.0, "boruvka_placed"),
        (8000, 12, 0.5, "prim_placed"),
    ],
)
def test_the_data_decide_where_both_may_be_fastest(
    rng, watch, n, rank, scale, expected
):
    """Neighbors in a plane are few panels away, in twelve dimensions all are near.

    Of many rows it also counts whether neighbors are about equally far everywhere.
    """
    used = watch(
        (boruvka, "boruvka_placed"),
        (prim_rounded, "prim_placed"),
        (prim_rounded, "prim_rounded"),
    )
    X = rng.uniform(size=(n, rank)) @ rng.normal(size=(rank, 12))
    X *= np.exp(scale * rng.normal(size=(n, 1)))
    assert np.array_equal(euclidean_mst(X).edges, exact_tree(X)[0])
    assert used == [expected]


@pytest.mark.usefixtures("all_compiled")
@pytest.mark.parametrize(("n", "instead"), [(1900, "prim"), (2100, "boruvka")])
@pytest.mark.parametrize(("d", "most"), [(30, 2), (10, 1000)])
def test_what_is_given_up_is_done_by_another_algorithm(
    rng, monkeypatch, watch, n, instead, d, most
):
    used = watch((algorithms, "prim"), (boruvka, "boruvka"))
    monkeypatch.setattr(prim_rounded, "CLOSE_CALLS", 0)
    X = np.unique(rng.integers(0, most, size=(n, d)) * 1.0, axis=0)
    assert np.array_equal(euclidean_mst(X).edges, exact_tree(X)[0])
    assert used == [instead]


@pytest.mark.parametrize(
    ("n", "d", "expected"),
    [
        (1, 1, "prim"),
        (850, 3, "prim"),
        (851, 3, "prim_rounded"),
        (3501, 3, "boruvka"),
        (4001, 6, "either"),
        (10_001, 6, "boruvka"),
        (3200, 24, "prim_rounded"),
        (3201, 24, "either"),
        (10_001, 24, "boruvka"),
        (200, 96, "prim"),
        (201, 96, "prim_rounded"),
        (2001, 160, "either"),
        (4001, 160, "boruvka"),
        (780, 256, "prim_gram"),
        (3000, 1000, "prim_gram"),
        (10**6, 2, "boruvka"),
    ],
)
def test_the_table_of_crossovers(n, d, expected):
    assert choose_algorithm(n, d) == expected


def test_small_work_does_not_wait_for_compilation(monkeypatch):
    monkeypatch.setattr(algorithms, "is_compiled", lambda _: False)
    monkeypatch.setattr(algorithms, "_waited", {})
    choose = algorithms._affordable_algorithm
    assert choose(2400, 8, None) == "prim"
    assert choose(9000, 8, None) == "prim"
    assert choose(2400, 8, workload=10.0) == "prim_rounded"
    assert choose(9000, 8, workload=40.0) == "prim_rounded"  # a quarter of that
    assert choose(9000, 8, workload=60.0) == "either"
    assert choose(9000, 200, workload=10.0) == "prim"
    assert choose(9000, 200, workload=20.0) == "boruvka"
    assert choose(8000, 4, workload=2.0) == "prim"
    assert choose(8000, 4, workload=5.0) == "prim_rounded"  # is compiled sooner
    assert choose(8000, 4, workload=50.0) == "either"
    assert choose(8000, 3, workload=50.0) == "boruvka"
    assert choose(10**6, 8, None) == "boruvka"
    monkeypatch.setattr(algorithms, "is_compiled", lambda _: True)
    assert choose(9000, 8, None) == "either"
    only = algorithms.KERNELS["boruvka"]
    monkeypatch.setattr(algorithms, "is_compiled", lambda found: found is only)
    monkeypatch.setattr(algorithms, "_waited", {})
    assert choose(9000, 8, None) == "boruvka"


def test_the_cost_of_prim_grows_with_rows_and_features():
    assert prim_seconds(2000, 8) == pytest.approx(4 * prim_seconds(1000, 8))
    assert prim_seconds(1000, 80) > prim_seconds(1000, 8)


@pytest.mark.parametrize(
    ("algorithm", "n", "d", "share"),
    [
        ("prim_rounded", 2400, 20, 1.0),
        ("boruvka", 30_000, 20, 0.25),
        ("boruvka", 30_000, 4, 0.25),
    ],
)
def test_small_work_that_goes_on_is_worth_a_compilation(
    monkeypatch, algorithm, n, d, share
):
    monkeypatch.setattr(algorithms, "is_compiled", lambda _: False)
    monkeypatch.setattr(algorithms, "_waited", {})
    seconds = share * algorithms.prim_seconds(n, d)
    expected = int(algorithms.COMPILE_SECONDS[algorithm] / seconds) + 1
    for _ in range(expected - 1):
        assert algorithms._affordable_algorithm(n, d, None) != algorithm
    assert algorithms._affordable_algorithm(n, d, None) == algorithm


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


def test_equal_rows_are_found_whatever_their_sign_of_zero():
    X = np.array([[0.0, 1.0], [2.0, 3.0], [-0.0, 1.0], [2.0, 3.0], [0.0, 1.0]])
    assert first_of_equal(X).tolist() == [0, 1, 0, 1, 0]
    assert first_of_equal(X[:2]).tolist() == [0, 1]


def test_equal_rows_are_found_among_many(rng):
    X = rng.integers(0, 9, size=(3000, 3)).astype(np.float32)
    _, first, inverse = np.unique(X, axis=0, return_index=True, return_inverse=True)
    assert np.array_equal(first_of_equal(X), first[inverse.ravel()])


@pytest.mark.parametrize("kind", ["whole", "powers of two", "binary", "one column"])
def test_different_rows_spread_over_the_hash_table(rng, kind):
    """Otherwise rows of few values would be looked up one after the other."""
    X = {
        "whole": lambda: rng.integers(0, 60, size=(20_000, 3)),
        "powers of two": lambda: 2.0 ** rng.integers(-30, 30, size=(20_000, 4)),
        "binary": lambda: rng.integers(0, 2, size=(20_000, 20)),
        "one column": lambda: np.arange(20_000)[:, np.newaxis],
    }[kind]()
    X = np.unique(X.astype(np.float64), axis=0)
    hashes = np.empty(len(X), np.uint64)
    duplicates._hash_rows(X, hashes)
    assert len(np.unique(hashes)) == len(X)
    n_slots = 4096  # by the last bits, as in the table; as random numbers would
    largest = np.bincount((hashes % np.uint64(n_slots)).astype(np.int64)).max()
    assert largest < 5 + 4 * len(X) / n_slots


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("n", "d", "k"), [(50, 3, 5), (2000, 2, 1), (2500, 20, 10)])
def test_neighbors_equal_scikit_learn(rng, n, d, k, n_jobs):
    X = rng.normal(size=(n, d))
    near = nearest_neighbors(X, k, n_jobs=n_jobs)
    searcher = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X)
    distances, indices = searcher.kneighbors()
    assert np.array_equal(near.indices, indices)
    np.testing.assert_allclose(near.distances, distances, rtol=1e-7)


def assert_nearest(X, k, indices, squared, step=11):
    """Compare with all distances, taken feature by feature, as the rule says."""
    n, d = X.shape
    for i in range(0, n, step):
        total = np.zeros(n)
        for feature in range(d):
            difference = X[:, feature].astype(float) - float(X[i, feature])
            total += difference * difference
        order = np.lexsort((np.arange(n), total))
        order = order[order != i][:k]
        assert indices[i].tolist() == order.tolist()
        assert squared[i].tolist() == total[order].tolist()


# Rows up to which all are compared, and up to which inner products are taken.
WAYS = {"lists": (0, 0), "products": (0, 10**9), "brute": (10**9, 0)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbors_of_equal_distance_come_in_order_of_rows(
    rng, monkeypatch, kind, dtype, way
):
    search_by(monkeypatch, way)
    X = draw(rng, 300, 4, kind).astype(dtype)
    assert_nearest(X, 4, *find_neighbors(X, 4, 2))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("k", [1, 10, 60])
@pytest.mark.parametrize(
    ("values", "d"), [(1, 2), (2, 3), (2, 12), (2, 40), (10, 2), (10, 4), (1000, 1)]
)
def test_neighbors_of_discrete_rows(rng, monkeypatch, values, d, k, way):
    """Many equal rows, many equally near ones, and groups larger than a list."""
    search_by(monkeypatch, way)
    X = rng.integers(0, values, size=(900, d)) * 1.0
    assert_nearest(X, k, *find_neighbors(X, k, 2))


def search_by(monkeypatch, way):
    neighbors = "structsmooth.tree.neighbors"
    monkeypatch.setattr(f"{neighbors}.CROSSOVERS", ((np.inf, *WAYS[way]),))
    monkeypatch.setattr(f"{neighbors}.is_ready", lambda *_, **__: True)


@pytest.mark.parametrize("k", [0, 5, 1.5])
def test_a_bad_number_of_neighbors_is_refused(k):
    with pytest.raises(InvalidInputError, match="k must be a whole number from 1 to 4"):
        nearest_neighbors(np.eye(5), k)


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
