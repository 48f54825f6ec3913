"""The synthetic task: Table 1, Figures 1 to 3."""

from experiments.synthetic.figures import figure
from experiments.synthetic.runner import run
from experiments.synthetic.table import table

__all__ = ["figure", "run", "table"]
