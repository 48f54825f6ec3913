"""PyTorch: losses, data sets and an autoencoder for structural label smoothing."""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "structsmooth.torch needs PyTorch: pip install 'structsmooth[torch]'"
    ) from error

from structsmooth.torch.autoencoder import Autoencoder
from structsmooth.torch.data import SmoothedDataset
from structsmooth.torch.functional import structural_cross_entropy
from structsmooth.torch.losses import StructuralCrossEntropyLoss

__all__ = [
    "Autoencoder",
    "SmoothedDataset",
    "StructuralCrossEntropyLoss",
    "structural_cross_entropy",
]
