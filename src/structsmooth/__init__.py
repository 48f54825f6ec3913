"""Structural label smoothing: smooth labels where the classes overlap.

The public names are loaded on first use, so that ``import structsmooth`` and the
command line's ``--help`` are quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # named twice, which tells type checkers that they are public
    from structsmooth.bayes_error.bounds import BayesErrorBounds as BayesErrorBounds
    from structsmooth.bayes_error.bounds import bayes_error_bounds as bayes_error_bounds
    from structsmooth.bayes_error.bounds import combine_bounds as combine_bounds
    from structsmooth.bayes_error.divergence import (
        henze_penrose_divergence as henze_penrose_divergence,
    )
    from structsmooth.bayes_error.shrinkage import Shrinkage as Shrinkage
    from structsmooth.bayes_error.shrinkage import shrink_bounds as shrink_bounds
    from structsmooth.bayes_error.suspects import Suspects as Suspects
    from structsmooth.bayes_error.suspects import find_suspects as find_suspects
    from structsmooth.classifier import SmoothedClassifier as SmoothedClassifier
    from structsmooth.classifier import SmoothedClassifierCV as SmoothedClassifierCV
    from structsmooth.encode.encoder import TableEncoder as TableEncoder
    from structsmooth.labels.forms import expand_rows as expand_rows
    from structsmooth.labels.forms import flip_labels as flip_labels
    from structsmooth.labels.forms import smooth_labels as smooth_labels
    from structsmooth.outofcore.fit import fit_out_of_core as fit_out_of_core
    from structsmooth.smoother import StructuralSmoother as StructuralSmoother
    from structsmooth.strengths.controls import reversed_strengths as reversed_strengths
    from structsmooth.strengths.controls import shuffled_strengths as shuffled_strengths
    from structsmooth.strengths.decision import decide as decide
    from structsmooth.strengths.epsilon import alpha_from_epsilon as alpha_from_epsilon
    from structsmooth.strengths.epsilon import epsilon_from_alpha as epsilon_from_alpha
    from structsmooth.strengths.solve import bayes_error_bias as bayes_error_bias
    from structsmooth.strengths.solve import largest_free_beta as largest_free_beta
    from structsmooth.strengths.solve import solve_strengths as solve_strengths
    from structsmooth.structure import Structure as Structure
    from structsmooth.tree import Neighbors as Neighbors
    from structsmooth.tree import SpanningTree as SpanningTree
    from structsmooth.tree import euclidean_mst as euclidean_mst
    from structsmooth.tree import nearest_neighbors as nearest_neighbors

_HOME_OF = {
    "BayesErrorBounds": "bayes_error.bounds",
    "Neighbors": "tree",
    "Shrinkage": "bayes_error.shrinkage",
    "SmoothedClassifier": "classifier",
    "SmoothedClassifierCV": "classifier",
    "SpanningTree": "tree",
    "StructuralSmoother": "smoother",
    "Structure": "structure",
    "Suspects": "bayes_error.suspects",
    "TableEncoder": "encode.encoder",
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

__all__ = sorted(_HOME_OF)


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
