"""The official file of the HIGGS data: 11 million lines, read in pieces.

Each line has the class (1 for signal) and 28 features, separated by commas. The numbers
are copied once into two plain arrays on disk next to the file, which are then opened as
memory maps, so that a training run reads only the features of its batch.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from structsmooth.errors import FileFormatError
from structsmooth.io.atomic import written_beside

N_FEATURES = 28
LINES = 200_000


def pieces(path: Path, n_lines: int = LINES) -> Iterator[np.ndarray]:
    """Yield the lines of the file, some at a time, as rows of 29 numbers."""
    opened = gzip.open if path.suffix == ".gz" else open
    first = 1
    with opened(path, "rt", encoding="ascii") as stream:
        while lines := list(islice(stream, n_lines)):
            try:
                rows = np.loadtxt(lines, delimiter=",", dtype=np.float32, ndmin=2)
            except ValueError as error:
                raise FileFormatError(
                    f"{path}, lines {first} to {first + len(lines) - 1}: expected "
                    f"numbers with commas between; {error}"
                ) from error
            if rows.shape[1] != 1 + N_FEATURES:
                raise FileFormatError(
                    f"{path} has {rows.shape[1]} columns; expected the class and "
                    f"{N_FEATURES} features"
                )
            if not np.isin(rows[:, 0], (0, 1)).all():
                raise FileFormatError(
                    f"{path}, lines {first} to {first + len(lines) - 1}: expected 0 or "
                    "1 in the first column"
                )
            first += len(lines)
            yield rows


def as_arrays(
    path: Path, n_rows: int, n_lines: int = LINES
) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes as memory maps, copied from the file if needed."""
    features, classes = (path.with_name(f"HIGGS-{part}.npy") for part in "Xy")
    if not (features.is_file() and classes.is_file()):
        with written_beside(features) as X_path, written_beside(classes) as y_path:
            _copy(path, n_rows, n_lines, X_path, y_path)
    X, y = (np.load(part, mmap_mode="r") for part in (features, classes))
    if X.shape != (n_rows, N_FEATURES) or y.shape != (n_rows,):
        raise FileFormatError(
            f"{features} has shape {X.shape}; expected {(n_rows, N_FEATURES)}; delete "
            "it to have it made again"
        )
    return X, y


def _copy(path, n_rows, n_lines, X_path, y_path) -> None:
    new = np.lib.format.open_memmap
    X = new(X_path, mode="w+", dtype=np.float32, shape=(n_rows, N_FEATURES))
    y = new(y_path, mode="w+", dtype=np.int64, shape=(n_rows,))
    done = 0
    for rows in pieces(path, n_lines):
        stop = done + len(rows)
        if stop <= n_rows:
            X[done:stop], y[done:stop] = rows[:, 1:], rows[:, 0]
        done = stop
    if done != n_rows:
        raise FileFormatError(f"{path} has {done} lines; expected {n_rows}")
    X.flush()
    y.flush()
