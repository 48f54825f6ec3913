"""Many small networks trained at once, as wide matrix products.

All networks have one hidden layer and see the same batches in the same order; they
differ in their soft labels. The hidden layers of several networks are next to each
other in one matrix, so that one product computes them all. Everything between the two
products of a step (activation, output, loss, gradients) is one pass while the rows are
in the cache. The optimizer is plain SGD in float32, as in the paper.
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

# Networks per product, so that their hidden layers stay in the level-2 cache.
ABREAST = 4


@dataclass(eq=False)
class Networks:
    """Weights of M networks of d inputs, h hidden units and two outputs.

    Only the difference of the two outputs matters, so only the difference is stored.
    Their gradients are opposite, so the difference moves at twice the rate.
    """

    first: np.ndarray  # (M / ABREAST, d, ABREAST * h)
    first_bias: np.ndarray  # (M / ABREAST, ABREAST * h)
    second: np.ndarray  # (M, h)
    second_bias: np.ndarray  # (M,)

    @classmethod
    def start(cls, n_networks: int, n_inputs: int, n_hidden: int, seed: int):
        """Return networks with equal weights, drawn as in PyTorch's linear layers."""
        draw = np.random.default_rng(seed)
        n_groups = -(-n_networks // ABREAST)
        bound, inner = n_inputs**-0.5, n_hidden**-0.5

        def uniform(limit, *shape):
            return draw.uniform(-limit, limit, size=shape).astype(np.float32)

        first, first_bias = uniform(bound, n_inputs, n_hidden), uniform(bound, n_hidden)
        second, second_bias = uniform(inner, 2, n_hidden), uniform(inner, 2)
        n_padded = n_groups * ABREAST
        return cls(
            np.tile(first, (n_groups, 1, ABREAST)),
            np.tile(first_bias, (n_groups, ABREAST)),
            np.tile(second[1] - second[0], (n_padded, 1)),
            np.tile(second_bias[1] - second_bias[0], n_padded),
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
    n_groups = len(networks.first)
    padded = np.zeros((n_groups * ABREAST, len(X)), dtype=np.float32)
    padded[: len(soft)] = soft
    begin = 0
    if checkpoint is not None and checkpoint.is_file():
        with np.load(checkpoint, allow_pickle=False) as saved:
            begin = int(saved["epoch"])
            for name, array in networks.arrays().items():
                array[...] = saved[name]
            observe.resume(saved["observed"])
    parts = np.array_split(np.arange(n_groups), n_threads)
    with threadpool_limits(1), ThreadPoolExecutor(n_threads) as pool:
        for epoch in range(begin, epochs):
            order = np.random.default_rng([seed, epoch]).permutation(len(X))

            def work(part, order=order):
                for group in part:
                    _train_epoch(
                        X,
                        order,
                        padded[group * ABREAST : (group + 1) * ABREAST],
                        networks.first[group],
                        networks.first_bias[group],
                        networks.second[group * ABREAST : (group + 1) * ABREAST],
                        networks.second_bias[group * ABREAST : (group + 1) * ABREAST],
                        batch_size,
                        np.float32(learning_rate),
                    )

            list(pool.map(work, parts))
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


def predict(networks: Networks, X: np.ndarray, n_networks: int) -> np.ndarray:
    """Return the probability of class 1 for each network and row."""
    out = np.empty((len(networks.second), len(X)), dtype=np.float32)
    for group in range(len(networks.first)):
        hidden = np.maximum(X @ networks.first[group] + networks.first_bias[group], 0)
        for slot in range(ABREAST):
            number = group * ABREAST + slot
            weights = networks.second[number]
            part = hidden[:, slot * len(weights) : (slot + 1) * len(weights)]
            margin = (part @ weights + networks.second_bias[number]).astype(np.float64)
            out[number] = 1.0 / (1.0 + np.exp(-margin))
    return out[:n_networks]


@njit(nogil=True, cache=True)
def _train_epoch(
    X, order, soft, first, first_bias, second, second_bias, batch_size, rate
):
    n, d = X.shape
    width = first.shape[1]
    n_slots, n_hidden = second.shape
    batch = np.empty((batch_size, d), np.float32)
    turned = np.empty((d, batch_size), np.float32)
    hidden = np.empty((batch_size, width), np.float32)
    gradient = np.empty((d, width), np.float32)
    bias_gradient = np.empty(width, np.float32)
    second_gradient = np.empty(width, np.float32)
    for start in range(0, n, batch_size):
        size = min(batch_size, n - start)
        for i in range(size):
            row = order[start + i]
            for j in range(d):
                batch[i, j] = X[row, j]
                turned[j, i] = X[row, j]
        np.dot(batch, first, hidden)
        hidden[size:] = np.float32(0.0)  # the last batch of an epoch may be smaller
        bias_gradient[:] = np.float32(0.0)
        second_gradient[:] = np.float32(0.0)
        for slot in range(n_slots):
            begin, stop = slot * n_hidden, (slot + 1) * n_hidden
            total_error = np.float32(0.0)
            for i in range(size):
                units = hidden[i, begin:stop]
                margin = _activate(units, first_bias[begin:stop], second[slot])
                margin += second_bias[slot]
                p = 1.0 / (1.0 + np.exp(-np.float64(margin)))
                error = np.float32((p - soft[slot, order[start + i]]) / size)
                total_error += error
                _push_back(
                    units,
                    second[slot],
                    error,
                    second_gradient[begin:stop],
                    bias_gradient[begin:stop],
                )
            second_bias[slot] -= np.float32(2.0) * rate * total_error
            _descend(second[slot], second_gradient[begin:stop], np.float32(2.0) * rate)
        np.dot(turned, hidden, gradient)
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
