"""The result of a fit out of core: the files of `write_results`, piece by piece."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Any, BinaryIO

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
from structsmooth.outofcore.plan import peak_memory
from structsmooth.outofcore.request import Request
from structsmooth.outofcore.sources import Labels
from structsmooth.outofcore.spill import Spill
from structsmooth.outofcore.stages import CLUSTERS
from structsmooth.smoother import StructuralSmoother
from structsmooth.support.parallel import side_by_side

# Numbers in a piece of the soft labels.
PIECE_NUMBERS = 2**19


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

    def write_files(directory: Path) -> None:
        _write_rows(directory, smoother, spill, labels)
        _map_rows(smoother, directory)
        smoother.save(directory / FILE_NAME)
        _map_rows(smoother, None)  # some systems cannot move a mapped file
        write_cluster_table(directory, smoother)
        summary["memory"] = {"limit": limit, "peak": peak_memory()}

    write_results(target, summary, write_files)
    _map_rows(smoother, target)


def _map_rows(smoother: StructuralSmoother, directory: Path | None) -> None:
    """Let the smoother map clusters and strengths from a directory, or from none."""
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
) -> None:
    """Write the arrays that have an entry for each row."""
    n_rows, n_classes = labels.n_rows, len(smoother.classes_)
    writes_soft_labels = n_rows * n_classes * 4 <= LARGEST_SOFT_LABELS
    step = max(1, PIECE_NUMBERS // n_classes)

    def values_of(start: int) -> dict[str, NDArray[Any]]:
        stop = min(start + step, n_rows)
        coded = labels.read(start, stop)
        clusters = spill.read(CLUSTERS, np.int32, start, stop)
        region = smoother.structure_.regions.region_of_cluster[clusters]
        strengths = smoother.strengths_[region]
        values: dict[str, NDArray[Any]] = {
            "strengths.npy": strengths,
            "clusters.npy": region.astype(np.int32),
            "labels.npy": coded,
        }
        if writes_soft_labels:
            spread = None
            if smoother.spread == "overlap":
                spread = spread_of(smoother.structure_, coded, Place(region))
            soft = smooth_labels(coded, strengths, n_classes, spread)
            values["soft_labels.npy"] = soft.astype(np.float32)
        return values

    n_jobs = min(2, effective_n_jobs(smoother.n_jobs))
    pieces = side_by_side(
        values_of, range(0, n_rows, step), n_jobs, share_memory=True, ahead=1
    )
    streams: dict[str, BinaryIO] = {}
    with contextlib.ExitStack() as stack:
        for piece in pieces:
            for name, array in piece.items():
                if name not in streams:
                    streams[name] = stack.enter_context((directory / name).open("wb"))
                    header = np.lib.format.header_data_from_array_1_0(array)
                    header["shape"] = (n_rows, *array.shape[1:])
                    np.lib.format.write_array_header_1_0(streams[name], header)
                streams[name].write(array.data)
