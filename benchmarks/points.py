"""The cost of a strength for every sample, compared with one for every cluster."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.cases import image_like
from structsmooth import StructuralSmoother

WAYS = {
    "by cluster": {},
    "by sample": {"regions": "point"},
    "by cluster, suspects looked for": {"ignore_suspects": True},
}


def run():
    """Return the seconds of each option on (50 000, 256), 64 clusters, one thread."""
    draw = np.random.default_rng(0)
    X, group = image_like(50_000)
    y = np.where(draw.random(50_000) < 0.2, draw.integers(0, 10, 50_000), group)
    warm = slice(0, 3_000)
    seconds = {}
    for name, options in WAYS.items():
        StructuralSmoother(random_state=0, **options).fit(X[warm], y[warm])
        taken = []
        for _ in range(3):
            smoother = StructuralSmoother(n_clusters=64, random_state=0, **options)
            start = time.process_time()
            smoother.fit(X, y)
            taken.append(time.process_time() - start)
        seconds[name] = min(taken)
    return {"points": seconds}


def lines(measured):
    """Return the table."""
    seconds = measured["points"]
    base = seconds["by cluster"]
    rows = [f"| {n} | {s:.1f} | {s / base:.2f} |" for n, s in seconds.items()]
    return [
        "",
        "## Strengths by cluster and by sample",
        "",
        "A fit of (50 000, 256) with 64 clusters, CPU seconds, best of three.",
        "",
        "| strengths | seconds | ratio |",
        "|---|---|---|",
        *rows,
    ]
