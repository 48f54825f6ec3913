"""Data larger than memory on one machine: read in pieces, sorted by cluster on disk.

The stages are those of `StructuralSmoother.fit`, and so are the results.
"""

from __future__ import annotations

from structsmooth.outofcore.fit import fit_out_of_core
from structsmooth.outofcore.plan import memory_limit
from structsmooth.outofcore.sources import Request

__all__ = ["Request", "fit_out_of_core", "memory_limit"]
