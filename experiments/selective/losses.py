"""Losses that others propose instead of smoothing; soft labels are one-hot for them.

Each takes scores and labels of shape (..., K) and returns a loss for each row. Their
constants are those of the papers, and were not tuned here.
"""

from __future__ import annotations

from math import log

from torch import Tensor

# Liu et al., The Devil is in the Margin, CVPR 2022: margin and weight for images.
MARGIN, MARGIN_WEIGHT = 10.0, 0.1
# Lienen and Huellermeier, From Label Smoothing to Label Relaxation, AAAI 2021.
RELAXATION = 0.1
# Mukhoti et al., Calibrating Deep Neural Networks Using Focal Loss, NeurIPS 2020.
FOCUS = 3.0


def cross_entropy(scores: Tensor, soft: Tensor) -> Tensor:
    """Return the cross-entropy."""
    return -(soft * scores.log_softmax(dim=-1)).sum(dim=-1)


def margin_loss(scores: Tensor, soft: Tensor) -> Tensor:
    """Return margin-based label smoothing: scores may differ by the margin for free."""
    gaps = scores.amax(dim=-1, keepdim=True) - scores
    penalty = (gaps - MARGIN).relu().mean(dim=-1)
    return cross_entropy(scores, soft) + MARGIN_WEIGHT * penalty


def relaxed_loss(scores: Tensor, soft: Tensor) -> Tensor:
    """Return label relaxation: no loss from a probability of 1 - alpha on.

    Below, it is the divergence from the nearest distribution that has 1 - alpha there.
    That one divides alpha as the prediction does, so only the own class remains.
    """
    logs = scores.log_softmax(dim=-1)
    own = (soft * logs).sum(dim=-1)
    # Largest score among the others first, so that 1 - p does not cancel.
    others = logs.masked_fill(soft > 0.5, -float("inf")).logsumexp(dim=-1)
    constant = (1 - RELAXATION) * log(1 - RELAXATION) + RELAXATION * log(RELAXATION)
    divergence = constant - (1 - RELAXATION) * own - RELAXATION * others
    return divergence.where(own < log(1 - RELAXATION), 0.0 * own)


def focal_loss(scores: Tensor, soft: Tensor) -> Tensor:
    """Return the focal loss: rows that are fitted well count less."""
    own = (soft * scores.log_softmax(dim=-1)).sum(dim=-1)
    return -((1.0 - own.exp()) ** FOCUS) * own


LOSSES = {"margin": margin_loss, "relaxation": relaxed_loss, "focal": focal_loss}
