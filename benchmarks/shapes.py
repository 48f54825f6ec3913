"""Trees of data whose distances float32 cannot tell apart, beside random data.

Exponential spacing and binary features; and rows a few units in the last place apart,
which it can tell apart once they are centered. None of them may take more than ten
times as long as random rows of the same number.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import numpy as np

from benchmarks.clock import seconds
from structsmooth.tree import minimum_spanning_tree

ROWS = {3: 60_000, 16: 60_000, 28: 60_000}  # by features
LIMIT = 10.0
COLD = (
    "import time, numpy as np; from structsmooth import euclidean_mst\n"
    "X = np.exp(np.random.default_rng(0).uniform(-50, 50, (100_000, 8)))\n"
    "start = time.process_time(); euclidean_mst(X)\n"
    "print(time.process_time() - start)"
)


def _draw(kind, n, d):
    draw = np.random.default_rng(0)
    if kind == "exponential norms":
        return draw.normal(size=(n, d)) * np.exp(draw.uniform(-140, 140, (n, 1)))
    if kind == "exponential spacing":
        steps = 2.0 ** np.linspace(-200, 200, n)
        return steps[:, np.newaxis] * np.abs(draw.normal(size=(n, d)))
    if kind == "exponential coordinates":
        return np.exp(draw.uniform(-50, 50, (n, d)))
    if kind == "a few ulps apart":
        return 1.0 + draw.integers(0, 40, (n, d)) * 2.0**-52
    if kind == "binary":
        return draw.integers(0, 2, (n, d)).astype(float)
    return draw.normal(size=(n, d))


KINDS = (
    "random",
    "exponential norms",
    "exponential spacing",
    "exponential coordinates",
    "a few ulps apart",
    "binary",
)


def run():
    """Return {features: {kind: CPU seconds}}, and the seconds of a cold start."""
    for kind in ("random", "exponential norms"):  # compile both kinds of search
        minimum_spanning_tree(_draw(kind, 12_000, 5), workload=np.inf)
    shapes = {}
    for d, n in ROWS.items():
        shapes[str(d)] = {}
        for kind in KINDS:
            X = _draw(kind, n, d)
            spent = seconds(lambda X=X: minimum_spanning_tree(X), 1)
            shapes[str(d)][kind] = spent
            ratio = spent / shapes[str(d)]["random"]
            line = f"{ratio:.1f} times random, at most {LIMIT:.0f}"
            print(f"({n}, {d}) {kind:24} {spent:8.2f} s, {line}", flush=True)
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", COLD]
        cold = float(subprocess.check_output(command, env=environment, text=True))
    print(f"(100000, 8) exponential, nothing compiled: {cold:.1f} s", flush=True)
    return {"rows": ROWS, "shapes": shapes, "cold": cold}


def lines(measured):
    """Return the table."""
    rows = []
    shapes = measured["shapes"]
    for kind in KINDS:
        cells = [
            f"{row[kind]:.2f} ({row[kind] / row['random']:.1f})"
            for row in shapes.values()
        ]
        rows.append(f"| {kind} | " + " | ".join(cells) + " |")
    return [
        "",
        "## Shapes that float32 cannot tell apart",
        "",
        "Trees, CPU seconds, in brackets the ratio to random rows of the same number, "
        f"at most {LIMIT:.0f}. With nothing compiled yet, 100 000 rows of 8 "
        f"exponential coordinates take {measured['cold']:.0f} seconds of CPU time.",
        "",
        "| rows | "
        + " | ".join(f"({measured['rows'][d]}, {d})" for d in shapes)
        + " |",
        "|---" * (len(shapes) + 1) + "|",
        *rows,
    ]
