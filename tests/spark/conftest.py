"""A Spark session with two workers in separate processes."""

import os
import sys

import pytest

pytest.importorskip("pyspark")


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    # The driver of a test is this machine, whatever its name resolves to.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        .config("spark.executorEnv.OMP_NUM_THREADS", "1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def make_frame(spark):
    """Return rows as a DataFrame with some partitions, the first of them empty."""

    def make(X, y, partitions=2):
        from pyspark.ml.linalg import Vectors

        rows = [
            (Vectors.dense(x), label, i)
            for i, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True))
        ]
        frame = spark.createDataFrame(rows, ["features", "label", "row"])
        empty = spark.createDataFrame([], frame.schema).coalesce(1)
        return empty.union(frame.repartition(partitions))

    return make
