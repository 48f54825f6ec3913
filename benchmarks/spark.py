"""Spark with one and two workers, compared with one process on the same machine.

``python -m benchmarks.spark [ROWS ...]`` fits rows of 28 float32 features in child
processes: out of core with one and two threads, and with Spark with one and two workers
of one core each, in processes of their own. It needs the extra ``spark`` and Java, and
writes ``spark.json`` and ``.md`` into the results, where other sizes stay as they are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.clock import machine
from benchmarks.outofcore import RESULTS, make_data

ROWS = (20_000, 1_000_000, 5_000_000, 20_000_000)
# The heap of the driver and of each worker, and the limit out of core.
HEAP, LIMIT = "1g", 4_000_000_000
PART_ROWS = 500_000
# Up to so many rows one worker and two take turns, each with three fits, because the
# first is slower and the machine is shared.
REPEATED, TURNS, FITS = 5_000_000, 2, 3

OUT_OF_CORE = """
import json, sys, tempfile, time
import numpy as np
from structsmooth import StructuralSmoother, fit_out_of_core
folder, n_jobs, _, limit = sys.argv[1], *map(int, sys.argv[2:])
X = np.array(np.load(folder + "/X.npy", mmap_mode="r")[:20_000])
y = np.array(np.load(folder + "/y.npy", mmap_mode="r")[:20_000])
StructuralSmoother(n_clusters=4, random_state=0).fit(X, y)
start = time.perf_counter()
fit_out_of_core(
    folder + "/X.npy",
    tempfile.mkdtemp(dir=folder),
    labels=folder + "/y.npy",
    smoother=StructuralSmoother(random_state=0, n_jobs=n_jobs),
    max_memory=limit,
)
print(json.dumps({"seconds": time.perf_counter() - start, "stages": {}}))
"""

# Each call of a stage is timed; what comes between them is the driver's own work.
SPARK = """
import functools, json, os, sys, time
from pathlib import Path
from pyspark.sql import SparkSession
from structsmooth.spark import SparkStructuralSmoother, estimator, stages

folder, workers, runs, heap = sys.argv[1], *map(int, sys.argv[2:4]), sys.argv[4]
start = time.perf_counter()
spark = (
    SparkSession.builder.master(f"local-cluster[{workers},1,1024]")
    .config("spark.driver.memory", heap)
    .config("spark.executor.memory", heap)
    # Ten parts of five million rows, not five, which two workers cannot share evenly.
    .config("spark.sql.files.maxPartitionBytes", "64m")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .getOrCreate()
)
spark.range(2).count()
application = spark.sparkContext.applicationId
def executors():
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = command.read_bytes()
            if b"ExecutorBackend" in text and application.encode() in text:
                found.append(int(command.parent.name))
        except OSError:
            pass  # it has ended
    return sorted(found)
while len(executors()) < workers:
    time.sleep(0.1)
# Each worker is bound to a core of its own.
for core, pid in enumerate(executors()):
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), {core})
print(json.dumps({"starts": time.perf_counter() - start}), flush=True)
seconds = {}
def timed(name, function):
    @functools.wraps(function)
    def call(*args, **options):
        start = time.perf_counter()
        try:
            return function(*args, **options)
        finally:
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start
    return call
estimator.check_rows = timed("look", estimator.check_rows)
stages.fit_assigner = timed("cluster", stages.fit_assigner)
stages.cluster_sizes = timed("assign", stages.cluster_sizes)
estimator._bounds = timed("trees", estimator._bounds)
frame = spark.read.parquet(folder + "/parts")
for run in range(runs):
    seconds.clear()
    start = time.perf_counter()
    SparkStructuralSmoother().fit(frame)
    total = time.perf_counter() - start
    print(json.dumps({"seconds": total, "stages": dict(seconds)}), flush=True)
