"""The loss as a module, which holds strengths and smooths in training only."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from structsmooth.errors import InvalidInputError
from structsmooth.support.validation import check_choice, check_integer
from structsmooth.torch.checks import as_tensor, check_strengths, extremes
from structsmooth.torch.functional import structural_cross_entropy


class StructuralCrossEntropyLoss(nn.Module):
    """Cross-entropy against labels smoothed sample by sample, in training only.

    Parameters
    ----------
    strengths : float or array-like of shape (n,), optional
        One strength for all samples, or that of each training sample, such as a
        smoother's ``sample_strengths_``, to be looked up by ``index``. Stored as a
        buffer: it moves with the module, is in its ``state_dict`` and is never trained.
        Numbers that are not a tensor get PyTorch's default type.
    weight : Tensor of shape (K,), optional
        Class weights; see `structural_cross_entropy`.
    ignore_index : int, default=-100
        Class index of samples that do not count.
    reduction : {"none", "mean", "sum"}, default="mean"
        Whether to return one loss for each sample, their mean or their sum.
    smooth_in_eval : bool, default=False
        Whether to smooth after ``eval()`` too. By default the validation loss is the
        plain cross-entropy, whatever strengths or indices are given.

    Examples
    --------
    >>> import torch
    >>> from structsmooth.torch import StructuralCrossEntropyLoss
    >>> criterion = StructuralCrossEntropyLoss(strengths=[0.0, 0.3, 0.1])
    >>> logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> target = torch.tensor([0, 1])

    With the positions of the samples in the training set, or with their strengths:

    >>> criterion(logits, target, index=[0, 1])
    tensor(0.5455)
    >>> criterion(logits, target, [0.0, 0.3])
    tensor(0.5455)

    Validation is not smoothed:

    >>> criterion.eval()(logits, target)
    tensor(0.3955)
    """

    strengths: Tensor | None
    weight: Tensor | None

    def __init__(
        self,
        strengths: Any = None,
        *,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        smooth_in_eval: bool = False,
    ) -> None:
        super().__init__()
        if strengths is not None:
            strengths = _as_buffer(strengths)
        self.register_buffer("strengths", strengths)
        self.register_buffer("weight", weight)
        self.ignore_index = check_integer(ignore_index, "ignore_index", -(2**63))
        self.reduction = check_choice(reduction, "reduction", ("none", "mean", "sum"))
        self.smooth_in_eval = smooth_in_eval

    def forward(
        self,
        logits: Tensor,
        target: Tensor,
        strength: Any = None,
        *,
        index: Any = None,
    ) -> Tensor:
        """Return the loss of samples with these strengths or positions (index)."""
        smooth = self.training or self.smooth_in_eval
        return structural_cross_entropy(
            logits,
            target,
            self._strength_of(strength, index) if smooth else 0.0,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )

    def _strength_of(self, strength: Any, index: Any) -> Any:
        if strength is not None:
            if index is not None:
                raise InvalidInputError(
                    "strength and index were both given; expected one of them"
                )
            return strength
        if self.strengths is None:
            raise InvalidInputError(
                "the loss was made without strengths, and none were given: pass "
                "strength, or strengths to StructuralCrossEntropyLoss"
            )
        if self.strengths.ndim == 0:
            if index is not None:
                raise InvalidInputError(
                    "index was given, but the loss was made with one strength for all"
                )
            return self.strengths
        if index is None:
            raise InvalidInputError(
                f"the loss has strengths for {len(self.strengths)} samples and must be "
                "told which these are: pass index, or strength"
            )
        return _look_up(self.strengths, index)


def _as_buffer(strengths: Any) -> Tensor:
    values = as_tensor(strengths, "strengths")
    if values.ndim > 1 or not values.numel():
        raise InvalidInputError(
            "strengths must be one number, or one number for each sample, got shape "
            f"{tuple(values.shape)}"
        )
    check_strengths(values, "strengths")
    if not isinstance(strengths, Tensor) or not values.is_floating_point():
        values = values.to(torch.get_default_dtype())
    return values.detach().clone()


def _look_up(strengths: Tensor, index: Any) -> Tensor:
    positions = torch.as_tensor(index)
    seen = extremes(positions)
    if seen is not None and not (seen[0] >= 0 and seen[1] < len(strengths)):
        raise InvalidInputError(
            f"index must lie from 0 to {len(strengths) - 1}, the position of a sample "
            f"in strengths, got {seen[0]} to {seen[1]}"
        )
    # Unlike brackets, index_select does not take -1 for the last, on any device.
    return strengths.index_select(0, positions.to(strengths.device))
