"""Strengths have the exact mean, stay in bounds, and equal a general solver's."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from structsmooth import (
    bayes_error_bias,
    largest_free_beta,
    reversed_strengths,
    shuffled_strengths,
    solve_strengths,
)
from structsmooth.errors import InvalidInputError
from structsmooth.strengths.solve import strength_cap


@st.composite
def problems(draw):
    """Regions with Bayes errors and sizes, and an admissible alpha and beta."""
    n_classes = draw(st.integers(2, 12))
    n_regions = draw(st.integers(1, 15))
    limit = (n_classes - 1) / n_classes
    unit = st.floats(0.0, 1.0)
    bayes_error = limit * np.array(
        draw(st.lists(unit, min_size=n_regions, max_size=n_regions))
    )
    sizes = draw(st.lists(st.integers(1, 1000), min_size=n_regions, max_size=n_regions))
    alpha = draw(st.floats(0.0, 0.999)) * limit
    beta = draw(st.floats(0.0, 6.0))
    return bayes_error, np.array(sizes) / np.sum(sizes), alpha, beta, n_classes


def closed_form(bayes_error, weights, alpha, beta, n_classes):
    """Return the paper's solution, which has no bounds (closedformsolution)."""
    tilt = beta / 2 * n_classes / (n_classes - 1) * bayes_error
    return alpha + (tilt - weights @ tilt)


def test_closed_form_by_hand():
    # K = 3: slope beta/2 * 3/2 = 0.75, mean Bayes error 0.1.
    got = solve_strengths([0.0, 0.4], [3, 1], alpha=0.2, beta=1.0, n_classes=3)
    np.testing.assert_allclose(got, [0.2 - 0.075, 0.2 + 0.225], rtol=1e-15)


def test_water_filling_by_hand():
    # The closed form is -0.1 and 0.3; with the first at 0, the other makes up the mean.
    got = solve_strengths([0.0, 0.4], [0.5, 0.5], alpha=0.1, beta=1.0, n_classes=2)
    np.testing.assert_allclose(got, [0.0, 0.2], atol=1e-15)
    # Three regions, the first at 0: level + 0.2 and level + 0.4 average to 0.15.
    got = solve_strengths([0.0, 0.2, 0.4], [1, 1, 1], alpha=0.1, beta=1.0, n_classes=2)
    np.testing.assert_allclose(got, [0.0, 0.05, 0.25], atol=1e-15)


def test_the_upper_bound_holds_too():
    got = solve_strengths([0.0, 0.5], [0.5, 0.5], alpha=0.4, beta=2.0, n_classes=2)
    cap = strength_cap(2)
    np.testing.assert_allclose(got, [0.8 - cap, cap], rtol=1e-12)
    assert got.max() < 0.5


@given(problems())
def test_mean_is_alpha_and_all_are_in_the_box(problem):
    bayes_error, weights, alpha, beta, n_classes = problem
    got = solve_strengths(bayes_error, weights, alpha, beta, n_classes=n_classes)
    assert float(weights @ got) == pytest.approx(alpha, abs=1e-12)
    assert got.min() >= 0.0
    assert got.max() < (n_classes - 1) / n_classes


@given(problems())
def test_equals_the_closed_form_where_no_bound_is_active(problem):
    bayes_error, weights, alpha, beta, n_classes = problem
    closed = closed_form(bayes_error, weights, alpha, beta, n_classes)
    assume(closed.min() >= 0 and closed.max() <= strength_cap(n_classes))
    got = solve_strengths(bayes_error, weights, alpha, beta, n_classes=n_classes)
    np.testing.assert_allclose(got, closed, rtol=0.0, atol=1e-14)


@given(problems())
def test_grows_with_the_bayes_error(problem):
    bayes_error, weights, alpha, beta, n_classes = problem
    got = solve_strengths(bayes_error, weights, alpha, beta, n_classes=n_classes)
    assert (np.diff(got[np.argsort(bayes_error, kind="stable")]) >= 0).all()


@given(problems())
def test_beta_zero_is_uniform_smoothing(problem):
    bayes_error, weights, alpha, _, n_classes = problem
    got = solve_strengths(bayes_error, weights, alpha, 0.0, n_classes=n_classes)
    assert np.array_equal(got, np.full(len(weights), alpha))