spark.stop()
"""


# What two cores can do at most: the same trees on one core, or at once on each.
TREES = """
import os, sys, time
from benchmarks.cases import table_cluster
from structsmooth import euclidean_mst
from structsmooth.tree.boruvka import boruvka
os.sched_setaffinity(0, {int(sys.argv[1])})
X = table_cluster(6_667)
boruvka(X)  # is compiled, if it is not yet
for _ in range(3):
    euclidean_mst(X)
print("ready", flush=True)
sys.stdin.readline()
start = time.perf_counter()
for _ in range(30):
    euclidean_mst(X)
print(time.perf_counter() - start, flush=True)
"""


def most_from_two_cores():
    """Return how many times as many trees two cores build as one."""

    def seconds(cores):
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        # As in workers; the threads of BLAS would wait busily on the other core.
        options["env"] = {**os.environ, "OMP_NUM_THREADS": "1"}
        commands = ([sys.executable, "-c", TREES, str(core)] for core in cores)
        children = [subprocess.Popen(command, **options) for command in commands]
        for child in children:
            child.stdout.readline()
        for child in children:
            child.stdin.write("\n")
            child.stdin.flush()
        found = [float(child.stdout.readline()) for child in children]
        for child in children:
            child.wait()
        return sum(found) / len(found)

    gains = [2.0 * seconds([0]) / seconds([0, 1]) for _ in range(5)]
    return float(np.median(gains))


def write_parts(folder):
    """Write the rows as parquet files of a column of arrays."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in "Xy")
    (folder / "parts").mkdir()
    for number, start in enumerate(range(0, len(X), PART_ROWS)):
        rows = np.array(X[start : start + PART_ROWS])
        ends = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
        features = pa.ListArray.from_arrays(ends, rows.ravel())
        labels = np.array(y[start : start + PART_ROWS]).astype(np.int64)
        table = pa.table({"features": features, "label": labels})
        pq.write_table(table, folder / f"parts/part-{number:05d}.parquet")


def role_of(pid):
    """Return what a process of Spark is, by its command."""
    command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    if "CoarseGrainedExecutorBackend" in command:
        return "workers, Java"
    if "pyspark.daemon" in command:
        return "workers, Python"
    return "driver, Java" if "SparkSubmit" in command else "driver, Python"


def memory_by_role(root):
    """Return the resident bytes of a process and of all that it has started."""
    parents, found = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended
        parents[int(entry.parent.name)] = int(fields[1])
    for pid in parents:
        ancestor = pid
        while ancestor not in (0, root):
            ancestor = parents.get(ancestor, 0)
        if ancestor == root:
            try:
                # Pages that forked processes share count once.
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
                role = role_of(pid)
            except OSError:
                continue
            kilobytes = next(int(t.split()[1]) for t in text.split("\n") if "Pss:" in t)
            found[role] = found.get(role, 0) + 1024 * kilobytes
    return found


