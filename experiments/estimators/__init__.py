"""How well different estimators find the Bayes error, on tasks where it is known."""

from experiments.estimators.runner import run
from experiments.estimators.table import table

__all__ = ["run", "table"]