@pytest.mark.parametrize("seed", range(25))
def test_equals_a_general_quadratic_solver(seed):
    generator = np.random.default_rng(seed)
    n_classes = int(generator.integers(2, 6))
    limit = (n_classes - 1) / n_classes
    bayes_error = generator.uniform(0, limit, size=6)
    weights = generator.dirichlet(np.ones(6))
    alpha = generator.uniform(0.05, 0.9) * limit
    beta = generator.uniform(0.0, 4.0)
    bias = np.abs(bayes_error / limit - 1.0)

    def cost(a):
        return weights @ (a - alpha) ** 2 + beta * weights @ (a * bias)

    solution = minimize(
        cost,
        np.full(6, alpha),
        jac=lambda a: 2 * weights * (a - alpha) + beta * weights * bias,
        bounds=[(0.0, strength_cap(n_classes))] * 6,
        constraints={"type": "eq", "fun": lambda a: weights @ a - alpha},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    got = solve_strengths(bayes_error, weights, alpha, beta, n_classes=n_classes)
    assert cost(got) <= cost(solution.x) + 1e-9
    np.testing.assert_allclose(got, solution.x, atol=2e-4)


@given(problems())
def test_auto_gives_each_region_its_bayes_error(problem):
    bayes_error, weights, _, _, n_classes = problem
    assume(bayes_error.max() < strength_cap(n_classes))
    got = solve_strengths(bayes_error, weights, "auto", "auto", n_classes=n_classes)
    np.testing.assert_allclose(got, bayes_error, atol=1e-15)


@pytest.mark.parametrize(
    ("bayes_error", "mean"),
    [
        ([0.0, 0.04], 0.03),
        ([0.1, 0.3], 0.2 / 3),
        ([0.0, 0.0], 0.0),
        ([0.02, 0.1], 0.2 / 3),
    ],
)
def test_cautious_is_the_bayes_error_but_at_most_what_people_smooth_by(
    bayes_error, mean
):
    # label_smoothing=0.1 with three classes is a strength of 0.1 * 2/3.
    weights = [1.0, 3.0]
    got = solve_strengths(bayes_error, weights, "cautious", "auto", n_classes=3)
    assert np.average(got, weights=weights) == pytest.approx(mean, abs=1e-12)


@given(problems())
def test_cautious_beta_goes_halfway_from_the_mean_to_the_bayes_error(problem):
    bayes_error, weights, _, _, n_classes = problem
    assume(bayes_error.max() < strength_cap(n_classes))
    got = solve_strengths(bayes_error, weights, "auto", "cautious", n_classes=n_classes)
    mean = np.average(bayes_error, weights=weights)
    np.testing.assert_allclose(got, (bayes_error + mean) / 2.0, atol=1e-12)


def test_auto_of_saturated_regions_stays_below_the_limit():
    got = solve_strengths([0.5, 0.5], [1, 1], "auto", "auto", n_classes=2)
    assert got.max() < 0.5


@given(problems())
def test_largest_free_beta_touches_a_bound_and_a_larger_one_crosses_it(problem):
    bayes_error, weights, alpha, _, n_classes = problem
    beta = largest_free_beta(bayes_error, weights, alpha, n_classes=n_classes)
    assume(1e-6 < beta < 1e6)
    cap = strength_cap(n_classes, alpha)
    at = closed_form(bayes_error, weights, alpha, beta, n_classes)
    assert at.min() > -1e-9
    assert at.max() < cap + 1e-9
    larger = 1.01 * beta + 1e-6
    beyond = closed_form(bayes_error, weights, alpha, larger, n_classes)
    assert beyond.min() < 0 or beyond.max() > cap


def test_largest_free_beta_of_equal_regions_is_infinite():
    assert largest_free_beta([0.1, 0.1, 0.1], [1, 2, 3], n_classes=2) == np.inf


def test_the_papers_reversal_swaps_by_rank_and_moves_the_mean():
    strengths, weights = np.array([0.05, 0.2, 0.1]), np.array([0.5, 0.2, 0.3])
    got = reversed_strengths(strengths, weights, n_classes=2, keep_mean=False)
    assert got.tolist() == [0.2, 0.05, 0.1]
    assert got @ weights == pytest.approx(0.14)  # it was 0.095


def test_the_reversal_that_keeps_the_mean_by_hand():
    # 0.19 - a is 0.14, -0.01, 0.09: the second is held at 0, and the others give up
    # what that adds to the mean, 0.2 * 0.01 / 0.8 = 0.0025.
    strengths, weights = np.array([0.05, 0.2, 0.1]), np.array([0.5, 0.2, 0.3])
    got = reversed_strengths(strengths, weights, n_classes=2)
    np.testing.assert_allclose(got, [0.1375, 0.0, 0.0875], atol=1e-15)


@given(problems(), st.integers(0, 99))
def test_controls_keep_the_mean_and_the_box(problem, seed):
    bayes_error, weights, alpha, beta, n_classes = problem
    strengths = solve_strengths(bayes_error, weights, alpha, beta, n_classes=n_classes)
    for control in (
        reversed_strengths(strengths, weights, n_classes=n_classes),
        shuffled_strengths(strengths, weights, n_classes=n_classes, rng=seed),
    ):
        assert float(weights @ control) == pytest.approx(alpha, abs=1e-12)
        assert control.min() >= 0
        assert control.max() < (n_classes - 1) / n_classes


def test_shuffled_strengths_are_dealt_to_other_regions():
    strengths, weights = np.linspace(0.05, 0.15, 11), np.full(11, 1 / 11)
    got = shuffled_strengths(strengths, weights, n_classes=2, rng=1)
    assert not np.allclose(got, strengths)
    np.testing.assert_allclose(np.sort(got), strengths, atol=1e-15)


def test_bias_by_hand():
    # |2 R - 1| is 1, 0.6 and 0: 0.5 * 0.1 + 0.25 * 0.2 * 0.6.
    got = bayes_error_bias([0.1, 0.2, 0.3], [0.0, 0.2, 0.5], [2, 1, 1], n_classes=2)
    assert got == pytest.approx(0.08)


@given(problems())
def test_structural_bias_is_never_above_uniform(problem):
    bayes_error, weights, alpha, beta, n_classes = problem
    got = solve_strengths(bayes_error, weights, alpha, beta, n_classes=n_classes)
    where = {"bayes_error": bayes_error, "weights": weights, "n_classes": n_classes}
    assert bayes_error_bias(got, **where) <= bayes_error_bias(alpha, **where) + 1e-12


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 0.5}, r"alpha must be below \(K-1\)/K = 0.5"),
        ({"alpha": -0.1}, "alpha must be a number of at least 0"),
        ({"alpha": "most"}, "alpha must be a number, 'auto' or 'cautious', got 'most'"),
        ({"alpha": float("nan")}, "alpha must be a number"),
        ({"beta": -1.0}, "beta must be a number of at least 0"),
        ({"beta": "big"}, "beta must be a number, 'auto' or"),
        ({"n_classes": 1}, "n_classes must be a whole number of at least 2"),
        ({"bayes_error": [0.1]}, "one value for each of the 2 weights"),
        ({"bayes_error": [0.1, 0.6]}, "bayes_error must lie between 0 and"),
        ({"bayes_error": [0.1, np.nan]}, "finite"),
        ({"weights": [1.0, -1.0]}, "weights must not be negative"),
        ({"weights": [0.0, 0.0]}, "nor all zero"),
        ({"weights": []}, "weights must be one finite number"),
    ],
)
def test_bad_input_is_refused(changes, message):
    arguments = {
        "bayes_error": [0.1, 0.2],
        "weights": [0.5, 0.5],
        "alpha": 0.1,
        "beta": 0.5,
        "n_classes": 2,
    } | changes
    with pytest.raises(InvalidInputError, match=message):
        solve_strengths(**arguments)


