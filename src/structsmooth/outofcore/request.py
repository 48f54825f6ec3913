"""What the user asks to be fitted: data, columns and labels, checked."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structsmooth.errors import FileFormatError
from structsmooth.io.atomic import reading
from structsmooth.io.readers import KINDS, check_is_file
from structsmooth.io.tables import PARQUET, TEXT_TABLES

# How many rows of an array are compared to tell whether it is the same as before.
COMPARED_ROWS = 1000
# What a fit in memory takes at most: a multiple of the file's size, plus a constant.
TIMES_IN_MEMORY = {".npy": 5, ".gz": 20, ".parquet": 10, ".pq": 10, "": 4}
BASE_MEMORY = 400 * 10**6


@dataclass(frozen=True)
class Request:
    """Data and labels, as for `read_dataset`; both may also be arrays."""

    data: Any
    label: str | None = None
    labels: Any = None
    drop: tuple[str, ...] = ()
    header: bool | None = None

    @property
    def path(self) -> Path | None:
        """The file or directory, unless the data are an array."""
        return Path(self.data) if isinstance(self.data, str | Path) else None

    @property
    def name(self) -> str:
        """What messages and the summary call the data."""
        return "X" if self.path is None else self.path.name

    @property
    def is_table(self) -> bool:
        """Whether the data have columns, with names and units of their own."""
        arrays = (".npy", ".npz")
        return self.path is not None and self.path.suffix.lower() not in arrays

    def exceeds(self, limit: int) -> bool:
        """Whether a fit in memory would take more, as estimated from the size on disk.

        An npz cannot be read in pieces and so never exceeds a limit.
        """
        if self.path is None or self.path.name.lower().endswith(".npz"):
            return False
        if self.path.is_dir():
            return True
        check_is_file(self.path)
        name = self.path.name.lower()
        times = next(t for end, t in TIMES_IN_MEMORY.items() if name.endswith(end))
        return self.path.stat().st_size * times + BASE_MEMORY > limit

    def check(self) -> None:
        """Refuse what cannot be read in pieces, before any work is done."""
        if self.label is not None and self.labels is not None:
            raise FileFormatError("--label and --labels both name the labels: give one")
        if self.path is not None:
            files_of(self.path)
        if not self.is_table and (self.drop or self.label is not None):
            raise FileFormatError(
                f"{self.name} has no columns to choose or drop: it is not a table"
            )
        if self.label is None and self.labels is None:
            how = "name the column with --label" if self.is_table else "give --labels"
            raise FileFormatError(f"{self.name} has no labels: {how}")

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes these data and columns from others, for JSON."""
        return {
            "data": _fingerprint(self.data),
            "labels": None if self.labels is None else _fingerprint(self.labels),
            "columns": [self.label, list(self.drop), self.header],
        }


def files_of(path: Path) -> list[Path]:
    """Return the file, or the parquet files of a directory in a fixed order."""
    if path.is_dir():
        files = sorted(
            file
            for file in path.rglob("*")
            if file.name.lower().endswith(PARQUET)
            and not file.name.startswith(("_", "."))  # as in Spark and Arrow
        )
        if not files:
            raise FileFormatError(f"{path} is a directory without parquet files")
        return files
    check_is_file(path)
    name = path.name.lower()
    if name.endswith(".npz"):
        raise FileFormatError(
            f"{path} cannot be read in pieces: save its arrays as npy files"
        )
    if not name.endswith((".npy", *TEXT_TABLES, *PARQUET)):
        raise FileFormatError(
            f"{path} is of an unknown kind, expected {KINDS}, or a directory of "
            "parquet files"
        )
    return [path]


def _fingerprint(data: Any) -> list[Any]:
    """Return names, sizes and dates of files, or a checksum of some rows."""
    if isinstance(data, str | Path):
        path = Path(data)
        with reading(path):
            files = files_of(path) if path.is_dir() else [path]
            facts = [(file, file.stat()) for file in files]
        return [[str(f.absolute()), s.st_size, s.st_mtime_ns] for f, s in facts]
    array = data if hasattr(data, "shape") else np.asarray(data)
    chosen = np.linspace(0, len(array) - 1, COMPARED_ROWS).astype(np.int64)
    rows = np.asarray(array[np.unique(chosen)])
    content = repr(rows.tolist()).encode() if rows.dtype.hasobject else rows.tobytes()
    return [str(array.dtype), list(array.shape), zlib.crc32(content)]
