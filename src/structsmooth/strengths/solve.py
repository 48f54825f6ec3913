"""From Bayes errors to smoothing strengths.

A strength ``a`` is the probability that a label is given away: the smoothed label
puts ``1 - a`` on the sample's own class and ``a / (K-1)`` on each other one. The
strengths of the regions minimize (equation strengthcostcluster)::

    sum_c w_c (a_c - alpha)^2 + beta * sum_c w_c a_c b_c,   b_c = 1 - R_c K/(K-1)
    subject to  sum_c w_c a_c = alpha  and  0 <= a_c < (K-1)/K

Here R_c is a region's Bayes error and w_c its share of the samples. Without the
bounds the solution is ``a_c = alpha + beta/2 * K/(K-1) * (R_c - sum w R)``; with
them it is ``clip(level + beta/2 * K/(K-1) * R_c)`` at the one level that gives the
mean alpha.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.errors import InvalidInputError, InvalidParameterError
from structsmooth.strengths.epsilon import USUAL_EPSILON, alpha_from_epsilon
from structsmooth.support.validation import check_integer, check_real

# Tilts beyond this, which a beta of twice as much makes, are counted from the level.
LARGE_TILT = 8.0


def solve_strengths(
    bayes_error: ArrayLike,
    weights: ArrayLike,
    alpha: float | str = 0.1,
    beta: float | str = 0.5,
    *,
    n_classes: int,
) -> NDArray[np.float64]:
    """Return the strength of each region: exact mean alpha, inside the bounds.

    They grow with the Bayes error, and with alpha and beta "auto" they are equal to it.

    Parameters
    ----------
    bayes_error : array-like of shape (C,)
        Bayes error R_c of each region, from 0 to (K-1)/K.
    weights : array-like of shape (C,)
        Share of the samples in each region; scaled to sum to 1.
    alpha : float, "auto" or "cautious", default=0.1
        Mean strength, from 0 to below (K-1)/K. Not PyTorch's ``label_smoothing``:
        that is `epsilon_from_alpha` of it. "auto" is the mean Bayes error,
        "cautious" is that but at most what people smooth by, ``label_smoothing=0.1``.
    beta : float, "auto" or "cautious", default=0.5
        How far the strengths follow the Bayes errors; 0 is uniform smoothing.
        "auto" is 2(K-1)/K, where they differ just as much as the Bayes errors do;
        "cautious" is half of that, and so are the differences.
    n_classes : int
        Number of classes K of the whole task.

    Examples
    --------
    >>> from structsmooth import solve_strengths
    >>> solve_strengths([0.0, 0.2], [0.5, 0.5], alpha=0.1, beta=0.5, n_classes=2)
    array([0.05, 0.15])
    """
    bayes_error, weights = _check_regions(bayes_error, weights, n_classes)
    alpha, beta = resolve_alpha_beta(alpha, beta, bayes_error, weights, n_classes)
    tilt = beta / 2.0 * n_classes / (n_classes - 1) * bayes_error
    return shift_into_box(tilt, weights, alpha, n_classes)


def strengths_of_others(
    others: NDArray[np.float64],
    bayes_error: NDArray[np.float64],
    strengths: NDArray[np.float64],
    alpha: float,
    beta: float,
    *,
    n_classes: int,
) -> NDArray[np.float64]:
    """Return the strengths of other regions, by the level of the solved ones.

    A solved strength is ``clip(level + beta/2 K/(K-1) R, 0, cap)``, so a region that is
    not clipped tells the level.
    """
    slope = 0.5 * beta * n_classes / (n_classes - 1)
    cap = strength_cap(n_classes, alpha)
    is_free = (strengths > 0.0) & (strengths < cap)
    if is_free.any():
        level = float(np.median(strengths[is_free] - slope * bayes_error[is_free]))
        found: NDArray[np.float64] = np.clip(level + slope * others, 0.0, cap)
        return found
    order = np.argsort(bayes_error, kind="stable")
    between: NDArray[np.float64] = np.interp(
        others, bayes_error[order], strengths[order]
    )
    return between


def bayes_error_bias(
    strengths: ArrayLike, bayes_error: ArrayLike, weights: ArrayLike, *, n_classes: int
) -> float:
    """Return how far smoothing moves the Bayes error (equation risk-expression).

    ``sum_c w_c a_c |R_c K/(K-1) - 1|``: 0 without smoothing, and the smaller the
    more of the smoothing lies where the classes overlap anyway.
    A number instead of strengths stands for uniform smoothing. The other parameters are
    those of `solve_strengths`.
    """
    bayes_error, weights = _check_regions(bayes_error, weights, n_classes)
    strengths = _broadcast(strengths, "strengths", len(weights))
    if strengths.min() < 0.0 or strengths.max() > 1.0:
        raise InvalidInputError(
            "strengths must lie between 0 and 1, got values from "
            f"{strengths.min():g} to {strengths.max():g}"
        )
    bias_of_region = np.abs(bayes_error * n_classes / (n_classes - 1) - 1.0)
    return float(weights @ (strengths * bias_of_region))


def largest_free_beta(
    bayes_error: ArrayLike,
    weights: ArrayLike,
    alpha: float | str = 0.1,
    *,
    n_classes: int,
) -> float:
    """Return the largest beta at which no strength is held by a bound.

    Up to it `solve_strengths` is the paper's closed form. It is infinite if all Bayes
    errors are equal, because then every beta gives uniform smoothing.
    """
    bayes_error, weights = _check_regions(bayes_error, weights, n_classes)
    alpha, _ = resolve_alpha_beta(alpha, 0.0, bayes_error, weights, n_classes)
    deviation = bayes_error - float(weights @ bayes_error)
    room = np.where(deviation < 0, alpha, strength_cap(n_classes, alpha) - alpha)
    steep = np.abs(deviation) > 1e-15  # rounding of a mean of equal numbers
    if not steep.any():
        return float("inf")
    slope = float(np.min(room[steep] / np.abs(deviation[steep])))
    return 2.0 * (n_classes - 1) / n_classes * slope


def strength_cap(n_classes: int, alpha: float = 0.0) -> float:
    """Return the largest strength in use, a factor 1 - 2**-20 below (K-1)/K.

    At (K-1)/K all classes are equally likely and the label is lost; the difference
    survives in float32. A mean alpha above the cap raises it to alpha.
    """
    return max((n_classes - 1) / n_classes * (1.0 - 2.0**-20), alpha)


def resolve_alpha_beta(
    alpha: float | str,
    beta: float | str,
    bayes_error: NDArray[np.float64],
    weights: NDArray[np.float64],
    n_classes: int,
) -> tuple[float, float]:
    """Return alpha and beta as numbers, what is given as a word worked out."""
    if isinstance(alpha, str):
        if alpha not in ("auto", "cautious"):
            raise InvalidParameterError(
                f"alpha must be a number, 'auto' or 'cautious', got {alpha!r}"
            )
        # Where every region is saturated the mean Bayes error is the limit itself.
        # Estimates in many dimensions are too high, so "cautious" has a lower one.
        most = strength_cap(n_classes)
        if alpha == "cautious":
            most = alpha_from_epsilon(USUAL_EPSILON, n_classes)
        alpha = min(float(weights @ bayes_error), most)
    return check_alpha(alpha, n_classes), resolve_beta(beta, n_classes)


def resolve_beta(beta: float | str, n_classes: int) -> float:
    """Return beta as a number."""
    if isinstance(beta, str):
        if beta not in ("auto", "cautious"):
            raise InvalidParameterError(
                f"beta must be a number, 'auto' or 'cautious', got {beta!r}"
            )
        beta = (2.0 if beta == "auto" else 1.0) * (n_classes - 1) / n_classes
    return check_real(beta, "beta", 0.0)


def check_alpha(alpha: Any, n_classes: int) -> float:
    """Return a mean strength if it leaves the labels their meaning."""
    value = check_real(alpha, "alpha", 0.0)
    if value >= (n_classes - 1) / n_classes:
        raise InvalidParameterError(
            f"alpha must be below (K-1)/K = {(n_classes - 1) / n_classes:.6g} for "
            f"{n_classes} classes, where the label is lost, got {alpha!r}"
        )
    return value


def shift_into_box(
    tilt: NDArray[np.float64],
    weights: NDArray[np.float64],
    mean: float,
    n_classes: int,
) -> NDArray[np.float64]:
    """Return clip(level + tilt, 0, cap) at the level that gives the weighted mean.

    The mean grows with the level, linearly between the levels at which some region
    meets a bound. Sort those, find the two that enclose the mean, and solve there:
    water-filling, O(C log C) and exact.
    """
    cap = strength_cap(n_classes, mean)
    tilt = _compress_gaps(tilt, cap)
    if np.abs(tilt).max() > LARGE_TILT:
        # The digits of large tilts would swamp the mean. Regions far from the level are
        # at a bound, and the others can be counted from the level.
        tilt = tilt - tilt.min()
        tilt = np.clip(_level(tilt, weights, mean, cap) + tilt, -cap, 2.0 * cap)
    free = mean + (tilt - float(weights @ tilt))
    if free.min() >= 0.0 and free.max() <= cap:
        return free
    return np.asarray(np.clip(_level(tilt, weights, mean, cap) + tilt, 0.0, cap))


def _level(
    tilt: NDArray[np.float64],
    weights: NDArray[np.float64],
    mean: float,
    cap: float,
) -> float:
    """Return the level at which clip(level + tilt, 0, cap) has the weighted mean."""
    leaves_zero, meets_cap = -tilt, cap - tilt
    levels = np.sort(np.concatenate([leaves_zero, meets_cap]))

    def mean_at(level: float) -> float:
        return float(weights @ np.clip(level + tilt, 0.0, cap))

    low, high = 0, len(levels) - 1  # mean 0 at the first level, cap at the last
    while high - low > 1:
        middle = (low + high) // 2
        if mean_at(levels[middle]) <= mean:
            low = middle
        else:
            high = middle
    # Between two levels the same regions are open; the others stay at a bound.
    center = (levels[low] + levels[high]) / 2.0
    capped = center + tilt >= cap
    is_open = (center + tilt > 0.0) & ~capped
    open_weight = float(weights[is_open].sum())
    if open_weight == 0.0:  # a flat stretch: every level in it gives this mean
        return float(levels[low])
    rest = mean - cap * float(weights[capped].sum())
    return (rest - float(weights[is_open] @ tilt[is_open])) / open_weight


def _compress_gaps(tilt: NDArray[np.float64], cap: float) -> NDArray[np.float64]:
    """Return tilts with the same solution, but no gap wider than twice the cap.

    Two regions more than the cap apart are never both between the bounds, so a wider
    gap changes nothing. With it, the digits of a huge beta would swamp the mean.
    """
    order = np.argsort(tilt, kind="stable")
    gaps = np.diff(tilt[order])
    if not (gaps > 2.0 * cap).any():
        return tilt
    compressed = np.empty_like(tilt)
    compressed[order] = np.concatenate([[0.0], np.cumsum(np.minimum(gaps, 2.0 * cap))])
    return compressed


def _check_regions(
    bayes_error: ArrayLike, weights: ArrayLike, n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n_classes = check_integer(n_classes, "n_classes", 2)
    weights = _check_weights(weights)
    values = _broadcast(bayes_error, "bayes_error", len(weights))
    ceiling = (n_classes - 1) / n_classes
    if values.min() < 0.0 or values.max() > ceiling * (1.0 + 1e-12):
        raise InvalidInputError(
            f"bayes_error must lie between 0 and (K-1)/K = {ceiling:.6g} for "
            f"{n_classes} classes, got values from {values.min():g} to {values.max():g}"
        )
    return np.minimum(values, ceiling), weights


def check_given(
    strengths: ArrayLike, weights: ArrayLike, n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return strengths and weights as arrays, if they fit together."""
    n_classes = check_integer(n_classes, "n_classes", 2)
    weights = _check_weights(weights)
    values = _broadcast(strengths, "strengths", len(weights))
    check_strength_range(values.min(), values.max(), n_classes)
    return values, weights


