"""The stages of `StructuralSmoother.fit` for rows that are read in pieces."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from structsmooth.bayes_error.points import Place
from structsmooth.cluster.clusterers import resolve_n_clusters, seed_of
from structsmooth.cluster.regions import merge_small, resolve_min_size
from structsmooth.errors import InvalidParameterError
from structsmooth.io import results
from structsmooth.io.codec import assigner_from_arrays, assigner_to_arrays
from structsmooth.io.directories import locked
from structsmooth.io.paths import check_target
from structsmooth.io.store import FILE_NAME
from structsmooth.labels.forms import smooth_labels
from structsmooth.labels.spread import spread_of
from structsmooth.outofcore import stages
from structsmooth.outofcore.plan import Plan, Request, memory_limit, peak_memory
from structsmooth.outofcore.sources import (
    ROWS,
    SORTED_CODES,
    SORTED_ROWS,
    Labels,
    Rows,
    open_data,
)
from structsmooth.outofcore.spill import Spill, check_place
from structsmooth.outofcore.view import images_of, look_at_rows, view_of_source
from structsmooth.reduce.fit import is_transformer, reduce_linearly
from structsmooth.report.build import names_of_classes
from structsmooth.report.view import FILE_NAME as VIEW_NAME
from structsmooth.report.view import View, save_view
from structsmooth.settings import check_settings
from structsmooth.smoother import StructuralSmoother
from structsmooth.structure import Structure
from structsmooth.support.parallel import side_by_side
from structsmooth.support.progress import Progress
from structsmooth.support.validation import check_label_structure

SEED, ASSIGNER, SIZES = "seed.npz", "clusters.npz", "sizes.npz"
# Numbers in a piece of the soft labels.
PIECE_NUMBERS = 2**19


def fit_out_of_core(
    data: Any,
    output: str | PathLike[str],
    *,
    label: str | None = None,
    labels: Any = None,
    drop: Sequence[str] = (),
    header: bool | None = None,
    smoother: StructuralSmoother | None = None,
    max_memory: int | str | None = None,
    spill: str | PathLike[str] | None = None,
    images: Any = None,
    class_names: Sequence[str] | None = None,
    command: Sequence[str] = (),
) -> StructuralSmoother:
    """Fit data larger than memory, and write the result to a directory.

    The rows are read in pieces and sorted by cluster on disk; then the tree of one
    cluster after the other is built. Given the same clusters, the strengths are those
    of `StructuralSmoother.fit` to the last bit. After an interruption, the same call
    resumes the fit. The ``cluster_labels_`` (int32) and ``sample_strengths_`` of the
    returned smoother are read-only memory maps of files in ``output``.

    Parameters
    ----------
    data : path-like or array of shape (n, d)
        A npy file, a csv or parquet table, a directory of parquet files, or an array.
    output : path-like
        Directory for the result.
    label : str, optional
        Column of a table that holds the labels.
    labels : path-like or array-like of shape (n,), optional
        Labels outside the data: an array, a npy file, or a text file of lines.
    drop : sequence of str
        Columns of a table that are not features.
    header : bool, optional
        Whether the first line of a text table names the columns. By default it does
        unless all its cells are numbers.
    smoother : StructuralSmoother, optional
        Settings. Reducer and clusterer must be given by name; ``regions="point"`` and
        ``ignore_suspects=True``, which compare all rows, are not possible.
    max_memory : int or str, optional
        Limit on the resident memory of this process, in bytes or such as "4GB". By
        default half of the machine's.
    spill : path-like, optional
        Directory for what does not fit into memory, deleted at the end. By default
        ``output`` with ".spill" added.
    images : path-like or array, optional
        Pictures of the rows for the report, as for `StructuralSmoother.report`: an
        array or a npy file.
    class_names : sequence of str, optional
        What tables and reports call the classes, in the order of the sorted labels.
    command : sequence of str
        The command that the report shows for fitting again, word by word.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from structsmooth import StructuralSmoother, fit_out_of_core
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> settings = StructuralSmoother(alpha=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = fit_out_of_core(X, folder, labels=X[:, 0] > 0, smoother=settings)
    ...     round(float(np.load(f"{folder}/strengths.npy").mean()), 6)
    0.1
    """
    request = Request(data, label, labels, tuple(drop), header)
    request.check()
    smoother = StructuralSmoother() if smoother is None else clone(smoother)
    _check_settings(smoother)
    limit = memory_limit(max_memory)
    target = Path(output)
    check_target(target)
    place = Path(spill) if spill is not None else Path(f"{target}.spill")
    check_place(place, target)
    ignored = ["n_jobs", "verbose"]
    if hasattr(smoother.random_state, "randint"):  # a generator's state changes
        ignored.append("random_state")
    settings = smoother.get_params(deep=False).items()
    settings = {name: repr(v) for name, v in settings if name not in ignored}
    identity = {**request.identity(), "settings": settings}
    with (
        locked(target),
        Spill(place, identity) as store,
        threadpool_limits(1),  # sums in BLAS depend on how many threads it has
        warnings.catch_warnings(record=True) as caught,
        Progress(smoother.verbose > 0) as progress,
    ):
        warnings.simplefilter("always")
        try:
            labels, view = _fit(
                smoother, request, limit, store, progress, images, class_names
            )
        except (ValueError, ImportError):
            # Data, settings or packages must change, so nothing can be resumed, unless
            # the clusters are found: then the memory limit may be what must change.
            if not store.has(SIZES):
                store.remove()
            raise
        with progress.stage("write"):
            notes = [" ".join(str(warning.message).split()) for warning in caught]
            notes = list(dict.fromkeys(notes))
            summary = {
                "data": request.name,
                **results.summarize(smoother, notes, class_names, command),
            }
            write_result(smoother, target, store, labels, limit, summary, view)
        store.remove()
    for note in caught:
        warnings.warn(note.message, stacklevel=2)
    return smoother


def _check_settings(smoother: StructuralSmoother) -> None:
    for name, refused in (("regions", "point"), ("ignore_suspects", True)):
        if getattr(smoother, name) == refused:
            raise InvalidParameterError(
                f"{name}={refused!r} compares every row with all others, which is not "
                "possible out of core"
            )
    for name in ("reducer", "clusterer"):
        value = getattr(smoother, name)
        if is_transformer(value) or hasattr(value, "fit_predict"):
            raise InvalidParameterError(
                f"out of core the {name} must be given by name, got an object of type "
                f"{type(value).__name__}"
            )


def _fit(
    smoother: StructuralSmoother,
    request: Request,
    limit: int,
    spill: Spill,
    progress: Progress,
    images: Any,
    class_names: Sequence[str] | None,
) -> tuple[Labels, View]:
    """Fit the smoother; what needs the rows is done once and kept on disk."""
    with progress.stage("read"):
        source, labels = open_data(request, spill)
    check_label_structure(labels.classes, labels.counts)
    names_of_classes(labels.classes, class_names)
    pictures = images_of(source, images)
    n_rows, n_classes = source.n_rows, len(labels.classes)
    settings = smoother.get_params(deep=False)
    check_settings(settings, n_classes, (n_rows, source.n_features))
    # Drawn once, even if the fit is resumed; NaN stands for no seed.
    kept = spill.once(
        SEED, lambda: {"seed": np.array(seed_of(smoother.random_state), dtype=float)}
    )
    seed = None if np.isnan(kept["seed"]) else int(kept["seed"])
    n_jobs = effective_n_jobs(smoother.n_jobs)
    rows = Rows(source, Plan.make(limit, source.n_features), n_jobs)
    with progress.stage("reduce"):
        rows.reduction = reduce_linearly(
            stages.BlockMoments(rows, spill), smoother.reducer, smoother.n_components
        )
    with progress.stage("cluster"):
        n_clusters = resolve_n_clusters(
            smoother.n_clusters, n_rows, n_classes, smoother.clusterer
        )
        kept = spill.once(
            ASSIGNER,
            lambda: assigner_to_arrays(
                stages.fit_assigner(rows, smoother.clusterer, n_clusters, seed, n_jobs)
            ),
        )
        assigner = assigner_from_arrays(kept)
    with progress.stage("assign", rows.n_blocks) as stage:
        kept = spill.once(
            SIZES,
            lambda: stages.assign_rows(rows, assigner, spill, stage),
            stages.CLUSTERS,
        )
        sizes = kept["sizes"]
        regions = merge_small(
            assigner,
            sizes,
            kept["sums"] / np.maximum(sizes, 1.0)[:, np.newaxis],
            resolve_min_size(smoother.min_cluster_size, n_classes),
        )
    # Clusters without rows have region -1.
    region_sizes = np.zeros(regions.n_regions, dtype=np.int64)
    np.add.at(region_sizes, regions.region_of_cluster, sizes.astype(np.int64))
    at_once = rows.plan.trees_at_once(
        region_sizes.tolist(), rows.width, rows.dtype.itemsize, n_jobs
    )
    with progress.stage("look at rows"):
        kept = look_at_rows(source, labels, rows.plan, spill, n_jobs)
    with progress.stage("sort", rows.n_pieces) as stage:
        if not spill.has(SORTED_ROWS, SORTED_CODES):
            stages.sort_rows(spill, rows, labels, regions, region_sizes, stage)
            spill.path(ROWS).unlink(missing_ok=True)  # the sorted rows are enough now
    with progress.stage("spanning trees", len(region_sizes)) as stage:
        bounds = stages.bound_regions(
            spill,
            rows,
            region_sizes,
            at_once=at_once,
            n_threads=n_jobs if at_once == 1 else 1,
            stage=stage,
            n_classes=n_classes,
            correct_forced_edges=smoother.correct_forced_edges,
            ties=smoother.ties,
            confidence=smoother.confidence,
        )
    encoding = getattr(source, "encoding", None)
    names = None if encoding is None else np.array(encoding.names, dtype=object)
    smoother.fit_structure(
        Structure(
            labels.classes,
            source.n_features if names is None else len(names),
            rows.reduction,
            regions,
            tuple(bounds),
            encoding=encoding,
        ),
        feature_names=names,
    )
    return labels, view_of_source(smoother, source, kept, pictures)


def write_result(
    smoother: StructuralSmoother,
    target: Path,
    spill: Spill,
    labels: Labels,
    limit: int,
    summary: dict[str, Any],
    view: View,
) -> None:
    """Write the result directory, and let the smoother map its files."""

    def write_files(directory: Path) -> None:
        _write_rows(directory, smoother, spill, labels)
        _map_rows(smoother, directory)
        smoother.save(directory / FILE_NAME)
        _map_rows(smoother, None)  # some systems cannot move a mapped file
        results.write_cluster_table(directory, smoother, view, summary["class_names"])
        save_view(view, directory / VIEW_NAME)
        summary["memory"] = {"limit": limit, "peak": peak_memory()}

    results.write_results(target, summary, write_files)
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
    writes_soft_labels = n_rows * n_classes * 4 <= results.LARGEST_SOFT_LABELS
    step = max(1, PIECE_NUMBERS // n_classes)

    def values_of(start: int) -> dict[str, NDArray[Any]]:
        stop = min(start + step, n_rows)
        coded = labels.read(start, stop)
        clusters = spill.read(stages.CLUSTERS, np.int32, start, stop)
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
