"""How well the Bayes error can be estimated, where it is known, and by what."""

from experiments.estimators.runner import run
from experiments.estimators.table import table

__all__ = ["run", "table"]
