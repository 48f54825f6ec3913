"""What the user wants fitted: files, columns, labels; checked and told apart."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structsmooth.errors import FileFormatError, FileOptionError
from structsmooth.io.paths import KINDS, check_is_file

TEXT_TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq")
# Rows of an array that stand for all when it is asked whether it is the same.
WITNESSES = 1000
# What a fit in memory takes at most, as a multiple of the file, and beside it.
TIMES_IN_MEMORY = {".npy": 5, ".gz": 20, ".parquet": 10, ".pq": 10, "": 4}
BASE_MEMORY = 400 * 10**6


@dataclass(frozen=True)
class Request:
    """Data and labels, in the words of `read_dataset`; data may also be an array."""

    data: Any
    label: str | None = None
    labels: Any = None
    drop: tuple[str, ...] = ()
    header: bool | None = None

    @property
    def path(self) -> Path | None:
        """The file or directory, if it is one."""
        return Path(self.data) if isinstance(self.data, str | Path) else None

    @property
    def is_table(self) -> bool:
        """Whether the data are tables, whose columns have units of their own."""
        return self.path is not None and self.path.suffix.lower() not in (
            ".npy",
            ".npz",
        )

    def exceeds(self, limit: int) -> bool:
        """Whether a fit in memory would take more; measured, by the size on disk.

        An npz cannot be read in pieces, so there is no choice.
        """
        if self.path is None or self.path.name.lower().endswith(".npz"):
            return False
        if self.path.is_dir():
            return True
        check_is_file(self.path)
        name = self.path.name.lower()
        times = next(t for end, t in TIMES_IN_MEMORY.items() if name.endswith(end))
        return self.path.stat().st_size * times + BASE_MEMORY > limit

    @property
    def name(self) -> str:
        """What to call the data."""
        return "X" if self.path is None else self.path.name

    def check(self) -> None:
        """Refuse what cannot be read in pieces, before any work is done."""
        if self.label is not None and self.labels is not None:
            raise FileOptionError("--label and --labels both name the labels: give one")
        if self.path is not None:
            files_of(self.path)
        if not self.is_table and (self.drop or self.label is not None):
            raise FileOptionError(
                f"{self.name} has no columns to choose or drop: it is not a table"
            )
        if self.labels is None and not self.is_table:
            raise FileOptionError(f"{self.name} has no labels: give them with --labels")

    def identity(self) -> dict[str, Any]:
        """Return what tells these data from others: names, sizes, dates, witnesses."""
        return {
            "data": _traces(self.data),
            "labels": None if self.labels is None else _traces(self.labels),
            "columns": [self.label, list(self.drop), self.header],
        }


def files_of(path: Path) -> list[Path]:
    """Return the files that a path stands for, in a fixed order."""
    if path.is_dir():
        files = sorted(
            file
            for file in path.rglob("*")
            if file.name.lower().endswith(PARQUET)
            and not file.name.startswith(("_", "."))  # as Spark and Arrow have it
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


def _traces(data: Any) -> list[Any]:
    if isinstance(data, str | Path):
        path = Path(data)
        files = files_of(path) if path.is_dir() else [path]
        try:
            facts = [(file, file.stat()) for file in files]
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise FileFormatError(f"cannot read {path}: {reason}") from None
        return [[str(f.absolute()), s.st_size, s.st_mtime_ns] for f, s in facts]
    array = data if hasattr(data, "shape") else np.asarray(data)
    places = np.unique(np.linspace(0, len(array) - 1, WITNESSES).astype(np.int64))
    rows = np.asarray(array[places])
    content = repr(rows.tolist()).encode() if rows.dtype.hasobject else rows.tobytes()
    return [str(array.dtype), list(array.shape), zlib.crc32(content)]
