"""Tasks with a known Bayes error, drawn from known densities."""

import functools
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import ncx2, norm


@dataclass(frozen=True)
class Gaussians:
    """Classes that are round Gaussians.

    Attributes
    ----------
    means : array of shape (K, d)
        Means of the classes.
    scales : array of shape (K,)
        Standard deviations of the classes, the same in every direction.
    shares : array of shape (K,)
        Probabilities of the classes.
    """

    means: np.ndarray
    scales: np.ndarray
    shares: np.ndarray

    def draw(self, generator, n, *, exact=False):
        """Return n rows and labels; with ``exact`` each class has exactly its share.

        Remaining rows go to the classes with the largest fractional parts.
        """
        if exact:
            counts = np.floor(self.shares * n).astype(int)
            lacking = np.argsort(counts - self.shares * n, kind="stable")
            counts[lacking[: n - counts.sum()]] += 1
            y = np.repeat(np.arange(len(self.shares)), counts)
        else:
            y = generator.choice(len(self.shares), size=n, p=self.shares)
        noise = generator.normal(size=(n, self.means.shape[1]))
        return self.means[y] + self.scales[y, np.newaxis] * noise, y

    def posteriors(self, X, shares=None):
        """Return the probability of each class at each row, of shape (n, K)."""
        shares = self.shares if shares is None else shares
        with np.errstate(divide="ignore"):
            logs = np.log(shares) - X.shape[1] * np.log(self.scales)
        squares = (X**2).sum(axis=1)[:, np.newaxis] - 2.0 * X @ self.means.T
        squares += (self.means**2).sum(axis=1)
        logs = logs - squares / (2.0 * self.scales**2)
        return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))

    def bayes_error(self, shares=None, n=40_000):
        """Return the mean of 1 - max eta over rows of a fixed seed, at given shares."""
        if shares is not None:
            return Gaussians(self.means, self.scales, shares).bayes_error(n=n)
        X, _ = self.draw(np.random.default_rng(1), n, exact=True)
        return float(np.mean(1.0 - self.posteriors(X).max(axis=1)))


@dataclass(frozen=True)
class Mixture:
    """Classes that are mixtures of round unit Gaussians, with labels drawn at random.

    Attributes
    ----------
    means : array of shape (K, m, d)
        Means of the m components of each class, which are equally likely.
    noise : float
        Share of the labels that are drawn uniformly from all classes.
    """

    means: np.ndarray
    noise: float = 0.0

    @property
    def n_classes(self):
        """Number of classes."""
        return len(self.means)

    def draw(self, generator, n):
        """Return n rows and labels; before noise, all classes have the same share."""
        n_classes, per_class, dimensions = self.means.shape
        clean = np.arange(n) % n_classes
        centers = self.means[clean, generator.integers(per_class, size=n)]
        X = centers + generator.normal(size=(n, dimensions))
        noisy = generator.uniform(size=n) < self.noise
        return X, np.where(noisy, generator.integers(n_classes, size=n), clean)

    def posteriors(self, X):
        """Return the probability of each class at each row, of shape (n, K)."""
        flat = self.means.reshape(-1, X.shape[1])
        parts = Gaussians(flat, np.ones(len(flat)), np.full(len(flat), 1.0 / len(flat)))
        clean = parts.posteriors(X).reshape(len(X), *self.means.shape[:2]).sum(axis=2)
        return (1.0 - self.noise) * clean + self.noise / self.n_classes

    def bayes_error(self, n=200_000, seed=1):
        """Return the mean of 1 - max eta over rows of a fixed seed."""
        X, _ = self.draw(np.random.default_rng(seed), n)
        return float(np.mean(1.0 - self.posteriors(X).max(axis=1)))


