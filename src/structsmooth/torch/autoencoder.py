"""Autoencoder: a scikit-learn transformer for vectors and images."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data
from torch import nn

from structsmooth.errors import InvalidInputError
from structsmooth.support.progress import Progress
from structsmooth.support.validation import (
    check_choice,
    check_features,
    check_integer,
    check_n_jobs,
    check_real,
)
from structsmooth.torch.networks import (
    convolutional_network,
    dense_network,
    initialize,
)
from structsmooth.torch.standardize import Standardization
from structsmooth.torch.threads import cpu_threads, resolve_device
from structsmooth.torch.training import train

# Rows that are encoded or decoded at a time.
_ROWS = 1024


class Autoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Compress vectors or images by a small neural network, trained to restore them.

    As ``StructuralSmoother(reducer=Autoencoder())`` it takes the place of PCA, for data
    such as images, whose distances say little. Features, or the channels of images,
    are standardized first.

    Parameters
    ----------
    n_components : int, default=256
        How many numbers a sample is compressed to.
    architecture : {"auto", "dense", "conv"}, default="auto"
        "auto" is convolutional for images and dense for vectors.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) if X has images as flat rows, which
        is how a smoother or a pipeline needs them.
    hidden_sizes : sequence of int, default=(512,)
        Widths between features and components of a dense network.
    channels : sequence of int, default=(16, 32, 64)
        Of a convolutional network; each halves height and width.
    max_epochs : int, default=30
        Passes over the data at most.
    batch_size : int, default=64
        Rows of one step.
    learning_rate : float, default=1e-3
        Step size of Adam.
    validation_fraction : float, default=0.1
        Share of the rows that is not trained on and says when to stop; 0 looks at the
        training error instead.
    patience : int, default=5
        Stop after this many epochs without a better one. The best one's weights are
        kept in any case.
    n_jobs : int, optional
        Threads on a CPU, as in joblib; None is one. The last bits depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of weights, split and order. With an int the result is the same to the
        last bit in every run on a CPU. PyTorch's global generator is not touched.
    device : {None, "cpu", "cuda", "auto"} or str, default=None
        None is the CPU; "auto" is a GPU if there is one.
    verbose : int, default=0
        Above 0, a progress bar on standard error.

    Attributes
    ----------
    network_ : torch.nn.Module
        With the parts ``encoder`` and ``decoder``, on the CPU.
    image_shape_ : tuple of int or None
        (height, width, channels) if the network is convolutional.
    standardization_ : Standardization
        With ``mean`` and ``scale`` of the features or channels.
    n_epochs_, best_epoch_ : int
        How many epochs there were, and which (from 1) was the best.
    loss_curve_, validation_loss_curve_ : list of float
        Mean squared error of the standardized features in each epoch; the second is
        empty without validation rows.
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
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n, d), (n, h, w) or (n, h, w, c)
            Vectors or images, of any real type. Bytes stay bytes until their batch
            comes.
        y : ignored
            For pipelines.

        Returns
        -------
        self
            The fitted transformer.
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
        with (
            cpu_threads(effective_n_jobs(self.n_jobs)),
            Progress(self.verbose > 0) as progress,
            progress.stage("autoencoder", self.max_epochs) as stage,
        ):
            history = train(
                network,
                lambda chosen: standardization.to_input(rows[chosen], torch.float32).to(
                    device
                ),
                len(rows),
                generator=generator,
                max_epochs=self.max_epochs,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                validation_fraction=self.validation_fraction,
                patience=self.patience,
                stage=stage,
            )
        self.network_ = network.cpu()
        self.standardization_ = standardization
        self.image_shape_ = image_shape
        self.n_epochs_ = len(history.losses)
        self.best_epoch_ = history.best_epoch
        self.loss_curve_ = history.losses
        self.validation_loss_curve_ = history.validation_losses
        self._shape = shape
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the components of each sample.

        Parameters
        ----------
        X : array-like of shape (m, d), (m, h, w) or (m, h, w, c)
            Samples of the shape fitted, or flat rows of as many numbers.

        Returns
        -------
        ndarray of shape (m, n_components)
            In float64 if X is, else in float32.
        """
        check_is_fitted(self, "network_")
        rows = self._check_rows(X, reset=False)
        encoder, dtype, device = self._part("encoder")
        codes = np.empty(
            (len(rows), self.n_components),
            np.float64 if rows.dtype == np.float64 else np.float32,
        )
        with torch.no_grad(), cpu_threads(effective_n_jobs(self.n_jobs)):
            for part in _parts(len(rows)):
                inputs = self.standardization_.to_input(rows[part], dtype)
                codes[part] = encoder(inputs.to(device)).cpu().numpy()
        return codes

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Return the samples that components stand for.

        Parameters
        ----------
        X : array-like of shape (m, n_components)
            Components.

        Returns
        -------
        ndarray
            Samples in the shape and the units of those fitted.
        """
        check_is_fitted(self, "network_")
        codes = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if codes.shape[1] != self.n_components:
            raise InvalidInputError(
                f"X must have {self.n_components} components, got {codes.shape[1]}"
            )
        decoder, dtype, device = self._part("decoder")
        rows = np.empty((len(codes), self.n_features_in_), codes.dtype)
        with torch.no_grad(), cpu_threads(effective_n_jobs(self.n_jobs)):
            for part in _parts(len(codes)):
                inputs = torch.from_numpy(codes[part]).to(device, dtype)
                rows[part] = self.standardization_.from_output(decoder(inputs))
        return rows.reshape(len(codes), *self._shape)

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def _part(self, name: str) -> tuple[nn.Module, torch.dtype, torch.device]:
        """Return the encoder or the decoder, where and as precise as it shall run.

        In double precision a sample's components do not depend on the others in its
        batch; for convolutions that would take too long.
        """
        dtype = torch.float64 if self.image_shape_ is None else torch.float32
        device = resolve_device(self.device)
        part = copy.deepcopy(getattr(self.network_, name))
        return part.to(device, dtype), dtype, device

    def _build(
        self, n_features: int, image_shape: tuple[int, int, int] | None
    ) -> nn.Module:
        with torch.device("meta"):
            if image_shape is None:
                return dense_network(n_features, self.n_components, self.hidden_sizes)
            return convolutional_network(image_shape, self.n_components, self.channels)

    def _check_rows(self, X: Any, *, reset: bool) -> NDArray[Any]:
        """Return vectors or images as rows of real numbers, bytes as they are."""
        shape = _shape_of_samples(X)
        if len(shape) in (2, 3):
            if not reset and shape not in (self._shape, self.image_shape_):
                raise InvalidInputError(
                    f"X must have samples of shape {self._shape}, as those fitted, "
                    f"got {shape}"
                )
            X = np.asarray(X).reshape(-1, math.prod(shape))
        if getattr(X, "dtype", None) == np.uint8:
            bytes_: NDArray[Any] = validate_data(self, X, reset=reset, dtype=None)
            return bytes_
        checked: NDArray[Any] = check_features(X, estimator=self, reset=reset)
        return checked

    def _resolve_image_shape(
        self, shape: tuple[int, ...]
    ) -> tuple[int, int, int] | None:
        """Return (height, width, channels), or None for a dense network."""
        given = None
        if self.image_shape is not None:
            given = tuple(self.image_shape)
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
        elif len(shape) > 1:
            given = shape
        if self.architecture == "dense":
            return None
        if given is None:
            if self.architecture == "conv":
                raise InvalidInputError(
                    "architecture 'conv' needs images: X of shape (n, h, w) or "
                    "(n, h, w, c), or image_shape"
                )
            return None
        height, width = given[:2]
        return height, width, given[2] if len(given) == 3 else 1

    def _check_parameters(self) -> None:
        check_integer(self.n_components, "n_components", 1)
        check_choice(self.architecture, "architecture", ("auto", "dense", "conv"))
        for size in self.hidden_sizes:
            check_integer(size, "hidden_sizes", 1)
        for size in self.channels:
            check_integer(size, "channels", 1)
        check_integer(self.max_epochs, "max_epochs", 1)
        check_integer(self.batch_size, "batch_size", 1)
        check_integer(self.patience, "patience", 1)
        check_n_jobs(self.n_jobs)
        if not check_real(self.learning_rate, "learning_rate", 0.0) > 0.0:
            raise InvalidInputError("learning_rate must be above 0, got 0")
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
    if not hasattr(X, "shape"):
        try:
            X = np.asarray(X)
        except ValueError:  # ragged: the check of rows says so
            return ()
    return tuple(X.shape[1:])


def _parts(n_rows: int) -> list[slice]:
    return [slice(start, start + _ROWS) for start in range(0, n_rows, _ROWS)]
