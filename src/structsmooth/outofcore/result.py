"""The result of a fit out of core: the files of `write_results`, row by row."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from structsmooth.bayes_error.points import Place
from structsmooth.io.results import (
    LARGEST_SOFT_LABELS,
    summarize,
    write_cluster_table,
    write_results,
)
from structsmooth.io.store import FILE_NAME
from structsmooth.labels.forms import smooth_labels
from structsmooth.labels.spread import spread_of
from structsmooth.outofcore.chunks import Labels
from structsmooth.outofcore.plan import peak_memory
from structsmooth.outofcore.request import Request
from structsmooth.outofcore.spill import Spill
from structsmooth.smoother import StructuralSmoother
from structsmooth.support.parallel import side_by_side

CLUSTERS = "clusters.bin"  # of each row, in the spill directory
# Soft labels at a time.
WRITE_NUMBERS = 2**19


def write_result(
    smoother: StructuralSmoother,
    target: Path,
    spill: Spill,
    labels: Labels,
    notes: list[str],
    limit: int,
    request: Request,
) -> None:
    """Write the result directory, and let the smoother map its files."""
    summary: dict[str, Any] = {"data": request.name, **summarize(smoother, notes)}
    if labels.feature_names is not None:
        summary["feature_names"] = labels.feature_names

    def write_files(directory: Path) -> list[str]:
        names = _write_rows(directory, smoother, spill, labels)
        _map_rows(smoother, directory)
        smoother.save(directory / FILE_NAME)
        _map_rows(smoother, None)  # a mapped file cannot be moved everywhere
        write_cluster_table(directory, smoother)
        summary["memory"] = {"limit": limit, "peak": peak_memory()}
        return [*names, "clusters.csv", FILE_NAME]

    write_results(target, summary, write_files)
    _map_rows(smoother, target)


def _map_rows(smoother: StructuralSmoother, directory: Path | None) -> None:
    clusters: NDArray[Any] = np.empty(0, dtype=np.int32)
    strengths: NDArray[Any] = np.empty(0)
    if directory is not None:
        clusters = np.load(directory / "clusters.npy", mmap_mode="r")
        strengths = np.load(directory / "strengths.npy", mmap_mode="r")
    structure = smoother.structure_
    regions = dataclasses.replace(structure.regions, labels=clusters)
    smoother.fit_structure(
        dataclasses.replace(structure, regions=regions),
        smoother.decision_,
        sample_strengths=strengths,
    )


def _write_rows(
    directory: Path, smoother: StructuralSmoother, spill: Spill, labels: Labels
) -> list[str]:
    """Write what has a value for each row, a piece at a time."""
    n_rows, n_classes = labels.n_rows, len(smoother.classes_)
    shapes: dict[str, tuple[tuple[int, ...], Any]] = {
        "strengths.npy": ((n_rows,), np.float64),
        "clusters.npy": ((n_rows,), np.int32),
        "labels.npy": ((n_rows,), np.int64),
    }
    if n_rows * n_classes * 4 <= LARGEST_SOFT_LABELS:
        shapes["soft_labels.npy"] = ((n_rows, n_classes), np.float32)
    with contextlib.ExitStack() as stack:
        streams = {}
        for name, (shape, dtype) in shapes.items():
            streams[name] = stack.enter_context((directory / name).open("wb"))
            header = {
                "descr": np.lib.format.dtype_to_descr(np.dtype(dtype)),
                "fortran_order": False,
                "shape": shape,
            }
            np.lib.format.write_array_header_1_0(streams[name], header)

        def values_of(start: int) -> dict[str, NDArray[Any]]:
            stop = min(start + step, n_rows)
            coded = labels.read(start, stop)
            clusters = spill.read(CLUSTERS, np.int32, start, stop)
            region = smoother.structure_.regions.region_of_cluster[clusters]
            values = {
                "strengths.npy": smoother.strengths_[region],
                "clusters.npy": region,
                "labels.npy": coded,
            }
            if "soft_labels.npy" in shapes:
                spread = None
                if smoother.spread == "overlap":
                    spread = spread_of(smoother.structure_, coded, Place(region))
                values["soft_labels.npy"] = smooth_labels(
                    coded, values["strengths.npy"], n_classes, spread
                )
            return {n: values[n].astype(dtype) for n, (_, dtype) in shapes.items()}

        step = max(1, WRITE_NUMBERS // n_classes)
        two = min(2, effective_n_jobs(smoother.n_jobs))
        starts = range(0, n_rows, step)
        for values in side_by_side(values_of, starts, two, share_memory=True, ahead=1):
            for name, array in values.items():
                streams[name].write(array.data)
    return list(shapes)
