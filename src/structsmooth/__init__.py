"""Structural label smoothing: smooth labels where the classes overlap.

The public names are loaded on first use, so that ``import structsmooth`` and the
command line's ``--help`` are quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structsmooth.bounds import (
        BayesErrorBounds,
        bayes_error_bounds,
        combine_bounds,
    )
    from structsmooth.classifier import SmoothedClassifier
    from structsmooth.controls import (
        reversed_strengths,
        shuffled_strengths,
        uniform_strengths,
    )
    from structsmooth.crossing import count_crossing_edges
    from structsmooth.decision import decide
    from structsmooth.divergence import henze_penrose_divergence
    from structsmooth.epsilon import alpha_from_epsilon, epsilon_from_alpha
    from structsmooth.labels import (
        expand_rows,
        flip_labels,
        smooth_labels,
    )
    from structsmooth.outofcore import fit_out_of_core
    from structsmooth.shrinkage import Shrinkage, shrink_bounds
    from structsmooth.smoother import StructuralSmoother
    from structsmooth.strengths import (
        bayes_error_bias,
        closed_form_strengths,
        largest_free_beta,
        solve_strengths,
    )
    from structsmooth.structure import Structure
    from structsmooth.suspects import Suspects, find_suspects
    from structsmooth.tree import (
        Neighbors,
        SpanningTree,
        euclidean_mst,
        nearest_neighbors,
    )

_HOME_OF = {
    "BayesErrorBounds": "bounds",
    "Neighbors": "tree",
    "Shrinkage": "shrinkage",
    "SmoothedClassifier": "classifier",
    "SpanningTree": "tree",
    "StructuralSmoother": "smoother",
    "Structure": "structure",
    "Suspects": "suspects",
    "alpha_from_epsilon": "epsilon",
    "bayes_error_bias": "strengths",
    "bayes_error_bounds": "bounds",
    "closed_form_strengths": "strengths",
    "combine_bounds": "bounds",
    "count_crossing_edges": "crossing",
    "decide": "decision",
    "epsilon_from_alpha": "epsilon",
    "euclidean_mst": "tree",
    "expand_rows": "labels",
    "find_suspects": "suspects",
    "fit_out_of_core": "outofcore",
    "flip_labels": "labels",
    "henze_penrose_divergence": "divergence",
    "largest_free_beta": "strengths",
    "nearest_neighbors": "tree",
    "reversed_strengths": "controls",
    "shrink_bounds": "shrinkage",
    "shuffled_strengths": "controls",
    "smooth_labels": "labels",
    "solve_strengths": "strengths",
    "uniform_strengths": "controls",
}

__all__ = [
    "BayesErrorBounds",
    "Neighbors",
    "Shrinkage",
    "SmoothedClassifier",
    "SpanningTree",
    "StructuralSmoother",
    "Structure",
    "Suspects",
    "alpha_from_epsilon",
    "bayes_error_bias",
    "bayes_error_bounds",
    "closed_form_strengths",
    "combine_bounds",
    "count_crossing_edges",
    "decide",
    "epsilon_from_alpha",
    "euclidean_mst",
    "expand_rows",
    "find_suspects",
    "fit_out_of_core",
    "flip_labels",
    "henze_penrose_divergence",
    "largest_free_beta",
    "nearest_neighbors",
    "reversed_strengths",
    "shrink_bounds",
    "shuffled_strengths",
    "smooth_labels",
    "solve_strengths",
    "uniform_strengths",
]


# Rooms of their own, reached as structsmooth.metrics and so on.
_ROOMS = ("boosting", "compare", "metrics", "plot", "report", "spark", "torch")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("structsmooth")
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"structsmooth.{_HOME_OF[name]}"), name)
    if name in _ROOMS:
        return importlib.import_module(f"structsmooth.{name}")
    raise AttributeError(f"module 'structsmooth' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]
