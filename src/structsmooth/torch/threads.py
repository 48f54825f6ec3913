"""Where PyTorch computes, and with how many threads for a while."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch

from structsmooth.errors import InvalidInputError


@contextmanager
def cpu_threads(n_threads: int) -> Iterator[None]:
    """Compute with this many threads inside, and with as many as before afterwards.

    Sums depend on the number of threads, in their last bits, and so do results.
    """
    # A new thread tells what was set for the process; in this one threadpoolctl may
    # have hidden it, and cannot reach all of PyTorch's libraries itself.
    with ThreadPoolExecutor(1) as executor:
        before = executor.submit(torch.get_num_threads).result()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
