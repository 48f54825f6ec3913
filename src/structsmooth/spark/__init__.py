"""A cluster of machines: a pyspark.ml Estimator and Model.

MLlib reduces and clusters; the rest is shared with `StructuralSmoother`. Workers need
structsmooth installed. Data that fit into memory are fitted far faster without Spark.
"""

from __future__ import annotations

try:
    import pyspark as _pyspark  # noqa: F401 (to check that it is installed)
except ImportError as error:
    raise ImportError(
        "structsmooth.spark needs PySpark: pip install 'structsmooth[spark]'"
    ) from error

from structsmooth.spark.estimator import SparkStructuralSmoother
from structsmooth.spark.model import SparkStructuralSmootherModel

__all__ = ["SparkStructuralSmoother", "SparkStructuralSmootherModel"]
