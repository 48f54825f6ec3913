"""One-time costs: memory above the input, and the first call on a new machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

FIRST_CALL = """
import time
import numpy as np
from structsmooth import euclidean_mst
X = np.random.default_rng(0).normal(size=(1000, 16))
start = time.perf_counter()
euclidean_mst(X)
print(time.perf_counter() - start)
"""
FIRST_FIT = """
import time, warnings
import numpy as np
from structsmooth import StructuralSmoother
warnings.simplefilter("ignore")
draw = np.random.default_rng(0)
y = draw.integers(0, 2, {n})
X = draw.normal(size=({n}, {d})).astype(np.float32)
X[:, 0] += y
start = time.perf_counter()
StructuralSmoother(random_state=0, n_jobs=2).fit(X, y)
print(time.perf_counter() - start)
"""
FITS = ((5_000, 20), (100_000, 28), (1_000_000, 28))
PEAK = """
def peak():
    with open("/proc/self/status") as stream:
        line = next(line for line in stream if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
"""
MEMORY = """
from benchmarks.cases import blobs, table_cluster
from structsmooth import euclidean_mst
import numpy as np
X = np.load({path!r})
euclidean_mst(blobs(5000, 28))  # load the kernels
with open("/proc/self/clear_refs", "w") as stream:
    stream.write("5")  # forget the peak so far
before = peak()
euclidean_mst(X, n_jobs={n_jobs})
print(peak() - before)
"""
FIT_MEMORY = """
import warnings
import numpy as np
from structsmooth import StructuralSmoother
warnings.simplefilter("ignore")
draw = np.random.default_rng(0)
y = draw.integers(0, 2, 1_000_000)
X = np.empty((len(y), 28), np.float32)
for start in range(0, len(y), 50_000):
    X[start : start + 50_000] = draw.normal(size=(50_000, 28))
X[:, 0] += y
few = slice(0, 3000)
StructuralSmoother(n_clusters=3, random_state=0, n_jobs=2).fit(X[few], y[few])
with open("/proc/self/clear_refs", "w") as stream:
    stream.write("5")  # forget the peak so far
before = peak()
StructuralSmoother(random_state=0, n_jobs=2).fit(X, y)
print((peak() - before) / (X.nbytes / 2**20))
"""

IMPORTS = ("import sklearn", "from structsmooth import StructuralSmoother")


def imports():
    """Return how long naming the smoother takes, relative to importing scikit-learn."""
    seconds = {statement: [] for statement in IMPORTS}
    for _ in range(5):
        for statement, found in seconds.items():
            script = f"{statement}\nimport time\nprint(time.process_time())"
            found.append(_run(script))
    sklearn, ours = (min(found) for found in seconds.values())
    return ours / sklearn


def _run(script, **environment):
    output = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(output.stdout)


def _demo(cache, out):
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "structsmooth", "demo", "-q", "-o", out],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        check=True,
    )
    return time.perf_counter() - start


def run():
    """Return seconds and megabytes, and print them."""
    import numpy as np

    from benchmarks.cases import table_cluster

    results = {"naming the smoother, relative to `import sklearn`": imports()}
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "cached"):
            spent = _run(FIRST_CALL, NUMBA_CACHE_DIR=cache)
            results[f"first call on (1 000, 16), {name}, seconds"] = spent
    for n, d in FITS:
        with tempfile.TemporaryDirectory() as cache:
            for name in ("cold", "cached"):
                spent = _run(FIRST_FIT.format(n=n, d=d), NUMBA_CACHE_DIR=cache)
                rows = f"{n:,}".replace(",", " ")
                results[f"fit of ({rows}, {d}), {name}, seconds"] = spent
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as out:
        for name in ("cold", "cached"):
            results[f"demo, {name}, seconds"] = _demo(cache, f"{out}/demo")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/X.npy"
        np.save(path, table_cluster(86_000))
        for n_jobs in (1, 2):
            extra = _run(PEAK + MEMORY.format(path=path, n_jobs=n_jobs))
            name = f"tree of (86 000, 28), {n_jobs} threads, MB above the input"
            results[name] = extra
    name = "fit of (1 000 000, 28), memory above the input, relative to the input"
    results[name] = _run(PEAK + FIT_MEMORY)
    print(json.dumps(results, indent=1), flush=True)
    return {"costs": results}
