"""Smoothed cross-entropy of class indices, by autograd and fused with its gradient.

Both take logits (N, K, ...), class indices and strengths (N, ...), the factor of each
loss or None, which losses are 0 whatever the logits are, and the reduction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from structsmooth.torch.row_kernel import losses_and_gradient

# The kernel has one thread, and is about as fast as three of PyTorch's. Where there are
# more of them and enough work to divide, PyTorch is faster.
FEW_THREADS = 3
LITTLE_WORK = 2**19

_NO_WEIGHTS = np.empty(0, np.float32)


def plain_cross_entropy(
    logits: Tensor,
    index: Tensor,
    strengths: Tensor,
    weights: Tensor | None,
    ignored: Tensor | None,
    reduction: str,
) -> Tensor:
    """Return the loss as one would write it down; it can be compiled and transformed.

    It is needed for torch.compile, torch.func, forward-mode and higher derivatives,
    and gradients with respect to strengths or weights.
    """
    log_p = torch.log_softmax(logits.to(strengths.dtype), 1)
    picked = log_p.gather(1, index.unsqueeze(1)).squeeze(1)
    return reduce(smooth(picked, log_p, strengths), weights, ignored, reduction)


def smooth(picked: Tensor, log_p: Tensor, strengths: Tensor) -> Tensor:
    """Return ``-(1 - a K/(K-1)) picked - a/(K-1) sum log p``."""
    n_classes = log_p.shape[1]
    other = strengths / (n_classes - 1)
    # A class masked by minus infinity must not turn a strength of 0 into NaN.
    total = log_p.sum(1).masked_fill(other == 0.0, 0.0)
    return (n_classes * other - 1.0) * picked - other * total


def reduce(
    losses: Tensor, weights: Tensor | None, ignored: Tensor | None, reduction: str
) -> Tensor:
    """Return weighted losses, their sum, or their mean by weight."""
    if weights is not None:
        losses = losses * weights
        if ignored is not None:
            losses = losses.masked_fill(ignored, 0.0)
        if reduction == "mean":
            return losses.sum() / weights.sum()
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


class FusedCrossEntropy(torch.autograd.Function):
    """The same loss in less time and memory, differentiable only by the logits.

    When the forward pass knows the loss, it has nearly computed the gradient,
    ``softmax - target``. It completes the gradient, which the backward pass returns:
    exponentials are computed once, and one buffer in the shape of the logits is enough.
    """

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        index: Tensor,
        strengths: Tensor,
        weights: Tensor | None,
        ignored: Tensor | None,
        reduction: str,
    ) -> Tensor:
        """Return the loss, and keep its gradient."""
        scale: Tensor | float = 1.0
        if weights is not None:
            scale = weights / weights.sum() if reduction == "mean" else weights
            if ignored is not None:
                scale = scale.masked_fill(ignored, 0.0)  # 0/0 where all are ignored
        elif reduction == "mean":
            scale = 1.0 / index.numel()
        ctx.save_for_backward(logits, index, strengths, weights, ignored)
        ctx.scale, ctx.reduction = scale, reduction
        losses, ctx.gradient = _losses_and_gradient(logits, index, strengths, scale)
        if ignored is not None:
            losses.masked_fill_(ignored, 0.0)
        if reduction == "none":
            return losses
        loss = losses.sum()
        if weights is not None and reduction == "mean":
            counted = weights.sum()
            loss *= counted / counted  # 1, or NaN as in PyTorch if nothing counts
        return loss

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient from the forward pass, which is not copied.

        A second pass through the same graph, or a pass that will itself be
        differentiated, computes the gradient again.
        """
        (factor,) = upstream
        gradient, ctx.gradient = ctx.gradient, None
        if torch.is_grad_enabled():
            arguments = (*ctx.saved_tensors, ctx.reduction)
            loss = plain_cross_entropy(*arguments)
            (gradient,) = torch.autograd.grad(
                loss, arguments[0], factor, create_graph=True
            )
            return gradient, None, None, None, None, None
        if gradient is None:
            inputs = (*ctx.saved_tensors[:3], ctx.scale)
            gradient = _losses_and_gradient(*inputs)[1]
        if ctx.reduction == "none":
            gradient.mul_(factor.unsqueeze(1))
        # Reading the number from another device would mean waiting for that device.
        elif not factor.is_cpu or factor.item() != 1.0:
            gradient.mul_(factor)
        return gradient, None, None, None, None, None


def _losses_and_gradient(
    logits: Tensor, index: Tensor, strengths: Tensor, scale: Tensor | float
) -> tuple[Tensor, Tensor]:
    """Return the losses times scale, and the gradient of their sum."""
    logits = logits.to(strengths.dtype)
    if (
        logits.is_cpu
        and logits.ndim == 2
        and logits.dtype == torch.float32
        and logits.is_contiguous()
        and (torch.get_num_threads() <= FEW_THREADS or logits.numel() <= LITTLE_WORK)
    ):
        return _by_kernel(logits, index, strengths, scale)
    return _by_operations(logits, index, strengths, scale)


def _by_kernel(
    logits: Tensor, index: Tensor, strengths: Tensor, scale: Tensor | float
) -> tuple[Tensor, Tensor]:
    losses, gradient = torch.empty_like(strengths), torch.empty_like(logits)
    weights = _NO_WEIGHTS
    if isinstance(scale, Tensor):
        weights, scale = scale.numpy(), 1.0
    losses_and_gradient(
        logits.detach().numpy(),
        index.contiguous().numpy(),
        strengths.contiguous().numpy(),
        scale,
        weights,
        losses.numpy(),
        gradient.numpy(),
    )
    return losses, gradient


def _by_operations(
    logits: Tensor, index: Tensor, strengths: Tensor, scale: Tensor | float
) -> tuple[Tensor, Tensor]:
    """Return the same as the kernel, on any device and for any type and shape."""
    n_classes = logits.shape[1]
    index, strengths = index.unsqueeze(1), strengths.unsqueeze(1)
    if isinstance(scale, Tensor):
        scale = scale.unsqueeze(1)
    # Sums are of differences to the largest, so that an offset costs no digits.
    gradient = logits - logits.amax(1, keepdim=True)
    total = gradient.sum(1, keepdim=True)
    picked = gradient.gather(1, index)
    sums = gradient.exp_().sum(1, keepdim=True)
    # The negative target times scale is `other` for every class, plus `own` for the
    # class of the sample.
    other = strengths * scale / (1 - n_classes)
    own = torch.mul(other, -n_classes).sub_(scale)
    gradient.mul_(scale / sums).add_(other).scatter_add_(1, index, own)
    total.masked_fill_(other == 0.0, 0.0)  # 0 times infinity, see `smooth`
    losses = (sums.log_() * scale).addcmul_(own, picked).addcmul_(other, total)
    return losses.squeeze(1), gradient
