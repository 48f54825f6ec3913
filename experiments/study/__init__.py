"""Studies of one network on one real data set: Tables 2a and 2b, Figure 4."""

from experiments.study.figure import figure
from experiments.study.runner import run
from experiments.study.table import table

__all__ = ["figure", "run", "table"]
