"""Estimate against truth: the bounds of whole fits, where the Bayes error is known."""

from experiments.known.figure import figure
from experiments.known.runner import run
from experiments.known.table import table

__all__ = ["figure", "run", "table"]
