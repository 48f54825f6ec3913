"""The line of `StructuralSmoother.fit`, with the rows passing by in pieces."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from structsmooth.cluster.regions import (
    Regions,
    merge_small,
    resolve_min_size,
    resolve_n_clusters,
    seed_of,
)
from structsmooth.errors import InvalidParameterError
from structsmooth.io.codec import assigner_from_arrays, assigner_to_arrays
from structsmooth.io.paths import check_target
from structsmooth.outofcore.chunks import ROWS, Labels, open_data
from structsmooth.outofcore.moments import find_moments, reduction_from
from structsmooth.outofcore.plan import Plan, memory_limit
from structsmooth.outofcore.regions import assign_block, fit_assigner
from structsmooth.outofcore.request import Request
from structsmooth.outofcore.result import write_result
from structsmooth.outofcore.rows import Rows
from structsmooth.outofcore.spill import Spill
from structsmooth.outofcore.trees import (
    FEATURES,
    Sorted,
    bound_regions,
    sort_piece,
    sort_rows,
)
from structsmooth.reduce import is_transformer
from structsmooth.settings import check_settings
from structsmooth.smoother import StructuralSmoother
from structsmooth.structure import Structure
from structsmooth.support.progress import Progress
from structsmooth.support.validation import check_label_structure

SEED, MOMENTS, ASSIGNER = "seed.npz", "moments.npz", "clusters.npz"
CLUSTERS, SIZES = "clusters.bin", "sizes.npz"


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
) -> StructuralSmoother:
    """Fit data larger than memory, and write the result to a directory.

    The rows are read in pieces, sorted by cluster on disk, and one cluster after the
    other gets its tree. Given the same clusters the strengths are those of
    `StructuralSmoother.fit` to the last bit. If it is interrupted, the same call
    resumes.

    Parameters
    ----------
    data : path-like or array of shape (n, d)
        A npy file, a csv or parquet table, a directory of parquet files, or an array
        or memory map.
    output : path-like
        Directory for the result: strengths, clusters and labels of all rows, soft
        labels unless they are huge, cluster table, summary and fitted smoother.
    label : str, optional
        Column of a table that holds the labels.
    labels : path-like or array-like of shape (n,), optional
        The labels, if they are not in the data: an array, a npy file, or a text file
        with one label on each line.
    drop : sequence of str
        Columns of a table that are not features.
    header : bool, optional
        Whether the first line of a text table names the columns. By default it does
        unless all its cells are numbers.
    smoother : StructuralSmoother, optional
        Settings. It is cloned; its reducer and clusterer must be given by name, and
        ``regions="point"``, which compares all rows, is not possible.
    max_memory : int or str, optional
        Limit on the resident memory of this process, in bytes or such as "4GB". By
        default half of the machine's. The result does not depend on it, unless so
        little is given that the sample for clustering is drawn differently: below
        some 32 bytes a row.
    spill : path-like, optional
        Directory for what does not fit into memory, about as much as the data take
        (a table twice); deleted at the end. By default ``output`` with ".spill" added.

    Returns
    -------
    StructuralSmoother
        Fitted. Its ``cluster_labels_`` (int32) and ``sample_strengths_`` are read-only
        memory maps of files in ``output``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from structsmooth import StructuralSmoother, fit_out_of_core
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", X)
    ...     smoother = fit_out_of_core(
    ...         f"{folder}/X.npy",
    ...         f"{folder}/result",
    ...         labels=X[:, 0] > 0,
    ...         smoother=StructuralSmoother(alpha=0.1),
    ...     )
    ...     round(float(np.load(f"{folder}/result/strengths.npy").mean()), 6)
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
    settings = {k: repr(v) for k, v in smoother.get_params(deep=False).items()}
    for name in ("n_jobs", "verbose", "random_state"):
        del settings[name]
    if not hasattr(smoother.random_state, "randint"):  # a generator moves on
        settings["random_state"] = repr(smoother.random_state)
    identity = {**request.identity(), "settings": settings}
    with (
        Spill(place, identity) as store,
        threadpool_limits(1),  # sums in BLAS depend on how many threads it has
        warnings.catch_warnings(record=True) as caught,
        Progress(smoother.verbose > 0) as progress,
    ):
        warnings.simplefilter("always")
        try:
            labels_of = _fit(smoother, request, limit, store, progress)
        except (ValueError, ImportError):
            # Data, settings or packages must change, so there is nothing to resume;
            # but with more memory there is, once the clusters are found.
            if not store.has(SIZES):
                store.remove()
            raise
        with progress.stage("write"):
            notes = list(
                dict.fromkeys(" ".join(str(w.message).split()) for w in caught)
            )
            write_result(smoother, target, store, labels_of, notes, limit, request)
        store.remove()
    for note in caught:
        warnings.warn(note.message, stacklevel=2)
    return smoother


