"""A model of labels of which some are wrong, fitted to evidence for each class.

The true class of a row has probabilities ``s``, a softmax of the evidence with weights
that all classes share, and a label is changed with a rate that depends on the true
class. Where classes overlap, ``s`` is spread over several of them, and a label of any
of them is no surprise. A wrong label is one for which ``s`` has nearly nothing. What
tells the two apart is how often that happens: the labels of an overlap follow ``s``,
while wrong labels come with the same rate wherever ``s`` is near 0. Both, weights and
rates, are those of the largest likelihood, found by expectation and maximization.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, expit, log_softmax, logsumexp, softmax

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

# The rates before anything is seen: one wrong label in 50 rows, a class's rate as far
# from the mean as half of what its own rows say, two labels changed to each class.
FIRST_WRONG, FIRST_ROWS = 1.0, 50.0
OWN_SHARE = 0.5
FIRST_CHANGES = 2.0
# Half of the labels of a class may be wrong; more would name the class differently.
LARGEST_RATE = 0.5
# The search starts from many wrong labels: from few, wrong ones pass for overlap.
START_RATE = 0.2
MOST_STEPS, NEAR_ENOUGH = 150, 1e-4
MOST_HALVINGS = 8
# The surest rows are these shares of all, and at least so many. They have clearly fewer
# wrong labels than expected if that happens by chance with less than this probability,
# for all shares together.
SHARES_OF_SURE, FEWEST_SURE = (0.02, 0.04, 0.08, 0.16, 0.32, 0.5), 50
CLEARLY_LESS = 0.05
EQUALLY_SURE = 1e-9
# Weights are drawn to 0, those of tails to 1, by normal distributions of variance 10.
PENALTY = 0.1
# Where small probabilities end and tiny ones begin, and where these end, as logarithms.
SMALL, TINY = -4.0, -20.0
# Where classes overlap by more than this in most rows, tiny probabilities do not become
# much tinier: these are the largest weights of the tails.
MUCH_OVERLAP = 0.2
LARGEST_TAILS = np.array([np.inf, 1.25])
# And there the model takes about twice as many labels for wrong ones as are.
SHARE_WHERE_MUCH = 0.5
# Of the right labels that a long list may have, the model may expect this share; the
# rest is kept for what it cannot know.
EXPECTED_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """How evidence is weighed, and how labels are changed.

    Attributes
    ----------
    weights : ndarray of shape (p,)
        Of each kind of evidence.
    tails : ndarray of shape (2,)
        Of the logarithms of the resulting probabilities, small and tiny ones.
    changes : ndarray of shape (K, K)
        Probability of each label (column), given the true class (row).
    """

    weights: F64
    tails: F64
    changes: F64

    def log_probabilities(self, evidence: F64) -> F64:
        """Return those of the true classes, whatever the labels are."""
        parts = small_and_tiny(evidence @ self.weights)
        return np.asarray(log_softmax(parts @ self.tails, axis=1))

    def with_fewer_changes(self, share: float) -> LabelNoise:
        """Return the model with this share of its wrong labels."""
        changes = share * self.changes + (1.0 - share) * np.eye(len(self.changes))
        return replace(self, changes=changes)

    def judge(self, evidence: F64, coded: I64) -> tuple[F64, I64]:
        """Return the log odds that labels are wrong, and the likely other class."""
        joint = self.log_probabilities(evidence) + np.log(self.changes[:, coded].T)
        at = np.arange(len(coded))
        right = joint[at, coded]
        joint[at, coded] = -np.inf
        return logsumexp(joint, axis=1) - right, joint.argmax(axis=1)


def fit_label_noise(
    evidence: F64, coded: I64, most: float = 1.0, largest: F64 | float = np.inf
) -> LabelNoise:
    """Fit the model to evidence of shape (m, K, p) and the labels as they are.

    Evidence is often weaker or stronger than it says where it is strong, so the tails
    of the probabilities are fitted once more on their own. The mean rate of wrong
    labels is limited to ``most``, and the weights of the tails to ``largest``.
    """
    weights, _ = _fit(evidence, coded, most)
    parts = small_and_tiny(evidence @ weights)
    tails, changes = _fit(parts, coded, most, 1.0, largest)
    return LabelNoise(weights, tails, changes)


def overlap_much(model: LabelNoise, evidence: F64) -> bool:
    """Return whether the true class is hard to tell in most of the rows."""
    overlap = 1.0 - np.exp(model.log_probabilities(evidence).max(axis=1))
    return bool(np.median(overlap) > MUCH_OVERLAP)


def fit_cautiously(
    model: LabelNoise, evidence: F64, coded: I64, is_much: bool
) -> LabelNoise | None:
    """Fit it again with fewer wrong labels, if there are reasons to; None if not.

    If the features hardly tell the classes apart, right labels look wrong too, and the
    model takes them for wrong ones. There are two remedies. If classes overlap much,
    tails do not become much lighter than the evidence says: if wrong labels explain
    what light tails exclude, these cost no likelihood; and the rates found are halved.
    And where the model is surest of the true class, there is no overlap left, and
    labels disagree as often as they are wrong. If that is clearly less often than the
    model says, then the model says too much everywhere.
    """
    largest = LARGEST_TAILS if is_much else np.inf
    if is_much:
        model = fit_label_noise(evidence, coded, 1.0, largest)
    share = _share_of_surest(model, evidence, coded)
    if share < 1.0:
        most = float(share * (1.0 - np.diag(model.changes)).mean())
        model = fit_label_noise(evidence, coded, most, largest)
    elif not is_much:
        return None
    return model.with_fewer_changes(SHARE_WHERE_MUCH) if is_much else model


def _share_of_surest(model: LabelNoise, evidence: F64, coded: I64) -> float:
    """Return how many wrong labels the surest rows have, relative to the model.

    It is 1 if they do not have clearly fewer.
    """
    logs = model.log_probabilities(evidence)
    expected = _own_rates(_counts(_posterior(logs, model.changes, coded), coded))
    guessed = logs.argmax(axis=1)
    doubt = np.partition(logs, -2, axis=1)[:, -2] - logs.max(axis=1)
    surest = np.argsort(doubt)
    n_expected = np.cumsum(expected[guessed[surest]])
    n_found = np.cumsum((guessed != coded)[surest])
    # Rows of which the model is equally sure belong together.
    sizes = np.maximum(FEWEST_SURE, np.array(SHARES_OF_SURE) * len(coded)).astype(int)
    doubt = doubt[surest]
    ends = np.searchsorted(
        doubt, doubt[sizes[sizes <= len(coded)] - 1] + EQUALLY_SURE, "right"
    )
    ends = np.unique(ends[ends <= max(FEWEST_SURE, len(coded) / 2)])
    n_expected, n_found = n_expected[ends - 1], n_found[ends - 1]
    chance = bdtr(n_found, ends, n_expected / ends)
    if not (chance * len(ends) < CLEARLY_LESS).any():
        return 1.0
    return float(min(1.0, ((n_found + 1.0) / (n_expected + 1.0)).min()))


def small_and_tiny(logs: F64) -> F64:
    """Return logarithms of probabilities in two parts, of shape (m, K, 2).

    Models differ in how small their smallest probabilities are: a forest says 0 where
    a regression says 1e-9. So the two parts get weights of their own.
    """
    logs = logs - logs.max(axis=1, keepdims=True)
    tiny = np.clip(logs - SMALL, TINY - SMALL, 0.0)
    return np.stack([np.maximum(logs, SMALL), tiny], axis=2)


def _fit(
    evidence: F64,
    coded: I64,
    most: float,
    usual: float = 0.0,
    largest: F64 | float = np.inf,
) -> tuple[F64, F64]:
    """Return weights of the evidence, and how labels are changed."""
    _, n_classes, n_kinds = evidence.shape
    flat = evidence.reshape(-1, n_kinds)
    weights = np.full(n_kinds, usual or 1.0 / n_kinds)
    even = (1.0 - np.eye(n_classes)) / (n_classes - 1)
    changes = _changes(np.full(n_classes, min(START_RATE, most)), even)
    for step in range(MOST_STEPS):
        before = weights, changes
        logs = (flat @ weights).reshape(-1, n_classes)
        true = _posterior(log_softmax(logs, axis=1), changes, coded)
        changes = _rates(_counts(true, coded), even, most)
        for _ in range(3 if step == 0 else 1):
            weights = _newton(evidence, flat, true, weights, usual)
            weights = np.minimum(weights, largest)
        moved = [
            np.abs(now - then).max()
            for now, then in zip((weights, changes), before, strict=True)
        ]
        if max(moved) < NEAR_ENOUGH:
            break
    return weights, changes


def wrong_probability(log_odds: F64) -> F64:
    """Return probabilities from log odds."""
    probability: F64 = expit(log_odds)
    return probability


def n_listed(scores: F64, fdr: float) -> int:
    """Return how many rows to list of these, whose scores fall.

    A list of one row is judged by its score. The more rows there are, the less their
    scores tell: where the evidence for many is wrong in the same way, the model takes
    all of them for wrong labels. So in longer lists the mean of 1 - score must fall
    from ``fdr`` to a part of it.
    """
    length = np.arange(1, len(scores) + 1)
    largest = fdr * (EXPECTED_SHARE + (1.0 - EXPECTED_SHARE) / length)
    within = np.flatnonzero(np.cumsum(1.0 - scores) / length <= largest)
    return int(within[-1]) + 1 if len(within) else 0


def _changes(rates: F64, where: F64) -> F64:
    """Return the probability of each label given each true class."""
    return np.asarray(rates[:, None] * where + np.diag(1.0 - rates))


def _posterior(logs: F64, changes: F64, coded: I64) -> F64:
    """Return the probabilities of the true classes, given evidence and labels."""
    joint = np.exp(logs) * changes[:, coded].T
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _counts(true: F64, coded: I64) -> F64:
    """Return how many rows are of each true class (row) and have each label."""
    n_classes = true.shape[1]
    counts = [np.bincount(coded, column, minlength=n_classes) for column in true.T]
    return np.stack(counts)


def _own_rates(counts: F64) -> F64:
    """Return the share of wrong labels among the rows of each true class."""
    n_true = np.maximum(counts.sum(axis=1), 1e-12)
    return np.asarray(1.0 - np.diag(counts) / n_true)


def _rates(counts: F64, even: F64, most: float) -> F64:
    """Return how labels are changed, from the rows of each true class and label."""
    n_classes = len(even)
    wrong = counts * (1.0 - np.eye(n_classes))
    n_wrong, n_rows = wrong.sum(axis=1), counts.sum()
    mean = (n_wrong.sum() + FIRST_WRONG) / (n_rows + FIRST_WRONG + FIRST_ROWS)
    rates = OWN_SHARE * _own_rates(counts) + (1.0 - OWN_SHARE) * mean
    rates = np.minimum(rates, LARGEST_RATE)
    rates *= min(1.0, most / rates.mean())
    first = FIRST_CHANGES * (n_classes - 1) * even
    where = (wrong + first) / (n_wrong + FIRST_CHANGES * (n_classes - 1))[:, None]
    return _changes(rates, where)


def _newton(evidence: F64, flat: F64, true: F64, weights: F64, usual: float) -> F64:
    """Return weights that fit the probabilities of the true classes better.

    No weight is negative, so that a neighbor with the same label never makes a label
    more suspicious. Without that, few wrong labels look as if it did: the row itself
    has no such neighbor, and the rows around it have one.
    """
    n_kinds = len(weights)
    now = softmax((flat @ weights).reshape(true.shape), axis=1)
    slope = flat.T @ (true - now).ravel() - PENALTY * (weights - usual)
    means = np.einsum("mk,mkp->mp", now, evidence)
    bend = flat.T @ (flat * now.reshape(-1, 1)) - means.T @ means
    bend += PENALTY * np.eye(n_kinds)
    # Weights that would fall below 0 are set to it, and the others follow.
    free = (weights > 0.0) | (slope > 0.0)
    while True:
        step = np.where(free, 0.0, -weights)
        rest = slope - bend @ step
        step[free] = np.linalg.solve(bend[np.ix_(free, free)], rest[free])
        below = free & (weights + step < 0.0)
        if not below.any():
            break
        free &= ~below
    # A step that is too long for the parabola is halved.
    before = _fit_of(flat, true, weights, usual)
    for _ in range(MOST_HALVINGS):
        moved = np.maximum(weights + step, 0.0)
        if _fit_of(flat, true, moved, usual) >= before:
            return moved
        step *= 0.5
    return weights


def _fit_of(flat: F64, true: F64, weights: F64, usual: float) -> float:
    """Return what weights are to maximize, the expected log likelihood."""
    logs = log_softmax((flat @ weights).reshape(true.shape), axis=1)
    return float((true * logs).sum() - 0.5 * PENALTY * ((weights - usual) ** 2).sum())
