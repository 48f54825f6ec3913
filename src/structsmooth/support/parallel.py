"""Independent tasks in parallel: in threads, or wherever joblib is told to run them.

Kernels release the interpreter's lock, so threads are the default. They are run here
because joblib's polling for results takes a tenth of the time of many small trees.
"""

from __future__ import annotations

import functools
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import ThreadingBackend, get_active_backend

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_threads(n_threads: int, part: Callable[[int], Any]) -> None:
    """Do parts 0 to n_threads - 1 of some work, the first one in this thread.

    What takes a few milliseconds is over before the system has moved two new threads to
    cores of their own, so one is this and the others wait for work from call to call.
    A part must not call this function: it would wait for threads that wait for it.
    """
    if n_threads == 1:
        part(0)
        return
    others = [_waiting_threads().submit(part, n) for n in range(1, n_threads)]
    try:
        part(0)
    finally:
        wait(others)
    for other in others:
        other.result()


@functools.cache
def _waiting_threads() -> ThreadPoolExecutor:
    """Return threads that begin when they are needed for the first time."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="structsmooth")


if hasattr(os, "register_at_fork"):
    # The threads are not there in a process that was forked.
    os.register_at_fork(after_in_child=_waiting_threads.cache_clear)


def side_by_side(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    n_jobs: int | None,
    *,
    share_memory: bool = False,
    ahead: int | None = None,
) -> Iterator[Result]:
    """Yield the result of each task, in the order of the tasks.

    ``share_memory`` is for work that writes to arrays of this process: it runs in
    threads whatever the backend. ``ahead`` is how many tasks for each job may be taken
    before the first result is, if tasks or results are large; by default all.
    """
    backend_options: dict[str, Any] = (
        {"require": "sharedmem"} if share_memory else {"prefer": "threads"}
    )
    backend, _ = get_active_backend(**backend_options)
    n_threads = effective_n_jobs(n_jobs)
    if n_threads > 1 and type(backend) is ThreadingBackend:
        limit = math.inf if ahead is None else ahead * n_threads
        return _in_threads(work, tasks, n_threads, limit)
    if ahead is not None:
        backend_options["pre_dispatch"] = f"{ahead} * n_jobs"
    # Some backends, such as Ray's, return all results at once.
    return_as = "generator" if backend.supports_return_generator else "list"
    run = Parallel(n_jobs=n_jobs, return_as=return_as, **backend_options)
    return iter(run(delayed(work)(task) for task in tasks))


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
    finally:  # after an error or an interrupt, tasks that wait are never begun
        pool.shutdown(cancel_futures=True)
