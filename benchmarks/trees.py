"""Spanning trees of all libraries, on one thread and the same data, in one run."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from benchmarks import peers
from benchmarks.cases import TREES, blobs, table_like
from benchmarks.clock import seconds
from structsmooth import StructuralSmoother
from structsmooth.bayes_error.regions import TASKS_PER_JOB
from structsmooth.support.parallel import side_by_side


def run():
    """Return {case: {contender: seconds}}."""
    for contender in peers.ALL:  # compile and import before timing starts
        for warm in (blobs(300, 8), blobs(900, 8), blobs(300, 60)):
            contender(warm)
    results = {}
    for case, make in TREES.items():
        clusters = make()
        results[case] = {}
        reference = None
        for contender in peers.ALL:
            name = contender.__name__
            if name in peers.TOO_SLOW.get(case, ()):
                continue
            used = clusters[:1] if name in peers.ONE_OF_MANY else clusters
            lengths = []

            def work(contender=contender, used=used, lengths=lengths):
                lengths[:] = [contender(X) for X in used]

            spent = seconds(work, 5) * len(clusters) / len(used)
            results[case][name] = spent
            if reference is None:
                reference = lengths[:]
            elif not np.isnan(lengths[0]):
                np.testing.assert_allclose(lengths[0], reference[0], rtol=1e-5)
            print(f"{case:22} {name:20} {spent:10.4f} s", flush=True)
    return {"trees": results}


def run_threads():
    """Return wall-clock seconds of one and two threads, over and inside clusters."""
    many = TREES["A: 64 x (780, 256)"]()
    one = TREES["C: (86 000, 28)"]()[0]

    def several(clusters):
        return [peers.ours(X) for X in clusters]

    def over(n_jobs):  # as `structsmooth.bayes_error.regions` does
        n_tasks = TASKS_PER_JOB * n_jobs
        tasks = [many[start::n_tasks] for start in range(n_tasks)]
        list(side_by_side(several, tasks, n_jobs))

    gains = {
        "over 64 clusters": _in_turns(lambda: over(1), lambda: over(2), 25),
        "inside (86 000, 28)": _in_turns(
            lambda: peers.ours(one), lambda: peers.ours_two_threads(one), 4
        ),
    }
    for n in (100_000, 1_000_000):
        X, group = table_like(n)
        y = group > 5
        single, double = (
            partial(StructuralSmoother(random_state=0, n_jobs=jobs).fit, X, y)
            for jobs in (1, 2)
        )
        gains[f"whole fit of {n:_} x 28".replace("_", " ")] = _in_turns(
            single, double, 4
        )
    for name, (one_thread, two_threads) in gains.items():
        print(f"two threads {name}: {one_thread / two_threads:.2f} x", flush=True)
    return {"gains": gains}


def _in_turns(single, double, rounds):
    """Return the least wall-clock seconds of each function, measured in turns."""
    laps = [
        [seconds(work, 1, time.perf_counter) for work in (single, double)]
        for _ in range(rounds)
    ]
    return tuple(map(min, zip(*laps, strict=True)))
