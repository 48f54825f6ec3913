"""Save and load a fitted smoother without pickle, so that loading executes no code.

The file is a zip archive of ``smoother.json`` (settings and versions) and one ``.npy``
for each array that `structsmooth.io.codec` makes of what was measured and decided.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.inequalities import lower_bounds
from structsmooth.bayes_error.shrinkage import shrink_bounds
from structsmooth.cluster.assign import NearestCenter
from structsmooth.encode.cells import KINDS
from structsmooth.encode.encoding import TableEncoding
from structsmooth.errors import FileFormatError, InvalidInputError
from structsmooth.io import codec
from structsmooth.io.atomic import reading, wrapped_errors, written_beside
from structsmooth.strengths.decision import Decision
from structsmooth.structure import Structure

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
        codec.write_arrays(temporary, arrays, {SETTINGS: text.encode()})


def load_smoother(kind: type[Smoother], path: str | os.PathLike[str]) -> Smoother:
    """Read a smoother that `save_smoother` has written."""
    source = smoother_path(path)
    with reading(source, "is damaged or not a file that structsmooth has saved"):
        arrays = codec.read_arrays(source)
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
        decision = codec.decision_from_arrays(arrays, structure)
        _check_structure(structure)
        _check_decision(decision, structure)
        names = arrays.get("feature_names")
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


def _check_structure(structure: Structure) -> None:
    """Refuse arrays that do not fit together, because kernels do not check them."""
    regions, points, suspects = structure.regions, structure.points, structure.suspects
    reduction: Any = structure.reduction
    assigner: Any = regions.assigner
    n_features, n_classes = structure.n_features, structure.n_classes
    n_samples, n_regions = len(regions.labels), len(regions.centers)
    components = reduction.components
    n_encoded = n_features
    if structure.encoding is not None:
        _check_encoding(structure.encoding, n_features)
        n_encoded = structure.encoding.n_features
    n_reduced = n_encoded if components is None else len(components)
    shapes: list[tuple[NDArray[Any] | None, tuple[int, ...]]] = [
        (components, (n_reduced, n_encoded)),
        (reduction.center, (n_encoded,)),
        (reduction.scale, (n_encoded,)),
        (regions.centers, (n_regions, n_reduced)),
        (regions.region_of_cluster, (assigner.n_clusters,)),
    ]
    if isinstance(assigner, NearestCenter):
        shapes.append((assigner.centers, (assigner.n_clusters, n_reduced)))
    else:
        shape = (assigner.n_clusters, n_reduced)
        shapes.append((assigner.means, shape))
        shapes.append((assigner.precisions_cholesky, (*shape, n_reduced)))
    if suspects is not None:
        shapes.append((suspects.likely, suspects.rows.shape))
        shapes.append((suspects.agreement, suspects.rows.shape))
        _require(not suspects.rows.size or _are_indices(suspects.rows, n_samples))
    if points is not None:
        shapes.append((points.features, (n_samples, n_reduced)))
        per_row = ("disagreement", "fractions", "limits", "keys", "clusters", "labels")
        shapes += [(getattr(points, name), (n_samples,)) for name in per_row]
        _require(_are_indices(points.clusters, n_regions))
        _require(_are_indices(points.labels, n_classes))
        _require(0 < points.n_neighbors < n_samples and points.n_classes == n_classes)
    _require(all(array is None or array.shape == shape for array, shape in shapes))
    _require(n_features >= 1 and n_classes >= 2 and n_regions >= 1)
    _require(len(structure.cluster_bounds) == n_regions)
    _require(isinstance(reduction.exponent, int))
    _require(_are_indices(regions.labels, n_regions))
    _require(_are_indices(regions.region_of_cluster + 1, n_regions + 1))
    for part in (reduction, assigner, regions, points):
        for array in () if part is None else vars(part).values():
            if isinstance(array, np.ndarray):
                _require(array.dtype.kind in "iuf" and bool(np.isfinite(array).all()))


def _check_encoding(encoding: TableEncoding, n_columns: int) -> None:
    _require(len(encoding.columns) == len(set(encoding.names)) == n_columns)
    _require(encoding.n_features >= 1)
    for column in encoding.columns:
        _require(column.kind in KINDS and len(set(column.levels)) == len(column.levels))
        _require(math.isfinite(column.center) and 0.0 < column.scale < math.inf)


def _check_decision(decision: Decision, structure: Structure) -> None:
    shape = (len(structure.cluster_bounds),)
    if decision.is_of_samples:
        _require(structure.points is not None)
        shape = (len(structure.regions.labels),)
    strengths, errors = decision.strengths, decision.bayes_error
    _require(strengths.shape == errors.shape == shape)
    _require(strengths.dtype.kind == errors.dtype.kind == "f")
    _require(bool(((strengths >= 0) & (strengths < 1)).all()))


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("the arrays of a saved smoother do not fit together")


def _are_indices(array: NDArray[Any], below: int) -> bool:
    return bool(
        array.ndim == 1
        and array.dtype.kind in "iu"
        and array.size
        and array.min() >= 0
        and array.max() < below
    )


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
