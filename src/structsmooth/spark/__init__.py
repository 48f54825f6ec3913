"""A cluster of machines: a pyspark.ml Estimator and Model.

Workers do what `StructuralSmoother` does in one process, with the same code, and need
structsmooth installed. Data that fit into memory are fitted faster without Spark.
"""

from __future__ import annotations

from structsmooth.errors import missing_package

try:
    import pyspark as _pyspark  # noqa: F401 (to check that it is installed)
except ImportError as error:
    raise missing_package(
        "pyspark", "structsmooth.spark", "'pyspark>=3.5,<4' pandas pyarrow"
    ) from error

from structsmooth.spark.estimator import SparkStructuralSmoother
from structsmooth.spark.model import SparkStructuralSmootherModel

__all__ = ["SparkStructuralSmoother", "SparkStructuralSmootherModel"]
