"""Everything that is saved or sent, as arrays by name."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from itertools import islice
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.bayes_error.points import Place, Points
from structsmooth.bayes_error.shrinkage import shrink_bounds
from structsmooth.bayes_error.suspects import Suspects
from structsmooth.cluster.assign import (
    Assigner,
    GaussianAssigner,
    NearestCenter,
    NestedCenters,
)
from structsmooth.cluster.regions import Regions
from structsmooth.encode.encoding import Column, TableEncoding
from structsmooth.errors import InvalidInputError
from structsmooth.reduce.reduction import LinearReduction
from structsmooth.strengths.decision import Decision
from structsmooth.structure import Structure

Arrays = dict[str, NDArray[Any]]
Fields = TypeVar("Fields")

# Fields of BayesErrorBounds that are stacked over the clusters as they are.
_STACKED = [
    field.name
    for field in dataclasses.fields(BayesErrorBounds)
    if field.name not in ("crossing_pairs", "crossing_counts")
]
DECIDED = ("alpha", "beta", "bias", "uniform_bias")
OF_DECISION = (*DECIDED, "shrink", "is_of_samples", "strengths", "bayes_error")


def arrays_to_lists(arrays: Arrays) -> dict[str, Any]:
    """Return arrays in a form that JSON can hold exactly."""
    return {
        name: [str(array.dtype), list(array.shape), array.ravel().tolist()]
        for name, array in arrays.items()
    }


def arrays_from_lists(lists: dict[str, Any]) -> Arrays:
    """Return the arrays that `arrays_to_lists` was given."""
    return {
        name: np.array(values, dtype=dtype).reshape(shape)
        for name, (dtype, shape, values) in lists.items()
    }


def saved_names() -> frozenset[str]:
    """Return the names of all arrays that a saved smoother may have."""
    kinds: dict[str, tuple[Any, ...]] = {
        "reduction_": (LinearReduction,),
        "assigner_": (NearestCenter, NestedCenters, GaussianAssigner),
        "bounds_": (BayesErrorBounds,),
        "points_": (Points,),
        "suspects_": (Suspects,),
        "encoding_": (Column,),
    }
    fields = {
        prefix + field.name
        for prefix, some in kinds.items()
        for kind in some
        for field in dataclasses.fields(kind)
    }
    others = """n_features feature_names classes classes_are_objects
        region_labels region_centers region_of_cluster region_n_merged
        bounds_pairs bounds_counts bounds_n_pairs encoding_n_levels
        points_reliability strengths_ sample_strengths"""
    given = {f"given_{field}" for field in Place._fields}
    return frozenset({*fields, *others.split(), *given, *OF_DECISION})


def structure_to_arrays(structure: Structure) -> Arrays:
    """Return a structure as arrays."""
    arrays = {
        "n_features": np.array(structure.n_features),
        **assigner_to_arrays(structure.regions.assigner),
        **bounds_to_arrays(structure.cluster_bounds),
    }
    arrays["region_labels"] = structure.regions.labels
    arrays["region_centers"] = structure.regions.centers
    arrays["region_of_cluster"] = structure.regions.region_of_cluster
    arrays["region_n_merged"] = np.array(structure.regions.n_merged)
    arrays |= fields_to_arrays(structure.reduction, "reduction_")
    arrays |= _classes_to_arrays(structure.classes)
    if structure.points is not None:
        arrays |= fields_to_arrays(structure.points, "points_")
    if structure.encoding is not None:
        arrays |= encoding_to_arrays(structure.encoding)
    if structure.given is not None:
        arrays |= {f"given_{k}": v for k, v in structure.given._asdict().items()}
    if structure.suspects is not None:
        place = np.searchsorted(structure.classes, structure.suspects.likely)
        numbered = dataclasses.replace(structure.suspects, likely=place)
        arrays |= fields_to_arrays(numbered, "suspects_")
    return arrays


def structure_from_arrays(arrays: Arrays) -> Structure:
    """Return the structure that `structure_to_arrays` was given."""
    classes = arrays["classes"]
    if bool(arrays["classes_are_objects"]):
        classes = classes.astype(object)
    suspects = given = None
    if "given_clusters" in arrays:
        given = Place(*(arrays[f"given_{field}"] for field in Place._fields))
    if "suspects_rows" in arrays:
        numbered = fields_from_arrays(Suspects, arrays, "suspects_")
        if not (np.asarray(numbered.likely) >= 0).all():
            raise ValueError("suspects have classes that do not exist")
        suspects = dataclasses.replace(numbered, likely=classes[numbered.likely])
    return Structure(
        classes=classes,
        n_features=int(arrays["n_features"]),
        reduction=fields_from_arrays(LinearReduction, arrays, "reduction_"),
        regions=Regions(
            labels=arrays["region_labels"],
            centers=arrays["region_centers"],
            assigner=assigner_from_arrays(arrays),
            region_of_cluster=arrays["region_of_cluster"],
            n_merged=int(arrays["region_n_merged"]),
        ),
        cluster_bounds=bounds_from_arrays(arrays),
        points=_points_from_arrays(arrays),
        suspects=suspects,
        given=given,
        encoding=encoding_from_arrays(arrays) if "encoding_name" in arrays else None,
    )


def encoding_to_arrays(encoding: TableEncoding) -> Arrays:
    """Return the encoding of a table as arrays, the levels of all columns in one."""
    columns = encoding.columns
    arrays = {
        f"encoding_{field.name}": np.array([getattr(c, field.name) for c in columns])
        for field in dataclasses.fields(Column)
        if field.name != "levels"
    }
    arrays["encoding_name"] = texts_to_array([c.name for c in columns])
    levels = [level for column in columns for level in column.levels]
    arrays["encoding_levels"] = texts_to_array(levels)
    arrays["encoding_n_levels"] = np.array([len(c.levels) for c in columns])
    return arrays


def encoding_from_arrays(arrays: Arrays) -> TableEncoding:
    """Return the encoding that `encoding_to_arrays` was given."""
    names = texts_from_array(arrays["encoding_name"])
    levels = iter(texts_from_array(arrays["encoding_levels"]))
    columns = []
    for j, n_levels in enumerate(arrays["encoding_n_levels"].tolist()):
        values: dict[str, Any] = {
            field.name: arrays[f"encoding_{field.name}"][j].item()
            for field in dataclasses.fields(Column)
            if field.name not in ("name", "levels")
        }
        some = tuple(islice(levels, n_levels))
        columns.append(Column(name=names[j], levels=some, **values))
    return TableEncoding(tuple(columns))


def texts_to_array(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return texts of any length and content as an array of bytes."""
    return np.frombuffer(json.dumps(list(texts)).encode(), dtype=np.uint8)


