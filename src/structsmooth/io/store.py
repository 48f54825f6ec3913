"""Save and load a fitted smoother without pickle.

The file is a zip archive of ``smoother.json`` (settings and versions) and one ``.npy``
for each array that `structsmooth.io.codec` makes of what was measured and decided.
Reading it parses text and numbers and nothing else, so a file from a stranger cannot
execute code.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import zipfile
import zlib
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.inequalities import lower_bounds
from structsmooth.bayes_error.shrinkage import shrink_bounds
from structsmooth.cluster.assign import NearestCenter
from structsmooth.errors import FileFormatError, InvalidInputError
from structsmooth.io.atomic import wrapped_errors, written_beside
from structsmooth.io.codec import (
    Arrays,
    decision_from_arrays,
    decision_to_arrays,
    structure_from_arrays,
    structure_to_arrays,
)
from structsmooth.reduce import LinearReduction
from structsmooth.strengths.decision import Decision
from structsmooth.structure import Structure

FORMAT = "structsmooth.smoother"
FORMAT_VERSION = 2
FILE_NAME = "smoother.zip"
# Bytes of an array; to compress more would take longer than it saves.
LARGEST_COMPRESSED = 10**7

Smoother = TypeVar("Smoother")


def smoother_path(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path means: itself, or the one in a directory."""
    given = Path(path)
    names_directory = os.fspath(path).endswith(("/", os.sep))
    try:
        is_directory = given.is_dir()
    except OSError:  # whoever opens it will find out, and say so
        is_directory = False
    return given / FILE_NAME if is_directory or names_directory else given


