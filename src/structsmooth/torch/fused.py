"""Loss and gradient in one pass over the logits.

The gradient of the loss by the logits is ``softmax - target``, which the forward pass
has nearly computed when it knows the loss. It is finished there, and the backward pass
only hands it out. So one buffer in the shape of the logits is all that is allocated,
and exponentials, which cost most, are taken once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from structsmooth.torch import rows

# Our kernel has one thread, and is about as fast as three of PyTorch's. With more of
# them it is left to PyTorch to divide the work, if there is enough of it.
FEW_THREADS = 3
LITTLE_WORK = 2**19

_NO_WEIGHTS = np.empty(0, np.float32)


class FusedCrossEntropy(torch.autograd.Function):
    """Smoothed cross-entropy of class indices, differentiable by the logits only."""

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
        """Return the loss, and keep its gradient.

        Parameters
        ----------
        ctx : context
            PyTorch's.
        logits : Tensor of shape (N, K, ...), not empty
            Scores.
        index : Tensor of shape (N, ...)
            Class indices, within range also where ignored.
        strengths : Tensor of shape (N, ...)
            Mass that leaves the own class, in the type to compute in.
        weights : Tensor of shape (N, ...) or None
            Factor of each loss, 0 where ignored; None is 1.
        ignored : Tensor of shape (N, ...) or None
            Where the loss is 0 whatever the logits are.
        reduction : str
            One of "none", "sum" and "mean".
        """
        scale: Tensor | float = 1.0
        if weights is not None:
            scale = weights / weights.sum() if reduction == "mean" else weights
            if ignored is not None:
                scale = scale.masked_fill(ignored, 0.0)  # 0/0 where all are ignored
        elif reduction == "mean":
            scale = 1.0 / index.numel()
        losses, ctx.gradient = losses_and_gradient(logits, index, strengths, scale)
        ctx.save_for_backward(logits, index, strengths)
        ctx.scale = scale
        ctx.reduced = reduction != "none"
        if ignored is not None:
            losses.masked_fill_(ignored, 0.0)
        if not ctx.reduced:
            return losses
        loss = losses.sum()
        if weights is not None and reduction == "mean":
            counted = weights.sum()
            loss *= counted / counted  # 1, or NaN as in PyTorch if nothing counts
        return loss

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient that the forward pass has left.

        It is given away, not copied: a second pass through the same graph computes it
        again, and so does a pass that will be differentiated itself.
        """
        factor = upstream[0]
        gradient, ctx.gradient = ctx.gradient, None
        if torch.is_grad_enabled():
            inputs = (*ctx.saved_tensors, factor * ctx.scale)
            gradient = _differentiable_gradient(*inputs)
        else:
            if gradient is None:
                inputs = (*ctx.saved_tensors, ctx.scale)
                gradient = losses_and_gradient(*inputs)[1]
            if not ctx.reduced:
                gradient.mul_(factor.unsqueeze(1))
            # To ask another device for the number would be to wait for it.
            elif not factor.is_cpu or factor.item() != 1.0:
                gradient.mul_(factor)
        return gradient, None, None, None, None, None


def losses_and_gradient(
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
        return _by_rows(logits, index, strengths, scale)
    return _by_operations(logits, index, strengths, scale)


def _by_rows(
    logits: Tensor, index: Tensor, strengths: Tensor, scale: Tensor | float
) -> tuple[Tensor, Tensor]:
    losses, gradient = torch.empty_like(strengths), torch.empty_like(logits)
    weights = _NO_WEIGHTS
    if isinstance(scale, Tensor):
        weights, scale = scale.numpy(), 1.0
    rows.losses_and_gradient(
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
    """Do the same on any device and for any type and shape."""
    n_classes = logits.shape[1]
    index, strengths = index.unsqueeze(1), strengths.unsqueeze(1)
    if isinstance(scale, Tensor):
        scale = scale.unsqueeze(1)
    # Sums are of differences to the largest, so that an offset costs no digits.
    gradient = logits - logits.amax(1, keepdim=True)
    total = gradient.sum(1, keepdim=True)
    picked = gradient.gather(1, index)
    sums = gradient.exp_().sum(1, keepdim=True)
    # Minus the target, times scale: `other` on all classes, `own` more on the own one.
    other = strengths * scale / (1 - n_classes)
    own = torch.mul(other, -n_classes).sub_(scale)
    gradient.mul_(scale / sums).add_(other).scatter_add_(1, index, own)
    # A class masked by minus infinity must not make NaN of a strength of 0.
    total.masked_fill_(other == 0.0, 0.0)
    losses = (sums.log_() * scale).addcmul_(own, picked).addcmul_(other, total)
    return losses.squeeze(1), gradient


def _differentiable_gradient(
    logits: Tensor, index: Tensor, strengths: Tensor, scale: Tensor
) -> Tensor:
    """Return the gradient in operations that autograd can differentiate again."""
    other = strengths.unsqueeze(1) / (logits.shape[1] - 1)
    own = other * logits.shape[1] - 1.0
    gradient = torch.softmax(logits.to(strengths.dtype), 1) - other
    gradient = gradient.scatter_add(1, index.unsqueeze(1), own)
    return gradient * (scale.unsqueeze(1) if scale.ndim else scale)
