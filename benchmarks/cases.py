"""Generated data that resemble typical inputs."""

from __future__ import annotations

import numpy as np


def table_like(n, seed=0, n_features=28, n_latent=14, n_groups=12):
    """Return correlated, skewed features of moderate intrinsic dimension."""
    draw, fixed = np.random.default_rng(seed), np.random.default_rng(12345)
    means = 1.2 * fixed.normal(size=(n_groups, n_latent))
    linear, bent = fixed.normal(size=(2, n_latent, n_features)) / np.sqrt(n_latent)
    group = draw.integers(0, n_groups, n)
    latent = means[group] + draw.normal(size=(n, n_latent))
    X = latent @ linear + 0.5 * np.tanh(latent @ bent) ** 2
    X += 0.25 * draw.normal(size=(n, n_features))
    X[:, :10] = np.exp(0.5 * X[:, :10])
    X[:, 10:13] = np.clip(np.round(X[:, 10:13]), -1, 1)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X.astype(np.float32), group


def table_cluster(n, seed=0):
    """Return one cluster of such a table: the n rows nearest to one of its rows."""
    X, _ = table_like(16 * n, seed)
    draw = np.random.default_rng(seed + 77)
    center = X[draw.integers(len(X))]
    nearest = np.argsort(((X - center) ** 2).sum(axis=1))[:n]
    return np.ascontiguousarray(X[draw.permutation(nearest)])


def image_like(n, seed=0, n_features=256, n_latent=24, n_groups=10):
    """Return features like those of an autoencoder, with a steep spectrum and noise."""
    draw, fixed = np.random.default_rng(seed), np.random.default_rng(999)
    means = 1.5 * fixed.normal(size=(n_groups, n_latent))
    decay = np.arange(1, n_latent + 1)[:, np.newaxis] ** -0.5
    linear = fixed.normal(size=(n_latent, n_features)) * decay
    group = draw.integers(0, n_groups, n)
    X = (means[group] + draw.normal(size=(n, n_latent))) @ linear
    X = np.maximum(X + 0.3 * draw.normal(size=(n, n_features)), -0.5)
    return X.astype(np.float32), group


def blobs(n, n_features, seed=0, n_groups=20):
    """Return Gaussians of random shape at random positions."""
    draw = np.random.default_rng(seed)
    means = draw.uniform(-10, 10, size=(n_groups, n_features))
    shapes = draw.normal(size=(n_groups, n_features, n_features)) / np.sqrt(n_features)
    group = draw.integers(0, n_groups, n)
    X = np.empty((n, n_features), dtype=np.float32)
    for number in range(n_groups):
        rows = np.flatnonzero(group == number)
        noise = draw.normal(size=(len(rows), n_features))
        X[rows] = means[number] + noise @ shapes[number]
    return X


# The cases of the tree benchmark, by name; each function makes the clusters.
TREES = {
    "A: 64 x (780, 256)": lambda: [image_like(780, seed)[0] for seed in range(64)],
    "B: (7 800, 28)": lambda: [table_cluster(7800)],
    "C: (86 000, 28)": lambda: [table_cluster(86_000)],
    "(1 000, 20)": lambda: [blobs(1000, 20, n_groups=4)],
    "(375, 8)": lambda: [blobs(375, 8, n_groups=4)],
    "(10^6, 2)": lambda: [blobs(1_000_000, 2)],
    "(10^6, 3)": lambda: [blobs(1_000_000, 3)],
}
