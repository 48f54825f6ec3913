"""Standardization of rows for a network, and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import gen_batches
from torch import Tensor

# Numbers that are converted to float64 at a time.
_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class Standardization:
    """The mean and scale of each feature, or of each channel of images.

    Images have the ``image_shape`` (height, width, channels); for vectors it is None.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    image_shape: tuple[int, int, int] | None

    @classmethod
    def fit(
        cls, rows: NDArray[Any], image_shape: tuple[int, int, int] | None
    ) -> Standardization:
        """Compute means and standard deviations, without a float64 copy of the rows."""
        columns = _columns(rows, image_shape)
        n_rows, n_columns = columns.shape
        parts = list(gen_batches(n_rows, max(_AT_ONCE // n_columns, 1)))
        mean = sum(columns[p].sum(axis=0, dtype=np.float64) for p in parts) / n_rows
        squares = sum(np.square(columns[p] - mean).sum(axis=0) for p in parts)
        constant = columns.min(axis=0) == columns.max(axis=0)
        scale = np.where(constant, 1.0, np.sqrt(squares / n_rows))
        return cls(np.asarray(mean), scale, image_shape)

    def to_input(self, rows: NDArray[Any]) -> Tensor:
        """Return rows as a network's input, images as (n, channels, height, width)."""
        standardized = (_columns(rows, self.image_shape) - self.mean) / self.scale
        values = torch.from_numpy(standardized)
        if self.image_shape is None:
            return values
        return values.view(len(rows), *self.image_shape).permute(0, 3, 1, 2)

    def from_output(self, outputs: Tensor) -> NDArray[np.float64]:
        """Return a network's output as rows."""
        if self.image_shape is not None:
            outputs = outputs.permute(0, 2, 3, 1)
        values = outputs.double().reshape(-1, len(self.mean)).cpu().numpy()
        rows: NDArray[np.float64] = values * self.scale + self.mean
        return rows.reshape(len(outputs), -1)


def _columns(
    rows: NDArray[Any], image_shape: tuple[int, int, int] | None
) -> NDArray[Any]:
    """Return rows, or all pixels of all images with a column for each channel."""
    if image_shape is None:
        return rows
    return rows.reshape(len(rows) * math.prod(image_shape[:2]), image_shape[2])
