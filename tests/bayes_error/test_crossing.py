"""Tests of the count of edges that join different labels."""

from collections import Counter

import numpy as np
import pytest

from structsmooth.bayes_error.crossing import FEW_CLASSES, crossing_pairs


@pytest.mark.parametrize("n_classes", [2, 5, FEW_CLASSES, FEW_CLASSES + 1, 400])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_pairs_are_counted_as_by_hand(rng, n_classes, is_weighted):
    coded = np.append(rng.integers(0, n_classes, 99), n_classes - 1)
    edges = rng.integers(0, 100, (300, 2))
    weights = rng.integers(1, 5, 300) / 4 if is_weighted else np.ones(300)
    expected = Counter()
    for (one, other), weight in zip(edges, weights, strict=True):
        if coded[one] != coded[other]:
            expected[tuple(sorted((coded[one], coded[other])))] += weight
    pairs, counts = crossing_pairs(edges, coded, weights if is_weighted else None)
    assert list(map(tuple, pairs.tolist())) == sorted(expected)
    assert counts.tolist() == [expected[pair] for pair in sorted(expected)]


def test_without_crossing_edges_there_are_no_pairs():
    pairs, counts = crossing_pairs(np.array([[0, 1]]), np.array([1, 1, 0]))
    assert pairs.shape == (0, 2)
    assert counts.shape == (0,)