@functools.cache
def mixture(n_classes, dimensions, bayes_error, per_class=3, seed=0):
    """Return a mixture with random means, scaled to have a given Bayes error.

    So the tasks are equally hard in all dimensions. The scale is found on other rows
    than those on which `Mixture.bayes_error` is computed.
    """
    generator = np.random.default_rng([seed, n_classes, dimensions])
    means = generator.normal(size=(n_classes, per_class, dimensions))

    def excess(distance):
        return Mixture(distance * means).bayes_error(40_000, seed=2) - bayes_error

    return Mixture(brentq(excess, 0.01, 50.0, xtol=1e-4) * means)


def flat(n_classes, dimensions, bayes_error, per_class=3, seed=0):
    """Return a mixture whose Bayes error is the same everywhere.

    Its classes are separate except for labels drawn at random, so regions differ only
    by chance.
    """
    generator = np.random.default_rng([seed, n_classes, dimensions])
    means = generator.normal(size=(n_classes, per_class, dimensions))
    return Mixture(1000.0 * means, bayes_error * n_classes / (n_classes - 1))


def on_a_grid(n_classes, gap, shares=None):
    """Return unit Gaussians on a two-dimensional grid, with equal or given shares."""
    side = int(np.ceil(np.sqrt(n_classes)))
    places = np.arange(n_classes)
    if shares is None:
        shares = np.full(n_classes, 1.0 / n_classes)
    return Gaussians(
        gap * np.stack([places % side, places // side], axis=1),
        np.ones(n_classes),
        np.asarray(shares),
    )


def in_pairs(n_classes):
    """Return pairs of classes that coincide, each pair far from all others."""
    apart = on_a_grid(n_classes // 2, 50.0)
    return Gaussians(
        np.repeat(apart.means, 2, axis=0),
        np.ones(n_classes),
        np.full(n_classes, 1.0 / n_classes),
    )


def pair(dimensions, gap, shares=(0.5, 0.5)):
    """Return two unit Gaussians; with equal shares the Bayes error is Phi(-gap / 2)."""
    means = np.zeros((2, dimensions))
    means[1, 0] = gap
    return Gaussians(means, np.ones(2), np.asarray(shares))


def error_of_pair(gap, share):
    """Return the Bayes error of `pair`, where the first class has this share."""
    if gap == 0.0 or share in (0.0, 1.0):
        return min(share, 1.0 - share)
    border = gap / 2.0 + np.log(share / (1.0 - share)) / gap
    return share * norm.sf(border) + (1.0 - share) * norm.cdf(border - gap)


def twonorm():
    """Return Breiman's twonorm: unit Gaussians in 20 dimensions, at +a and -a."""
    a = 2.0 / np.sqrt(20.0)
    means = np.stack([np.full(20, -a), np.full(20, a)])
    return Gaussians(means, np.ones(2), np.array([0.5, 0.5]))


# The means are 2 a sqrt(20) = 4 apart.
TWONORM_ERROR = float(norm.cdf(-2.0))


def ringnorm():
    """Return Breiman's ringnorm: a wide Gaussian at 0, and a unit Gaussian at a."""
    a = 2.0 / np.sqrt(20.0)
    means = np.stack([np.zeros(20), np.full(20, a)])
    return Gaussians(means, np.array([2.0, 1.0]), np.array([0.5, 0.5]))


def error_of_ringnorm():
    """Return the Bayes error of `ringnorm`, 1.24 %.

    The second class is likelier where |x - a|^2 < |x|^2 / 4 + 20 log 4, which is the
    ball |x - 4a/3|^2 < 4/3 (20 log 4 + |a|^2 / 3), with |a| = 2. From its center the
    second class lies a/3 away, with unit variance; the first 4a/3, with variance 4.
    """
    square = 4.0
    radius = 4.0 / 3.0 * (20.0 * np.log(4.0) + square / 3.0)
    missed = ncx2.sf(radius, 20, square / 9.0)
    caught = ncx2.cdf(radius / 4.0, 20, square * 16.0 / 9.0 / 4.0)
    return float(0.5 * (missed + caught))
