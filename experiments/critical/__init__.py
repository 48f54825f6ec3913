"""Table 4: whether the boundary is more complex where the classes overlap.

A network without regularization is trained, its critical samples are searched for, and
their share in each cluster is correlated with the cluster's Bayes error and strength.
"""

from experiments.critical.runner import run
from experiments.critical.table import figure, table

__all__ = ["figure", "run", "table"]
