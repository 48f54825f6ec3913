"""Checks of logits, targets, strengths and weights."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structsmooth.errors import InvalidInputError
from structsmooth.strengths.solve import check_strength_range, strength_cap

_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def check_shapes(logits: Any, target: Any, ignore_index: int) -> bool:
    """Return whether targets are probabilities; refuse those that do not fit."""
    if not isinstance(logits, Tensor) or not isinstance(target, Tensor):
        raise InvalidInputError(
            "logits and target must be tensors, got "
            f"{type(logits).__name__} and {type(target).__name__}"
        )
    shape = tuple(logits.shape)
    classes_at = min(logits.ndim - 1, 1)
    if not logits.is_floating_point() or not shape or shape[classes_at] < 2:
        raise InvalidInputError(
            "logits must be floating-point numbers of shape (N, K), (N, K, ...) or "
            f"(K,) with at least two classes, got {logits.dtype} of shape {shape}"
        )
    soft = target.is_floating_point()
    if not soft and target.dtype not in _INTEGERS:
        raise InvalidInputError(
            f"target must hold class indices or class probabilities, got {target.dtype}"
        )
    if soft and ignore_index >= 0:
        raise InvalidInputError(
            f"ignore_index={ignore_index} applies to class indices only, and target "
            "holds class probabilities"
        )
    expected = shape if soft else shape[:classes_at] + shape[classes_at + 1 :]
    if target.shape != expected:
        kind = "class probabilities" if soft else "class indices"
        raise InvalidInputError(
            f"target must have shape {expected} ({kind} for logits of shape {shape}), "
            f"got {tuple(target.shape)}"
        )
    return soft


def expand_strength(
    strength: Any,
    n_classes: int,
    shape: tuple[int, ...],
    device: torch.device,
    dtype: torch.dtype,
) -> Tensor:
    """Return one strength for each position, checked where that is free."""
    if isinstance(strength, float | int) and not isinstance(strength, bool):
        check_strength_range(strength, strength, n_classes, "strength")
        return torch.full(shape, strength, device=device, dtype=dtype)
    values = as_tensor(strength, "strength")
    check_strengths(values, "strength", n_classes)
    if values.shape != shape and values.ndim:
        if values.shape != shape[:1]:
            wanted = [tuple(shape[:1])] + [tuple(shape)] * (len(shape) > 1)
            raise InvalidInputError(
                "strength must be one number or of shape "
                f"{' or '.join(map(str, wanted))}, got shape {tuple(values.shape)}"
            )
        values = values.view(-1, *[1] * (len(shape) - 1))
    return values.to(device=device, dtype=dtype).expand(shape)


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


def check_strengths(values: Tensor, name: str, n_classes: int | None = None) -> None:
    """Refuse strengths that can be seen to be none, see `check_strength_range`."""
    if not (values.is_floating_point() or values.dtype in _INTEGERS):
        raise InvalidInputError(f"{name} must be real numbers, got {values.dtype}")
    seen = extremes(values)
    if seen is not None:
        check_strength_range(*seen, n_classes, name, _limit(n_classes, values.dtype))


@functools.cache
def _limit(n_classes: int | None, dtype: torch.dtype) -> float | None:
    """Return (K-1)/K as this type has it, so that 0.9 in float32 is 9/10."""
    if n_classes is None or not dtype.is_floating_point:
        return None
    limit, most = (n_classes - 1) / n_classes, strength_cap(n_classes)
    rounded, in_use = torch.tensor([limit, most], dtype=dtype).tolist()
    # In half precision the largest strengths in use may be rounded up to the limit.
    return float(rounded if in_use < rounded else np.nextafter(rounded, 2.0))


def check_weight(
    weight: Any, n_classes: int, device: torch.device, dtype: torch.dtype
) -> Tensor:
    """Return class weights in the type to compute in."""
    got = tuple(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__
    if got != (n_classes,):
        raise InvalidInputError(
            f"weight must be a tensor with one value for each of the {n_classes} "
            f"classes, got {got}"
        )
    converted: Tensor = weight.to(device=device, dtype=dtype)
    return converted


def split_ignored(
    target: Tensor, n_classes: int, ignore_index: int
) -> tuple[Tensor, Tensor | None]:
    """Return indices that are all classes, and where to ignore them (None: nowhere)."""
    index = target.long()
    ignored = None
    seen = extremes(index)
    if 0 <= ignore_index < n_classes or not _are_classes(seen, n_classes):
        ignored = index == ignore_index
        index = index.masked_fill(ignored, 0)
        seen = extremes(index)
    if seen is not None and not _are_classes(seen, n_classes):
        raise InvalidInputError(
            f"target must hold class indices 0 to {n_classes - 1} or ignore_index="
            f"{ignore_index}, got {int(seen[0] if seen[0] < 0 else seen[1])}"
        )
    return index, ignored


def _are_classes(seen: tuple[float, float] | None, n_classes: int) -> bool:
    return seen is not None and seen[0] >= 0 and seen[1] < n_classes


def extremes(values: Tensor) -> tuple[float, float] | None:
    """Return the least and the largest value, or None where that is not free."""
    if not values.is_cpu or not values.numel() or torch.compiler.is_compiling():
        return None
    try:
        least, largest = torch.aminmax(values)
        return least.item(), largest.item()
    except RuntimeError:  # inside torch.func.vmap there is no single value
        return None
