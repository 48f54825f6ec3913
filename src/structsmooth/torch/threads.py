"""How many threads PyTorch computes with, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch


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
