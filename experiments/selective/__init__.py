"""Label smoothing and selective prediction; PLAN.md says what is asked and how."""

from experiments.selective.figure import figure
from experiments.selective.runner import run
from experiments.selective.table import table

__all__ = ["figure", "run", "table"]
