"""The cost of a search for wrong labels, without a fit."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.cases import image_like
from structsmooth import find_suspects


def run():
    """Return the seconds of a search among (50 000, 64) on one thread."""
    draw = np.random.default_rng(0)
    X, group = image_like(50_000)
    X = X[:, :64]
    y = np.where(draw.random(50_000) < 0.2, draw.integers(0, 10, 50_000), group)
    find_suspects(X[:3_000], y[:3_000], reducer="none")  # compiles
    start = time.process_time()
    found = find_suspects(X, y, reducer="none", n_jobs=1)
    seconds = time.process_time() - start
    return {"suspects": {"seconds": seconds, "n_listed": len(found)}}


def lines(measured):
    """Return what was measured in a sentence."""
    return [
        "",
        "## Wrong labels",
        "",
        "`find_suspects` among (50 000, 64) with ten classes, of whose labels 18 % are "
        f"wrong: {measured['suspects']['seconds']:.1f} CPU seconds on one thread.",
    ]
