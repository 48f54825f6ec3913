"""Fixtures and settings of all tests."""

import os

import numpy as np
import pytest
from hypothesis import settings

# The same examples in every run, so that failures in CI can be reproduced.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

# Tests already run in parallel; two BLAS pools on two cores would slow each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items):
    """Leave what takes minutes of draws to `make theory`."""
    if os.environ.get("STRUCTSMOOTH_THEORY") == "full":
        return
    for item in items:
        if item.get_closest_marker("statistical"):
            item.add_marker(pytest.mark.skip(reason="statistical: `make theory`"))


@pytest.fixture(autouse=True)
def _same_draws_every_time():
    """Estimators without a random_state draw from the global generator."""
    np.random.seed(0)  # noqa: NPY002 (the only way to reach that generator)


@pytest.fixture
def rng():
    return np.random.default_rng(20201)


@pytest.fixture
def overlapping(rng):
    """Two classes, 400 points in four groups; only one group mixes them."""
    y = np.repeat([0, 1], 200)
    centers = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0], [12.0, 12.0]])
    group = np.tile([0, 1], 200)
    X = rng.normal(size=(400, 2)) + centers[np.where(group == 0, 0, 1 + 2 * y)]
    X[:, 0] += (group == 0) * y  # a gap of one: the Bayes error there is 31 %
    return X, y
