"""Columns of a DataFrame, converted, and checked in one pass over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (as in Spark's documentation)
from pyspark.sql import types as T  # noqa: N812 (Spark's own)

from structsmooth.errors import InvalidInputError
from structsmooth.support.validation import check_label_structure, encode_labels

# More labels than this are identifiers, and would not fit into the driver.
MOST_CLASSES = 100_000


def features_array(dataset: DataFrame, column: str) -> Any:
    """Return a vector or array column as an array of doubles."""
    kind = _type_of(dataset, column, "featuresCol")
    if isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.NumericType):
        return F.col(column).cast("array<double>")
    if type(kind).__name__ == "VectorUDT":
        given = F.col(column)  # vector_to_array fails on null
        return F.when(given.isNotNull(), vector_to_array(given))
    raise InvalidInputError(
        f"featuresCol={column!r} must be a column of vectors or arrays of numbers, got "
        f"{kind.simpleString()}"
    )


def label_values(dataset: DataFrame, column: str) -> Any:
    """Return a label column as text, booleans, whole numbers or doubles."""
    kind = _type_of(dataset, column, "labelCol")
    if isinstance(kind, T.StringType | T.BooleanType):
        return F.col(column)
    if isinstance(kind, T.IntegralType):
        return F.col(column).cast("bigint")
    if isinstance(kind, T.NumericType):
        return F.col(column).cast("double")
    raise InvalidInputError(
        f"labelCol={column!r} must be a column of text or numbers, got "
        f"{kind.simpleString()}"
    )


def check_rows(
    rows: DataFrame, features: str, label: str
) -> tuple[int, int, NDArray[Any]]:
    """Refuse rows (columns x and y) that cannot be used.

    Return the number of rows, the number of features, and the sorted labels.
    """
    is_bad = F.exists(
        "x", lambda v: v.isNull() | F.isnan(v) | (F.abs(v) == float("inf"))
    )
    no_label = F.col("y").isNull()
    if isinstance(rows.schema["y"].dataType, T.DoubleType):
        no_label = no_label | F.isnan("y")
    found = rows.agg(
        F.count(F.lit(1)).alias("n"),
        F.sum(F.col("x").isNull().cast("bigint")).alias("no_features"),
        F.sum(F.coalesce(is_bad, F.lit(False)).cast("bigint")).alias("bad_features"),
        F.sum(no_label.cast("bigint")).alias("no_label"),
        F.min(F.size("x")).alias("narrowest"),
        F.max(F.size("x")).alias("widest"),
    ).first()
    if found["n"] < 2:
        raise InvalidInputError(f"the data have {found['n']} rows, expected at least 2")
    for name, problem in {
        "no_features": f"featuresCol={features!r} is null",
        "bad_features": f"featuresCol={features!r} holds NaN, infinity or null",
        "no_label": f"labelCol={label!r} is null or NaN",
    }.items():
        if found[name]:
            raise InvalidInputError(
                f"{problem} in {found[name]} of {found['n']} rows; drop or fill them "
                "first"
            )
    if found["narrowest"] != found["widest"]:
        raise InvalidInputError(
            f"featuresCol={features!r} holds vectors of different lengths, from "
            f"{found['narrowest']} to {found['widest']}"
        )
    counted = rows.groupBy("y").count().take(MOST_CLASSES + 1)
    if len(counted) > MOST_CLASSES:
        raise InvalidInputError(
            f"labelCol={label!r} has more than {MOST_CLASSES} different labels; "
            "expected classes that repeat (is it an identifier or a regression target?)"
        )
    labels, counts = ([row[name] for row in counted] for name in ("y", "count"))
    classes, place = encode_labels(np.array(labels), None)
    check_label_structure(classes, np.bincount(place, counts))
    return found["n"], found["widest"], classes


def _type_of(dataset: DataFrame, column: str, name: str) -> Any:
    if column not in dataset.columns:
        raise InvalidInputError(
            f"{name}={column!r} is no column of the data; they have "
            + ", ".join(dataset.columns)
        )
    return dataset.schema[column].dataType
