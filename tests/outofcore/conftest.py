"""Fixtures for the tests of data larger than memory."""

import numpy as np
import pytest

from structsmooth.outofcore import plan


@pytest.fixture
def _small_blocks(monkeypatch):
    """Use hundreds of small blocks (at least 16 rows) and small pieces."""
    monkeypatch.setattr(plan, "BLOCK_NUMBERS", 1)
    monkeypatch.setattr(plan, "LEAST_BLOCK_ROWS", 16)
    monkeypatch.setattr(plan, "MOST_PIECE_BYTES", 50_000)


@pytest.fixture
def files(tmp_path):
    """Save X and y, and return their paths."""

    def save(X, y):
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "y.npy", y)
        return tmp_path / "X.npy", tmp_path / "y.npy"

    return save
