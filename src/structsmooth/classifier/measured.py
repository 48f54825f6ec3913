"""Rows that are measured once, for all smoothers that would measure the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import joblib
from numpy.typing import ArrayLike
from sklearn.base import clone

from structsmooth.smoother import StructuralSmoother
from structsmooth.structure import Structure

# Parameters that decide, or that change no result; all others measure.
DECIDING = ("alpha", "beta", "shrink", "spread", "regions", "n_jobs", "verbose")


class MeasuredRows:
    """Training rows, and what was found in them so far.

    Parameters
    ----------
    X, y, sample_weight
        As in `StructuralSmoother.fit`.
    smoothers : iterable of StructuralSmoother
        The smoothers that will be asked for: neighborhoods are measured with the
        clusters if one of them needs them.
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        smoothers: Iterable[StructuralSmoother],
        sample_weight: ArrayLike | None = None,
    ) -> None:
        self._rows = X, y, sample_weight
        self._smoothers = list(smoothers)
        self._found: dict[str, StructuralSmoother] = {}

    def fitted(self, smoother: StructuralSmoother) -> StructuralSmoother:
        """Return a copy of a smoother that is fitted to the rows."""
        measured = self._measured(smoother)
        structure: Structure = measured.structure_
        if smoother.regions == "cluster" and structure.points is not None:
            structure = replace(structure, points=None)
        names = getattr(measured, "feature_names_in_", None)
        copy: StructuralSmoother = clone(smoother)
        return copy.fit_structure(structure, feature_names=names)

    def _measured(self, smoother: StructuralSmoother) -> StructuralSmoother:
        key = _measuring(smoother)
        if key not in self._found:
            alike = [smoother, *(s for s in self._smoothers if _measuring(s) == key)]
            by_point = [one for one in alike if one.regions == "point"]
            # A reliability that nobody measured would be searched for later.
            first = clone(max(by_point or alike, key=lambda one: bool(one.shrink)))
            self._found[key] = first.fit(*self._rows)
        return self._found[key]


def _measuring(smoother: StructuralSmoother) -> str:
    """Return text that is the same for smoothers that measure the same."""
    parameters = smoother.get_params(deep=False)
    return str(joblib.hash({k: v for k, v in parameters.items() if k not in DECIDING}))
