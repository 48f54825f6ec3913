"""Cross-entropy with a smoothing strength of its own for each sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (PyTorch's own name for it)
from torch import Tensor

from structsmooth.errors import InvalidInputError
from structsmooth.torch.checks import (
    check_shapes,
    check_weight,
    expand_strength,
    split_ignored,
)
from structsmooth.torch.fused import FusedCrossEntropy


def structural_cross_entropy(
    logits: Tensor,
    target: Tensor,
    strength: Any,
    *,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    r"""Return the cross-entropy against labels smoothed sample by sample.

    The loss of a sample of class t with strength a is

    .. math:: -(1-a) \log p_t - \frac{a}{K-1} \sum_{k \ne t} \log p_k .

    With one strength for all it equals
    ``F.cross_entropy(..., label_smoothing=epsilon)`` at ``a = epsilon (K-1)/K``, which
    `structsmooth.alpha_from_epsilon` computes; with strength 0 it is plain
    cross-entropy. No (N, K) target is built.

    Parameters
    ----------
    logits : Tensor of shape (N, K), (N, K, d1, ...) or (K,)
        Scores. With half precision, under autocast or not, the loss is computed and
        returned in float32.
    target : Tensor
        Class indices of shape (N,), (N, d1, ...) or (). Or, of a floating type and in
        the shape of the logits, class probabilities q, which are smoothed to
        ``(1 - a K/(K-1)) q + a/(K-1)``; for class indices that is the same.
    strength : float, Tensor or array-like
        Probability mass that leaves the own class, from 0 to 1: one for all, one for
        each sample (N,), or one for each position (N, d1, ...). Values are checked
        in main memory only; to look at those on a GPU would be to wait for it.
    weight : Tensor of shape (K,), optional
        Class weights. The whole loss of a sample is multiplied by the weight of its
        own class, and "mean" divides by the sum of these. This differs from
        ``F.cross_entropy``, which weights each class's part of the smoothed target
        and so changes the target itself (pytorch#104776). With class probabilities
        the weight of a sample is its mean under them.
    ignore_index : int, default=-100
        Samples with this class index count for nothing; it may be a class. Does not
        apply to class probabilities.
    reduction : {"none", "mean", "sum"}, default="mean"
        "none" returns one loss for each class index.

    Returns
    -------
    Tensor
        The loss, differentiable any number of times.

    Notes
    -----
    Mixup needs no mixed targets: ``lam * loss(y1) + (1 - lam) * loss(y2)``, each with
    its own strengths, is the loss against ``lam * q1 + (1 - lam) * q2``.

    Examples
    --------
    >>> import torch
    >>> from structsmooth.torch import structural_cross_entropy
    >>> logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> target = torch.tensor([0, 1])
    >>> structural_cross_entropy(logits, target, [0.0, 0.3], reduction="none")
    tensor([0.2395, 0.8514])

    What a framework calls ``label_smoothing=0.1``:

    >>> from structsmooth import alpha_from_epsilon
    >>> structural_cross_entropy(logits, target, alpha_from_epsilon(0.1, 3))
    tensor(0.4955)
    >>> torch.nn.functional.cross_entropy(logits, target, label_smoothing=0.1)
    tensor(0.4955)
    """
    if reduction not in ("mean", "none", "sum"):
        raise InvalidInputError(
            f"reduction must be 'none', 'mean' or 'sum', got {reduction!r}"
        )
    soft = check_shapes(logits, target, ignore_index)
    if logits.ndim == 1:
        loss = structural_cross_entropy(
            logits.unsqueeze(0),
            target.unsqueeze(0),
            strength,
            weight=weight,
            ignore_index=ignore_index,
            reduction=reduction,
        )
        return loss.squeeze(0)
    n_classes = logits.shape[1]
    shape = logits.shape[:1] + logits.shape[2:]
    dtype = torch.promote_types(logits.dtype, torch.float32)
    if weight is not None:
        weight = check_weight(weight, n_classes, logits.device, dtype)
    strengths = expand_strength(strength, shape, logits.device, dtype)
    if soft:
        return _of_probabilities(
            logits.to(dtype), target.to(dtype), strengths, weight, reduction
        )
    index, ignored = split_ignored(target, n_classes, ignore_index)
    if isinstance(strength, float) and strength == 0.0:
        return F.cross_entropy(
            logits.to(dtype),
            target.long(),
            weight=weight,
            ignore_index=ignore_index,
            reduction=reduction,
        )
    weights = None
    if weight is not None:
        weights = weight[index]
        if ignored is not None:
            weights = weights.masked_fill(ignored, 0.0)
    elif ignored is not None:
        weights = (~ignored).to(dtype)
    if _wants_only_gradient_of(logits, strengths, weights):
        try:
            return _fused(logits, index, strengths, weights, ignored, reduction)
        except RuntimeError:
            pass  # torch.func refuses it; anything else that is wrong shows below
    return _of_indices(logits.to(dtype), index, strengths, weights, ignored, reduction)


def _wants_only_gradient_of(logits: Tensor, *others: Tensor | None) -> bool:
    """Whether the fused function will do: eager mode, and a gradient by the logits."""
    return (
        logits.requires_grad
        and logits.numel() > 0
        and torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
        and not any(other is not None and other.requires_grad for other in others)
    )


_fused: Callable[..., Tensor] = FusedCrossEntropy.apply


def _of_indices(
    logits: Tensor,
    index: Tensor,
    strengths: Tensor,
    weights: Tensor | None,
    ignored: Tensor | None,
    reduction: str,
) -> Tensor:
    """Return the loss as one would write it down, in operations PyTorch knows all of.

    For what the fused function cannot do: compiled code, transforms of torch.func,
    forward-mode and no gradients, and gradients by strengths or weights.
    """
    log_p = torch.log_softmax(logits, 1)
    picked = log_p.gather(1, index.unsqueeze(1)).squeeze(1)
    losses = _smooth(picked, log_p, strengths)
    return _reduce(losses, weights, ignored, reduction)


def _of_probabilities(
    logits: Tensor,
    target: Tensor,
    strengths: Tensor,
    weight: Tensor | None,
    reduction: str,
) -> Tensor:
    log_p = torch.log_softmax(logits, 1)
    losses = _smooth((log_p * target).sum(1), log_p, strengths)
    weights = None
    if weight is not None:
        weights = (target * weight.view(-1, *[1] * (target.ndim - 2))).sum(1)
    return _reduce(losses, weights, None, reduction)


def _smooth(picked: Tensor, log_p: Tensor, strengths: Tensor) -> Tensor:
    """Return ``-(1 - a K/(K-1)) picked - a/(K-1) sum log p``."""
    n_classes = log_p.shape[1]
    other = strengths / (n_classes - 1)
    # A class masked by minus infinity must not make NaN of a strength of 0.
    total = log_p.sum(1).masked_fill(other == 0.0, 0.0)
    return (n_classes * other - 1.0) * picked - other * total


def _reduce(
    losses: Tensor, weights: Tensor | None, ignored: Tensor | None, reduction: str
) -> Tensor:
    if weights is not None:
        losses = losses * weights
        if ignored is not None:
            losses = losses.masked_fill(ignored, 0.0)
        if reduction == "mean":
            return losses.sum() / weights.sum()
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()