def save_smoother(smoother: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted smoother."""
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": versions(),
        "parameters": _plain_parameters(smoother),
    }
    arrays = structure_to_arrays(smoother.structure_)
    arrays |= decision_to_arrays(smoother.decision_)
    if hasattr(smoother, "feature_names_in_"):
        arrays["feature_names"] = smoother.feature_names_in_.astype(str)
    target = smoother_path(path)
    if target.name == FILE_NAME:
        with wrapped_errors(target):
            target.parent.mkdir(exist_ok=True)
    text = json.dumps(description, indent=1)
    with written_beside(target) as temporary:
        write_arrays(temporary, arrays, {"smoother.json": text.encode()})


def load_smoother(kind: type[Smoother], path: str | os.PathLike[str]) -> Smoother:
    """Read a smoother that `save_smoother` has written."""
    source = smoother_path(path)
    try:
        with zipfile.ZipFile(source) as bundle:
            description = _read_description(source, bundle)
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(bundle.read(name)), allow_pickle=False
                )
                for name in bundle.namelist()
                if name.endswith(".npy")
            }
        return _rebuild(kind, description, arrays)
    except FileNotFoundError:
        raise FileFormatError(f"there is no file {source}") from None
    except FileFormatError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,  # a damaged entry can ask for another kind of zip
        KeyError,
        IndexError,
        ValueError,
        TypeError,
        AttributeError,
        MemoryError,
        OverflowError,
        RecursionError,
        RuntimeError,
    ) as error:
        raise FileFormatError(
            f"{source} is damaged or not a file that structsmooth has saved"
        ) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileFormatError(f"cannot read {source}: {reason}") from None


def write_arrays(
    path: Path, arrays: Arrays, others: dict[str, bytes] | None = None
) -> None:
    """Write arrays by name, as ``numpy.savez_compressed``, the same bytes each time."""
    with zipfile.ZipFile(path, "w") as bundle:
        for name, content in (others or {}).items():
            _add(bundle, name, content)
        for name, array in arrays.items():
            # Streamed, for an array can be a memory map larger than memory.
            entry = _entry(f"{name}.npy")
            if np.asarray(array).nbytes > LARGEST_COMPRESSED:
                entry.compress_type = zipfile.ZIP_STORED
            with bundle.open(entry, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    import platform
    from importlib.metadata import version

    packages = ("structsmooth", "numpy", "scipy", "scikit-learn", "numba")
    return {"python": platform.python_version()} | {p: version(p) for p in packages}


def _read_description(source: Path, bundle: zipfile.ZipFile) -> dict[str, Any]:
    description: dict[str, Any] = json.loads(bundle.read("smoother.json"))
    if description["format"] != FORMAT:
        raise FileFormatError(f"{source} is not a file that structsmooth has saved")
    if description["format_version"] > FORMAT_VERSION:
        raise FileFormatError(
            f"{source} was written by a newer structsmooth "
            f"(format {description['format_version']}, this one reads up to "
            f"{FORMAT_VERSION}): upgrade structsmooth to read it"
        )
    return description


def _rebuild(
    kind: type[Smoother], description: dict[str, Any], arrays: Arrays
) -> Smoother:
    if description["format_version"] == 1:
        arrays = _from_first_format(description, arrays)
    smoother: Any = kind(**description["parameters"])
    structure = structure_from_arrays(arrays)
    decision = decision_from_arrays(arrays, structure)
    _check_structure(structure)
    _check_decision(decision, structure)
    names = arrays.get("feature_names")
    smoother.fit_structure(
        structure,
        decision,
        feature_names=None if names is None else names.astype(object),
    )
    fitted: Smoother = smoother
    return fitted


def _from_first_format(description: dict[str, Any], arrays: Arrays) -> Arrays:
    """Return the arrays of 0.1.0 as they are named today."""
    fitted, shrink = description["fitted"], bool(description["parameters"]["shrink"])
    found = dict(arrays)
    found |= {name: np.array(float(fitted[f"{name}_"])) for name in _SCALARS}
    found["n_features"] = np.array(int(fitted["n_features_in_"]))
    found["shrink"] = np.array(shrink)
    found["is_of_samples"] = np.array("points_features" in arrays)
    found["strengths"] = arrays.get("sample_strengths", arrays["strengths_"])
    if "points_fractions" in arrays:
        n_classes = int(arrays["points_n_classes"])
        found["bayes_error"] = lower_bounds(arrays["points_fractions"], n_classes)
    elif shrink:
        bounds = structure_from_arrays(found).cluster_bounds
        found["bayes_error"] = shrink_bounds(bounds).bayes_error
    else:
        found["bayes_error"] = arrays["bounds_lower"]
    return found


_SCALARS = ("alpha", "beta", "bias", "uniform_bias")


def _check_structure(structure: Structure) -> None:
    """Refuse arrays that do not fit together: kernels trust what they are given."""
    regions, reduction = structure.regions, structure.reduction
    if not isinstance(reduction, LinearReduction):
        raise TypeError("the reduction of a saved smoother is of another kind")
    n_features, n_classes = structure.n_features, structure.n_classes
    reduced = n_features
    if reduction.components is not None:
        reduced = len(reduction.components)
        _require(reduction.components.shape == (reduced, n_features))
    for part in (reduction.center, reduction.scale):
        _require(part is None or part.shape == (n_features,))
    n_regions = len(regions.centers)
    _require(n_features >= 1 and n_classes >= 2 and n_regions >= 1)
    _require(regions.centers.shape == (n_regions, reduced))
    _require(_are_indices(regions.labels, n_regions))
    assigner: Any = regions.assigner
    if isinstance(assigner, NearestCenter):
        _require(assigner.centers.shape[1:] == (reduced,))
    else:
        count = len(assigner.weights)
        _require(assigner.means.shape == (count, reduced))
        _require(assigner.precisions_cholesky.shape == (count, reduced, reduced))
    _require(regions.region_of_cluster.shape == (assigner.n_clusters,))
    _require(_are_indices(regions.region_of_cluster + 1, n_regions + 1))
    _require(len(structure.cluster_bounds) == n_regions)
    n_samples = len(regions.labels)
    suspects, points = structure.suspects, structure.points
    if suspects is not None:
        _require(suspects.rows.shape == suspects.likely.shape)
        _require(suspects.rows.shape == suspects.agreement.shape)
        _require(not suspects.rows.size or _are_indices(suspects.rows, n_samples))
    if points is not None:
        _require(points.features.shape == (n_samples, reduced))
        per_row = (
            points.disagreement,
            points.fractions,
            points.limits,
            points.keys,
            points.clusters,
            points.labels,
        )
        for array in per_row:
            _require(array.shape == (n_samples,))
        _require(_are_indices(points.clusters, n_regions))
        _require(_are_indices(points.labels, n_classes))
        _require(0 < points.n_neighbors < n_samples and points.n_classes == n_classes)
    _require(isinstance(reduction.exponent, int))
    for parts in (reduction, assigner, regions, *([points] if points else [])):
        for field in dataclasses.fields(parts):
            array = getattr(parts, field.name)
            if isinstance(array, np.ndarray):
                _require(array.dtype.kind in "iuf" and bool(np.isfinite(array).all()))


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


def _plain_parameters(smoother: Any) -> dict[str, Any]:
    parameters = smoother.get_params(deep=False)
    foreign = {
        "reducer": getattr(smoother.structure_.reduction, "transformer", None),
        "clusterer": getattr(smoother.structure_.regions.assigner, "clusterer", None),
    }
    for name, fitted in foreign.items():
        given = parameters[name] if fitted is None else fitted
        if given is not None and not isinstance(given, str):
            raise InvalidInputError(
                f"a smoother with a {name} object ({type(given).__name__}) "
                "cannot be saved without executing code on loading; save its "
                f"sample_strengths_, or use a {name} by name"
            )
    if not isinstance(parameters["random_state"], int | np.integer):
        parameters["random_state"] = None  # a generator has moved on anyway
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return float(value) if isinstance(value, Fraction) else value


def _add(bundle: zipfile.ZipFile, name: str, content: bytes) -> None:
    bundle.writestr(_entry(name), content)


def _entry(name: str) -> zipfile.ZipInfo:
    # A fixed date, so that the same smoother is the same file.
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
