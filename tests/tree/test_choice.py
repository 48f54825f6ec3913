"""Which algorithm is chosen: by rows, features, the data and what is compiled."""

import numpy as np
import pytest

from kinds import exact_tree
from structsmooth import euclidean_mst
from structsmooth.tree import algorithms, boruvka, prim_gram, prim_rounded
from structsmooth.tree.algorithms import choose_algorithm, prim_seconds


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
