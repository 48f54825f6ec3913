"""Save and load a fitted smoother without pickle.

The file is a zip archive of ``smoother.json`` (settings, versions and small things)
and one ``.npy`` for each array. Reading it parses text and numbers and nothing
else, so a file from a stranger cannot execute code.
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

from structsmooth.assign import GaussianAssigner, NearestCenter
from structsmooth.bounds import BayesErrorBounds, combine_bounds
from structsmooth.cluster import Regions
from structsmooth.errors import FileFormatError, InvalidInputError
from structsmooth.files import wrapped_errors, written_beside
from structsmooth.points import Points
from structsmooth.reduce import LinearReduction
from structsmooth.suspects import Suspects

FORMAT = "structsmooth.smoother"
FORMAT_VERSION = 1
FILE_NAME = "smoother.zip"
# Bytes of an array; to compress more would take longer than it saves.
LARGEST_COMPRESSED = 10**7

Arrays = dict[str, NDArray[Any]]
Smoother = TypeVar("Smoother")

_ASSIGNERS = {
    "nearest_center": NearestCenter,
    "gaussian": GaussianAssigner,
}
_SCALARS = ("alpha_", "beta_", "bias_", "uniform_bias_", "n_features_in_")
_PLAIN_ARRAYS = ("strengths_", "cluster_weights_")
# Fields of BayesErrorBounds that are stacked over the clusters as they are.
_STACKED = (
    "lower",
    "upper",
    "interval",
    "lower_interval",
    "upper_interval",
    "crossing_fraction",
    "n_samples",
    "n_effective",
    "class_counts",
    "confidence",
    "tied_fraction",
)


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
    arrays: Arrays = {name: getattr(smoother, name) for name in _PLAIN_ARRAYS}
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": versions(),
        "parameters": _plain_parameters(smoother),
        "fitted": {name: getattr(smoother, name) for name in _SCALARS},
        "assigner": _put_regions(smoother.regions_, arrays),
    }
    _put_reduction(smoother.reduction_, arrays)
    _put_bounds(smoother.cluster_bounds_, arrays)
    _put_names(smoother, arrays)
    if smoother.points_ is not None:
        _put_points(smoother.points_, arrays)
        arrays["sample_strengths"] = smoother.sample_strengths_
    if smoother.suspects_ is not None:
        _put_suspects(smoother, arrays)
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
    smoother = kind(**description["parameters"])
    values: dict[str, Any] = {
        name: float(description["fitted"][name]) for name in _SCALARS
    }
    values["n_features_in_"] = int(description["fitted"]["n_features_in_"])
    values |= {name: arrays[name] for name in _PLAIN_ARRAYS}
    values["classes_"] = _as_objects(arrays["classes"], arrays["classes_are_objects"])
    if "feature_names" in arrays:
        values["feature_names_in_"] = arrays["feature_names"].astype(object)
    values["reduction_"] = LinearReduction(
        center=arrays.get("reduction_center"),
        scale=arrays.get("reduction_scale"),
        components=arrays.get("reduction_components"),
        exponent=int(arrays["reduction_exponent"]),
    )
    regions = _get_regions(description["assigner"], arrays)
    values["regions_"] = regions
    values["cluster_labels_"] = regions.labels
    values["sample_strengths_"] = values["strengths_"][regions.labels]
    bounds = _get_bounds(arrays)
    values["cluster_bounds_"] = bounds
    values["bayes_error_bounds_"] = combine_bounds(bounds)
    values["bayes_error_lower_"] = arrays["bounds_lower"]
    values["bayes_error_upper_"] = arrays["bounds_upper"]
    values["points_"] = _get_points(arrays)
    if values["points_"] is not None:
        values["sample_strengths_"] = arrays["sample_strengths"]
    values["suspects_"] = _get_suspects(values["classes_"], arrays)
    _check_agreement(values)
    for name, value in values.items():
        setattr(smoother, name, value)
    return smoother


def _check_agreement(values: dict[str, Any]) -> None:
    """Refuse arrays that do not fit together: kernels trust what they are given."""
    regions, reduction = values["regions_"], values["reduction_"]
    n_features, n_classes = values["n_features_in_"], len(values["classes_"])
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
    assigner = regions.assigner
    if isinstance(assigner, NearestCenter):
        _require(assigner.centers.shape[1:] == (reduced,))
    else:
        count = len(assigner.weights)
        _require(assigner.means.shape == (count, reduced))
        _require(assigner.precisions_cholesky.shape == (count, reduced, reduced))
    _require(regions.region_of_cluster.shape == (assigner.n_clusters,))
    _require(_are_indices(regions.region_of_cluster + 1, n_regions + 1))
    strengths = values["strengths_"]
    _require(strengths.shape == values["cluster_weights_"].shape == (n_regions,))
    _require(len(values["cluster_bounds_"]) == n_regions)
    _require(bool(((strengths >= 0) & (strengths < 1)).all()))
    points = values["points_"]
    if points is not None:
        n_samples = len(regions.labels)
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
        _require(values["sample_strengths_"].shape == (n_samples,))
        _require(0 < points.n_neighbors < n_samples and points.n_classes == n_classes)
    for parts in (reduction, assigner, regions, *([points] if points else [])):
        for field in dataclasses.fields(parts):
            array = getattr(parts, field.name)
            if isinstance(array, np.ndarray):
                _require(array.dtype.kind in "iuf" and bool(np.isfinite(array).all()))


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
        "reducer": getattr(smoother.reduction_, "transformer", None),
        "clusterer": getattr(smoother.regions_.assigner, "clusterer", None),
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


def _put_names(smoother: Any, arrays: Arrays) -> None:
    classes = smoother.classes_
    is_object = classes.dtype.kind == "O"
    if is_object and not all(isinstance(label, str) for label in classes):
        kind = type(next(c for c in classes if not isinstance(c, str))).__name__
        raise InvalidInputError(
            f"class labels of type {kind} cannot be saved, expected numbers or text"
        )
    arrays["classes"] = classes.astype(str) if is_object else classes
    arrays["classes_are_objects"] = np.array(is_object)
    if hasattr(smoother, "feature_names_in_"):
        arrays["feature_names"] = smoother.feature_names_in_.astype(str)


def _as_objects(classes: NDArray[Any], flag: NDArray[Any]) -> NDArray[Any]:
    return classes.astype(object) if bool(flag) else classes


def _put_reduction(reduction: LinearReduction, arrays: Arrays) -> None:
    for field in dataclasses.fields(reduction):
        value = getattr(reduction, field.name)
        if value is not None:
            arrays[f"reduction_{field.name}"] = value


def _put_regions(regions: Regions, arrays: Arrays) -> str:
    arrays["region_labels"] = regions.labels
    arrays["region_centers"] = regions.centers
    arrays["region_of_cluster"] = regions.region_of_cluster
    arrays["region_n_merged"] = np.array(regions.n_merged)
    for name, array in vars(regions.assigner).items():
        arrays[f"assigner_{name}"] = array
    return next(n for n, k in _ASSIGNERS.items() if isinstance(regions.assigner, k))


def _get_regions(name: str, arrays: Arrays) -> Regions:
    kind: Any = _ASSIGNERS[name]
    return Regions(
        labels=arrays["region_labels"],
        centers=arrays["region_centers"],
        assigner=kind(
            **{f.name: arrays[f"assigner_{f.name}"] for f in dataclasses.fields(kind)}
        ),
        region_of_cluster=arrays["region_of_cluster"],
        n_merged=int(arrays["region_n_merged"]),
    )


def _put_points(points: Points, arrays: Arrays) -> None:
    for field in dataclasses.fields(points):
        arrays[f"points_{field.name}"] = np.asarray(getattr(points, field.name))


def _get_points(arrays: Arrays) -> Points | None:
    if "points_features" not in arrays:
        return None
    # Files of 0.1.0 know neither: no row is known when it comes back.
    n_rows, n_classes = len(arrays["points_labels"]), int(arrays["points_n_classes"])
    absent = {
        "points_keys": np.zeros(n_rows, dtype=np.uint64),
        "points_limits": np.full(n_rows, (n_classes - 1) / n_classes),
    }
    found = {
        f.name: (absent | arrays)[f"points_{f.name}"]
        for f in dataclasses.fields(Points)
    }
    plain: dict[str, Any] = {n: v if v.ndim else v.item() for n, v in found.items()}
    return Points(**plain)


def _put_suspects(smoother: Any, arrays: Arrays) -> None:
    suspects = smoother.suspects_
    arrays["suspects_rows"] = suspects.rows
    arrays["suspects_likely"] = np.searchsorted(smoother.classes_, suspects.likely)
    arrays["suspects_agreement"] = suspects.agreement
    arrays["suspects_n_neighbors"] = np.array(suspects.n_neighbors)


def _get_suspects(classes: NDArray[Any], arrays: Arrays) -> Suspects | None:
    if "suspects_rows" not in arrays:
        return None
    likely = arrays["suspects_likely"]
    rows, agreement = arrays["suspects_rows"], arrays["suspects_agreement"]
    _require(rows.shape == likely.shape == agreement.shape)
    _require(not rows.size or _are_indices(rows, len(arrays["region_labels"])))
    return Suspects(
        rows, classes[likely], agreement, arrays["suspects_n_neighbors"].item()
    )


def _put_bounds(bounds: list[BayesErrorBounds], arrays: Arrays) -> None:
    for name in _STACKED:
        arrays[f"bounds_{name}"] = np.array([getattr(b, name) for b in bounds])
    arrays["bounds_pairs"] = np.concatenate([b.crossing_pairs for b in bounds])
    arrays["bounds_counts"] = np.concatenate([b.crossing_counts for b in bounds])
    arrays["bounds_n_pairs"] = np.array([len(b.crossing_pairs) for b in bounds])


def _get_bounds(arrays: Arrays) -> list[BayesErrorBounds]:
    cuts = np.cumsum(arrays["bounds_n_pairs"])[:-1]
    pairs = np.split(arrays["bounds_pairs"], cuts)
    counts = np.split(arrays["bounds_counts"], cuts)
    bounds = []
    for region in range(len(pairs)):
        values = {name: arrays[f"bounds_{name}"][region] for name in _STACKED}
        bounds.append(
            BayesErrorBounds(
                crossing_pairs=pairs[region],
                crossing_counts=counts[region],
                **{
                    name: value if name == "class_counts" else _scalar_or_pair(value)
                    for name, value in values.items()
                },
            )
        )
    return bounds


def _scalar_or_pair(value: Any) -> Any:
    return tuple(value.tolist()) if np.ndim(value) else value.item()


def _add(bundle: zipfile.ZipFile, name: str, content: bytes) -> None:
    bundle.writestr(_entry(name), content)


def _entry(name: str) -> zipfile.ZipInfo:
    # A fixed date, so that the same smoother is the same file.
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
