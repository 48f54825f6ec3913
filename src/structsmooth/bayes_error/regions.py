"""Bounds on the Bayes error of all regions, side by side."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds, region_bounds
from structsmooth.support.groups import rows_of_groups
from structsmooth.support.parallel import side_by_side
from structsmooth.support.progress import Progress

# Tasks that each thread gets, one after the other.
TASKS_PER_JOB = 8
# Seconds of a tree, at most, from which on it is worth a thread. Those of shorter ones
# would mostly wait for the interpreter.
WORTH_THREAD = 5e-4


def bounds_of_regions(
    X: Any,
    coded: NDArray[np.int64],
    region_of: NDArray[np.int64],
    weights: NDArray[Any] | None = None,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> list[BayesErrorBounds]:
    """Bound the Bayes error in each region 0, 1, ... of the rows of X.

    The regions are independent, so they run side by side; a sparse X is made dense
    one region at a time. The settings are those of `region_bounds`.
    """
    from structsmooth.tree.algorithms import prim_seconds  # loads numba

    members = rows_of_groups(region_of)
    n_regions = len(members)
    seconds = sum(prim_seconds(len(rows), X.shape[1]) for rows in members)
    if seconds < n_regions * WORTH_THREAD:
        n_jobs = 1
    # The compiler has one thread, the trees of several regions may have more.
    workload = seconds / min(n_regions, effective_n_jobs(n_jobs))
    # Parallel at one level only: over the regions, or inside a single one.
    n_threads = effective_n_jobs(n_jobs) if n_regions == 1 else 1

    # The largest first, so that no thread is left with a long job at the end; several
    # at a time, because handing out a small one takes as long as doing it.
    order = sorted(range(n_regions), key=lambda region: -len(members[region]))
    n_tasks = min(n_regions, TASKS_PER_JOB * effective_n_jobs(n_jobs))
    tasks = [order[start::n_tasks] for start in range(n_tasks)]
    results = side_by_side(
        functools.partial(
            _some_regions,
            settings={**settings, "n_threads": n_threads, "workload": workload},
        ),
        ([_Part(members[at], X, coded, weights) for at in task] for task in tasks),
        n_jobs,
    )
    bounds: dict[int, BayesErrorBounds] = {}
    with (progress or Progress(False)).stage("spanning trees", n_regions) as stage:
        for task, found in zip(tasks, results, strict=True):
            for region, result in zip(task, found, strict=True):
                bounds[region] = result
                stage.advance()
    return [bounds[region] for region in range(n_regions)]


class _Part:
    """The rows of a region, taken where they are needed.

    A thread takes them itself; sent to another process or machine, they travel alone.
    """

    def __init__(self, rows: NDArray[np.int64] | slice, *arrays: Any) -> None:
        self.rows, self.arrays = rows, arrays

    def take(self) -> list[Any]:
        taken: list[Any] = [None if a is None else a[self.rows] for a in self.arrays]
        return [a.toarray() if hasattr(a, "toarray") else a for a in taken]

    def __reduce__(self) -> tuple[Any, ...]:
        return _Part, (slice(None), *self.take())


def _some_regions(
    parts: list[_Part], settings: dict[str, Any]
) -> list[BayesErrorBounds]:
    return [region_bounds(*part.take(), **settings) for part in parts]
