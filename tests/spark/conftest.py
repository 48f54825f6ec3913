"""A Spark cluster: a master and two workers, each a process with its own address."""

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark")


@contextlib.contextmanager
def spark_process(name, *arguments):
    """Run a master or worker of Spark's standalone cluster."""
    home = Path(pyspark.__file__).parent
    kind = f"org.apache.spark.deploy.{name.lower()}.{name}"
    process = subprocess.Popen(
        [str(home / "bin/spark-class"), kind, "--webui-port", "0", *arguments],
        env=os.environ | {"SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def master(tmp_path_factory):
    """Return the address of a cluster; Spark runs no task twice at one address."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = str(unused.getsockname()[1])
    address = f"spark://127.0.0.1:{port}"
    with contextlib.ExitStack() as stack:
        start = stack.enter_context
        start(spark_process("Master", "--host", "127.0.0.1", "--port", port))
        for host in ("127.0.0.1", "127.0.0.2"):
            folder = str(tmp_path_factory.mktemp("worker"))
            size = ("--cores", "1", "--memory", "1g", "--work-dir", folder)
            start(spark_process("Worker", "--host", host, *size, address))
        yield address


@pytest.fixture(scope="session")
def spark(master):
    from pyspark.sql import SparkSession

    # The driver of a test is this machine, whatever its name resolves to.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        .config("spark.executorEnv.OMP_NUM_THREADS", "1")
        # For fits this short, Java's better compiler costs more than it saves.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        # A task that takes much longer than the others is started a second time.
        .config("spark.speculation", "true")
        .config("spark.speculation.minTaskRuntime", "4s")
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
