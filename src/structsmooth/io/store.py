"""Save and load a fitted smoother without pickle, so that loading executes no code.

The file is a zip archive of ``smoother.json`` (settings and versions) and one ``.npy``
for each array that `structsmooth.io.codec` makes of what was measured and decided.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from structsmooth.bayes_error.inequalities import lower_bounds
from structsmooth.bayes_error.shrinkage import shrink_bounds
from structsmooth.errors import FileFormatError, InvalidInputError
from structsmooth.io import codec
from structsmooth.io.archive import read_arrays, write_arrays
from structsmooth.io.atomic import reading, wrapped_errors, written_beside
from structsmooth.io.invariants import check_names, check_smoother

FORMAT = "structsmooth.smoother"
FORMAT_VERSION = 2
FILE_NAME = "smoother.zip"
SETTINGS = "smoother.json"

Smoother = TypeVar("Smoother")


def smoother_path(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path means: itself, or the one in a directory."""
    given = Path(path)
    names_directory = os.fspath(path).endswith(("/", os.sep))
    return given / FILE_NAME if names_directory or given.is_dir() else given


def save_smoother(smoother: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted smoother."""
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": versions(),
        "parameters": _savable_parameters(smoother),
        # Weights may add up to anything, so nothing else tells if rows are missing.
        "n_rows": len(smoother.structure_.regions.labels),
    }
    arrays = codec.structure_to_arrays(smoother.structure_)
    arrays |= codec.decision_to_arrays(smoother.decision_)
    if hasattr(smoother, "feature_names_in_"):
        arrays["feature_names"] = smoother.feature_names_in_.astype(str)
    target = smoother_path(path)
    if target.name == FILE_NAME:
        with wrapped_errors(target):
            target.parent.mkdir(exist_ok=True)
    text = json.dumps(description, indent=1, default=_number_for_json)
    with written_beside(target) as temporary:
        write_arrays(temporary, arrays, {SETTINGS: text.encode()})


def load_smoother(kind: type[Smoother], path: str | os.PathLike[str]) -> Smoother:
    """Read a smoother that `save_smoother` has written."""
    source = smoother_path(path)
    with reading(source, "is damaged or not a file that structsmooth has saved"):
        arrays = read_arrays(source, codec.saved_names() | {SETTINGS})
        description = json.loads(arrays.pop(SETTINGS))
        if description["format"] != FORMAT:
            raise FileFormatError(f"{source} is not a file that structsmooth has saved")
        if description["format_version"] > FORMAT_VERSION:
            raise FileFormatError(
                f"{source} was written by a newer structsmooth "
                f"(format {description['format_version']}, this one reads up to "
                f"{FORMAT_VERSION}): upgrade structsmooth to read it"
            )
        if description["format_version"] == 1:
            arrays = _from_first_format(description, arrays)
        structure = codec.structure_from_arrays(arrays)
        n_rows = len(structure.regions.labels)
        if description.get("n_rows", n_rows) != n_rows:
            raise ValueError("rows are missing")
        decision = codec.decision_from_arrays(arrays, structure)
        check_smoother(structure, decision, description["parameters"])
        names = arrays.get("feature_names")
        if names is not None:
            check_names(names, structure)
        smoother: Any = kind(**description["parameters"])
        smoother.fit_structure(
            structure,
            decision,
            feature_names=None if names is None else names.astype(object),
        )
    fitted: Smoother = smoother
    return fitted


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    import platform
    from importlib.metadata import version

    packages = ("structsmooth", "numpy", "scipy", "scikit-learn", "numba")
    return {"python": platform.python_version()} | {p: version(p) for p in packages}


def settings_of(smoother: Any) -> dict[str, Any]:
    """Return the parameters of a smoother, ready for JSON."""
    return {
        name: value
        if isinstance(value, str | int | float | bool | None)
        else repr(value)
        for name, value in smoother.get_params(deep=False).items()
    }


def _from_first_format(
    description: dict[str, Any], arrays: codec.Arrays
) -> codec.Arrays:
    """Return the arrays of a file of 0.1.0 under their present names."""
    fitted, shrink = description["fitted"], bool(description["parameters"]["shrink"])
    found = dict(arrays)
    found |= {name: np.array(float(fitted[f"{name}_"])) for name in codec.DECIDED}
    found["n_features"] = np.array(int(fitted["n_features_in_"]))
    found["shrink"] = np.array(shrink)
    found["is_of_samples"] = np.array("points_features" in arrays)
    found["strengths"] = arrays.get("sample_strengths", arrays["strengths_"])
    if "points_fractions" in arrays:
        n_classes = int(arrays["points_n_classes"])
        found["bayes_error"] = lower_bounds(arrays["points_fractions"], n_classes)
    elif shrink:
        bounds = codec.structure_from_arrays(found).cluster_bounds
        found["bayes_error"] = shrink_bounds(bounds).bayes_error
    else:
        found["bayes_error"] = arrays["bounds_lower"]
    return found


def _savable_parameters(smoother: Any) -> dict[str, Any]:
    parameters = smoother.get_params(deep=False)
    for name in ("reducer", "clusterer"):
        given = parameters[name]
        if given is not None and not isinstance(given, str):
            raise InvalidInputError(
                f"a smoother with a {name} object ({type(given).__name__}) "
                "cannot be saved without executing code on loading; save its "
                f"sample_strengths_, or use a {name} by name"
            )
    if not isinstance(parameters["random_state"], int | np.integer):
        parameters["random_state"] = None  # a generator has moved on anyway
    return dict(parameters)


def _number_for_json(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else float(value)
