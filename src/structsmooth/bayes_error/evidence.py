"""What the rows around a row, and the shapes of the classes, say about its label.

All evidence is found without the row's own label: its neighbors are other rows, and
from the mean and the scatter of its class the row itself is taken out again, exactly.
So a row can be compared with what is expected at its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from structsmooth.bayes_error.label_noise import small_and_tiny
from structsmooth.support.groups import rows_of_groups
from structsmooth.support.jit import kernel
from structsmooth.tree import nearest_neighbors

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

# Votes are counted among all neighbors, a third and a tenth of them: what is near says
# more, what is many says it more surely, and the data decide which matters.
USUAL_NEIGHBORS = 30
PARTS = (10, 3, 1)
# How far away the first and the third neighbor of each class are, among more neighbors:
# so many for each class, within limits. Farther ones count as if they were the next.
NTH = (1, 3)
FAR_PER_CLASS, FEWEST_FAR, MOST_FAR = 4, 60, 120
# Differences of log densities below this say no more than that a class is impossible.
LEAST = -12.0
TINY = float(np.finfo(np.float64).tiny)
# Degrees of freedom of a class's t distribution, chosen by likelihood on so many rows.
FREEDOMS = (2.5, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, np.inf)
FREEDOM_ROWS = 5_000
# More features than this make covariances of many classes too large to keep.
MOST_FEATURES = 256


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence for every class at every row; the larger, the more likely the class.

    Attributes
    ----------
    coded : ndarray of shape (n,), int64
        Class numbers.
    n_classes : int
        Number of classes K.
    features : ndarray of shape (n, d) or None
        In which neighbors are near; None if there are only probabilities.
    near, distances : ndarray of shape (n, k)
        Neighbors of each row, the nearest first.
    n_votes : int
        How many of them vote; all tell how far away the classes are.
    pred_probs : ndarray of shape (n, K) or None
        Probabilities of a model that has not seen the row.
    """

    coded: I64
    n_classes: int
    features: NDArray[Any] | None
    near: I64
    distances: F64
    n_votes: int
    pred_probs: F64 | None

    def of(self, rows: I64) -> F64:
        """Return the evidence at some rows, of shape (m, K, p)."""
        parts: list[F64] = []
        if self.features is not None:
            parts.append(self._of_neighbors(rows))
            if self._shapes is not None:
                parts.append(self._shapes.of(self.features, self.coded, rows))
        if self.pred_probs is not None:
            parts.append(
                small_and_tiny(np.log(np.maximum(self.pred_probs[rows], TINY)))
            )
        return np.concatenate(parts, axis=2)

    @cached_property
    def class_sizes(self) -> I64:
        """Rows of each class."""
        return np.bincount(self.coded, minlength=self.n_classes)

    @cached_property
    def _shapes(self) -> ClassShapes | None:
        features = self.features
        if features is None or features.shape[1] > MOST_FEATURES:
            return None
        return fit_shapes(features, self.coded, self.class_sizes)

    @cached_property
    def _least_distance(self) -> float:
        usual = float(np.median(self.distances.mean(axis=1)))
        return 1e-3 * usual if usual > 0.0 else 1.0

    def _of_neighbors(self, rows: I64) -> F64:
        return _neighbor_evidence(
            self.near[rows],
            self.distances[rows],
            self.coded[rows],
            self.coded,
            self.class_sizes,
            np.array([max(1, self.n_votes // part) for part in PARTS]),
            np.array(NTH),
            self._least_distance,
        )


def gather_evidence(
    features: NDArray[Any] | None,
    coded: I64,
    n_classes: int,
    pred_probs: F64 | None,
    n_neighbors: int | str,
    n_jobs: int | None,
) -> Evidence:
    """Find the neighbors of all rows; the arguments are checked."""
    near = np.empty((len(coded), 0), dtype=np.int64)
    distances = np.empty((len(coded), 0))
    n_votes = 0
    if features is not None:
        if isinstance(n_neighbors, int):
            n_votes = n_far = n_neighbors
        else:
            n_votes = USUAL_NEIGHBORS
            n_far = min(max(FAR_PER_CLASS * n_classes, FEWEST_FAR), MOST_FAR)
        most = len(coded) - 1
        found = nearest_neighbors(features, min(n_far, most), n_jobs)
        near, distances = found.indices, found.distances
        n_votes = min(n_votes, most)
    return Evidence(coded, n_classes, features, near, distances, n_votes, pred_probs)


@dataclass(frozen=True, eq=False)
class ClassShapes:
    """Each class as a normal and as a t distribution.

    Both with one covariance for all classes, and with one for each. The covariance of a
    class with few rows is drawn to the common one, which counts as d further rows. A t
    distribution of the same covariance has heavier tails: a normal one is far too sure
    about rows that are far from all classes.
    """

    means: F64
    class_sizes: I64
    whitening: F64  # of the scatter of all rows around the means of their classes
    own_whitening: F64  # of each class's scatter, with the common one mixed in
    log_determinants: F64
    freedoms: tuple[float, float] = (np.inf, np.inf)  # of common and own covariances

    def of(self, features: NDArray[Any], coded: I64, rows: I64) -> F64:
        """Return log densities times class sizes, differences to the largest."""
        squares, offsets = self.squares(features, coded, rows)
        d = features.shape[1]
        densities = [
            log_density(squares[..., t], freedom, d) + offsets[..., t]
            for freedoms in ((np.inf, np.inf), self.freedoms)
            for t, freedom in enumerate(freedoms)
        ]
        found = np.stack(densities, axis=2)
        below: F64 = np.maximum(found - found.max(axis=1, keepdims=True), LEAST)
        return below

    def squares(self, features: NDArray[Any], coded: I64, rows: I64) -> tuple[F64, F64]:
        """Return squared distances, and what else log densities have, with class sizes.

        Both have the shape (m, K, 2), for common and own covariances. A row is taken
        out of its own class: of the mean, which moves away from it, and of the scatter,
        by the formula of Sherman and Morrison.
        """
        X = features[rows].astype(np.float64)
        label, at = coded[rows], np.arange(len(rows))
        n, d = len(coded), X.shape[1]
        sizes = self.class_sizes
        others = sizes[label] - 1.0  # rows of the class without this one
        moved = sizes[label] / np.maximum(others, 1.0)
        counts = np.tile(sizes.astype(np.float64), (len(rows), 1))
        counts[at, label] = others
        # One covariance for all classes.
        placed, centers = X @ self.whitening, self.means @ self.whitening
        away = placed - centers[label]
        taken = moved * (away**2).sum(axis=1)
        left = np.maximum(1.0 - taken, 1e-3)
        common = (
            (placed**2).sum(axis=1)[:, None]
            - 2.0 * placed @ centers.T
            + (centers**2).sum(axis=1)
        )
        along = (away * placed).sum(axis=1)[:, None] - away @ centers.T
        common += (moved / left)[:, None] * along**2
        common[at, label] = moved * taken / left
        common = max(n - 1 - len(sizes), 1) * np.maximum(common, 0.0)
        # One for each class.
        own, sharpness = np.empty_like(common), np.empty_like(common)
        for c in range(len(sizes)):
            weight = sizes[c] + float(d)
            square = (((X - self.means[c]) @ self.own_whitening[c]) ** 2).sum(axis=1)
            own[:, c] = weight * square
            sharpness[:, c] = self.log_determinants[c] - d * np.log(weight)
            mine = label == c
            if mine.any():
                moves = moved[mine] * (1.0 + d / max(n - 1.0, 1.0))
                rest = np.maximum(1.0 - moves * square[mine], 1e-3)
                own[mine, c] = (weight - 1.0) * moved[mine] ** 2 * square[mine] / rest
                sharpness[mine, c] = (
                    self.log_determinants[c]
                    + np.log(rest)
                    - d * np.log(max(weight - 1.0, 1.0))
                )
        prior = np.log(counts + 0.5)
        offsets = np.stack([prior, prior - 0.5 * sharpness], axis=2)
        return np.stack([common, own], axis=2), offsets


def log_density(squares: F64, freedom: float, d: int) -> F64:
    """Return the log density of a t distribution, for squared distances.

    These are by its covariance, whose determinant is left out, as are the powers of pi.
    """
    if np.isinf(freedom):
        return np.asarray(-0.5 * squares - 0.5 * d * np.log(2.0))
    constant = gammaln((freedom + d) / 2.0) - gammaln(freedom / 2.0)
    constant -= 0.5 * d * np.log(freedom - 2.0)
    growth = np.log1p(squares / (freedom - 2.0))
    return np.asarray(constant - 0.5 * (freedom + d) * growth)


def fit_shapes(features: NDArray[Any], coded: I64, class_sizes: I64) -> ClassShapes:
    """Find the mean and the scatter of each class, and how heavy the tails are."""
    n, d = features.shape
    n_classes = len(class_sizes)
    means, scatters = np.zeros((n_classes, d)), np.zeros((n_classes, d, d))
    for c, rows in enumerate(rows_of_groups(coded)):
        if len(rows):
            some = features[rows].astype(np.float64)
            means[c] = some.mean(axis=0)
            some -= means[c]
            scatters[c] = some.T @ some
    common = scatters.sum(axis=0)
    # What keeps the scatter of fewer rows than features, or of equal rows, regular.
    ridge = 1e-6 * np.trace(common) / d
    ridge = ridge if ridge > 0.0 else 1.0
    eye = np.eye(d)
    own, log_determinants = np.empty_like(scatters), np.empty(n_classes)
    for c in range(n_classes):
        own[c] = _whitening(scatters[c] + (d / n) * (common + ridge * eye))
        log_determinants[c] = -2.0 * np.log(np.diag(own[c])).sum()
    whitening = _whitening(common + ridge * eye)
    shapes = ClassShapes(means, class_sizes, whitening, own, log_determinants)
    rows = np.arange(0, n, -(-n // FREEDOM_ROWS))
    squares, _ = shapes.squares(features, coded, rows)
    squares = squares[np.arange(len(rows)), coded[rows]]
    common_freedom, own_freedom = (
        max(FREEDOMS, key=lambda f: float(log_density(squares[:, t], f, d).sum()))
        for t in range(2)
    )
    return replace(shapes, freedoms=(common_freedom, own_freedom))


def _whitening(scatter: F64) -> F64:
    """Return the triangular W with ``W W^T`` the inverse of a scatter."""
    root: F64 = np.linalg.cholesky(np.linalg.inv(scatter))
    return root


@kernel
def _neighbor_evidence(
    near: I64,
    distances: F64,
    own: I64,
    coded: I64,
    class_sizes: I64,
    numbers: I64,
    nth: I64,
    least: float,
) -> F64:
    """Return votes and distances of each class, on a logarithmic scale.

    The votes of a class are divided by how many it could have, so that a class of few
    rows is not outvoted by its size alone.
    """
    m, k = near.shape
    n_classes = len(class_sizes)
    n_votes, n_distances = len(numbers), len(nth)
    out = np.empty((m, n_classes, n_votes + n_distances))
    votes = np.zeros(n_classes)
    total = len(coded) - 1.0 + 0.5 * n_classes
    for i in range(m):
        usual = distances[i].mean() + least
        votes[:] = 0.0
        out[i, :, n_votes:] = -np.log((distances[i, k - 1] + least) / usual)
        for j in range(k):
            c = coded[near[i, j]]
            votes[c] += 1.0
            for t in range(n_distances):
                if votes[c] == nth[t]:
                    value = -np.log((distances[i, j] + least) / usual)
                    out[i, c, n_votes + t] = value
            for t in range(n_votes):
                if j + 1 == numbers[t]:
                    for c in range(n_classes):
                        size = class_sizes[c] - (1.0 if c == own[i] else 0.0)
                        prior = (size + 0.5) / total
                        most = min(float(numbers[t]), size)
                        out[i, c, t] = np.log((votes[c] + prior) / (most + 1.0))
    return out
