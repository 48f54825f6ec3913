"""How often intervals contain a known Bayes error: 95 % should be 95 %.

The Bayes error is that at the class shares of the drawn rows. No estimate can know the
shares from which they were drawn: if 33 of 60 random labels are in one class, the best
rule for these shares errs on 27/60, and the interval ends there, not at 1/2.
"""

import numpy as np
import pytest
from experiments.truths import error_of_pair, in_pairs, on_a_grid, pair

from structsmooth import StructuralSmoother, bayes_error_bounds

pytestmark = pytest.mark.statistical
DRAWS = 400
# Nominally 95 %. With exactly that coverage, 400 draws have less than 93 % in 1 of 30
# cases.
AT_LEAST = 0.93
# The truth itself is a mean over 40 000 rows.
TRUTH_ERROR = 0.003


def covered(task, n, truth, seed=0):
    generator = np.random.default_rng([seed, n])
    inside = 0
    for _ in range(DRAWS):
        X, y = task.draw(generator, n, exact=True)
        bounds = bayes_error_bounds(X, y, n_classes=len(task.shares))
        low, high = bounds.interval
        assert high <= bounds.trivial_error
        inside += low - TRUTH_ERROR <= truth <= high + TRUTH_ERROR
    return inside / DRAWS


@pytest.mark.parametrize("gap", [0.0, 0.5, 1.0, 2.0, 3.0, 5.0])
@pytest.mark.parametrize("n", [12, 60, 400])
@pytest.mark.parametrize("share", [0.5, 0.75, 0.9])
def test_two_classes_however_unequal(gap, n, share):
    task = pair(2, gap, (share, 1.0 - share))
    generator = np.random.default_rng([n, int(100 * share), int(10 * gap)])
    inside = 0
    for _ in range(DRAWS):
        X, y = task.draw(generator, n)
        low, high = bayes_error_bounds(X, y, n_classes=2).interval
        truth = error_of_pair(gap, np.mean(y == 0))
        inside += low - 1e-12 <= truth <= high + 1e-12
    assert inside / DRAWS >= AT_LEAST


@pytest.mark.parametrize("gap", [0.0, 1.0, 2.0, 4.0])
@pytest.mark.parametrize(
    ("n_classes", "n"),
    [(3, 12), (3, 30), (3, 200), (10, 40), (10, 200), (50, 200), (200, 600)],
)
def test_many_classes(n_classes, n, gap):
    task = on_a_grid(n_classes, gap)
    assert covered(task, n, task.bayes_error()) >= AT_LEAST


@pytest.mark.parametrize(("n_classes", "n"), [(10, 40), (50, 200), (200, 600)])
def test_pairs_that_coincide_far_from_all_others(n_classes, n):
    """The task for which the count of forced edges is most wrong."""
    assert covered(in_pairs(n_classes), n, 0.5) >= AT_LEAST


@pytest.mark.parametrize("gap", [1.0, 2.0])
@pytest.mark.parametrize(("n_classes", "n"), [(3, 30), (10, 100), (50, 500)])
def test_classes_of_very_different_sizes(n_classes, n, gap):
    shares = 1.0 / np.arange(1, n_classes + 1)
    task = on_a_grid(n_classes, gap, shares / shares.sum())
    assert covered(task, n, task.bayes_error()) >= AT_LEAST


@pytest.mark.parametrize(
    ("n_classes", "gap", "n"), [(2, 1.0, 300), (2, 3.0, 1000), (10, 2.0, 500)]
)
def test_the_whole_of_several_clusters(n_classes, gap, n):
    task = on_a_grid(n_classes, gap)
    truth, inside = task.bayes_error(), 0
    generator = np.random.default_rng([n, n_classes])
    for seed in range(DRAWS):
        X, y = task.draw(generator, n, exact=True)
        smoother = StructuralSmoother(min_cluster_size=1, random_state=seed)
        whole = smoother.fit(X, y).bayes_error_bounds_
        low, high = whole.interval
        assert low <= whole.lower <= whole.upper <= high <= whole.trivial_error
        inside += low - TRUTH_ERROR <= truth <= high + TRUTH_ERROR
    assert inside / DRAWS >= AT_LEAST
