"""Label smoothing and selective prediction; PLAN.md says what is asked and how."""

from experiments.selective.runner import run

__all__ = ["run"]
