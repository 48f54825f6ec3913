"""PyTorch: losses, data sets, an autoencoder, and features from a first model."""

from __future__ import annotations

from structsmooth.errors import missing_package

try:
    import torch as _torch  # noqa: F401 (is it installed?)
except ImportError as error:
    raise missing_package("torch", "structsmooth.torch") from error

from structsmooth.torch.autoencoder import Autoencoder
from structsmooth.torch.data import SmoothedDataset
from structsmooth.torch.functional import structural_cross_entropy
from structsmooth.torch.losses import StructuralCrossEntropyLoss
from structsmooth.torch.out_of_fold import out_of_fold_outputs

__all__ = [
    "Autoencoder",
    "SmoothedDataset",
    "StructuralCrossEntropyLoss",
    "out_of_fold_outputs",
    "structural_cross_entropy",
]