def _check_settings(smoother: StructuralSmoother) -> None:
    if smoother.regions == "point":
        raise InvalidParameterError(
            "regions='point' compares every row with all others and so needs them in "
            "memory; out of core only regions='cluster' is possible"
        )
    if smoother.ignore_suspects:
        raise InvalidParameterError(
            "ignore_suspects=True compares every row with all others and so needs them "
            "in memory; expected ignore_suspects=False out of core"
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
) -> Labels:
    """Fit; what needs the rows is done once and kept in the spill directory."""
    with progress.stage("read"):
        source, labels = open_data(request, spill)
    check_label_structure(labels.classes, labels.counts)
    n_classes = len(labels.classes)
    check_settings(
        smoother.get_params(deep=False), n_classes, (source.n_rows, source.n_features)
    )
    plan = Plan.make(limit, source.n_features)
    if not spill.has(SEED):
        seed = seed_of(smoother.random_state)
        spill.keep(SEED, seed=-1 if seed is None else seed)
    kept_seed = int(spill.kept(SEED)["seed"])
    seed = None if kept_seed < 0 else kept_seed

    n_jobs = effective_n_jobs(smoother.n_jobs)
    rows = Rows(source, plan, n_jobs)
    with progress.stage("reduce"):
        if not spill.has(MOMENTS):
            found = find_moments(
                rows.checked,
                rows.raw,
                rows.dtype,
                smoother.reducer,
                smoother.n_components,
            )
            spill.keep(MOMENTS, **found)
        rows.reduction = reduction_from(
            spill.kept(MOMENTS), smoother.reducer, smoother.n_components
        )
    with progress.stage("cluster"):
        if not spill.has(ASSIGNER):
            assigner = fit_assigner(
                rows.reduced,
                source.n_rows,
                rows.width,
                smoother.clusterer,
                resolve_n_clusters(
                    smoother.n_clusters, source.n_rows, n_classes, smoother.clusterer
                ),
                seed,
                plan,
            )
            spill.keep(ASSIGNER, **assigner_to_arrays(assigner))
        assigner = assigner_from_arrays(spill.kept(ASSIGNER))
    with progress.stage("assign", rows.n_blocks) as stage:
        if not spill.has(SIZES):
            _assign(rows, assigner, spill, stage)
        found = spill.kept(SIZES)
        regions = merge_small(
            assigner,
            found["sizes"],
            found["sums"] / np.maximum(found["sizes"], 1.0)[:, np.newaxis],
            resolve_min_size(smoother.min_cluster_size, n_classes),
        )
    sizes = np.bincount(
        regions.region_of_cluster[found["sizes"] > 0],
        weights=found["sizes"][found["sizes"] > 0],
    ).astype(np.int64)
    itemsize = rows.dtype.itemsize
    at_once = plan.trees_at_once(sizes.tolist(), rows.width, itemsize, n_jobs)
    with progress.stage("sort", rows.n_pieces) as stage:
        if not spill.has(FEATURES):
            pieces = _sorted_pieces(rows, labels, regions, spill, stage)
            sort_rows(spill, pieces, sizes, rows.width, rows.dtype)
            spill.discard(ROWS)  # of a table; what follows needs the sorted rows only
    with progress.stage("spanning trees", len(sizes)) as stage:
        bounds = bound_regions(
            spill,
            sizes,
            rows.width,
            rows.dtype,
            at_once=at_once,
            n_threads=n_jobs if at_once == 1 else 1,
            stage=stage,
            n_classes=n_classes,
            correct_forced_edges=smoother.correct_forced_edges,
            ties=smoother.ties,
            confidence=smoother.confidence,
        )
    smoother.fit_structure(
        Structure(
            classes=labels.classes,
            n_features=source.n_features,
            reduction=rows.reduction,
            regions=regions,
            cluster_bounds=tuple(bounds),
        )
    )
    return labels


def _assign(rows: Rows, assigner: Any, spill: Spill, stage: Any) -> None:
    """Write the cluster of each row, then how many each has, and their sum."""
    sizes = np.zeros(assigner.n_clusters)
    sums = np.zeros((assigner.n_clusters, rows.width))
    with spill.writing(CLUSTERS) as stream:
        for found in rows.reduced(partial(assign_block, assigner)):
            stream.write(found.labels.data)
            sizes[found.present] += found.sizes
            sums[found.present] += found.sums
            stage.advance()
    spill.keep(SIZES, sizes=sizes, sums=sums)


def _sorted_pieces(
    rows: Rows, labels: Labels, regions: Regions, spill: Spill, stage: Any
) -> Iterator[Sorted]:
    def sort(start: int, blocks: list[NDArray[Any]]) -> Sorted:
        stop = start + sum(map(len, blocks))
        clusters = spill.read(CLUSTERS, np.int32, start, stop)
        return sort_piece(
            np.concatenate(blocks),
            labels.read(start, stop),
            regions.region_of_cluster[clusters],
            regions.n_regions,
        )

    for piece in rows.pieces(sort):
        yield piece
        stage.advance()
