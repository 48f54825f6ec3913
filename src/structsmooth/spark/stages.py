"""The stages of a fit: rows clustered, packed by cluster, and bounded, by workers."""

from __future__ import annotations

import contextlib
import functools
import heapq
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own)
from pyspark.sql.functions import pandas_udf
from threadpoolctl import ThreadpoolController, threadpool_limits

from structsmooth.bayes_error.bounds import bounds_of_sample, region_bounds
from structsmooth.cluster import clusterers
from structsmooth.cluster.assign import Assigner
from structsmooth.io import codec
from structsmooth.reduce.reduction import LinearReduction
from structsmooth.spark.frame import matrix_of, on_batches
from structsmooth.support.groups import order_by_group

# Bytes of reduced rows that a worker sorts by cluster at once; that one worker may
# receive, because an Arrow batch holds at most a gigabyte; and packed rows in a batch.
BLOCK_BYTES, MOST_BYTES, FEW_RECORDS = 2**25, 2**29, 8
BOUNDS_SCHEMA = "region int, bounds string"


@dataclass(frozen=True)
class Packing:
    """How the rows of a cluster are packed: how many features, of which type."""

    width: int
    dtype: str

    @property
    def row_bytes(self) -> int:
        """Bytes of the features of a row."""
        return self.width * np.dtype(self.dtype).itemsize

    def unpack(
        self, rows: Iterable[Any], codes: Iterable[Any]
    ) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Return packed rows and class numbers, one block after the other."""
        X = np.frombuffer(b"".join(rows), self.dtype).reshape(-1, self.width)
        return X, np.frombuffer(b"".join(codes), np.int32)


def fit_assigner(
    rows: DataFrame,
    reduction: LinearReduction,
    clusterer: str,
    n_clusters: int,
    seed: int | None,
    share: float,
) -> Assigner:
    """Cluster a share of the rows on one worker, as a single process does."""

    def reduce(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        for batch in batches:
            X = np.ascontiguousarray(reduction.transform(matrix_of(batch.column("x"))))
            yield {
                "dtype": [X.dtype.str],
                "width": [X.shape[1]],
                "rows": [X.tobytes()],
            }

    def cluster(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        blocks = [
            np.frombuffer(block["rows"], block["dtype"]).reshape(-1, block["width"])
            for batch in batches
            for block in batch.to_pylist()
        ]
        X = np.concatenate(blocks)
        X = X[_order_of_values(X)]  # blocks come in any order
        X = X[clusterers.order_of_rows(X)]
        fitted: Assigner
        if clusterer == "gmm":
            fitted = clusterers.gaussian_mixture(X, n_clusters, seed)
        else:
            fitted = clusterers.kmeans_centers(
                X, min(n_clusters, len(X)), seed, full=share == 1.0
            )
        arrays = codec.arrays_to_lists(codec.assigner_to_arrays(fitted))
        yield {"assigner": [json.dumps(arrays)]}

    sample = rows.select("x")
    if share < 1.0:
        sample = sample.sample(fraction=share, seed=seed)
    blocks = on_batches(sample, reduce, "dtype string, width long, rows binary")
    (found,) = on_batches(blocks.repartition(1), cluster, "assigner string").collect()
    return codec.assigner_from_arrays(
        codec.arrays_from_lists(json.loads(found["assigner"]))
    )


def pack_rows(
    rows: DataFrame,
    reduction: LinearReduction,
    assigner: Assigner,
    classes: NDArray[Any],
) -> DataFrame:
    """Return the rows by cluster: those of one block and cluster in one row.

    So Spark moves a few large values, not many small ones.
    """
    known = pa.array(classes)
    has_id = "id" in rows.columns

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        waiting: list[tuple[NDArray[Any], NDArray[Any], Any]] = []
        n_bytes = 0
        for batch in _parts_of(batches):
            X = reduction.transform(matrix_of(batch.column("x")))
            y = batch.column("y")
            coded = pc.index_in(y, known.cast(y.type)).to_numpy().astype(np.int32)
            waiting.append((X, coded, batch.column("id") if has_id else None))
            n_bytes += X.nbytes
            if n_bytes >= BLOCK_BYTES:
                yield _by_cluster(waiting, assigner)
                waiting, n_bytes = [], 0
        if n_bytes:
            yield _by_cluster(waiting, assigner)

    kind = "cluster int, n long, total array<double>, rows binary, codes binary"
    if has_id:
        kind += f", ids array<{rows.schema['id'].dataType.simpleString()}>"
    return on_batches(rows, pack, kind)


def _parts_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of at most BLOCK_BYTES, whatever Spark was told to send."""
    for batch in batches:
        step = max(1, BLOCK_BYTES * len(batch) // max(1, batch.nbytes))
        for start in range(0, len(batch), step):
            yield batch.slice(start, step)


def _by_cluster(
    waiting: list[tuple[NDArray[Any], NDArray[Any], Any]], assigner: Assigner
) -> dict[str, Any]:
    """Return a block of rows as columns with an entry for each cluster."""
    blocks, codes, ids = zip(*waiting, strict=True)
    X = np.concatenate(blocks)
    clusters = assigner.assign(X)
    order = order_by_group(clusters)
    X, coded = X[order], np.concatenate(codes)[order]
    sizes = np.bincount(clusters)
    present = np.flatnonzero(sizes)
    sizes = sizes[present]
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    totals = np.add.reduceat(X, ends[:-1], axis=0, dtype=np.float64)
    width = X.shape[1]
    columns = {
        "cluster": pa.array(present.astype(np.int32)),
        "n": pa.array(sizes),
        "total": pa.ListArray.from_arrays(
            np.arange(0, len(present) * width + 1, width, dtype=np.int32),
            totals.ravel(),
        ),
        "rows": _binary(X, ends),
        "codes": _binary(coded, ends),
    }
    if ids[0] is not None:
        columns["ids"] = pa.ListArray.from_arrays(
            ends, pa.concat_arrays(ids).take(pa.array(order))
        )
    return columns


def _binary(array: NDArray[Any], ends: NDArray[np.int32]) -> Any:
    """Return the bytes of the rows between each two ends as an Arrow column."""
    row_bytes = array.itemsize * int(np.prod(array.shape[1:]))
    buffers = [None, pa.py_buffer(ends * np.int32(row_bytes)), pa.py_buffer(array)]
    return pa.BinaryArray.from_buffers(pa.binary(), len(ends) - 1, buffers)


def cluster_sizes(
    packed: DataFrame, n_clusters: int, width: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the size and mean of each cluster."""
    sizes, centers = np.zeros(n_clusters), np.zeros((n_clusters, width))
    totals = F.array(*(F.sum(F.col("total")[at]) for at in range(width)))
    grouped = packed.groupBy("cluster").agg(
        F.sum("n").alias("n"), totals.alias("total")
    )
    for row in grouped.collect():
        sizes[row["cluster"]] = row["n"]
        centers[row["cluster"]] = np.array(row["total"]) / row["n"]
    return sizes, centers


@contextlib.contextmanager
def few_records(spark: SparkSession) -> Iterator[None]:
    """Let Arrow batches hold few records, because each is a block of packed rows."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    usual = spark.conf.get(name)
    spark.conf.set(name, str(FEW_RECORDS))
    try:
        yield
    finally:
        spark.conf.set(name, usual)


def thin_out(
    packed: DataFrame, packing: Packing, shares: NDArray[np.float64], seed: int
) -> DataFrame:
    """Keep a share of the rows of each region, and the counts of all its labels.

    What is drawn depends on the place in the data, so a repeated task draws the same.
    """

    def thin(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        rng = np.random.default_rng([seed, TaskContext.get().partitionId()])
        for batch in batches:
            for at in range(len(batch)):
                columns = batch.slice(at, 1).columns
                row = dict(zip(batch.schema.names, columns, strict=True))
                share = shares[row["region"][0].as_py()]
                if share == 1.0:
                    yield row | {"counts": pa.array([None], pa.binary())}
                    continue
                blocks = ([row[name][0].as_buffer()] for name in ("rows", "codes"))
                X, coded = packing.unpack(*blocks)
                n_kept = int(share * len(X) + rng.random())
                kept = np.sort(rng.permutation(len(X))[:n_kept])
                ends = np.array([0, n_kept], np.int32)
                row["rows"] = _binary(X[kept], ends)
                row["codes"] = _binary(coded[kept], ends)
                if "ids" in row:
                    ids = row["ids"].flatten().take(pa.array(kept))
                    row["ids"] = pa.ListArray.from_arrays(ends, ids)
                counts = np.stack(np.unique(coded, return_counts=True))
                yield row | {"counts": pa.array([counts.astype(np.int64).tobytes()])}

    fields = [f"{f.name} {f.dataType.simpleString()}" for f in packed.schema.fields]
    return on_batches(packed, thin, ", ".join([*fields, "counts binary"]))


def bounder(
    packing: Packing, settings: dict[str, Any]
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return the function that bounds one region, given all its packed rows.

    Rows come in any order. They are sorted by id, or else by their values, so that the
    same rows always have the same tree.
    """

    def bound(packed: pd.DataFrame) -> pd.DataFrame:
        X, coded = packing.unpack(packed["rows"], packed["codes"])
        order = _order_of_values(X, coded)
        if "ids" in packed:
            ids = np.concatenate(packed["ids"].tolist())
            order = order[np.argsort(ids[order], kind="stable")]
        with _libraries().limit(limits=1):
            bounds = region_bounds(X[order], coded[order].astype(np.int64), **settings)
        counts = packed.get("counts")
        if counts is not None and counts.notna().all():
            # A sample gives the crossing fraction; the class counts are those of all.
            all_counts = np.zeros(settings["n_classes"], np.int64)
            for some in counts:
                present, count = np.frombuffer(some, np.int64).reshape(2, -1)
                all_counts[present] += count
            bounds = bounds_of_sample(bounds, all_counts)
        text = json.dumps(codec.arrays_to_lists(codec.bounds_to_arrays([bounds])))
        return pd.DataFrame({"region": packed["region"].head(1), "bounds": [text]})

    return bound


@functools.cache
def _libraries() -> ThreadpoolController:
    """Return the libraries with threads, for which to look takes as long as a tree."""
    return ThreadpoolController()


def _order_of_values(
    X: NDArray[Any], coded: NDArray[Any] | None = None
) -> NDArray[np.int64]:
    """Return the order by the first feature, the second, ..., and the class number."""
    order = np.argsort(X[:, 0], kind="stable")
    first = X[order, 0]
    is_equal = np.concatenate([[False], first[1:] == first[:-1], [False]])
    is_tied = is_equal[1:] | is_equal[:-1]
    tied = order[is_tied]
    last = [] if coded is None else [coded[tied]]
    order[is_tied] = tied[np.lexsort([*last, *X[tied].T[::-1]])]
    return order


def spread_evenly(
    spark: SparkSession, costs: NDArray[np.float64], n_tasks: int
) -> NDArray[np.int64]:
    """Return a key for each region, by which Spark distributes them over the tasks.

    The most expensive region comes first, and each goes to the task with the least to
    do. Which task a key belongs to is up to Spark's hash.
    """
    tried = f"transform(sequence(0, {20 * n_tasks}), k -> pmod(hash(k), {n_tasks}))"
    (row,) = spark.sql(f"SELECT {tried} AS task").collect()  # numbers only
    _, keys = np.unique(row["task"], return_index=True)
    waiting = [(0.0, int(key)) for key in keys]
    key_of_region = np.empty(len(costs), np.int64)
    for region in np.argsort(-costs, kind="stable"):
        cost, key = heapq.heappop(waiting)
        key_of_region[region] = key
        heapq.heappush(waiting, (cost + costs[region], key))
    return key_of_region


def on_features(work: Callable[[Any], NDArray[Any]], kind: str) -> Any:
    """Return a column function that works on arrays of features, as a matrix."""

    @pandas_udf(kind)
    def apply(rows: pd.Series) -> pd.Series:
        matrix = np.stack(rows.to_numpy())
        with threadpool_limits(1):
            return pd.Series(list(work(matrix)))

    return apply
