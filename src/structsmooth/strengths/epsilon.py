"""Alpha and epsilon: what 0.1 means, said in one place.

A strength ``a`` (the paper's alpha) is the probability mass that leaves a sample's own
class. What PyTorch, Keras and timm call ``label_smoothing`` (epsilon) spreads its mass
over all K classes, the own one included: ``a = epsilon (K-1)/K``. People smooth by
epsilon = 0.1, which is a strength of 0.05 with two classes and of 0.09 with ten.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structsmooth.errors import InvalidInputError
from structsmooth.support.validation import check_integer

# What people smooth by: the ``label_smoothing`` of most recipes.
USUAL_EPSILON = 0.1


def alpha_from_epsilon(epsilon: ArrayLike, n_classes: int) -> Any:
    """Convert a framework's ``label_smoothing`` to a strength, epsilon (K-1)/K.

    Parameters
    ----------
    epsilon : float or array-like
        What PyTorch, Keras and timm call ``label_smoothing``, from 0 to 1.
    n_classes : int
        Number of classes K.

    Examples
    --------
    >>> from structsmooth import alpha_from_epsilon
    >>> alpha_from_epsilon(0.1, n_classes=10)
    0.09
    """
    n_classes = check_integer(n_classes, "n_classes", 2)
    values = np.asarray(epsilon, dtype=np.float64)
    if not np.all((values >= 0) & (values <= 1)):
        raise InvalidInputError(f"epsilon must lie between 0 and 1, got {epsilon!r}")
    return _scalar_or_array(values * (n_classes - 1) / n_classes)


def epsilon_from_alpha(alpha: ArrayLike, n_classes: int) -> Any:
    """Convert a strength to a framework's ``label_smoothing``, alpha K/(K-1).

    Parameters
    ----------
    alpha : float or array-like
        Strength, from 0 to (K-1)/K.
    n_classes : int
        Number of classes K.

    Examples
    --------
    >>> from structsmooth import epsilon_from_alpha
    >>> epsilon_from_alpha(0.25, n_classes=2)
    0.5
    """
    n_classes = check_integer(n_classes, "n_classes", 2)
    limit = (n_classes - 1) / n_classes
    values = np.asarray(alpha, dtype=np.float64)
    if not np.all((values >= 0) & (values <= limit)):
        raise InvalidInputError(
            f"alpha must lie between 0 and (K-1)/K = {limit:.6g}, got {alpha!r}"
        )
    return _scalar_or_array(values * n_classes / (n_classes - 1))


def _scalar_or_array(values: Any) -> Any:
    return float(values) if np.ndim(values) == 0 else values
