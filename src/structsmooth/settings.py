"""The parameters of a smoother, checked before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from structsmooth.cluster.clusterers import check_clusterer, takes_weights
from structsmooth.reduce.fit import check_reducer, reducer_takes_weights
from structsmooth.strengths.solve import resolve_alpha_beta
from structsmooth.support.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_n_jobs,
    check_share,
)

CHOICES = {
    "regions": ("cluster", "point"),
    "ties": ("index", "average"),
    "spread": ("even", "overlap"),
}
FLAGS = ("correct_forced_edges", "shrink", "ignore_suspects")


def needs_copies(settings: Mapping[str, Any]) -> bool:
    """Whether a stage takes no sample weights, so that it wants repeated rows."""
    return (
        settings["regions"] == "point"
        or bool(settings["ignore_suspects"])
        or not takes_weights(settings["clusterer"])
        or not reducer_takes_weights(settings["reducer"])
    )


def check_settings(
    settings: Mapping[str, Any], n_classes: int, shape: tuple[int, int]
) -> None:
    """Refuse what can be refused before any work is done.

    Parameters
    ----------
    settings : mapping
        The parameters of a `StructuralSmoother` by name.
    n_classes : int
        Number of classes K.
    shape : tuple of int
        Rows and features of the data.
    """
    alpha, beta = settings["alpha"], settings["beta"]
    resolve_alpha_beta(alpha, beta, np.zeros(1), np.ones(1), n_classes)
    check_reducer(settings["reducer"], settings["n_components"], shape)
    check_clusterer(
        settings["clusterer"],
        settings["n_clusters"],
        settings["min_cluster_size"],
        shape[0],
    )
    for name, choices in CHOICES.items():
        check_choice(settings[name], name, choices)
    check_share(settings["confidence"], "confidence")
    for name in FLAGS:
        check_flag(settings[name], name)
    if settings["n_neighbors"] != "auto":
        check_integer(settings["n_neighbors"], "n_neighbors", 1, shape[0] - 1)
    check_n_jobs(settings["n_jobs"])
