"""Equal rows are found, and different ones do not meet in the hash table."""

import numpy as np
import pytest

from structsmooth.tree import duplicates
from structsmooth.tree.duplicates import first_of_equal


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
