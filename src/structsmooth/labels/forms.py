"""From strengths to labels, in every form a learner may want."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.errors import InvalidInputError
from structsmooth.support.deprecation import take_renamed
from structsmooth.support.validation import check_codes, check_integer, check_strengths


def smooth_labels(
    y: ArrayLike,
    strengths: ArrayLike,
    n_classes: int,
    spread: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Return (n, K) soft labels: ``1 - a`` on the own class, ``a / (K-1)`` on others.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class numbers 0 to K - 1.
    strengths : float or array-like of shape (n,)
        Strength of all samples, or of each.
    n_classes : int
        Number of classes K.
    spread : array-like of shape (K, K) or (n, K), optional
        Shares of the mass that each other class gets, by own class or by sample: no
        less than 0, with a sum of 1, and 0 on the own class. Even ones by default.

    Examples
    --------
    >>> from structsmooth import smooth_labels
    >>> smooth_labels([0, 2], [0.0, 0.5], n_classes=3)
    array([[1.  , 0.  , 0.  ],
           [0.25, 0.25, 0.5 ]])
    """
    n_classes = check_integer(n_classes, "n_classes", 2)
    coded = check_codes(y, n_classes)
    values = check_strengths(strengths, len(coded))
    own = np.arange(len(coded)), coded
    if spread is None:
        soft = np.repeat((values / (n_classes - 1))[:, np.newaxis], n_classes, axis=1)
    else:
        soft = values[:, np.newaxis] * _check_spread(spread, own, n_classes)
    soft[own] = 1.0 - values
    return soft


def _check_spread(
    spread: ArrayLike,
    own: tuple[NDArray[np.int64], NDArray[np.int64]],
    n_classes: int,
) -> NDArray[np.float64]:
    """Return the shares of each sample if they are shares."""
    given = np.asarray(spread, dtype=np.float64)
    n_samples, square = len(own[1]), (n_classes, n_classes)
    if given.shape not in (square, (n_samples, n_classes)):
        raise InvalidInputError(
            f"spread must have the shape {square} or {(n_samples, n_classes)}, got "
            f"{given.shape}"
        )
    # Of as many samples as classes, shares of classes have nothing on the diagonal.
    by_class = given.shape == square and (
        n_samples != n_classes or not np.diagonal(given).any()
    )
    rows = given[own[1]] if by_class else given
    is_share = np.isfinite(rows).all() and (rows >= 0.0).all()
    if not is_share or not np.allclose(rows.sum(axis=1), 1.0):
        raise InvalidInputError(
            "spread must have shares from 0 to 1 that sum to 1 in each row"
        )
    if rows[own].any():
        raise InvalidInputError("spread must be 0 on the own class of each sample")
    return rows


def flip_labels(
    y: ArrayLike,
    strengths: ArrayLike,
    n_classes: int,
    rng: int | np.random.Generator | None = None,
    *,
    spread: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
) -> NDArray[np.int64]:
    """Return hard labels whose expectation is the soft label (DisturbLabel).

    Each label is replaced with probability ``a`` by one of the other K - 1 classes, all
    equally likely unless a spread says otherwise: smoothing for learners that take
    neither soft labels nor weights. Draw again for every epoch.

    Parameters
    ----------
    y, strengths, n_classes, spread
        As for `smooth_labels`.
    rng : int, Generator or None
        Seed, or the generator to draw from.
    random_state : int, Generator or None
        Former name of ``rng``.

        .. deprecated:: 0.2
           Use ``rng``; ``random_state`` will be removed in version 0.4.

    Examples
    --------
    >>> from structsmooth import flip_labels
    >>> flip_labels([0, 1, 0, 1], [0.0, 0.0, 1.0, 1.0], n_classes=2)
    array([0, 1, 1, 0])
    """
    n_classes = check_integer(n_classes, "n_classes", 2)
    coded = check_codes(y, n_classes)
    values = check_strengths(strengths, len(coded))
    given = take_renamed("rng", rng, "random_state", random_state, removed_in="0.4")
    generator = np.random.default_rng(given)
    flips = generator.random(len(coded)) < values
    if spread is None:
        step = generator.integers(1, n_classes, size=len(coded))
        return np.where(flips, (coded + step) % n_classes, coded)
    own = np.arange(len(coded)), coded
    reached = np.cumsum(_check_spread(spread, own, n_classes), axis=1)
    # Below the last sum, so that rounding never ends on a class without a share.
    drawn = generator.random(len(coded)) * reached[:, -1]
    other = (reached <= drawn[:, np.newaxis]).sum(axis=1)
    return np.where(flips, other, coded)


def expand_rows(
    y: ArrayLike,
    strengths: ArrayLike,
    n_classes: int,
    *,
    spread: ArrayLike | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return soft labels as weighted rows, for any learner with ``sample_weight``.

    Training on row ``rows[i]`` with the hard label ``labels[i]`` and the weight
    ``weights[i]`` has the same loss as training on the soft labels. Labels of
    weight 0 are left out, so unsmoothed samples stay one row.

    The parameters are those of `smooth_labels`.

    Returns
    -------
    rows, labels : ndarray of shape (m,), int64
        Row of the data and class number, ordered by row and class.
    weights : ndarray of shape (m,)
        The weights of one row sum to 1.

    Examples
    --------
    >>> from structsmooth import expand_rows
    >>> rows, labels, weights = expand_rows([0, 1], [0.0, 0.25], n_classes=2)
    >>> rows.tolist(), labels.tolist(), weights.tolist()
    ([0, 1, 1], [0, 0, 1], [1.0, 0.25, 0.75])
    """
    soft = smooth_labels(y, strengths, n_classes, spread)
    rows, labels = np.nonzero(soft)
    return rows, labels, soft[rows, labels]
