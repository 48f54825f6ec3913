"""Functions that run on the workers, with pandas and NumPy."""

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


def on_features(work: Callable[[Any], NDArray[Any]], kind: str) -> Any:
    """Return a column function that works on arrays of features, as a matrix."""

    @pandas_udf(kind)
    def apply(rows: pd.Series) -> pd.Series:
        matrix = np.stack(rows.to_numpy()).astype(np.float64, copy=False)
        with threadpool_limits(1):
            return pd.Series(list(work(matrix)))

    return apply


def bounder(
    classes: NDArray[Any], width: int, has_id: bool, settings: dict[str, Any]
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return the function that bounds one region, given all its rows.

    Rows come in any order. They are sorted by id, or else by their values, so that the
    same rows always have the same tree.
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
