"""Experiments at toy sizes: settings, and toy files in place of the real data."""

import hashlib
import os
from pathlib import Path

import numpy as np
from experiments import configs
from experiments.datasets import TABLES as MADE
from experiments.datasets import File

DATA = "STRUCTSMOOTH_DATA"
_load = configs.load  # a test may replace this

IMAGES = {
    "rows": 300,
    "validation_rows": 60,
    "n_clusters": [3],
    "alphas": [0.2],
    "betas": [0.2, 1.0],
    "n_seeds": 2,
    "curve_every": 1,
    "recipe": {"epochs": 2, "batch_size": 64},
    "autoencoder": {"n_components": 4, "max_epochs": 1, "channels": [4]},
    "network": {"head": 16},
}
COMPACT = IMAGES | {"network": {"widths": [4, 8]}}
TABLES = {
    "validation_rows": 40,
    "n_clusters": [2, 3],
    "alphas": [0.2],
    "betas": [0.2, 1.0],
    "n_seeds": 2,
    "selection_seeds": 2,
    "curve_every": 1,
    "recipe": {"epochs": 2},
}
TOYS = {
    "cifar10": IMAGES,
    "cifar100": IMAGES
    | {
        "validation_rows": 100,
        "smoother": {"min_cluster_size": 1},
    },
    "svhn": IMAGES,
    "cifar10-plain": IMAGES,
    "svhn-plain": IMAGES,
    "compact-svhn": COMPACT,
    "compact-cifar10-plain": COMPACT,
    "pilot-svhn": {
        key: COMPACT[key] for key in ("validation_rows", "network", "recipe")
    },
    "higgs": TABLES | {"test_rows": 60, "fit_rows": 120},
    "timit": TABLES,
}


def toy(name):
    """Return the settings of a study as the command line passes them, but small."""
    config = configs.merge(_load(name), TOYS[name])
    return {key: value for key, value in config.items() if key not in configs.WORDS}


def pictures(draw, n, n_classes):
    """Images whose brightness mostly determines the class."""
    y = np.arange(n) % n_classes
    level = 40 + 170 * y / max(1, n_classes - 1)
    x = draw.normal(level[:, None, None, None], 30.0, size=(n, 32, 32, 3))
    return x.clip(0, 255).astype(np.uint8), y.astype(np.uint8)


def toy_files(folder):
    """Write the files, and return the shapes and sums that loaders should expect."""
    draw = np.random.default_rng(0)
    arrays = {}
    for name, n_classes in (("cifar10", 10), ("svhn", 10), ("cifar100", 100)):
        parts = {"train": pictures(draw, 400, n_classes)}
        parts["test"] = pictures(draw, 200, n_classes)
        arrays[f"{name}.npz"] = {
            f"{letter}_{part}": array
            for part, pair in parts.items()
            for letter, array in zip("xy", pair, strict=True)
        }
    arrays["cifar10-full.npz"] = arrays["cifar10.npz"]
    y = np.arange(300) % 2
    X = draw.normal(size=(300, 28)).astype(np.float32) + y[:, None].astype(np.float32)
    arrays["higgs_uci.npz"] = {"X": X, "y": y}
    y = np.arange(240) % 5
    arrays["phoneme_timit5.npz"] = {
        "X": draw.normal(size=(240, 256)).astype(np.float32) + y[:, None],
        "y": y,
        "speaker": np.array([f"s{number // 8}" for number in range(240)]),
        "is_train": np.arange(240) < 160,
    }
    arrays["cifar10h.npz"] = {
        "counts": draw.integers(0, 50, size=(200, 10)),
        "y_test": arrays["cifar10.npz"]["y_test"],
    }
    for name in MADE:
        y = np.arange(60) % 2
        arrays[f"{name}.npz"] = {"X": draw.normal(size=(60, 3)) + y[:, None], "y": y}
    files = {}
    for name, content in arrays.items():
        np.savez(folder / name, **content)
        found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        files[name] = File(found, {k: v.shape for k, v in content.items()})
    return files


def use_toy_files():
    """Make the loaders expect toy files in the folder named by the environment."""
    from experiments import datasets
    from experiments.study import regions

    datasets.FILES = {
        path.name: File(None, {}) for path in Path(os.environ[DATA]).glob("*.npz")
    }
    regions.CHECKPOINTS = Path(os.environ["STRUCTSMOOTH_TOYS"])
