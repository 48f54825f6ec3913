"""Features from a first model, each sample seen by one that did not train on it.

In the outputs of a model that trained on a sample, the classes would hardly overlap.
Log-probabilities mean the same in the models of all folds, which inner layers do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import check_random_state
from torch import Tensor, nn

from structsmooth.errors import InvalidInputError
from structsmooth.support.validation import (
    check_integer,
    check_label_structure,
    encode_labels,
)
from structsmooth.torch.functional import structural_cross_entropy
from structsmooth.torch.training import check_training, resolve_device, training_stage

# Rows that are embedded at a time.
_ROWS = 1024


def out_of_fold_outputs(
    build: Callable[[], nn.Module],
    X: Any,
    y: ArrayLike,
    *,
    n_folds: int = 5,
    epochs: int = 10,
    batch_size: int = 128,
    learning_rate: float = 1e-3,
    groups: ArrayLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    device: str | None = None,
    verbose: int = 0,
) -> NDArray[np.float32]:
    """Return log-probabilities of each sample by a model that did not train on it.

    They have shape (n, K), with classes in the order of the sorted labels. In
    ``StructuralSmoother(reducer="none").fit(outputs, y)`` they measure strengths where
    a model of yours confuses the classes. The cost is that of ``n_folds`` short
    trainings.

    Parameters
    ----------
    build : callable
        Returns a new network, which maps a batch of X to one score for each class.
    X : array-like or Tensor of shape (n, ...)
        Inputs of the network, in the shape and the units that it needs. They are
        converted to float32.
    y : array-like of shape (n,)
        Labels of any kind.
    n_folds : int, default=5
        Number of folds, each embedded by a model trained on the others.
    epochs, batch_size, learning_rate
        Settings of the training with Adam, on labels that are not smoothed.
    groups : array-like of shape (n,), optional
        Samples of one group, such as a speaker, stay in one fold.
    random_state : int, RandomState instance or None, default=None
        Seed of folds, weights and order. It also sets PyTorch's global generator while
        a network is built, which is restored afterwards.
    n_jobs : int, optional
        Threads on a CPU, as in joblib; None is one. The last bits depend on it.
    device : {None, "cpu", "cuda", "auto"} or str, default=None
        None is the CPU; "auto" is a GPU if there is one.
    verbose : int, default=0
        Above 0, show a progress bar on standard error.

    """
    rows = _check_rows(X)
    classes, coded = encode_labels(y, len(rows))
    check_label_structure(classes, np.bincount(coded))
    check_integer(epochs, "epochs", 1)
    check_integer(batch_size, "batch_size", 1)
    check_training(n_jobs, learning_rate)
    place = resolve_device(device)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    folds = _folds(coded, groups, n_folds, seed)
    labels = torch.from_numpy(coded)
    outputs = np.empty((len(rows), len(classes)), dtype=np.float32)
    with training_stage("first models", n_folds * epochs, n_jobs, verbose) as stage:
        for number, (others, fold) in enumerate(folds):
            network = _built(build, seed + number).to(place).train()
            optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
            generator = torch.Generator().manual_seed(seed + number)
            for _ in range(epochs):
                order = torch.randperm(len(others), generator=generator)
                for batch in torch.split(torch.from_numpy(others)[order], batch_size):
                    if len(batch) == 1 and len(others) > 1:
                        continue  # batch normalization fails on a single sample
                    optimizer.zero_grad()
                    scores = network(rows[batch].float().to(place))
                    expected = labels[batch].to(place)
                    loss = structural_cross_entropy(scores, expected, 0.0)
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
                stage.advance()
            outputs[fold] = _embed(network, rows, fold, len(classes), place)
    return outputs


def _check_rows(X: Any) -> Tensor:
    rows = (
        X.detach().cpu() if isinstance(X, Tensor) else torch.from_numpy(np.asarray(X))
    )
    if rows.ndim < 2 or len(rows) < 2:
        raise InvalidInputError(
            "X must have at least 2 samples of at least one axis each, got shape "
            f"{tuple(rows.shape)}"
        )
    if not bool(torch.isfinite(rows).all()):
        raise InvalidInputError("X must have finite numbers only, got NaN or infinity")
    return rows


def _folds(
    coded: NDArray[np.int64], groups: ArrayLike | None, n_folds: int, seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    n_folds = check_integer(n_folds, "n_folds", 2)
    smallest = int(np.bincount(coded).min())
    if smallest < n_folds:
        raise InvalidInputError(
            f"every class needs at least n_folds={n_folds} samples, so that it is in "
            f"every fold; the smallest has {smallest}"
        )
    if groups is None:
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        return list(splitter.split(coded, coded))
    if np.shape(groups) != coded.shape:
        raise InvalidInputError(
            f"groups must have one entry for each of {len(coded)} samples, got shape "
            f"{np.shape(groups)}"
        )
    by_group = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    return list(by_group.split(coded, coded, np.asarray(groups)))


def _built(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = build()
    if not isinstance(network, nn.Module):
        raise InvalidInputError(
            f"build must return a torch.nn.Module, got {type(network).__name__}"
        )
    return network


def _embed(
    network: nn.Module,
    rows: Tensor,
    chosen: NDArray[np.int64],
    n_classes: int,
    device: torch.device,
) -> NDArray[np.float32]:
    network.eval()
    parts = []
    with torch.no_grad():
        for batch in torch.split(torch.from_numpy(chosen), _ROWS):
            scores = network(rows[batch].float().to(device))
            if scores.shape != (len(batch), n_classes):
                raise InvalidInputError(
                    f"the network must return one score for each of {n_classes} "
                    f"classes, got shape {tuple(scores.shape)} for {len(batch)} samples"
                )
            parts.append(scores.log_softmax(dim=1).float().cpu().numpy())
    found: NDArray[np.float32] = np.concatenate(parts)
    if not np.isfinite(found).all():
        raise InvalidInputError(
            "a first model diverged; expected a smaller learning_rate, or X in units "
            "that suit the network"
        )
    return found
