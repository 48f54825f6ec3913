"""The nearest point is decided by float64, whichever points float32 shortlists."""

import numpy as np
import pytest

from structsmooth.cluster import nearest
from structsmooth.cluster.nearest import nearest_point, round_rows


@pytest.fixture
def shortlisting(monkeypatch):
    monkeypatch.setattr(nearest, "NOT_WORTH_COMPILING", 0)
    monkeypatch.setattr(nearest, "FEW_DISTANCES", 0)
    monkeypatch.setattr(nearest, "FEW_POINTS", 1)
    compared = []
    whole = nearest._compare_all
    monkeypatch.setattr(
        nearest, "_compare_all", lambda *a: (compared.append(1), whole(*a))
    )
    return compared


def by_all_differences(rows, points):
    """Sums of squares feature by feature, as documented, in plain NumPy."""
    squared = np.zeros((len(rows), len(points)))
    for feature in range(points.shape[1]):
        value = rows[:, feature].astype(np.float64)[:, np.newaxis]
        squared += (points[:, feature].astype(np.float64) - value) ** 2
    return squared.argmin(axis=1)


def case(rng, kind):
    d = int(rng.integers(1, 40))
    shape_rows, shape_points = (300, d), (int(rng.integers(1, 120)), d)
    rows, points = rng.normal(size=shape_rows), rng.normal(size=shape_points)
    if kind == "offset":
        rows, points = rows + 1e4, points + 1e4
    elif kind == "ties":
        rows = rng.integers(0, 3, shape_rows) / 2.0
        points = rng.integers(0, 3, shape_points).astype(float)
    elif kind == "nearly equal points":
        points = points[:1] + 1e-9 * points
    elif kind == "equal points":
        points = np.repeat(points[:1], len(points), axis=0)
    elif kind == "far rows":
        rows[::7] *= 10.0 ** rng.uniform(0, 30, size=(len(rows[::7]), 1))
    elif kind == "far point":
        points[0] *= 1e12
    elif kind == "scale":
        size = 10.0 ** rng.uniform(-60, 60)
        rows, points = rows * size, points * size
    elif kind == "rows are points":
        rows = points[rng.integers(0, len(points), 300)]
    return rows, points


KINDS = [
    "plain",
    "offset",
    "ties",
    "nearly equal points",
    "equal points",
    "far rows",
    "far point",
    "scale",
    "rows are points",
]


@pytest.mark.usefixtures("shortlisting")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_the_shortlist_never_changes_the_result(kind, dtype):
    for seed in range(20):
        rows, points = case(np.random.default_rng(seed), kind)
        if dtype == np.float32:
            if kind in ("scale", "far rows"):
                continue  # beyond float32
            rows = rows.astype(dtype)
        found = nearest_point(rows, points)
        assert found.dtype == np.int64
        expected = by_all_differences(rows, points)
        assert np.array_equal(found, expected)
        # Rounded for other points, of which the last is the same.
        rounded = round_rows(rows, np.vstack([2.0 * points[:-1], points[-1:]]))
        assert np.array_equal(nearest_point(rows, points, rounded), expected)


def test_the_shortlist_is_what_decides(shortlisting, rng):
    nearest_point(rng.normal(size=(50, 3)), rng.normal(size=(30, 3)))
    assert not shortlisting


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e200])
def test_points_too_near_or_far_for_a_shortlist_are_all_compared(
    shortlisting, rng, size
):
    points = size * rng.normal(size=(30, 3))
    nearest_point(rng.normal(size=(50, 3)), points)
    assert shortlisting


@pytest.mark.usefixtures("shortlisting")
def test_the_first_of_equally_near_points_is_taken():
    points = np.array([[2.0], [0.0], [2.0], [0.0]])
    assert nearest_point(np.array([[1.0], [1.9], [-5.0]]), points).tolist() == [0, 0, 1]


@pytest.mark.usefixtures("shortlisting")
def test_blocks_do_not_matter(rng, monkeypatch):
    rows, points = rng.normal(size=(500, 5)), rng.normal(size=(40, 5))
    whole = nearest_point(rows, points)
    monkeypatch.setattr(nearest, "BLOCK", 1)
    monkeypatch.setattr(nearest, "NOT_WORTH_THREADS", 0)
    assert np.array_equal(nearest_point(rows, points), whole)
    assert np.array_equal(nearest_point(rows, points, n_jobs=3), whole)
    rounded = round_rows(rows, points)
    assert np.array_equal(nearest_point(rows, points, rounded, n_jobs=3), whole)
    assert len(nearest_point(rows[:0], points)) == 0
