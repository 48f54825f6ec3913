"""Eleven million rows on one machine, out of core, compared with a million in memory.

``python -m benchmarks.outofcore [ROWS] [FOLDER]`` makes data like HIGGS (11 000 000
rows of 28 float32), fits them with a limit of 4 GB in child processes, and writes
``outofcore.json`` and ``.md`` into the results. FOLDER temporarily needs 4 GB.

``python -m benchmarks.outofcore large [FOLDER]`` does this once for a hundred million
rows, which takes ten minutes and 25 GB, and writes ``outofcore-large.json``.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap

from benchmarks.cases import table_like
from benchmarks.clock import machine

RESULTS = Path(__file__).parent / "results"
ROWS, STEP, FEATURES = 11_000_000, 500_000, 28
LARGE = 100_000_000
IN_MEMORY, LIMIT, JOBS = 1_000_000, 4_000_000_000, 2

# Every child process loads the kernels, then fits, and times each stage.
CHILD = """
import json, sys, tempfile, time
import numpy as np
from structsmooth import StructuralSmoother
import structsmooth.outofcore.fit as line
import structsmooth.smoother as memory
from structsmooth.outofcore.plan import peak_memory
from structsmooth.support.progress import Progress

laps = []
def lap(name):
    laps.append((name, time.perf_counter(), time.process_time()))

class Stopwatch(Progress):
    def stage(self, name, total=1):
        lap(name)
        return super().stage(name, total)

folder, clusters, n_rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = dict(random_state=0, n_jobs=JOBS)
X = np.array(np.load(folder + "/X.npy", mmap_mode="r")[:20_000])
y = np.array(np.load(folder + "/y.npy", mmap_mode="r")[:20_000])
StructuralSmoother(n_clusters=4, **options).fit(X, y)
line.Progress = memory.Progress = Stopwatch
if clusters == "memory":
    X = np.array(np.load(folder + "/X.npy", mmap_mode="r")[:n_rows])
    y = np.array(np.load(folder + "/y.npy", mmap_mode="r")[:n_rows])
    lap("start")
    fitted = StructuralSmoother(**options).fit(X, y)
else:
    n_clusters = clusters if clusters == "auto" else int(clusters)
    lap("start")
    fitted = line.fit_out_of_core(
        folder + "/X.npy", folder + "/out", labels=folder + "/y.npy",
        smoother=StructuralSmoother(n_clusters=n_clusters, **options),
        max_memory=LIMIT)
lap("end")
sizes = [b.n_samples for b in fitted.cluster_bounds_]
stages = {a[0]: [b[1] - a[1], b[2] - a[2]] for a, b in zip(laps, laps[1:])}
print(json.dumps({
    "rows": sum(sizes), "clusters": len(sizes), "largest": max(sizes),
    "wall": laps[-1][1] - laps[0][1], "cpu": laps[-1][2] - laps[0][2],
    "peak": peak_memory(), "stages": stages}))
