"""Spark compared with one process, on rows that fit into memory.

``python -m benchmarks.spark [ROWS]`` prints seconds and records them; it needs the
extra ``spark`` and Java.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.clock import machine
from benchmarks.outofcore import RESULTS, make_data


def main(n_rows):
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F  # noqa: N812 (Spark's own)

    from structsmooth import StructuralSmoother
    from structsmooth.spark import SparkStructuralSmoother

    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), n_rows)
        X, y = (np.load(f"{folder}/{name}.npy") for name in "Xy")
        columns = {f"f{i}": X[:, i] for i in range(X.shape[1])}
        pq.write_table(pa.table({**columns, "label": y}), f"{folder}/rows.parquet")
        StructuralSmoother(random_state=0).fit(X[:5000], y[:5000])  # load the kernels
        start = time.perf_counter()
        StructuralSmoother(random_state=0, n_jobs=2).fit(X, y)
        seconds = {"one process": time.perf_counter() - start}
        os.environ["PYSPARK_PYTHON"] = sys.executable
        start = time.perf_counter()
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "8")
            .getOrCreate()
        )
        seconds["Spark starts"] = time.perf_counter() - start
        table = spark.read.parquet(f"{folder}/rows.parquet")
        frame = table.select(
            F.array(*columns).cast("array<double>").alias("features"), "label"
        )
        for run in ("first", "second"):
            start = time.perf_counter()
            SparkStructuralSmoother().fit(frame)
            seconds[f"Spark, {run} fit"] = time.perf_counter() - start
        spark.stop()
    print(seconds)
    measured = {"machine": machine(), "rows": n_rows, "seconds": seconds}
    beside = RESULTS / "spark.part"
    beside.write_text(json.dumps(measured, indent=1) + "\n")
    beside.replace(RESULTS / "spark.json")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