def texts_from_array(array: NDArray[np.uint8]) -> list[str]:
    """Return the texts that `texts_to_array` was given."""
    return [str(text) for text in json.loads(array.tobytes())]


def decision_to_arrays(decision: Decision) -> Arrays:
    """Return what does not follow from the structure, as arrays."""
    return {name: np.asarray(getattr(decision, name)) for name in OF_DECISION}


def decision_from_arrays(arrays: Arrays, structure: Structure) -> Decision:
    """Return the decision that `decision_to_arrays` was given."""
    strengths, shrink = arrays["strengths"], bool(arrays["shrink"])
    weights, shrinkage = structure.cluster_weights, None
    is_of_samples = bool(arrays["is_of_samples"])
    if is_of_samples:
        weights = np.full(len(strengths), 1.0 / len(strengths))
    elif shrink:
        shrinkage = shrink_bounds(structure.cluster_bounds)
    return Decision(
        **{name: float(arrays[name]) for name in DECIDED},
        bayes_error=arrays["bayes_error"],
        weights=weights,
        strengths=strengths,
        shrinkage=shrinkage,
        shrink=shrink,
        is_of_samples=is_of_samples,
    )


def assigner_to_arrays(assigner: Assigner) -> Arrays:
    """Return an assigner that the library has made itself, as arrays."""
    return fields_to_arrays(assigner, "assigner_")