""".replace("JOBS", str(JOBS)).replace("LIMIT", str(LIMIT))


def make_data(folder, n_rows):
    """Write rows and labels whose classes overlap more in some regions than others."""
    shape = (n_rows, FEATURES)
    X = open_memmap(folder / "X.npy", "w+", np.float32, shape)
    y = open_memmap(folder / "y.npy", "w+", np.int64, (n_rows,))
    for part, start in enumerate(range(0, n_rows, STEP)):
        rows, group = table_like(min(STEP, n_rows - start), seed=part + 1)
        score = 1.5 * (rows[:, 0] + 0.7 * rows[:, 3] * rows[:, 5] + group % 3 - 1)
        draw = np.random.default_rng(1000 + part).random(len(rows))
        X[start : start + len(rows)] = rows
        y[start : start + len(rows)] = draw < 1.0 / (1.0 + np.exp(-score))


def measure(folder, what, n_rows):
    shutil.rmtree(folder / "out", ignore_errors=True)  # of another fit
    command = [sys.executable, "-c", CHILD, str(folder), what, str(n_rows)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        disk = 0
        while child.poll() is None:
            disk = max(disk, written(folder))
            time.sleep(1.0)
        printed = child.stdout.read().strip()
    if child.returncode:
        raise SystemExit(f"the fit of {what} has failed")
    print(what, printed, flush=True)
    return json.loads(printed) | {"disk": disk}


def written(folder):
    """Return how many bytes there are beside the data: spilled, and of the result."""
    found = 0
    for path in folder.glob("out*/**/*"):
        with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
            found += path.stat().st_size
    return found


def run(n_rows=ROWS, place=None):
    """Return the measurements, with fits in memory before and after the others."""
    folder = Path(tempfile.mkdtemp(dir=place, prefix="structsmooth-bench-"))
    try:
        make_data(folder, n_rows)
        small = min(IN_MEMORY, n_rows)
        memory = [measure(folder, "memory", small)]
        found = {"auto": measure(folder, "auto", n_rows)}
        memory.append(measure(folder, "memory", small))
        found["128"] = measure(folder, "128", n_rows)
    finally:
        shutil.rmtree(folder)
    load = os.getloadavg()[2]
    return {"machine": machine() | {"threads": JOBS}, "load": load} | {
        "memory": memory,
        "out of core": found,
    }


def lines(measured, large):
    """Return the page; the fit of a hundred million rows may be missing."""
    memory, found = measured["memory"], measured["out of core"]
    base = {k: np.mean([m[k] for m in memory]) for k in ("wall", "cpu")}
    rows = [
        ("in memory, before", memory[0]),
        ("in memory, after", memory[1]),
        ("out of core, auto", found["auto"]),
        ("out of core, 128", found["128"]),
        *([("out of core, auto", large)] if large else []),
    ]
    page = [
        "# Out of core",
        "",
        "Made by `python -m benchmarks.outofcore` (in `make bench`): generated rows "
        f"of {FEATURES} float32 features, {JOBS} threads, a limit of "
        f"{LIMIT / 1e9:g} GB out of core, each fit in its own process. The ratios are "
        "relative to the mean of the two fits in memory. Disk is what is spilled and "
        "written at most, beside the data."
        + (" The fit of a hundred million rows is a run of its own." if large else ""),
        "",
        "| fit | rows | clusters | largest | wall, s | ratio | CPU, s | ratio "
        "| peak resident, GB | disk, GB |",
        "|---" * 10 + "|",
    ]
    page += [
        f"| {name} | {m['rows']} | {m['clusters']} | {m['largest']} | {m['wall']:.1f} "
        f"| {m['wall'] / base['wall']:.1f} | {m['cpu']:.1f} "
        f"| {m['cpu'] / base['cpu']:.1f} | {m['peak'] / 1e9:.2f} "
        f"| {m['disk'] / 1e9 if name.startswith('out') else 0:.1f} |"
        for name, m in rows
    ]
    page += ["", "Seconds by stage, wall-clock and CPU:", ""]
    stages = list(found["auto"]["stages"])
    page += ["| fit | " + " | ".join(stages) + " |", "|---" * (len(stages) + 1) + "|"]
    for name, m in rows[2:]:
        cells = " | ".join("{:.1f}, {:.1f}".format(*m["stages"][s]) for s in stages)
        page.append(f"| {name} | {cells} |")
    facts = measured["machine"]
    page += [
        "",
        f"{facts['processor']}, {facts['cores']} cores, shared with other programs: "
        f"mean load over the last 15 minutes {measured['load']:.1f}. Python "
        f"{facts['python']}, numpy {facts['versions']['numpy']}, scikit-learn "
        f"{facts['versions']['scikit-learn']}.",
    ]
    return page


def run_large(place=None):
    """Return the measurements of one fit of a hundred million rows."""
    folder = Path(tempfile.mkdtemp(dir=place, prefix="structsmooth-bench-"))
    try:
        make_data(folder, LARGE)
        return {"machine": machine()} | measure(folder, "auto", LARGE)
    finally:
        shutil.rmtree(folder)


def write(name, text):
    beside = RESULTS / "outofcore.part"
    beside.write_text(text + "\n")
    beside.replace(RESULTS / name)


def main(arguments):
    if arguments[:1] == ["large"]:
        write("outofcore-large.json", json.dumps(run_large(*arguments[1:2]), indent=1))
        measured = json.loads((RESULTS / "outofcore.json").read_text())
    else:
        measured = run(int(arguments[0]) if arguments else ROWS, *arguments[1:2])
        write("outofcore.json", json.dumps(measured, indent=1))
    found = RESULTS / "outofcore-large.json"
    large = json.loads(found.read_text()) if found.exists() else None
    write("outofcore.md", "\n".join(lines(measured, large)))


if __name__ == "__main__":
    main(sys.argv[1:])
