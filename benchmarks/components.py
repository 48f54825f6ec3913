"""Principal components of many features: how much variance they hold, and how fast.

Beside scikit-learn's default, which is exact up to a thousand features if there are ten
times as many rows, and approximate beyond. Of 64 components of float32 rows; the
variance is that of all rows along them, relative to that along the exact ones.
"""

from __future__ import annotations

import numpy as np
from experiments.datasets import MissingDataError, archive
from sklearn.decomposition import PCA

from benchmarks.cases import image_like
from benchmarks.clock import seconds
from structsmooth.reduce.fit import fit_reduction

COUNT = 64


def falling(power):
    """Return rows whose variance falls with a power of the number of the direction."""
    draw = np.random.default_rng(0)
    rotation = np.linalg.qr(draw.normal(size=(784, 784)))[0]
    spread = np.arange(1.0, 785.0) ** (-0.5 * power)
    return ((draw.normal(size=(20_000, 784)) * spread) @ rotation).astype(np.float32)


def pixels(name):
    """Return the training images of a set as rows."""
    images = archive(f"{name}.npz")["x_train"]
    return images.reshape(len(images), -1).astype(np.float32) / 255.0


CASES = {
    "like images (20 000, 784)": lambda: image_like(20_000, n_features=784)[0],
    "like images (20 000, 3 072)": lambda: image_like(20_000, n_features=3072)[0],
    "pixels of CIFAR-10 (10 000, 3 072)": lambda: pixels("cifar10"),
    "pixels of CIFAR-100 (10 000, 3 072)": lambda: pixels("cifar100"),
    "pixels of SVHN (10 000, 3 072)": lambda: pixels("svhn"),
    "variance falls as 1 / k (20 000, 784)": lambda: falling(1.0),
    "the same in all directions (20 000, 784)": lambda: falling(0.0),
}


def run():
    """Return the share of the variance, and the CPU seconds, of both."""
    found = {}
    for name, make in CASES.items():
        try:
            X = make()
        except MissingDataError as missing:
            print(missing)
            continue
        centered = X - X.mean(axis=0, dtype=np.float64)
        covariance = centered.T @ centered
        best = np.linalg.eigvalsh(covariance)[-COUNT:].sum()
        ways = {
            "structsmooth": lambda X=X: fit_reduction(X, n_components=COUNT, n_jobs=1),
            "scikit-learn": lambda X=X: PCA(COUNT, random_state=0).fit(X),
        }
        found[name] = {"share": float(best / np.trace(covariance))}
        for way, fit in ways.items():
            components = np.asarray(_components_of(fit()), dtype=np.float64)
            held = np.sum((components @ covariance) * components)
            found[name][way] = {
                "held": float(held / best),
                "seconds": seconds(fit, 3),
            }
        print(name, found[name], flush=True)
    return {"components": found}


def _components_of(fitted):
    return fitted.components_ if isinstance(fitted, PCA) else fitted.components


def lines(measured):
    """Return the table."""
    rows = []
    for name, found in measured["components"].items():
        ours, theirs = found["structsmooth"], found["scikit-learn"]
        rows.append(
            f"| {name} | {100 * found['share']:.0f} % | {100 * ours['held']:.2f} % / "
            f"{100 * theirs['held']:.2f} % | {ours['seconds']:.2f} / "
            f"{theirs['seconds']:.2f} | {theirs['seconds'] / ours['seconds']:.1f} |"
        )
    return [
        "",
        "## Principal components of many features",
        "",
        f"{COUNT} components, structsmooth / scikit-learn's default. How "
        "much of the variance the exact ones hold, how much of that these do, and CPU "
        "seconds on one thread.",
        "",
        "| rows | exact | of which held | seconds | ratio |",
        "|---|---|---|---|---|",
        *rows,
    ]
