"""Structural label smoothing: smooth labels where the classes overlap.

The public names are loaded on first use, so that ``import structsmooth`` and the
command line's ``--help`` are quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structsmooth.bayes_error.bounds import (
        BayesErrorBounds,
        bayes_error_bounds,
        combine_bounds,
    )
    from structsmooth.bayes_error.divergence import henze_penrose_divergence
    from structsmooth.bayes_error.shrinkage import Shrinkage, shrink_bounds
    from structsmooth.bayes_error.suspects import Suspects, find_suspects
    from structsmooth.classifier import SmoothedClassifier
    from structsmooth.labels.forms import expand_rows, flip_labels, smooth_labels
    from structsmooth.outofcore.fit import fit_out_of_core
    from structsmooth.smoother import StructuralSmoother
    from structsmooth.strengths.controls import reversed_strengths, shuffled_strengths
    from structsmooth.strengths.decision import decide
    from structsmooth.strengths.epsilon import alpha_from_epsilon, epsilon_from_alpha
    from structsmooth.strengths.solve import (
        bayes_error_bias,
        largest_free_beta,
        solve_strengths,
    )
    from structsmooth.structure import Structure
    from structsmooth.tree import (
        Neighbors,
        SpanningTree,
        euclidean_mst,
        nearest_neighbors,
    )

_HOME_OF = {
    "BayesErrorBounds": "bayes_error.bounds",
    "Neighbors": "tree",
    "Shrinkage": "bayes_error.shrinkage",
    "SmoothedClassifier": "classifier",
    "SpanningTree": "tree",
    "StructuralSmoother": "smoother",
    "Structure": "structure",
    "Suspects": "bayes_error.suspects",
    "alpha_from_epsilon": "strengths.epsilon",
    "bayes_error_bias": "strengths.solve",
    "bayes_error_bounds": "bayes_error.bounds",
    "combine_bounds": "bayes_error.bounds",
    "decide": "strengths.decision",
    "epsilon_from_alpha": "strengths.epsilon",
    "euclidean_mst": "tree",
    "expand_rows": "labels.forms",
    "find_suspects": "bayes_error.suspects",
    "fit_out_of_core": "outofcore.fit",
    "flip_labels": "labels.forms",
    "henze_penrose_divergence": "bayes_error.divergence",
    "largest_free_beta": "strengths.solve",
    "nearest_neighbors": "tree",
    "reversed_strengths": "strengths.controls",
    "shrink_bounds": "bayes_error.shrinkage",
    "shuffled_strengths": "strengths.controls",
    "smooth_labels": "labels.forms",
    "solve_strengths": "strengths.solve",
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
    "combine_bounds",
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
]


# Modules that are reached as structsmooth.metrics and so on.
_MODULES = ("boosting", "compare", "metrics", "plot", "report", "spark", "torch")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("structsmooth")
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"structsmooth.{_HOME_OF[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"structsmooth.{name}")
    raise AttributeError(f"module 'structsmooth' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_MODULES, "__version__"]
