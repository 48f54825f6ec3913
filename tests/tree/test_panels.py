"""The k-d tree of panels, the walk through it, and the vector instructions for both."""

import numpy as np
import pytest

from structsmooth.support.jit import kernel
from structsmooth.support.vectors import aligned
from structsmooth.tree.kdtree import BLOCK, build_kdtree, next_panel, start_walk
from structsmooth.tree.kdtree import walk_for as memory_for_walk
from structsmooth.tree.simd import PANEL, insert_nearer
from structsmooth.tree.simd_strips import LONG_STRIP, lanes_up_to, least_of_strip

# One point, a whole panel and one more, a whole block of panels and one more, and the
# same once more for blocks of blocks.
SIZES = (1, 2, 16, 17, 255, 256, 257, 4096, 4097)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("d", "n_features"), [(1, 1), (3, 3), (7, 2)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_panels_hold_every_point_once_and_boxes_are_tight(rng, n, d, n_features, kind):
    points = np.round(rng.normal(size=(n, d)), 1).astype(kind)
    tree = build_kdtree(points, n_features)
    n_panels = -(-n // PANEL)
    assert np.array_equal(np.sort(tree.order), np.arange(n))
    assert np.array_equal(tree.rows[:n], points[tree.order])
    assert np.isnan(tree.rows[n:]).all()
    by_row = tree.panels.transpose(0, 2, 1).reshape(-1, d)
    assert np.array_equal(by_row, tree.rows, equal_nan=True)
    size = PANEL
    for first in tree.first:
        for node in range(-(-n // size)):
            block, at = first + node // BLOCK, node % BLOCK
            inside = tree.rows[node * size : min((node + 1) * size, n)]
            assert np.array_equal(tree.low[block, :, at], inside.min(axis=0))
            assert np.array_equal(tree.high[block, :, at], inside.max(axis=0))
        last = first + (-(-n // size) - 1) // BLOCK
        empty = slice((-(-n // size) - 1) % BLOCK + 1, None)
        assert (tree.low[last, :, empty] == np.inf).all()
        assert (tree.high[last, :, empty] == -np.inf).all()
        size *= BLOCK
    assert size >= n_panels * PANEL  # the last level is a single block


def test_every_split_parts_the_points_along_one_axis(rng):
    """So boxes of neighbors do not overlap; with one axis they are all in order."""
    points = rng.normal(size=(5000, 1))
    tree = build_kdtree(points, 1)
    n_panels = len(tree.panels)
    low, high = (
        box.transpose(0, 2, 1).reshape(-1)[:n_panels] for box in (tree.low, tree.high)
    )
    assert (high[:-1] <= low[1:]).all()


@kernel
def visit(tree, walk, limits, common, own, start, found):
    start_walk(walk, start)
    count = 0
    while True:
        panel = next_panel(tree, walk, limits, 0, common, own)
        if panel < 0:
            return count
        found[count] = panel
        count += 1


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("d", [1, 2, 11])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_walk_visits_all_panels_near_its_box_once_and_no_other(rng, n, d, kind):
    tree = build_kdtree(rng.normal(size=(n, d)).astype(kind), d)
    n_panels = len(tree.panels)
    walk = memory_for_walk(tree)
    low, high = (
        box.transpose(0, 2, 1).reshape(-1, d)[:n_panels].astype(np.float64)
        for box in (tree.low, tree.high)
    )
    for number in range(20):
        start = int(rng.integers(n_panels))
        corners = rng.normal(size=(2, d)).astype(kind)
        walk.low[:], walk.high[:] = corners.min(axis=0), corners.max(axis=0)
        gaps = np.maximum(low - walk.high, walk.low - high).clip(0.0)
        squared = (gaps * gaps).sum(axis=1)
        limits = aligned((PANEL,), kind, -np.inf)
        limits[rng.integers(PANEL)] = np.quantile(squared, rng.random()) + 1e-9
        # Some boxes of panels, and some of all that is below, hold what is left out.
        common = np.full(len(tree.low) * BLOCK, -1, np.int32)
        left_out = rng.random(n_panels) < number / 40.0
        common[:n_panels][left_out] = 7
        if number % 3 == 0 and len(tree.first) > 1:
            common[tree.first[1] * BLOCK] = common[:BLOCK] = 7
            left_out[:BLOCK] = True
        near = (squared < limits.max()) & ~left_out
        found = np.empty(n_panels + 1, np.int64)
        visited = found[: visit(tree, walk, limits, common, 7, start, found)]
        assert visited[0] == start  # whatever its box is like
        assert len(set(visited)) == len(visited)
        assert set(visited) - {start} == set(np.flatnonzero(near)) - {start}


@kernel
def insert(values, mask, squared, places, nothing):
    for row in range(4):
        insert_nearer(values, row, mask, 100 + row, squared, places, 1, nothing)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 2, 5, 13])
def test_a_nearer_point_takes_its_place_in_the_lists_it_is_meant_for(rng, kind, k):
    for _ in range(20):
        squared = aligned((3, k, PANEL), kind, np.inf)
        squared[:] = np.sort(rng.integers(0, 9, squared.shape), axis=1)
        squared[:, k // 2 + 1 :] = np.inf  # not full yet
        places = aligned((3, k, PANEL), np.int32, -1)
        places[:] = np.arange(k)[:, np.newaxis]
        values = aligned((64,), kind, 0)
        values[:] = rng.integers(0, 12, 64)
        mask = int(rng.integers(0, 2**63))
        offered = [
            [*zip(squared[1, :, lane], places[1, :, lane], strict=True)]
            + [
                (values[16 * row + lane], 100 + row)
                for row in range(4)
                if mask >> (16 * row + lane) & 1
            ]
            for lane in range(PANEL)
        ]
        before = squared.copy(), places.copy()
        insert(values, np.uint64(mask), squared, places, np.zeros(1, np.int32))
        for lane in range(PANEL):
            nearest = sorted(value for value, _ in offered[lane])[:k]
            assert squared[1, :, lane].tolist() == nearest
            pairs = {*zip(squared[1, :, lane], places[1, :, lane], strict=True)}
            assert len(pairs) == k  # of points that are as near, it may be any
            assert pairs <= set(offered[lane])
        for others in (0, 2):
            assert np.array_equal(squared[others], before[0][others])
            assert np.array_equal(places[others], before[1][others])


@kernel
def floor_of(squared, strip, margin, factors):
    return least_of_strip(squared, strip, margin, factors)


@kernel
def up_to(squared, strip, margin, factors, most):
    return lanes_up_to(squared, strip, margin, factors, np.int32(most))


def test_what_a_link_may_be_at_least_is_compared_lane_by_lane(rng):
    squared, margin = aligned((2, 2 * LONG_STRIP), np.float32, 0)
    factors = np.array([0.875, 1.25], np.float32)  # exact, as all numbers here are
    for _ in range(50):
        squared[:] = rng.integers(1, 1000, squared.shape)
        margin[:] = rng.integers(0, 300, margin.shape)
        margin[rng.random(margin.shape) < 0.5] = 0.0
        squared[rng.random(squared.shape) < 0.3] = np.inf  # no point
        floors = np.maximum(squared * np.float32(0.875) - margin, 0.0)
        own = floors[LONG_STRIP:]
        bits = floor_of(squared, 1, margin, factors)
        assert np.int32(bits).view(np.float32) == own.min()
        most = np.float32(rng.choice(own))
        mask = up_to(squared, 1, margin, factors, most.view(np.int32))
        lanes = [lane for lane in range(LONG_STRIP) if mask >> lane & 1]
        assert lanes == np.flatnonzero(own <= most).tolist()
