"""Independent tasks side by side: in threads, or wherever joblib is told to run them.

Our kernels release the interpreter's lock, so threads are the default. joblib looks for
finished work a hundred times a second, which for many small trees is a tenth of the
whole; so in threads the tasks do without it. Every other backend that
`joblib.parallel_config` names is joblib's to run.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import ThreadingBackend, get_active_backend

Task = TypeVar("Task")
Result = TypeVar("Result")


def side_by_side(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    n_jobs: int | None,
    *,
    share_memory: bool = False,
    ahead: int | None = None,
) -> Iterator[Result]:
    """Give the results in the order of the tasks, as they come.

    Parameters
    ----------
    work : callable
        What to do with a task; it runs in other threads or processes.
    tasks : iterable
        What to do it with.
    n_jobs : int or None
        How many at once, as in joblib.
    share_memory : bool
        Whether a task writes where this process reads, so that threads it must be.
    ahead : int, optional
        Tasks that may be taken before the first result is, for each job; for tasks
        and results that are large. By default all.
    """
    wish: dict[str, Any] = (
        {"require": "sharedmem"} if share_memory else {"prefer": "threads"}
    )
    backend, _ = get_active_backend(**wish)
    n_threads = effective_n_jobs(n_jobs)
    if n_threads > 1 and type(backend) is ThreadingBackend:
        limit = math.inf if ahead is None else ahead * n_threads
        return _in_threads(work, tasks, n_threads, limit)
    if ahead is not None:
        wish["pre_dispatch"] = f"{ahead} * n_jobs"
    run = Parallel(n_jobs=n_jobs, return_as="generator", **wish)
    results: Iterator[Result] = run(delayed(work)(task) for task in tasks)
    return results


def _in_threads(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    n_threads: int,
    limit: float,
) -> Iterator[Result]:
    pool = ThreadPoolExecutor(n_threads)
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            if len(waiting) >= limit:
                yield waiting.popleft().result()
            waiting.append(pool.submit(work, task))
        while waiting:
            yield waiting.popleft().result()
    finally:  # after an error or an interrupt, what was not begun never is
        pool.shutdown(cancel_futures=True)
