"""Where and how PyTorch trains: device, threads and progress."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import torch
from joblib import effective_n_jobs

from structsmooth.errors import InvalidInputError
from structsmooth.support.progress import Progress, Stage
from structsmooth.support.validation import check_n_jobs, check_real


@contextmanager
def cpu_threads(n_jobs: int | None) -> Iterator[None]:
    """Compute with this many threads inside, and with as many as before afterwards.

    The last bits of sums, and so of results, depend on the number of threads.
    """
    # Only a new thread sees the setting of the process: in this one threadpoolctl may
    # have hidden it, and threadpoolctl cannot reach all of PyTorch's libraries itself.
    with ThreadPoolExecutor(1) as executor:
        before = executor.submit(torch.get_num_threads).result()
    torch.set_num_threads(effective_n_jobs(n_jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def training_stage(
    name: str, n_epochs: int, n_jobs: int | None, verbose: int
) -> Iterator[Stage]:
    """Record gradients inside, with some threads and a progress bar."""
    with (
        torch.enable_grad(),
        cpu_threads(n_jobs),
        Progress(verbose > 0) as progress,
        progress.stage(name, n_epochs) as stage,
    ):
        yield stage


def resolve_device(name: str | None) -> torch.device:
    """Return the device of a name; None is the CPU, "auto" a GPU if there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name or "cpu")
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError, TypeError) as error:
        raise InvalidInputError(
            f"device {name!r} is not available here: {str(error).splitlines()[0]}"
        ) from None
    return device


def check_training(n_jobs: Any, learning_rate: Any) -> None:
    """Refuse a number of threads or a step size that cannot be used."""
    check_n_jobs(n_jobs)
    if not check_real(learning_rate, "learning_rate", 0.0) > 0.0:
        raise InvalidInputError("learning_rate must be above 0, got 0")
