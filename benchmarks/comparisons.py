"""A comparison with the default learner, and what copies of rows would have cost.

Ten seeds of 10 000 x 784 rows in ten classes, like Fashion-MNIST.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from structsmooth import StructuralSmoother
from structsmooth.classifier.logistic import fit_soft_logistic
from structsmooth.compare import compare

N_ROWS, N_CLASSES, SIDE, N_SEEDS = 10_000, 10, 28, 10
# Rows of one training split.
N_TRAIN = 6_000


def pictures(n, seed=0):
    """Pictures of ten kinds of things, smooth, in which neighbors correlate."""
    draw = np.random.default_rng(seed)
    axis = np.arange(SIDE)
    near = np.exp(-0.5 * ((axis[:, np.newaxis] - axis) / 2.0) ** 2)

    def smooth(size):
        return np.einsum(
            "ij,njk,kl->nil", near, draw.normal(size=(size, SIDE, SIDE)), near
        )

    y = np.arange(n) % N_CLASSES
    kinds, styles = smooth(N_CLASSES), smooth(40)
    X = 1.8 * kinds[y] + np.einsum("ns,sij->nij", draw.normal(size=(n, 40)), styles)
    X += 0.1 * np.abs(X).mean() * draw.normal(size=X.shape)
    return np.clip(X, 0.0, None).reshape(n, -1).astype(np.float32), y


def run():
    """Return the times, and print them."""
    warnings.simplefilter("ignore")
    X, y = pictures(N_ROWS)
    rows = StandardScaler().fit_transform(X[:N_TRAIN])
    soft = StructuralSmoother(0.05, random_state=0).fit_smooth(rows, y[:N_TRAIN])
    model = LogisticRegression(max_iter=1000)
    times = {}
    start = time.process_time()
    fit_soft_logistic(clone(model), rows, soft, np.arange(N_CLASSES))
    times["one fit to soft labels"] = time.process_time() - start
    start = time.process_time()
    copies, labels = np.nonzero(soft)
    copied = clone(model).fit(rows[copies], labels, soft[copies, labels])
    times["one fit to copies of the rows"] = time.process_time() - start
    print(times, copied.n_iter_, flush=True)
    started = time.perf_counter(), time.process_time()
    result = compare(X, y, n_seeds=N_SEEDS, verbose=1)
    times["ten seeds, wall clock"] = time.perf_counter() - started[0]
    times["ten seeds"] = time.process_time() - started[1]
    found = {
        "seconds": times,
        "runs": N_SEEDS * 12,
        "error": float(result.values("none", "error").mean()),
        "iterations of the copies": int(copied.n_iter_[0]),
    }
    print(found, flush=True)
    return {"comparisons": found}


def lines(measured):
    """Return the section of the page."""
    found, times = measured["comparisons"], measured["comparisons"]["seconds"]
    soft = times["one fit to soft labels"]
    copies = times["one fit to copies of the rows"]
    return [
        "",
        "## A comparison",
        "",
        f"`structsmooth.compare` with its defaults on {N_ROWS} x {SIDE**2} rows like "
        "those of Fashion-MNIST, ten classes (made at random; the logistic regression "
        f"errs on {found['error']:.0%}): {N_SEEDS} seeds, {found['runs']} models, took "
        f"{times['ten seeds']:.0f} CPU seconds on one thread, and "
        f"{times['ten seeds, wall clock']:.0f} seconds by the clock on a machine that "
        "was busy with other work.",
        "",
        f"One fit of {N_TRAIN} rows to their soft labels takes {soft:.2f} CPU seconds, "
        f"to copies of the rows, as before, {copies:.0f}: {copies / soft:.0f} times as "
        "long. Ten seeds with copies were not run.",
    ]
