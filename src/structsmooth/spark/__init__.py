"""A cluster of machines: a pyspark.ml Estimator and Model.

Reduction and clustering are MLlib's, every cluster gets its tree on one worker, and
bounds and strengths are those of the rest of the library. Workers need structsmooth
installed. Data that fit into the memory of one machine are fitted far faster there.
"""

from __future__ import annotations

from structsmooth.errors import missing_package

try:
    import pyspark as _pyspark  # noqa: F401 (only whether it is there)
except ImportError as error:
    raise missing_package(
        "pyspark", "structsmooth.spark", "'pyspark>=3.5,<4' pandas pyarrow"
    ) from error

from structsmooth.spark.estimator import SparkStructuralSmoother
from structsmooth.spark.model import SparkStructuralSmootherModel

__all__ = ["SparkStructuralSmoother", "SparkStructuralSmootherModel"]
