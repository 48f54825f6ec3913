"""What runs on the workers: plain functions of pandas and NumPy."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyspark.sql.functions import pandas_udf
from threadpoolctl import threadpool_limits

from structsmooth.bayes_error.bounds import region_bounds
from structsmooth.io.codec import arrays_to_lists, bounds_to_arrays

BOUNDS_SCHEMA = "region int, bounds string"


def reducer(reduction: Any) -> Any:
    """Return a column function that reduces arrays of features."""

    @pandas_udf("array<double>")
    def reduce(rows: pd.Series) -> pd.Series:
        with threadpool_limits(1):
            return pd.Series(list(reduction.transform(_matrix(rows))))

    return reduce


def assigner(assign: Callable[[Any], NDArray[np.int64]]) -> Any:
    """Return a column function that gives the cluster of arrays of features."""

    @pandas_udf("int")
    def find(rows: pd.Series) -> pd.Series:
        with threadpool_limits(1):
            return pd.Series(assign(_matrix(rows)).astype(np.int32))

    return find


def bounder(
    classes: NDArray[Any], width: int, has_id: bool, settings: dict[str, Any]
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return the function that bounds one region, given all its rows.

    Rows come in any order. They are put into that of their ids, or else of what they
    hold, so that the same rows have the same tree whatever happened on the way.
    """

    def bound(rows: pd.DataFrame) -> pd.DataFrame:
        X = rows[[f"x{i}" for i in range(width)]].to_numpy(dtype=np.float64)
        coded = np.searchsorted(classes, np.asarray(rows["y"].tolist()))
        if has_id:
            order = np.argsort(rows["id"].to_numpy(), kind="stable")
        else:
            order = np.lexsort([coded, *X.T[::-1]])
        with threadpool_limits(1):
            bounds = region_bounds(
                np.ascontiguousarray(X[order]), coded[order], **settings
            )
        text = json.dumps(arrays_to_lists(bounds_to_arrays([bounds])))
        return pd.DataFrame({"region": [rows["region"].iloc[0]], "bounds": [text]})

    return bound


def _matrix(rows: pd.Series) -> NDArray[np.float64]:
    return np.stack(rows.to_numpy()).astype(np.float64, copy=False)
