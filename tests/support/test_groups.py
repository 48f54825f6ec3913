"""Rows are sorted by group, and keep their order within a group."""

import numpy as np
import pytest

from structsmooth.support.groups import (
    NUMBERS_IN_PARTS,
    order_by_group,
    rows_of_groups,
    sum_by_group,
)


@pytest.mark.parametrize("last", [3, 300, 70_000])  # 70 000 is beyond 16 bits
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_rows_are_sorted_by_group_then_by_number(rng, last, dtype):
    groups = rng.integers(0, 4, 500).astype(dtype) * (last // 3)
    expected = sorted(range(500), key=lambda row: (groups[row], row))
    assert order_by_group(groups).tolist() == expected


def test_negative_groups_come_first():
    assert order_by_group(np.array([1, -1, 0, -1])).tolist() == [1, 3, 2, 0]


def test_rows_of_groups():
    found = rows_of_groups(np.array([1, 0, 1, 2]))
    assert [rows.tolist() for rows in found] == [[1], [0, 2], [3]]


def test_no_rows():
    assert len(order_by_group(np.empty(0, dtype=np.int64))) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_summed_in_order(rng, dtype):
    rows = (1e3 * rng.normal(size=(500, 7))).astype(dtype)
    groups, weights = rng.integers(-1, 4, 500), rng.integers(1, 5, 500).astype(float)
    sums, totals = sum_by_group(rows, groups, weights, 5)
    for group in range(5):  # of which the last has no rows
        inside = groups == group
        weighted = rows[inside].astype(np.float64) * weights[inside, np.newaxis]
        assert np.array_equal(sums[group], np.add.reduce(weighted, axis=0))
        assert totals[group] == weights[inside].sum()


def test_many_rows_are_summed_in_parts_that_do_not_depend_on_threads(rng):
    rows = 1e3 * rng.normal(size=(NUMBERS_IN_PARTS // 20, 20))
    groups, weights = rng.integers(-1, 6, len(rows)), rng.uniform(0.5, 2.0, len(rows))
    one, two = (sum_by_group(rows, groups, weights, 6, n_jobs=n) for n in (1, 2))
    for found, again in zip(one, two, strict=True):
        assert np.array_equal(found, again)
    weighted = rows.astype(np.longdouble) * weights[:, np.newaxis]
    for group in range(6):
        inside = groups == group
        expected = weighted[inside].sum(axis=0).astype(float)
        np.testing.assert_allclose(one[0][group], expected, rtol=1e-10, atol=1e-6)
        assert one[1][group] == pytest.approx(weights[inside].sum(), rel=1e-12)
