"""What the losses make sure of before they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from structsmooth.errors import InvalidInputError

_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def check_shapes(logits: Any, target: Any, ignore_index: int) -> bool:
    """Return if targets are probabilities; refuse what does not fit the logits."""
    if not isinstance(logits, Tensor) or not isinstance(target, Tensor):
        raise InvalidInputError(
            "logits and target must be tensors, got "
            f"{type(logits).__name__} and {type(target).__name__}"
        )
    if not logits.is_floating_point() or logits.ndim == 0:
        raise InvalidInputError(
            "logits must be floating numbers of shape (N, K), (N, K, ...) or (K,), got "
            f"{logits.dtype} of shape {tuple(logits.shape)}"
        )
    classes_at = min(logits.ndim - 1, 1)
    if logits.shape[classes_at] < 2:
        raise InvalidInputError(
            f"logits must have at least two classes, got shape {tuple(logits.shape)}"
        )
    soft = target.is_floating_point()
    expected = logits.shape
    if not soft:
        if target.dtype not in _INTEGERS:
            raise InvalidInputError(
                "target must hold class indices or class probabilities, got "
                f"{target.dtype}"
            )
        expected = logits.shape[:classes_at] + logits.shape[classes_at + 1 :]
    elif ignore_index >= 0:
        raise InvalidInputError(
            f"ignore_index={ignore_index} applies to class indices only, and target "
            "holds class probabilities"
        )
    if target.shape != expected:
        kind = "class probabilities" if soft else "class indices"
        raise InvalidInputError(
            f"target must have shape {tuple(expected)} ({kind} for logits of shape "
            f"{tuple(logits.shape)}), got {tuple(target.shape)}"
        )
    return soft


def expand_strength(
    strength: Any, shape: tuple[int, ...], device: torch.device, dtype: torch.dtype
) -> Tensor:
    """Return one strength for each position, checked where that is free."""
    values = strength
    if not isinstance(values, Tensor):
        if isinstance(values, float | int) and not isinstance(values, bool):
            _check_range(values, values, "strength")
            return torch.full(shape, values, device=device, dtype=dtype)
        values = as_tensor(values, "strength")
    check_probabilities(values, "strength")
    if values.shape != shape and values.ndim:
        if values.shape != shape[:1]:
            wanted = [tuple(shape[:1])] + [tuple(shape)] * (len(shape) > 1)
            raise InvalidInputError(
                "strength must be one number or of shape "
                f"{' or '.join(map(str, wanted))}, got shape {tuple(values.shape)}"
            )
        values = values.view(-1, *[1] * (len(shape) - 1))
    if values.dtype != dtype or values.device != device:
        values = values.to(device=device, dtype=dtype)
    return values if values.shape == shape else values.expand(shape)


def as_tensor(values: Any, name: str) -> Tensor:
    """Return a tensor as it is, and other numbers in float64."""
    if isinstance(values, Tensor):
        return values
    try:
        array = np.array(values)
    except ValueError:  # ragged
        array = np.array(None)
    if array.dtype.kind not in "iuf":
        raise InvalidInputError(f"{name} must be numbers, got {type(values).__name__}")
    return torch.from_numpy(array.astype(np.float64))


def check_probabilities(values: Tensor, name: str) -> None:
    """Refuse what is seen not to be probabilities."""
    if not (values.is_floating_point() or values.dtype in _INTEGERS):
        raise InvalidInputError(f"{name} must be real numbers, got {values.dtype}")
    seen = _extremes(values)
    if seen is not None:
        _check_range(*seen, name)


def _check_range(least: float, largest: float, name: str) -> None:
    if not (least >= 0.0 and largest <= 1.0):
        got = f"{least:g}" if least == largest else f"{least:g} to {largest:g}"
        raise InvalidInputError(f"{name} must lie between 0 and 1, got {got}")


def check_weight(
    weight: Any, n_classes: int, device: torch.device, dtype: torch.dtype
) -> Tensor:
    """Return class weights in the type to compute in."""
    if not isinstance(weight, Tensor) or weight.shape != (n_classes,):
        shape = tuple(weight.shape) if isinstance(weight, Tensor) else None
        raise InvalidInputError(
            f"weight must be a tensor with one value for each of the {n_classes} "
            f"classes, got {type(weight).__name__ if shape is None else shape}"
        )
    return weight.to(device=device, dtype=dtype)


def split_ignored(
    target: Tensor, n_classes: int, ignore_index: int
) -> tuple[Tensor, Tensor | None]:
    """Return indices that are all classes, and where they are to be ignored."""
    index = target.long()
    seen = _extremes(index)
    ignores_a_class = 0 <= ignore_index < n_classes
    if seen is not None and not ignores_a_class and _are_classes(seen, n_classes):
        return index, None
    ignored = index == ignore_index
    index = index.masked_fill(ignored, 0)
    seen = _extremes(index)
    if seen is not None and not _are_classes(seen, n_classes):
        wrong = int(seen[0] if seen[0] < 0 else seen[1])
        raise InvalidInputError(
            f"target must hold class indices 0 to {n_classes - 1} or ignore_index="
            f"{ignore_index}, got {wrong}"
        )
    return index, ignored


def _are_classes(seen: tuple[float, float], n_classes: int) -> bool:
    return seen[0] >= 0 and seen[1] < n_classes


def _extremes(values: Tensor) -> tuple[float, float] | None:
    """Return the least and the largest, or None if they cannot be had for free."""
    if not values.is_cpu or not values.numel() or torch.compiler.is_compiling():
        return None
    try:
        least, largest = torch.aminmax(values)
        return least.item(), largest.item()
    except RuntimeError:  # inside torch.func.vmap there is no one number to look at
        return None
