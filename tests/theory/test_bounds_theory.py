"""The theorems behind the bounds, on distributions whose Bayes error is known.

`make theory` sets STRUCTSMOOTH_THEORY=full and takes more repetitions.
"""

import os

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from structsmooth import bayes_error_bounds, euclidean_mst, henze_penrose_divergence

FULL = os.environ.get("STRUCTSMOOTH_THEORY") == "full"
REPEATS = 10 if FULL else 3


def two_gaussians(generator, n, gap):
    """Two unit Gaussians in two dimensions; the Bayes error is Phi(-gap/2)."""
    y = generator.integers(0, 2, n)
    X = generator.normal(size=(n, 2))
    X[:, 0] += gap * y
    return X, y


def nearest_neighbor_error(gap):
    """``h = E[2 eta (1 - eta)]`` of two Gaussians, by quadrature."""

    def integrand(x):
        p, q = 0.5 * norm.pdf(x), 0.5 * norm.pdf(x - gap)
        return 2 * p * q / (p + q)

    return quad(integrand, -10, gap + 10)[0]


@pytest.mark.parametrize("seed", range(10))
def test_binary_bound_equals_the_multiclass_bound_at_two_classes(seed):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(30, 300))
    y = (generator.random(n) < generator.uniform(0.2, 0.8)).astype(int)
    X = generator.normal(size=(n, 3)) + generator.uniform(0, 3) * y[:, np.newaxis]
    # The paper's binary bound, from the divergence.
    divergence = henze_penrose_divergence(X, y, correct_forced_edges=False)[0, 1]
    p = np.mean(y == 0)
    q = 1 - p
    u = 4 * p * q * divergence + (p - q) ** 2
    got = bayes_error_bounds(X, y, correct_forced_edges=False)
    assert got.crossing_fraction == pytest.approx(0.5 - 0.5 * u, abs=1e-12)
    # Ours is also limited by the error of the more frequent class.
    most = min(p, q)
    assert got.upper == pytest.approx(min(0.5 - 0.5 * u, most), abs=1e-12)
    lower = min(0.5 - 0.5 * np.sqrt(max(u, 0.0)), most)
    assert got.lower == pytest.approx(lower, abs=1e-7)


def test_crossing_fraction_tends_to_twice_the_sum_of_delta():
    means = np.array([[0.0, 0.0], [1.5, 0.0], [0.5, 1.8]])
    priors = np.array([0.5, 0.3, 0.2])
    # delta_ij = integral of P_i P_j f_i f_j / f, on a fine grid.
    axis = np.linspace(-6, 8, 700)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    joint = np.stack(
        [
            p * multivariate_normal(m).pdf(grid)
            for p, m in zip(priors, means, strict=True)
        ]
    )
    cell = (axis[1] - axis[0]) ** 2
    errors = []
    for n in (500, 8000):
        counts = np.zeros((3, 3))
        for seed in range(REPEATS * 8000 // n):
            generator = np.random.default_rng(seed)
            y = generator.choice(3, size=n, p=priors)
            X = generator.normal(size=(n, 2)) + means[y]
            counts += bayes_error_bounds(X, y).crossing
        counts /= REPEATS * 8000
        worst = 0.0
        for i, j in ((0, 1), (0, 2), (1, 2)):
            delta = (joint[i] * joint[j] / joint.sum(axis=0)).sum() * cell
            worst = max(worst, abs(counts[i, j] / (2 * delta) - 1))
        errors.append(worst)
    assert errors[0] < 0.1
    assert errors[1] < 0.05  # with the paper's C/N -> delta it would be 1


@pytest.mark.parametrize("gap", [0.5, 1.0, 2.0, 3.0])
def test_bounds_enclose_the_true_bayes_error(gap):
    truth = norm.cdf(-gap / 2)
    lower, upper = [], []
    for seed in range(REPEATS):
        X, y = two_gaussians(np.random.default_rng(seed), 4000, gap)
        bounds = bayes_error_bounds(X, y)
        lower.append(bounds.lower)
        upper.append(bounds.upper)
        assert bounds.interval[0] < truth < bounds.interval[1]
    assert np.mean(lower) < truth < np.mean(upper)
    assert np.mean(upper) == pytest.approx(nearest_neighbor_error(gap), abs=0.015)


@pytest.mark.parametrize("noise", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_label_noise_moves_the_estimate_as_it_must(noise, n_classes):
    """R -> R + noise ((K-1)/K - R); the lower bound obeys the same law exactly."""
    before, after = [], []
    for seed in range(REPEATS):
        generator = np.random.default_rng(seed)
        y = generator.integers(0, n_classes, 4000)
        X = generator.normal(size=(4000, 2))
        X[:, 0] += 2.0 * y
        before.append(bayes_error_bounds(X, y).lower)
        noisy = np.where(
            generator.random(4000) < noise, generator.integers(0, n_classes, 4000), y
        )
        after.append(bayes_error_bounds(X, noisy).lower)
    clean = np.mean(before)
    expected = clean + noise * ((n_classes - 1) / n_classes - clean)
    assert np.mean(after) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("gap", [0.0, 1.0, 3.0, 5.0])
@pytest.mark.parametrize("n", [60, 400])
def test_the_crossing_fraction_is_covered_as_often_as_its_interval_says(n, gap):
    truth, repeats = nearest_neighbor_error(gap), 500 if FULL else 150
    covered = 0
    for seed in range(repeats):
        X, y = two_gaussians(np.random.default_rng(seed), n, gap)
        low, high = bayes_error_bounds(X, y, confidence=0.9).crossing_interval
        covered += low <= truth <= high
    # Four standard errors below the nominal level would not be chance.
    assert covered / repeats > 0.9 - 4 * np.sqrt(0.9 * 0.1 / repeats)


def test_forced_edges_are_what_separate_classes_cost():
    # A hundred far groups of ten: 99 crossing edges though nothing overlaps.
    generator = np.random.default_rng(0)
    y = np.repeat(np.arange(100), 10)
    X = generator.normal(size=(1000, 3)) + 1000.0 * np.stack(
        [y % 10, y // 10, 0 * y], axis=1
    )
    crossing = (
        y[euclidean_mst(X).edges[:, 0]] != y[euclidean_mst(X).edges[:, 1]]
    ).sum()
    assert crossing == 99
    assert bayes_error_bounds(X, y, correct_forced_edges=False).upper == 0.099
    assert bayes_error_bounds(X, y).upper == 0.0