def check_strength_range(
    least: float,
    largest: float,
    n_classes: int | None,
    name: str = "strengths",
    limit: float | None = None,
) -> None:
    """Refuse strengths to train with that are negative, or that lose the label.

    At (K-1)/K all classes are equally likely, and beyond it the own class is the least
    likely. Without a number of classes the limit is 1, which is too much for any. It
    may be given as rounded to the type of the strengths.
    """
    exact = 1.0 if n_classes is None else (n_classes - 1) / n_classes
    if least >= 0.0 and largest < (exact if limit is None else limit):
        return
    got = f"{least:g}" if least == largest else f"{least:g} to {largest:g}"
    where = "1"
    if n_classes is not None:
        where = (
            f"(K-1)/K = {exact:.6g} for {n_classes} classes, where the label is lost"
        )
    raise InvalidInputError(f"{name} must be at least 0 and below {where}, got {got}")


def _check_weights(weights: ArrayLike) -> NDArray[np.float64]:
    values = np.atleast_1d(_as_numbers(weights, "weights"))
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise InvalidInputError("weights must be one finite number for each region")
    if values.min() < 0.0 or values.sum() <= 0.0:
        raise InvalidInputError("weights must not be negative, nor all zero")
    values = values / values.max()  # so that the sum cannot overflow
    return np.asarray(values / values.sum())


def _broadcast(values: ArrayLike, name: str, n_regions: int) -> NDArray[np.float64]:
    array = _as_numbers(values, name)
    if array.ndim == 0:
        array = np.full(n_regions, float(array))
    if array.shape != (n_regions,):
        raise InvalidInputError(
            f"{name} must have one value for each of the {n_regions} weights, "
            f"got an array of shape {array.shape}"
        )
    if not np.isfinite(array).all():
        raise InvalidInputError(f"{name} must be finite, got NaN or infinity")
    return array


def _as_numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be numbers, got {values!r}") from None
