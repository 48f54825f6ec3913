"""Cross-entropy with a smoothing strength for each sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (PyTorch's own name for it)
from torch import Tensor

from structsmooth.support.validation import check_choice
from structsmooth.torch.checks import (
    check_shapes,
    check_weight,
    expand_strength,
    split_ignored,
)
from structsmooth.torch.cross_entropy import (
    FusedCrossEntropy,
    plain_cross_entropy,
    reduce,
    smooth,
)


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

    With one strength for all samples it equals
    ``F.cross_entropy(..., label_smoothing=epsilon)`` at ``a = epsilon (K-1)/K``, which
    `structsmooth.alpha_from_epsilon` computes; with strength 0 it is plain
    cross-entropy. No (N, K) target is built, and the loss can be differentiated any
    number of times.

    Parameters
    ----------
    logits : Tensor of shape (N, K), (N, K, d1, ...) or (K,)
        Scores. For half precision, with or without autocast, the loss is computed and
        returned in float32.
    target : Tensor
        Class indices of shape (N,), (N, d1, ...) or (); or class probabilities q, of a
        floating type and in the shape of the logits, which are smoothed to
        ``(1 - a K/(K-1)) q + a/(K-1)``. One-hot probabilities give the same loss as
        class indices.
    strength : float, Tensor or array-like
        Probability mass that moves from a sample's own class to the others, from 0 to
        below (K-1)/K, where all classes would be equally likely: one value for all
        samples, one for each sample (N,), or one for each position (N, d1, ...).
        Tensors on a GPU or in a compiled function are not checked, because that would
        mean waiting for their values.
    weight : Tensor of shape (K,), optional
        Class weights. The whole loss of a sample is multiplied by the weight of its
        own class, and "mean" divides by the sum of these weights. This differs from
        ``F.cross_entropy``, which weights each class's part of the smoothed target and
        so changes the target itself (pytorch#104776). With class probabilities, a
        sample has the mean weight under these probabilities.
    ignore_index : int, default=-100
        Samples with this class index do not count; it may be one of the classes. Does
        not apply to class probabilities.
    reduction : {"none", "mean", "sum"}, default="mean"
        "none" returns one loss for each class index, "mean" and "sum" a single number.

    Examples
    --------
    >>> import torch
    >>> from structsmooth.torch import structural_cross_entropy
    >>> logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> target = torch.tensor([0, 1])
    >>> structural_cross_entropy(logits, target, [0.0, 0.3], reduction="none")
    tensor([0.2395, 0.8514])

    The same as ``label_smoothing=0.1``:

    >>> from structsmooth import alpha_from_epsilon
    >>> structural_cross_entropy(logits, target, alpha_from_epsilon(0.1, 3))
    tensor(0.4955)
    >>> torch.nn.functional.cross_entropy(logits, target, label_smoothing=0.1)
    tensor(0.4955)
    """
    check_choice(reduction, "reduction", ("none", "mean", "sum"))
    soft = check_shapes(logits, target, ignore_index)
    if logits.ndim == 1:
        logits, target = logits.unsqueeze(0), target.unsqueeze(0)
        reduction = "sum" if reduction == "none" else reduction
    n_classes = logits.shape[1]
    shape = logits.shape[:1] + logits.shape[2:]
    dtype = torch.promote_types(logits.dtype, torch.float32)
    if weight is not None:
        weight = check_weight(weight, n_classes, logits.device, dtype)
    strengths = expand_strength(strength, n_classes, shape, logits.device, dtype)
    if soft:
        target = target.to(dtype)
        log_p = torch.log_softmax(logits.to(dtype), 1)
        losses = smooth((log_p * target).sum(1), log_p, strengths)
        weights = None
        if weight is not None:
            weights = (target * weight.view(-1, *[1] * (target.ndim - 2))).sum(1)
        return reduce(losses, weights, None, reduction)
    index, ignored = split_ignored(target, n_classes, ignore_index)
    if isinstance(strength, float) and strength == 0.0:
        return F.cross_entropy(
            logits.to(dtype),
            target.long(),
            weight=weight,
            ignore_index=ignore_index,
            reduction=reduction,
        )
    weights = None if weight is None else weight[index]
    if ignored is not None:
        weights = torch.ones_like(strengths) if weights is None else weights
        weights = weights.masked_fill(ignored, 0.0)
    arguments = (logits, index, strengths, weights, ignored, reduction)
    if _only_logits_need_gradient(logits, strengths, weights):
        try:
            return _fused(*arguments)
        except RuntimeError:
            pass  # torch.func refuses it, and any other problem shows below
    return plain_cross_entropy(*arguments)


_fused: Callable[..., Tensor] = FusedCrossEntropy.apply


def _only_logits_need_gradient(logits: Tensor, *others: Tensor | None) -> bool:
    """Whether this is a usual training step in eager mode, which can be fused."""
    return (
        logits.requires_grad
        and logits.numel() > 0
        and torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
        and not any(other is not None and other.requires_grad for other in others)
    )
