"""The range of every column, and its sums."""

import numpy as np
import pytest

from structsmooth.support.columns import range_of_columns, sums_of_columns


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_range_of_columns_is_the_lowest_and_the_highest_value(dtype, order):
    X = np.array([[3, -1, 7], [1, -2, 7], [2, -5, 7], [2, 0, 7]], dtype, order=order)
    low, high = range_of_columns(X)
    np.testing.assert_array_equal(low, [1, -5, 7])
    np.testing.assert_array_equal(high, [3, 0, 7])
    assert low.dtype == high.dtype == np.float64


def test_range_of_columns_of_one_row_is_that_row():
    low, high = range_of_columns(np.array([[2.0, -3.0]]))
    np.testing.assert_array_equal(low, [2.0, -3.0])
    np.testing.assert_array_equal(high, [2.0, -3.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_columns_are_those_of_the_differences(rng, dtype):
    X = (rng.integers(-99, 100, (57, 5)) / 8).astype(dtype)
    shift = np.arange(5) / 4
    total, squares = sums_of_columns([X[:10], X[10:11], X[11:]], shift)
    differences = X.astype(np.float64) - shift
    np.testing.assert_array_equal(total, differences.sum(axis=0))
    np.testing.assert_array_equal(squares, np.square(differences).sum(axis=0))


def test_columns_are_summed_row_by_row_wherever_blocks_begin(rng):
    X = rng.normal(size=(1000, 3)) * 10.0 ** rng.integers(-9, 9, (1000, 1))
    shift = np.array([0.1, 0.2, 0.3])
    total, squares = sums_of_columns([X[:333], X[333:334], X[334:]], shift)
    np.testing.assert_array_equal(total, np.add.reduce(X - shift, axis=0))
    np.testing.assert_array_equal(squares, np.add.reduce((X - shift) ** 2, axis=0))
    whole = sums_of_columns([np.asfortranarray(X)], shift)
    np.testing.assert_array_equal(whole, (total, squares))
