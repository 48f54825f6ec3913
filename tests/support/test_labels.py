"""Labels that are whole numbers get the numbers that sorting them would give."""

import numpy as np
import pytest

from structsmooth.support.validation import encode_labels

LAST = np.iinfo(np.int64).max


@pytest.mark.parametrize(
    "y",
    [
        np.array([5, -3, 5, 9, -3, 5]),
        np.array([5, -3, 5, 9, -3, 5], dtype=np.int8),
        np.array([250, 255, 250, 0, 255], dtype=np.uint8),
        np.array([True, False, True]),
        np.array([7]),
        np.array([LAST, LAST - 2, LAST, LAST - 1]),
        np.array([-LAST - 1, -LAST, -LAST - 1]),
        np.array([-LAST - 1, LAST, 0]),
        np.array([2**64 - 1, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
        np.random.default_rng(0).integers(0, 9, 1000),
        np.random.default_rng(0).integers(0, 10**9, 1000),
    ],
)
def test_whole_numbers_are_numbered_in_order(y):
    classes, coded = encode_labels(y, len(y))
    expected, numbers = np.unique(y, return_inverse=True)
    assert classes.dtype == y.dtype
    assert coded.dtype == np.int64
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(coded, numbers)