@pytest.mark.parametrize("beta", [1e3, 1e8, 1e12, 1e16, 1e300])
def test_a_huge_beta_fills_the_regions_from_the_top(beta):
    bayes_error, weights = [0.0, 0.1, 0.3, 0.45], [0.1, 0.2, 0.3, 0.4]
    got = solve_strengths(bayes_error, weights, 0.3, beta, n_classes=2)
    cap = strength_cap(2)
    np.testing.assert_allclose(got, [0, 0, (0.3 - 0.4 * cap) / 0.3, cap], atol=1e-12)


def test_huge_weights_do_not_overflow():
    got = solve_strengths([0.1, 0.2], [1e308, 1e308], 0.1, 0.5, n_classes=2)
    np.testing.assert_allclose(got, [0.075, 0.125], rtol=1e-12)


@pytest.mark.parametrize("beta", [20.0, 1e3, 1e6, 1e9, 1e15])
@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.3])
@pytest.mark.parametrize("n_regions", [5, 50, 20_000])
def test_the_mean_is_exact_for_any_beta(rng, n_regions, alpha, beta):
    for errors in (
        rng.beta(1.0, 3.0, n_regions) / 2.0,
        0.3 + 1e-7 * rng.random(n_regions),  # nearly equal, so that beta spreads them
    ):
        weights = rng.random(n_regions) / n_regions
        found = solve_strengths(errors, weights, alpha, beta, n_classes=2)
        mean = math.fsum(weights * found) / math.fsum(weights)
        assert abs(mean - alpha) < 1e-12
        assert found.min() >= 0.0
        assert found.max() < 0.5
        assert (np.diff(found[np.argsort(errors)]) >= 0.0).all()
