"""The real data sets, from a folder that is not part of the project.

``../shared/data`` beside the project, or wherever ``STRUCTSMOOTH_DATA`` points.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"


class MissingDataError(FileNotFoundError):
    """A data set that is not where it is expected."""


@dataclass(frozen=True, eq=False)
class Data:
    """Features and class numbers, and a test set if there is an official one."""

    X: np.ndarray
    y: np.ndarray
    test: tuple[np.ndarray, np.ndarray] | None = None
    groups: np.ndarray | None = None


def load(name: str) -> Data:
    """Return a data set by name."""
    return LOADERS[name]()


def _archive(file_name):
    path = Path(os.environ.get("STRUCTSMOOTH_DATA", FOLDER)) / file_name
    if not path.is_file():
        raise MissingDataError(
            f"{file_name} is missing; expected it in {path.parent}, or in the folder "
            "that STRUCTSMOOTH_DATA names"
        )
    return np.load(path, allow_pickle=False)


def _timit():
    """Five phonemes, 256 log-periodogram features; no speaker in both parts."""
    archive = _archive("phoneme_timit5.npz")
    X, y = archive["X"].astype(np.float32), archive["y"]
    train = archive["is_train"].astype(bool)
    return Data(X[train], y[train], (X[~train], y[~train]), archive["speaker"][train])


def _higgs():
    """Signal or background, 28 features, 26 071 rows; no official test set."""
    archive = _archive("higgs_uci.npz")
    return Data(archive["X"], archive["y"])


LOADERS = {"timit": _timit, "higgs": _higgs}
