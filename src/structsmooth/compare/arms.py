"""Arms: smoothers that take part in a comparison as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from structsmooth.errors import InvalidInputError, InvalidParameterError
from structsmooth.smoother import StructuralSmoother

DEFAULT, OUT_OF_FOLD = "default", "out-of-fold"
# What each option changes. To add a candidate, add its parameters here.
OPTIONS: dict[str, dict[str, Any]] = {
    "points": {"regions": "point"},
    "overlap": {"spread": "overlap"},
    "shrink": {"shrink": True},
    # What a first model says has as many features as there are classes.
    OUT_OF_FOLD: {"reducer": "pca", "n_components": None},
}


@dataclass(frozen=True, eq=False)
class Arm:
    """A smoother, and whether it measures a first model's out-of-fold outputs."""

    name: str
    smoother: StructuralSmoother
    out_of_fold: bool = False


def arms_of(given: Any, smoother: StructuralSmoother) -> tuple[Arm, ...]:
    """Return the smoother as it is, and the arms that were asked for.

    Parameters
    ----------
    given : sequence of str, "all", or mapping of str to StructuralSmoother
        Names of options, several of them joined by "+".
    smoother : StructuralSmoother
        What the options change.
    """
    arms = [Arm(DEFAULT, smoother)]
    if isinstance(given, Mapping):
        for name, own in given.items():
            if not isinstance(own, StructuralSmoother) or not isinstance(name, str):
                raise InvalidInputError(
                    "arms must be names, or StructuralSmoothers by name, got "
                    f"{type(own).__name__} for {name!r}"
                )
            arms.append(Arm(name, own))
    else:
        names = [given] if isinstance(given, str) else list(given)
        names = list(OPTIONS) if names == ["all"] else names
        arms += [_named(name, smoother) for name in dict.fromkeys(names)]
    taken = [arm.name for arm in arms if arm.name in RESERVED]
    if taken or len({arm.name for arm in arms}) < len(arms):
        raise InvalidInputError(
            f"arms must have names other than {', '.join((*RESERVED, DEFAULT))}, got "
            f"{', '.join(arm.name for arm in arms[1:])}"
        )
    return tuple(arms)


RESERVED = ("none", "uniform", "structural", "reversed", "shuffled")


def _named(name: Any, smoother: StructuralSmoother) -> Arm:
    parts = name.split("+") if isinstance(name, str) else [name]
    changes: dict[str, Any] = {}
    for part in parts:
        if part not in OPTIONS:
            raise InvalidParameterError(
                f"arms must be of {', '.join(OPTIONS)}, joined by +, or all; got "
                f"{name!r}"
            )
        changes |= OPTIONS[part]
    changed: StructuralSmoother = clone(smoother)
    changed.set_params(**changes)
    return Arm(str(name), changed, OUT_OF_FOLD in parts)
