"""The rows of a DataFrame: their columns, checks and moments, and their exchange.

Workers receive rows as Arrow batches and return one row per partition or per block of
rows, so that Spark itself never handles a single row twice.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own)
from pyspark.sql import types as T  # noqa: N812 (Spark's own)
from threadpoolctl import threadpool_limits

from structsmooth.errors import InvalidInputError
from structsmooth.reduce.moments import (
    FULL_SPECTRUM,
    leading_components,
    scatter_of_block,
)
from structsmooth.reduce.reduction import LinearReduction
from structsmooth.support.validation import check_label_structure, encode_labels

# More labels than this are identifiers, and would not fit into the driver.
MOST_CLASSES = 100_000
# Numbers of a matrix of products that are summed in one place: those of all partitions
# must fit into an Arrow batch, a gigabyte.
PRODUCT_NUMBERS = 2**13


def features_array(dataset: DataFrame, column: str) -> Any:
    """Return a vector or array column as arrays of doubles; floats stay floats."""
    kind = type_of(dataset, column, "featuresCol")
    if isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.NumericType):
        is_float = isinstance(kind.elementType, T.FloatType)
        return F.col(column).cast("array<float>" if is_float else "array<double>")
    if type(kind).__name__ == "VectorUDT":
        given = F.col(column)  # vector_to_array fails on null
        return F.when(given.isNotNull(), vector_to_array(given))
    raise InvalidInputError(
        f"featuresCol={column!r} must be a column of vectors or arrays of numbers, got "
        f"{kind.simpleString()}"
    )


def label_values(dataset: DataFrame, column: str) -> Any:
    """Return a label column as text, booleans, whole numbers or doubles."""
    kind = type_of(dataset, column, "labelCol")
    if isinstance(kind, T.StringType | T.BooleanType):
        return F.col(column)
    if isinstance(kind, T.IntegralType):
        return F.col(column).cast("bigint")
    if isinstance(kind, T.NumericType):
        return F.col(column).cast("double") + 0.0  # no negative zero
    raise InvalidInputError(
        f"labelCol={column!r} must be a column of text or numbers, got "
        f"{kind.simpleString()}"
    )


def type_of(dataset: DataFrame, column: str, name: str) -> Any:
    """Return the type of a column that must be there."""
    if column not in dataset.columns:
        raise InvalidInputError(
            f"{name}={column!r} is no column of the data, whose columns are "
            + ", ".join(dataset.columns)
        )
    return dataset.schema[column].dataType


def array_literal(values: NDArray[Any], kind: str) -> Any:
    """Return a column that holds the same array of numbers in every row.

    Sent to Spark as one text: `F.lit` of a list makes a call for each number.
    """
    text = " ".join(map(repr, values.tolist()))
    return F.split(F.lit(text), " ").cast(f"array<{kind}>")


def matrix_of(column: Any) -> NDArray[Any]:
    """Return an Arrow column of arrays of one length as a matrix."""
    values: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(column), -1)


def on_batches(
    rows: DataFrame,
    work: Callable[[Iterator[pa.RecordBatch]], Iterable[dict[str, Any]]],
    schema: str,
) -> DataFrame:
    """Return what a function of the Arrow batches of a partition yields, as rows.

    It yields columns by name. BLAS has one thread, because a task has one core.
    """

    def apply(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with threadpool_limits(1):
            for columns in work(batches):
                yield pa.RecordBatch.from_pydict(columns)

    return rows.mapInArrow(apply, schema)


@dataclass
class Summary:
    """Number, range, mean and sum of squared deviations of some rows."""

    n: int
    low: NDArray[Any]
    high: NDArray[Any]
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[Any]) -> Summary:
        """Return the moments of the rows of a matrix."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = X.mean(axis=0, dtype=np.float64)
            squares = np.square(X - mean).sum(axis=0)
        return cls(len(X), X.min(axis=0), X.max(axis=0), mean, squares)

    def join(self, other: Summary) -> Summary:
        """Return the moments of two sets of rows together."""
        n = self.n + other.n
        with np.errstate(over="ignore", invalid="ignore"):
            step = other.mean - self.mean
            return Summary(
                n,
                np.minimum(self.low, other.low),
                np.maximum(self.high, other.high),
                self.mean + step * (other.n / n),
                self.squares + other.squares + step**2 * (self.n * other.n / n),
            )


def check_rows(
    rows: DataFrame, features: str, label: str, id_column: str
) -> tuple[FrameMoments, NDArray[Any]]:
    """Refuse rows (columns x, y and id) that cannot be used, in one pass over them.

    Return their moments, and the sorted labels.
    """
    parts = _look(rows, exponent=0)
    n_rows = sum(part["n"] for part in parts)
    if n_rows < 2:
        raise InvalidInputError(f"the data must have at least 2 rows, got {n_rows}")
    for name, problem in {
        "bad_features": f"featuresCol={features!r} is or holds null, NaN or infinity",
        "no_label": f"labelCol={label!r} is null or NaN",
        "no_id": f"idCol={id_column!r} is null",
    }.items():
        found = sum(part[name] for part in parts)
        if found:
            raise InvalidInputError(
                f"{problem} in {found} of {n_rows} rows; drop or fill them first"
            )
    widths = [width for part in parts for width in part["widths"]]
    if min(widths) != max(widths):
        raise InvalidInputError(
            f"featuresCol={features!r} holds vectors of different lengths, from "
            f"{min(widths)} to {max(widths)}"
        )
    if widths[0] == 0:
        raise InvalidInputError(f"featuresCol={features!r} holds empty vectors")
    counts: dict[Any, int] = {}
    for part in parts:
        for value, count in part["labels"]:
            counts[value] = counts.get(value, 0) + count
    if len(counts) > MOST_CLASSES or any(part["too_many"] for part in parts):
        raise InvalidInputError(
            f"labelCol={label!r} has more than {MOST_CLASSES} different labels; "
            "expected classes that repeat (is it an identifier or a regression target?)"
        )
    classes, place = encode_labels(np.array(list(counts)), None)
    check_label_structure(classes, np.bincount(place, list(counts.values())))
    return FrameMoments(rows, _joined(parts)), classes


