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
    keys_of_values,
    rows_to_look_at,
    view_of_rows,
)
from structsmooth.report.view import View
from structsmooth.smoother import StructuralSmoother

LOOKED_AT = "looked_at.npz"
# Bytes for each row to find equal ones: keys, their order, and what sorting takes.
KEY_BYTES = 40
# Copies of the rows looked at that making a view needs at most.
COPIES = 8


def look_at_rows(
    source: Source, labels: Labels, plan: Plan, spill: Spill
) -> dict[str, NDArray[Any]]:
    """Return some rows as they are in the data, and how many rows are equal."""
    return spill.once(LOOKED_AT, lambda: _look(source, labels, plan))


def _look(source: Source, labels: Labels, plan: Plan) -> dict[str, Any]:
    row_bytes = 8 * COPIES * source.n_features
    numbers = rows_to_look_at(source.n_rows, most=plan.free // row_bytes)
    compares_all = source.n_rows * KEY_BYTES <= plan.free // 2
    read = source.read if isinstance(source, ArraySource) else source.values
    rows, classes, keys, of_keys = [], [], [], []
    for start in range(0, source.n_rows, plan.piece_rows):
        stop = min(start + plan.piece_rows, source.n_rows)
        piece, coded = read(start, stop), labels.read(start, stop)
        low, high = np.searchsorted(numbers, [start, stop])
        chosen = numbers[low:high] - start
        rows.append(piece[chosen])
        classes.append(coded[chosen])
        keys.append(_keys(source, piece if compares_all else rows[-1]))
        of_keys.append(coded if compares_all else classes[-1])
    found = count_duplicates(np.concatenate(keys), np.concatenate(of_keys))
    return {
        "numbers": numbers,
        "rows": np.concatenate(rows),
        "classes": np.concatenate(classes),
        "duplicates": np.array(found),
    }


def _keys(source: Source, values: NDArray[Any]) -> NDArray[np.uint64]:
    if isinstance(source, ArraySource):
        return keys_of_values(values)
    used = np.array([column.width > 0 for column in source.encoding.columns])
    return keys_of_values(values[:, used])


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
