"""Beyond the paper: ways to find strengths, compared on the same splits."""

from experiments.beyond.runner import run
from experiments.beyond.table import table

__all__ = ["run", "table"]
