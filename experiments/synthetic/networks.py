"""Small networks that see the same batches and differ in their soft labels.

All networks have one hidden layer, start with the same weights and see the same batches
in the same order. Everything between the two products of a step (activation, output,
loss, gradients) is one pass while the rows are in the cache. The optimizer is plain SGD
in float32, as in the paper.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401 (numba's products; limited below)
from numba import njit
from threadpoolctl import threadpool_limits


@dataclass(eq=False)
class Networks:
    """Weights of M networks of d inputs, h hidden units and two outputs.

    Only the difference of the two outputs matters, so only the difference is stored.
    Their gradients are opposite, so the difference moves at twice the rate.
    """

    first: np.ndarray  # (M, d, h)
    first_bias: np.ndarray  # (M, h)
    second: np.ndarray  # (M, h)
    second_bias: np.ndarray  # (M, 1)

    @classmethod
    def start(cls, n_networks: int, n_inputs: int, n_hidden: int, seed: int):
        """Return networks with equal weights, drawn as in PyTorch's linear layers."""
        draw = np.random.default_rng(seed)
        bound, inner = n_inputs**-0.5, n_hidden**-0.5

        def uniform(limit, *shape):
            return draw.uniform(-limit, limit, size=shape).astype(np.float32)

        first, first_bias = uniform(bound, n_inputs, n_hidden), uniform(bound, n_hidden)
        second, second_bias = uniform(inner, 2, n_hidden), uniform(inner, 2)
        return cls(
            np.tile(first, (n_networks, 1, 1)),
            np.tile(first_bias, (n_networks, 1)),
            np.tile(second[1] - second[0], (n_networks, 1)),
            np.tile(second_bias[1] - second_bias[0], (n_networks, 1)),
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the weights by name, for a checkpoint."""
        return vars(self)


def train(
    networks: Networks,
    X: np.ndarray,
    soft: np.ndarray,
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    seed: int,
    every: int,
    observe,
    checkpoint: Path | None = None,
    checkpoint_every: int = 50,
    n_threads: int = 2,
) -> None:
    """Train in place.

    Parameters
    ----------
    networks : Networks
        Changed in place.
    X : ndarray of shape (n, d), float32
        Training rows.
    soft : ndarray of shape (M, n), float32
        Probability of class 1 in the soft label of each row, for each network.
    epochs, batch_size, learning_rate
        Settings of stochastic gradient descent.
    seed : int
        Seed of the order of the rows, which is drawn again for each epoch.
    every : int
        ``observe(epoch, networks)`` is called every this many epochs. It returns a
        state for the checkpoint, which ``observe.resume`` receives on resumption.
    checkpoint : path, optional
        Where the state is stored; a run that finds a checkpoint continues from it.
    n_threads : int
        Number of threads. They divide the networks between them, so the result does
        not depend on it.
    """
    begin = 0
    if checkpoint is not None and checkpoint.is_file():
        with np.load(checkpoint, allow_pickle=False) as saved:
            begin = int(saved["epoch"])
            for name, array in networks.arrays().items():
                array[...] = saved[name]
            observe.resume(saved["observed"])
    with threadpool_limits(1), ThreadPoolExecutor(n_threads) as pool:
        for epoch in range(begin, epochs):
            order = np.random.default_rng([seed, epoch]).permutation(len(X))
            rows, labels = X[order], soft[:, order]

            def work(number, rows=rows, labels=labels):
                weights = (array[number] for array in networks.arrays().values())
                rate = np.float32(learning_rate)
                _train_epoch(rows, labels[number], *weights, batch_size, rate)

            list(pool.map(work, range(len(soft))))
            done = epoch + 1
            if done % every == 0 or done == epochs:
                observe(done, networks)
            if checkpoint is not None and done % checkpoint_every == 0:
                save(checkpoint, done, networks, observe.observed())


def save(path: Path, epoch: int, networks: Networks, observed: np.ndarray) -> None:
    """Write a checkpoint to a temporary file, then replace the old one."""
    beside = path.with_suffix(".part.npz")
    np.savez(beside, epoch=epoch, observed=observed, **networks.arrays())
    os.replace(beside, path)


def predict(networks: Networks, X: np.ndarray) -> np.ndarray:
    """Return the probability of class 1 for each network and row."""
    out = np.empty((len(networks.first), len(X)), dtype=np.float32)
    for number, first in enumerate(networks.first):
        hidden = np.maximum(X @ first + networks.first_bias[number], 0)
        margin = hidden @ networks.second[number] + networks.second_bias[number]
        out[number] = 1.0 / (1.0 + np.exp(-margin.astype(np.float64)))
    return out


@njit(nogil=True, cache=True)
def _train_epoch(X, soft, first, first_bias, second, second_bias, batch_size, rate):
    n, d = X.shape
    n_hidden = len(second)
    activity = np.empty((min(n, batch_size), n_hidden), np.float32)
    gradient = np.empty((d, n_hidden), np.float32)
    bias_gradient = np.empty(n_hidden, np.float32)
    second_gradient = np.empty(n_hidden, np.float32)
    for start in range(0, n, batch_size):
        batch = X[start : start + batch_size]  # the last of an epoch may be smaller
        size = len(batch)
        hidden = activity[:size]
        np.dot(batch, first, hidden)
        bias_gradient[:] = np.float32(0.0)
        second_gradient[:] = np.float32(0.0)
        total_error = np.float32(0.0)
        for i in range(size):
            margin = _activate(hidden[i], first_bias, second) + second_bias[0]
            p = 1.0 / (1.0 + np.exp(-np.float64(margin)))
            error = np.float32((p - soft[start + i]) / size)
            total_error += error
            _push_back(hidden[i], second, error, second_gradient, bias_gradient)
        np.dot(batch.T, hidden, gradient)
        second_bias[0] -= np.float32(2.0) * rate * total_error
        _descend(second, second_gradient, np.float32(2.0) * rate)
        _descend(first_bias, bias_gradient, rate)
        _descend(first.reshape(-1), gradient.reshape(-1), rate)


# Separate functions on one-dimensional arrays, which the compiler vectorizes.
@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _activate(units, bias, weights):
    """Apply bias and ReLU in place; return the margin of the output."""
    margin = np.float32(0.0)
    for j in range(units.shape[0]):
        value = units[j] + bias[j]
        value = value if value > np.float32(0.0) else np.float32(0.0)
        units[j] = value
        margin += value * weights[j]
    return margin


@njit(nogil=True, cache=True, fastmath={"contract"})
def _push_back(units, weights, error, second_gradient, bias_gradient):
    """Turn activations into their gradients, and sum up those of the weights."""
    for j in range(units.shape[0]):
        value = units[j]
        second_gradient[j] += error * value
        back = error * weights[j] if value > np.float32(0.0) else np.float32(0.0)
        bias_gradient[j] += back
        units[j] = back


@njit(nogil=True, cache=True, fastmath={"contract"})
def _descend(weights, gradient, rate):
    for j in range(weights.shape[0]):
        weights[j] -= rate * gradient[j]
