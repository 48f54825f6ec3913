"""Autoencoder: a scikit-learn transformer for vectors and images."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (PyTorch's own name for it)
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_array, check_is_fitted, validate_data
from torch import Tensor, nn

from structsmooth.errors import InvalidInputError
from structsmooth.support.progress import Stage
from structsmooth.support.validation import (
    check_choice,
    check_features,
    check_integer,
    check_real,
)
from structsmooth.torch.networks import (
    Standardization,
    convolutional_network,
    dense_network,
    initialize,
)
from structsmooth.torch.training import (
    check_training,
    cpu_threads,
    resolve_device,
    training_stage,
)

# Rows that are encoded or decoded at a time.
_ROWS = 1024


class Autoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Compress vectors or images by a small neural network, trained to restore them.

    ``StructuralSmoother(reducer=Autoencoder())`` uses it instead of PCA, for data such
    as images, whose distances say little. Features, or the channels of images, are
    standardized first.

    Parameters
    ----------
    n_components : int, default=256
        How many numbers a sample is compressed to.
    architecture : {"auto", "dense", "conv"}, default="auto"
        "auto" is convolutional for images and dense for vectors.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) if the rows of X are flattened
        images, as a smoother or a pipeline requires.
    hidden_sizes : sequence of int, default=(512,)
        Widths of the layers between features and components of a dense network.
    channels : sequence of int, default=(16, 32, 64)
        Channels of a convolutional network; each layer halves height and width.
    max_epochs : int, default=30
        Largest number of passes over the data.
    batch_size : int, default=64
        Samples in one step.
    learning_rate : float, default=1e-3
        Step size of Adam.
    validation_fraction : float, default=0.1
        Share of the samples that are not trained on and decide when to stop. With 0,
        the training error decides.
    patience : int, default=5
        Stop after this many epochs without improvement. The weights of the best epoch
        are kept in any case.
    n_jobs : int, optional
        Threads on a CPU, as in joblib; None is one. The last bits depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of weights, split and order. With an int the result is the same to the
        last bit in every run on a CPU. PyTorch's global generator is not used.
    device : {None, "cpu", "cuda", "auto"} or str, default=None
        None is the CPU; "auto" is a GPU if there is one.
    verbose : int, default=0
        Above 0, show a progress bar on standard error.

    Attributes
    ----------
    network_ : torch.nn.Module
        The network with its parts ``encoder`` and ``decoder``, on the CPU.
    image_shape_ : tuple of int or None
        (height, width, channels) if the network is convolutional.
    standardization_ : Standardization
        Has the ``mean`` and ``scale`` of the features or channels.
    n_epochs_, best_epoch_ : int
        Number of epochs, and which of them (from 1) was the best.
    loss_curve_, validation_loss_curve_ : list of float
        Mean squared error of the standardized features in each epoch; the second is
        empty without validation samples.
    n_features_in_ : int
        Numbers in a sample.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from structsmooth.torch import Autoencoder
    >>> X = load_digits().data  # 8 x 8 pixels in flat rows
    >>> coder = Autoencoder(
    ...     16, image_shape=(8, 8), channels=(8, 16), max_epochs=2, random_state=0
    ... )
    >>> codes = coder.fit_transform(X)
    >>> codes.shape, coder.inverse_transform(codes).shape
    ((1797, 16), (1797, 64))
    """

    def __init__(
        self,
        n_components: int = 256,
        *,
        architecture: str = "auto",
        image_shape: Sequence[int] | None = None,
        hidden_sizes: Sequence[int] = (512,),
        channels: Sequence[int] = (16, 32, 64),
        max_epochs: int = 30,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        validation_fraction: float = 0.1,
        patience: int = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
        device: str | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.architecture = architecture
        self.image_shape = image_shape
        self.hidden_sizes = hidden_sizes
        self.channels = channels
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (pipelines pass it)
        """Train on vectors (n, d) or images, (n, h, w) or (n, h, w, c).

        Bytes are not converted as a whole, but batch by batch.
        """
        self._check_parameters()
        shape = _shape_of_samples(X)
        rows = self._check_rows(X, reset=True)
        image_shape = self._resolve_image_shape(shape)
        device = resolve_device(self.device)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        generator = torch.Generator().manual_seed(int(seed))
        network = initialize(self._build(rows.shape[1], image_shape), generator)
        network = network.to(device)
        standardization = Standardization.fit(rows, image_shape)

        def inputs_of(chosen: Tensor) -> Tensor:
            inputs = standardization.to_input(rows[chosen.numpy()])
            return inputs.to(device, torch.float32)

        with training_stage(
            "autoencoder", self.max_epochs, self.n_jobs, self.verbose
        ) as stage:
            history = self._train(network, inputs_of, len(rows), generator, stage)
        self.loss_curve_, self.validation_loss_curve_, self.best_epoch_ = history
        self.n_epochs_ = len(self.loss_curve_)
        self.network_ = network.cpu()
        self.standardization_ = standardization
        self.image_shape_ = image_shape
        self._shape = shape
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the components of samples, in float64 if X is, else in float32.

        Samples have the shape seen in ``fit``, or are flat rows of as many numbers.
        """
        check_is_fitted(self, "network_")
        rows = self._check_rows(X, reset=False)
        encoder, device, dtype = self._part("encoder")
        precision = np.float64 if rows.dtype == np.float64 else np.float32
        codes = np.empty((len(rows), self.n_components), precision)
        with torch.no_grad(), cpu_threads(self.n_jobs):
            for part in gen_batches(len(rows), _ROWS):
                inputs = self.standardization_.to_input(rows[part])
                codes[part] = encoder(inputs.to(device, dtype)).cpu().numpy()
        return codes

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Return samples from components, in the shape and units seen in ``fit``."""
        check_is_fitted(self, "network_")
        codes = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if codes.shape[1] != self.n_components:
            raise InvalidInputError(
                f"X must have {self.n_components} components, got {codes.shape[1]}"
            )
        decoder, device, dtype = self._part("decoder")
        rows = np.empty((len(codes), self.n_features_in_), codes.dtype)
        with torch.no_grad(), cpu_threads(self.n_jobs):
            for part in gen_batches(len(codes), _ROWS):
                inputs = torch.from_numpy(codes[part]).to(device, dtype)
                rows[part] = self.standardization_.from_output(decoder(inputs))
        return rows.reshape(len(codes), *self._shape)

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def _part(self, name: str) -> tuple[nn.Module, torch.device, torch.dtype]:
        """Return the encoder or the decoder, with the device and type to run it in.

        In double precision a sample's components do not depend on the others in its
        batch; for convolutions that would take too long.
        """
        dtype = torch.float64 if self.image_shape_ is None else torch.float32
        device = resolve_device(self.device)
        part = copy.deepcopy(getattr(self.network_, name))
        return part.to(device, dtype), device, dtype

    def _build(
        self, n_features: int, image_shape: tuple[int, int, int] | None
    ) -> nn.Module:
        with torch.device("meta"):
            if image_shape is None:
                return dense_network(n_features, self.n_components, self.hidden_sizes)
            return convolutional_network(image_shape, self.n_components, self.channels)

    def _train(
        self,
        network: nn.Module,
        inputs_of: Callable[[Tensor], Tensor],
        n_rows: int,
        generator: torch.Generator,
        stage: Stage,
    ) -> tuple[list[float], list[float], int]:
        """Train a network, and leave it with its best weights.

        Returns the training and validation errors, and the best epoch.
        """
        order = torch.randperm(n_rows, generator=generator)
        n_validation = int(n_rows * self.validation_fraction)
        held_out, kept = order[:n_validation], order[n_validation:]
        optimizer = torch.optim.Adam(network.parameters(), lr=self.learning_rate)
        losses: list[float] = []
        validation_losses: list[float] = []
        best, best_epoch, best_weights = math.inf, 0, network.state_dict()
        for epoch in range(1, self.max_epochs + 1):
            shuffled = kept[torch.randperm(len(kept), generator=generator)]
            error = self._mean_loss(network, inputs_of, shuffled, optimizer)
            losses.append(error)
            if n_validation:
                with torch.no_grad():
                    error = self._mean_loss(network, inputs_of, held_out)
                validation_losses.append(error)
            if not math.isfinite(error):
                raise InvalidInputError(
                    f"training diverged in epoch {epoch} with learning_rate="
                    f"{self.learning_rate!r}; expected a smaller learning_rate, or "
                    "less extreme data"
                )
            stage.advance()
            if error < best:
                best, best_epoch = error, epoch
                best_weights = copy.deepcopy(network.state_dict())
            elif epoch - best_epoch >= self.patience:
                break
        network.load_state_dict(best_weights)
        return losses, validation_losses, best_epoch

    def _mean_loss(
        self,
        network: nn.Module,
        inputs_of: Callable[[Tensor], Tensor],
        rows: Tensor,
        optimizer: torch.optim.Optimizer | None = None,
    ) -> float:
        """Return the mean squared error; with an optimizer, train on every batch."""
        total = 0.0
        for batch in torch.split(rows, self.batch_size):
            inputs = inputs_of(batch)
            loss = F.mse_loss(network(inputs), inputs)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            total += loss.item() * len(batch)
        return total / len(rows)

    def _check_rows(self, X: Any, *, reset: bool) -> NDArray[Any]:
        """Return vectors or images as rows of real numbers, bytes as they are."""
        shape = _shape_of_samples(X)
        if len(shape) in (2, 3):
            if not reset and shape not in (self._shape, self.image_shape_):
                raise InvalidInputError(
                    f"X must have samples of shape {self._shape}, as in fit, got "
                    f"{shape}"
                )
            X = np.asarray(X).reshape(-1, math.prod(shape))
        rows: NDArray[Any]
        if getattr(X, "dtype", None) == np.uint8:
            rows = validate_data(self, X, reset=reset, dtype=None)
        else:
            rows = check_features(X, estimator=self, reset=reset)
        return rows

    def _resolve_image_shape(
        self, shape: tuple[int, ...]
    ) -> tuple[int, int, int] | None:
        """Return (height, width, channels), or None for a dense network."""
        given = shape if self.image_shape is None else tuple(self.image_shape)
        if self.image_shape is not None:
            if len(given) not in (2, 3):
                raise InvalidInputError(
                    "image_shape must be (height, width) or (height, width, channels), "
                    f"got {self.image_shape!r}"
                )
            for side in given:
                check_integer(side, "image_shape", 1)
            if given != shape and (math.prod(given),) != shape:
                raise InvalidInputError(
                    f"image_shape {given} does not fit samples of shape {shape}"
                )
        if self.architecture == "conv" and len(given) == 1:
            raise InvalidInputError(
                "architecture 'conv' needs images: X of shape (n, h, w) or "
                "(n, h, w, c), or image_shape"
            )
        if self.architecture == "dense" or len(given) == 1:
            return None
        height, width, *channels = given
        return height, width, channels[0] if channels else 1

    def _check_parameters(self) -> None:
        check_choice(self.architecture, "architecture", ("auto", "dense", "conv"))
        for name in ("n_components", "max_epochs", "batch_size", "patience"):
            check_integer(getattr(self, name), name, 1)
        for name in ("hidden_sizes", "channels"):
            for size in getattr(self, name):
                check_integer(size, name, 1)
        check_training(self.n_jobs, self.learning_rate)
        fraction = check_real(self.validation_fraction, "validation_fraction", 0.0)
        if fraction >= 1.0:
            raise InvalidInputError(
                f"validation_fraction must be below 1, got {fraction!r}"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _shape_of_samples(X: Any) -> tuple[int, ...]:
    try:
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        return tuple(shape[1:])
    except ValueError:  # ragged, which the check of rows refuses
        return ()
