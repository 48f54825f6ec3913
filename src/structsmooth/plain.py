"""Bounds as JSON holds them, every digit of them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from structsmooth.bounds import BayesErrorBounds


def bounds_to_plain(bounds: BayesErrorBounds) -> dict[str, Any]:
    """Return numbers, text and lists only."""
    return {
        field.name: value.tolist() if isinstance(value, np.ndarray) else value
        for field in dataclasses.fields(bounds)
        for value in [getattr(bounds, field.name)]
    }


def bounds_from_plain(plain: dict[str, Any]) -> BayesErrorBounds:
    """Return the bounds that `bounds_to_plain` was given."""
    pairs = np.array(plain["crossing_pairs"], dtype=np.int64).reshape(-1, 2)
    counts = np.array(plain["crossing_counts"])
    return BayesErrorBounds(
        **plain
        | {
            "crossing_pairs": pairs,
            "crossing_counts": counts if len(counts) else pairs[:, 0],
            "class_counts": np.array(plain["class_counts"], dtype=np.int64),
            "interval": tuple(plain["interval"]),
            "lower_interval": tuple(plain["lower_interval"]),
            "upper_interval": tuple(plain["upper_interval"]),
        }
    )