def run_child(program, *arguments):
    """Return the lines that a child prints, and its peak memory by role."""
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "OMP_NUM_THREADS": "1",
    }
    child = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    peaks, start = {}, time.perf_counter()

    def watch():
        while child.poll() is None:
            for role, size in memory_by_role(child.pid).items():
                peaks[role] = max(peaks.get(role, 0), size)
            # Seldom, because to look takes time from what is measured.
            time.sleep(0.2 if time.perf_counter() - start < 2.0 else 2.0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    lines = [json.loads(line) for line in child.stdout if line.startswith("{")]
    watcher.join()
    if child.returncode:
        raise SystemExit(f"a child process ended with {child.returncode}")
    return lines, peaks


def measure(n_rows):
    """Return one entry for each way to fit so many rows."""
    turns, runs = (TURNS, FITS) if n_rows <= REPEATED else (1, 1)
    entries = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_data(folder, n_rows)
        write_parts(folder)
        for _, how, cores in product(range(turns), ("out of core", "Spark"), (1, 2)):
            program, limit = (SPARK, HEAP) if how == "Spark" else (OUT_OF_CORE, LIMIT)
            lines, peaks = run_child(program, folder, cores, runs, limit)
            fits = [line for line in lines if "seconds" in line]
            quickest = min(fits, key=lambda fit: fit["seconds"])
            entry = {
                "rows": n_rows,
                "how": how,
                "cores": cores,
                "starts": lines[0].get("starts", 0.0),
                "seconds": [fit["seconds"] for fit in fits],
                "stages": quickest["stages"],
                "peaks": peaks,
            }
            print(entry, flush=True)
            best = entries.setdefault((how, cores), entry)
            if min(entry["seconds"]) < min(best["seconds"]):
                entries[how, cores] = entry
    return list(entries.values())


def lines_of(measured):
    """Return the lines of the page."""
    entries = measured["entries"]
    yield from (
        "# Spark",
        "",
        "Made by `python -m benchmarks.spark`: generated rows of 28 float32 features, "
        "read from parquet with Spark and from a npy file out of core. A worker has "
        f"a heap of {HEAP}, runs in processes of its own and is bound to one core; "
        "out of core has as many threads. The ratio is the time that one core takes to "
        "that of two cores, for the quickest fit; with two workers the driver has no "
        "core of its own. Memory is the peak over the fits, with shared pages counted "
        "once.",
        "",
        "| rows | how | cores | start, s | first fit, s | later, s | ratio "
        "| driver, GB | workers, GB |",
        "|---|---|---|---|---|---|---|---|---|",
    )
    of_one = {(e["rows"], e["how"]): e["seconds"] for e in entries if e["cores"] == 1}
    for entry in entries:
        seconds = entry["seconds"]
        ratio = min(of_one[entry["rows"], entry["how"]]) / min(seconds)
        memory = [
            sum(v for k, v in entry["peaks"].items() if k.startswith(side)) / 1e9
            for side in ("driver", "workers")
        ]
        times = [entry["starts"], seconds[0], *sorted(seconds[1:])[:1]]
        cells = [f"{time:.1f}" for time in times] + [""] * (3 - len(times))
        cells += [f"{number:.2f}" for number in (ratio, *memory)]
        head = f"| {entry['rows']} | {entry['how']} | {entry['cores']} | "
        yield head + " | ".join(cells) + " |"
    names = ("look", "cluster", "assign", "trees")
    yield from (
        "",
        "Seconds of the quickest fit with Spark, by stage:",
        "",
        f"| rows | workers | {' | '.join(names)} |",
        "|---" * (2 + len(names)) + "|",
    )
    for entry in entries:
        if entry["stages"]:
            cells = " | ".join(f"{entry['stages'][name]:.1f}" for name in names)
            yield f"| {entry['rows']} | {entry['cores']} | {cells} |"
    facts = measured["machine"]
    used = ", ".join(
        f"{name} {number}" for name, number in measured["versions"].items()
    )
    yield from (
        "",
        "Two processes that build the same tree at once, each on its own core, build "
        f"{measured['two_cores']:.2f} times as many trees as one process alone; where "
        "the work is trees, no ratio can be larger.",
        "",
        f"{facts['processor']}, {facts['cores']} cores, shared with other programs. "
        f"Python {facts['python']}, {used}.",
    )


def main(sizes):
    versions = {name: version(name) for name in ("pyspark", "pyarrow", "numpy")}
    measured = {"machine": machine(), "versions": versions}
    path = RESULTS / "spark.json"
    entries = json.loads(path.read_text())["entries"] if path.is_file() else []
    measured["two_cores"] = most_from_two_cores()
    for n_rows in sizes:
        entries = [e for e in entries if e["rows"] != n_rows] + measure(n_rows)
        measured["entries"] = sorted(entries, key=lambda entry: entry["rows"])
        for suffix, text in (
            ("json", json.dumps(measured, indent=1)),
            ("md", "\n".join(lines_of(measured))),
        ):
            beside = RESULTS / "spark.part"
            beside.write_text(text + "\n")
            beside.replace(RESULTS / f"spark.{suffix}")


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or ROWS)
