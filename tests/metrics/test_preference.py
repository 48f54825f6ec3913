"""What is preferred: the first way that does no harm and is as good as the best."""

import numpy as np
import pytest

from structsmooth.metrics.preference import corrected_error, preferred

# Around its mean, a loss with these differences has the standard deviation 0.1; with a
# quarter of the training rows held out, the error is 0.1 sqrt(1/3 + 1/4) = 0.0764.
AROUND = np.array([-0.1, 0.0, 0.1])
FLAT = np.zeros(3)


def test_the_error_adds_the_ratio_of_rows():
    assert corrected_error(AROUND, 0.25) == pytest.approx(0.1 * np.sqrt(7 / 12))
    assert corrected_error(AROUND, 0.0) == pytest.approx(0.1 / np.sqrt(3))


@pytest.mark.parametrize(("lead", "expected"), [(0.07, 0), (0.08, 1)])
def test_a_lead_counts_beyond_one_standard_error(lead, expected):
    found = preferred(np.array([FLAT, AROUND - lead]), 0.25)
    assert (found.index, found.best) == (expected, 1)
    assert found.errors == pytest.approx([0.1 * np.sqrt(7 / 12), 0.0])


@pytest.mark.parametrize(("harm", "expected"), [(0.07, 1), (0.08, 0)])
def test_harm_counts_beyond_one_standard_error(harm, expected):
    losses = np.array([FLAT, FLAT - 1.0])
    found = preferred(losses, 0.25, np.array([FLAT, AROUND + harm]))
    assert found.index == expected
    assert found.does_harm.tolist() == [False, expected == 0]


def test_what_does_harm_is_not_the_best_that_others_are_compared_with():
    # The third has the lowest loss and does harm; the second is better than the first.
    losses = np.array([FLAT, FLAT - 1.0, FLAT - 2.0])
    found = preferred(losses, 0.25, np.array([FLAT, FLAT - 1.0, FLAT + 1.0]))
    assert (found.index, found.best) == (1, 1)
    assert found.does_harm.tolist() == [False, False, True]
    # Nothing to guard: the lowest loss.
    assert preferred(losses, 0.25).index == 2


def test_the_first_is_always_left():
    losses = np.array([FLAT + 5.0, FLAT, FLAT])
    guarded = np.array([FLAT, FLAT + 1.0, FLAT + 1.0])
    assert preferred(losses, 0.25, guarded).index == 0


def test_one_split_has_no_error():
    assert preferred(np.array([[1.0], [0.9]]), 0.25).index == 1
    assert preferred(np.array([[1.0], [1.0]]), 0.25).index == 0