def assigner_from_arrays(arrays: Arrays) -> Assigner:
    """Return the assigner that `assigner_to_arrays` was given."""
    if "assigner_large" in arrays:
        return fields_from_arrays(NestedCenters, arrays, "assigner_")
    if "assigner_centers" in arrays:
        return fields_from_arrays(NearestCenter, arrays, "assigner_")
    return fields_from_arrays(GaussianAssigner, arrays, "assigner_")


def bounds_to_arrays(bounds: Sequence[BayesErrorBounds]) -> Arrays:
    """Return the bounds of several regions of one task, as arrays."""
    arrays = {
        f"bounds_{name}": np.array([getattr(b, name) for b in bounds])
        for name in _STACKED
    }
    arrays["bounds_pairs"] = np.concatenate([b.crossing_pairs for b in bounds])
    arrays["bounds_counts"] = np.concatenate([b.crossing_counts for b in bounds])
    arrays["bounds_n_pairs"] = np.array([len(b.crossing_pairs) for b in bounds])
    return arrays


def bounds_from_arrays(arrays: Arrays) -> tuple[BayesErrorBounds, ...]:
    """Return the bounds that `bounds_to_arrays` was given."""
    n_pairs = arrays["bounds_n_pairs"]
    if (n_pairs < 0).any() or n_pairs.sum() != len(arrays["bounds_pairs"]):
        raise ValueError("the pairs of classes are not those of the regions")
    cuts = np.cumsum(n_pairs)[:-1]
    pairs = np.split(arrays["bounds_pairs"], cuts)
    counts = np.split(arrays["bounds_counts"], cuts)
    bounds = []
    for region in range(len(pairs)):
        values = {name: arrays[f"bounds_{name}"][region] for name in _STACKED}
        values["crossing_pairs"] = pairs[region]
        values["crossing_counts"] = counts[region]
        for name, value in values.items():
            if np.ndim(value) == 0:
                values[name] = value.item()
            elif name.endswith("interval"):
                values[name] = tuple(value.tolist())
        bounds.append(BayesErrorBounds(**values))
    return tuple(bounds)


def fields_to_arrays(part: Any, prefix: str = "") -> Arrays:
    """Return those fields of a dataclass that are not None, as arrays."""
    if not dataclasses.is_dataclass(part):
        raise InvalidInputError(f"{type(part).__name__} cannot be saved")
    values = {f.name: getattr(part, f.name) for f in dataclasses.fields(part)}
    return {
        prefix + field: np.asarray(value)
        for field, value in values.items()
        if value is not None
    }


def fields_from_arrays(kind: type[Fields], arrays: Arrays, prefix: str = "") -> Fields:
    """Return a dataclass from its fields; those that are single numbers as numbers."""
    names = [field.name for field in dataclasses.fields(cast(Any, kind))]
    values = {name: arrays.get(prefix + name) for name in names}
    return kind(
        **{
            field: value.item() if value is not None and value.ndim == 0 else value
            for field, value in values.items()
        }
    )


def _classes_to_arrays(classes: NDArray[Any]) -> Arrays:
    is_object = classes.dtype.kind == "O"
    if is_object and not all(isinstance(label, str) for label in classes):
        kind = type(next(c for c in classes if not isinstance(c, str))).__name__
        raise InvalidInputError(
            f"class labels of type {kind} cannot be saved, expected numbers or text"
        )
    return {
        "classes": classes.astype(str) if is_object else classes,
        "classes_are_objects": np.array(is_object),
    }


def _points_from_arrays(arrays: Arrays) -> Points | None:
    if "points_features" not in arrays:
        return None
    # Files of 0.1.0 hold neither, so that none of their rows is recognized.
    n_rows, n_classes = len(arrays["points_labels"]), int(arrays["points_n_classes"])
    absent = {
        "points_keys": np.zeros(n_rows, dtype=np.uint64),
        "points_limits": np.full(n_rows, (n_classes - 1) / n_classes),
    }
    if "points_reliability" in arrays:
        absent["points_measured_reliability"] = arrays["points_reliability"]
    return fields_from_arrays(Points, absent | arrays, "points_")