def _look(rows: DataFrame, exponent: int) -> list[dict[str, Any]]:
    """Return what there is to say about each partition."""
    scale = LinearReduction(exponent=exponent)

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        n = bad_features = no_label = no_id = 0
        widths: set[int] = set()
        labels: dict[Any, int] = {}
        moments = None
        for batch in batches:
            n += len(batch)
            x, y = batch.column("x"), batch.column("y")
            if "id" in batch.schema.names:
                no_id += batch.column("id").null_count
            for entry in pc.value_counts(y).to_pylist():
                value, count = entry["values"], entry["counts"]
                if value is None or value != value:
                    no_label += count
                elif len(labels) <= MOST_CLASSES:
                    labels[value] = labels.get(value, 0) + count
            widths.update(pc.unique(pc.list_value_length(x.drop_null())).to_pylist())
            bad = _n_unusable(x)
            bad_features += bad
            if bad == 0 and len(widths) == 1 and min(widths) > 0:
                some = Summary.of(scale.transform(matrix_of(x)))
                moments = some if moments is None else moments.join(some)
        too_many = len(labels) > MOST_CLASSES
        found = {
            "n": n,
            "bad_features": bad_features,
            "no_label": no_label,
            "no_id": no_id,
            "widths": sorted(widths),
            "too_many": too_many,
            "labels": [] if too_many else list(labels.items()),
        }
        if moments is not None:
            arrays = (moments.low, moments.high, moments.mean, moments.squares)
            found["moments"] = [array.tolist() for array in arrays]
        yield {"part": [json.dumps(found)]}

    found = on_batches(rows, look, "part string").collect()
    return [json.loads(row["part"]) for row in found]


def _n_unusable(x: Any) -> int:
    """Return how many arrays are null or have an entry that is no finite number."""
    given = x.drop_null()
    values = given.flatten().to_numpy(zero_copy_only=False)  # NaN for null
    is_bad = ~np.isfinite(values)
    missing = len(x) - len(given)
    if not is_bad.any():
        return missing
    ends = np.cumsum(pc.list_value_length(given).to_numpy())
    bad_rows = np.searchsorted(ends, np.flatnonzero(is_bad), side="right")
    return missing + len(np.unique(bad_rows))


def _joined(parts: list[dict[str, Any]]) -> Summary:
    summaries = (
        Summary(part["n"], *map(np.array, part["moments"]))
        for part in parts
        if "moments" in part
    )
    return functools.reduce(Summary.join, summaries)


class FrameMoments:
    """The `Moments` of a DataFrame's column x, for `reduce_linearly`."""

    def __init__(self, rows: DataFrame, found: Summary) -> None:
        self._rows, self._found = rows, found
        self.n_rows, self.low, self.high = found.n, found.low, found.high

    def mean_and_variance(
        self, exponent: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the moments of ``2**-exponent X``, the variance divided by n."""
        found = self._found
        if exponent:  # squares of the rows as they are would overflow
            found = _joined(_look(self._rows, exponent))
        return found.mean, found.squares / found.n

    def principal_components(
        self, standardize: LinearReduction, most: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return leading components of the standardized rows, and variance ratios.

        The matrix of products is summed on the workers, a few of its rows in one place
        and in the order of the partitions; the driver only receives the sum.
        """
        d = len(self.low)
        if d > FULL_SPECTRUM:
            raise InvalidInputError(
                f"principal components of {d} features are more than Spark's driver "
                f"should hold ({FULL_SPECTRUM}); pass reducer='none' or reduce the "
                "features first"
            )

        def multiply(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
            products = np.zeros((d, d))
            for batch in batches:
                products += scatter_of_block(matrix_of(batch.column("x")), standardize)
            step = max(1, PRODUCT_NUMBERS // d)
            for start in range(0, d, step):
                some = products[start : start + step].tobytes()
                yield {"start": [start], "products": [some]}

        def add(parts: Any) -> Any:
            ordered = parts.sort_values("partition")["products"]
            total = sum(map(np.frombuffer, ordered))
            return parts.head(1).assign(products=[np.asarray(total).tobytes()])

        kind = "start long, products binary"
        parts = on_batches(self._rows.select("x"), multiply, kind)
        parts = parts.withColumn("partition", F.spark_partition_id())
        summed = parts.groupBy("start").applyInPandas(add, parts.schema).collect()
        scatter = np.empty((d, d))
        for row in summed:
            some = np.frombuffer(row["products"]).reshape(-1, d)
            scatter[row["start"] : row["start"] + len(some)] = some
        return leading_components(scatter, most)
