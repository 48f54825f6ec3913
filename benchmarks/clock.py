"""Timing, and a description of the machine."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "structsmooth",
    "numpy",
    "numba",
    "scipy",
    "scikit-learn",
    "quitefastmst",
    "hdbscan",
    "fast_hdbscan",
    "mlpack",
    "torch",
)


def seconds(function, repeats, clock=time.process_time):
    """Return the least of several timings, in CPU seconds because machines are shared.

    Anything that takes milliseconds is repeated for half a second.
    """
    least, spent, runs = float("inf"), 0.0, 0
    while runs < repeats or (spent < 0.5 and runs < 100):
        start = clock()
        function()
        lap = clock() - start
        least, spent, runs = min(least, lap), spent + lap, runs + 1
        if least > 20.0:
            break
    return least


def machine():
    """Return processor, thread settings and versions."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.is_file() else []
    models = [line for line in lines if line.startswith("model name")]
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return {
        "processor": models[0].split(":")[1].strip()
        if models
        else platform.processor(),
        "cores": os.cpu_count(),
        "threads": 1,
        "python": platform.python_version(),
        "versions": found,
    }


def machine_lines(measured):
    """Return what a page says about the machine."""
    facts = measured["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
    return [
        "",
        f"{facts['processor']}, {facts['cores']} cores, {facts['threads']} thread; "
        f"Python {facts['python']}, {versions}.",
    ]
