"""What a report shows of single rows, gathered while all rows are still at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.encode.table import Table
from structsmooth.io.readers import read_npy
from structsmooth.outofcore.plan import Plan
from structsmooth.outofcore.sources import ArraySource, Labels, Source
from structsmooth.outofcore.spill import Spill
from structsmooth.report.pictures import check_images, image_layout
from structsmooth.report.rows import (
    Duplicates,
    Rows,
    count_duplicates,
    rows_to_look_at,
    view_of_rows,
)
from structsmooth.report.view import View
from structsmooth.smoother import StructuralSmoother
from structsmooth.support.parallel import side_by_side
from structsmooth.support.rowkeys import row_keys

LOOKED_AT = "looked_at.npz"
# Bytes for each row to find equal ones: keys, their order, and what sorting takes.
KEY_BYTES = 40
# Copies of the rows looked at that making a view needs at most.
COPIES = 8


def look_at_rows(
    source: Source, labels: Labels, plan: Plan, spill: Spill, n_jobs: int
) -> dict[str, NDArray[Any]]:
    """Return some rows as they are in the data, and how many rows are equal."""
    return spill.once(LOOKED_AT, lambda: _look(source, labels, plan, n_jobs))


def _look(source: Source, labels: Labels, plan: Plan, n_jobs: int) -> dict[str, Any]:
    row_bytes = 8 * COPIES * source.n_features
    numbers = rows_to_look_at(source.n_rows, most=plan.free // row_bytes)
    compares_all = source.n_rows * KEY_BYTES <= plan.free // 2
    read = source.read if isinstance(source, ArraySource) else source.values

    def look(start: int) -> tuple[NDArray[Any], ...]:
        stop = min(start + plan.piece_rows, source.n_rows)
        piece, coded = read(start, stop), labels.read(start, stop)
        low, high = np.searchsorted(numbers, [start, stop])
        chosen = numbers[low:high] - start
        rows, classes = piece[chosen], coded[chosen]
        if compares_all:
            return rows, classes, _keys(source, piece), coded
        return rows, classes, _keys(source, rows), classes

    starts = range(0, source.n_rows, plan.piece_rows)
    n_jobs = min(2, n_jobs)  # a plan allows for three pieces
    looked = side_by_side(look, starts, n_jobs, share_memory=True, ahead=1)
    rows, classes, keys, of_keys = (
        np.concatenate(parts) for parts in zip(*looked, strict=True)
    )
    return {
        "numbers": numbers,
        "rows": rows,
        "classes": classes,
        "duplicates": np.array(count_duplicates(keys, of_keys)),
    }


def _keys(source: Source, values: NDArray[Any]) -> NDArray[np.uint64]:
    if isinstance(source, ArraySource):
        return row_keys(values)
    used = np.array([column.width > 0 for column in source.encoding.columns])
    return row_keys(values[:, used])


def images_of(source: Source, images: Any) -> Any:
    """Return pictures of all rows: an array, a file, or the rows themselves."""
    if images is None and isinstance(source, ArraySource):
        if image_layout(source.sample_shape) is None:
            return None
        images = source.samples()
    if isinstance(images, str | Path):
        images = read_npy(images)
    return None if images is None else check_images(images, source.n_rows)


def view_of_source(
    smoother: StructuralSmoother,
    source: Source,
    kept: dict[str, NDArray[Any]],
    images: Any = None,
) -> View:
    """Return the view of the rows that `look_at_rows` has kept."""
    table: Table | None = None
    X: Any = kept["rows"]
    if not isinstance(source, ArraySource):
        X = table = source.table_of(kept["rows"])
    n_compared, share, conflicts = kept["duplicates"].tolist()
    return view_of_rows(
        smoother,
        Rows(kept["numbers"], X, kept["classes"], table),
        n_rows=source.n_rows,
        duplicates=Duplicates(int(n_compared), share, conflicts),
        images=images,
    )
