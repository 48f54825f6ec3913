"""Data larger than memory on one machine: read in pieces, spilled per cluster.

The line is that of `StructuralSmoother.fit`, with the same reductions, clusters, trees,
bounds and strengths; only the rows pass through a few at a time.
"""

from __future__ import annotations

from structsmooth.outofcore.fit import fit_out_of_core
from structsmooth.outofcore.plan import memory_limit
from structsmooth.outofcore.request import Request

__all__ = ["Request", "fit_out_of_core", "memory_limit"]
