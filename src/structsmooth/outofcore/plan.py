"""What to fit, how much memory that may take, and how many rows at a time."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import math
import numbers
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structsmooth.encode.table import is_table
from structsmooth.errors import (
    FileFormatError,
    FileOptionError,
    InvalidInputError,
    InvalidParameterError,
)
from structsmooth.io import tables
from structsmooth.io.atomic import reading
from structsmooth.io.paths import KINDS, check_is_file

# Bytes that are read at a time to tell whether data are the same as before.
READ_BYTES = 2**22
# What a fit in memory takes at most: a multiple of the file's size, plus a constant.
TIMES_IN_MEMORY = {".npy": 5, ".parquet": 10, ".pq": 10, "": 4}
BASE_MEMORY = 400 * 10**6
# Numbers in a block. Sums are taken block by block, so the size of a block depends on
# the width of the data only: another memory limit gives the same bits.
BLOCK_NUMBERS = 2**20
LEAST_BLOCK_ROWS = 256
# What compiled kernels, the allocator and small arrays take beside the planned rows.
RESERVE = 250 * 10**6
# Larger pieces than this save no time.
MOST_PIECE_BYTES = 512 * 10**6
# Assumed if the machine does not tell.
USUAL_MEMORY = 8 * 10**9


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
        allowed = (limit - BASE_MEMORY) / times
        if name.endswith(".gz"):
            return _is_larger_unpacked(self.path, allowed)
        return self.path.stat().st_size > allowed

    def check(self) -> None:
        """Refuse what cannot be read in pieces, before any work is done."""
        if is_table(self.data):
            raise InvalidInputError(
                "data is a DataFrame, which is in memory: expected a path or an array "
                "(StructuralSmoother.fit takes DataFrames)"
            )
        if self.label is not None and self.labels is not None:
            raise FileOptionError("--label and --labels both name the labels: give one")
        if self.path is not None:
            files_of(self.path)
        if not self.is_table and (self.drop or self.label is not None):
            raise FileOptionError(
                f"{self.name} has no columns to choose or drop: it is not a table"
            )
        if self.labels is None and not self.is_table:
            raise FileOptionError(f"{self.name} has no labels: give --labels")

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
            if file.name.lower().endswith(tables.PARQUET)
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
    if not name.endswith((".npy", *tables.TEXT_TABLES, *tables.PARQUET)):
        raise FileFormatError(
            f"{path} is of an unknown kind, expected {KINDS}, or a directory "
            "of parquet files"
        )
    return [path]


def _is_larger_unpacked(path: Path, allowed: float) -> bool:
    """Whether a compressed file has more bytes; unpacking is faster than parsing."""
    found = 0
    with contextlib.suppress(OSError, EOFError, zlib.error), gzip.open(path) as stream:
        while found <= allowed and (piece := stream.read(READ_BYTES)):
            found += len(piece)
    return found > allowed  # a damaged file is refused when it is read


def _fingerprint(data: Any) -> list[Any]:
    """Return the names and digests of files, or the digest of an array.

    Everything is read, at more than a gigabyte a second.
    """
    if isinstance(data, str | Path):
        path = Path(data)
        with reading(path):
            files = files_of(path) if path.is_dir() else [path]
            names = [file.relative_to(path.parent).as_posix() for file in files]
            digests = [_digest(_bytes_of(file)) for file in files]
        return [list(pair) for pair in zip(names, digests, strict=True)]
    array = data if hasattr(data, "shape") else np.asarray(data)
    return [str(array.dtype), list(array.shape), _digest(_pieces_of(array))]


def _digest(pieces: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _bytes_of(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while piece := stream.read(READ_BYTES):
            yield piece


def _pieces_of(array: Any) -> Iterator[Any]:
    """Give the content of an array, or of a column of any library, piece by piece."""
    width = max(1, math.prod(array.shape[1:])) * 8
    step = max(1, READ_BYTES // width)
    for start in range(0, len(array), step):
        rows = np.ascontiguousarray(array[start : start + step])
        yield repr(rows.tolist()).encode() if rows.dtype.hasobject else rows.tobytes()


def parse_size(size: Any) -> int:
    """Return the bytes of a size such as "4GB", "512 MiB" or 4000000000."""
    if isinstance(size, numbers.Integral) and int(size) > 1:
        return int(size)
    if isinstance(size, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)(I?)B?\s*", size.upper())
        if found and (found[2] or not found[3]):
            base = 1024 if found[3] else 1000
            number = int(float(found[1]) * base ** " KMGT".index(found[2] or " "))
            if number > 0:
                return number
    raise InvalidParameterError(
        f"max_memory must be a size such as '4GB' or a number of bytes, got {size!r}"
    )


def show_size(n_bytes: float) -> str:
    """Return a number of bytes as text."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"


def memory_limit(max_memory: int | str | None) -> int:
    """Return a limit in bytes, by default half of the machine's or container's."""
    if max_memory is not None:
        return parse_size(max_memory)
    total = USUAL_MEMORY
    if hasattr(os, "sysconf"):
        with contextlib.suppress(ValueError, OSError):
            total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(ValueError, OSError):  # no container, or one without limit
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return total // 2


def peak_memory() -> int:
    """Return the largest resident memory that this process has had, 0 if unknown."""
    return _proc_memory("VmHWM")


def _proc_memory(field: str) -> int:
    """Return a number of bytes that Linux knows of this process, else 0."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


@dataclass(frozen=True)
class Plan:
    """What a memory limit allows: of ``limit`` bytes, ``free`` are left for rows.

    A piece is what is read at once, and consists of blocks that are computed with.
    """

    limit: int
    free: int
    block_rows: int
    piece_rows: int

    @classmethod
    def make(cls, limit: int, n_features: int) -> Plan:
        """Return a plan for rows with this many features, or refuse the limit."""
        block_rows = max(LEAST_BLOCK_ROWS, BLOCK_NUMBERS // n_features)
        # As they are in the file, as floating-point numbers, centered, and reduced.
        row_bytes = 4 * 8 * n_features + 64
        taken = (_proc_memory("VmRSS") or RESERVE) + RESERVE
        free = limit - taken
        if free < 3 * block_rows * row_bytes:
            needed = taken + 3 * block_rows * row_bytes
            raise InvalidParameterError(
                f"max_memory must be at least {show_size(1.05 * needed)} for rows of "
                f"{n_features} features, got {show_size(limit)}"
            )
        wanted = min(free // 3, MOST_PIECE_BYTES) // row_bytes
        piece_rows = max(1, wanted // block_rows) * block_rows
        return cls(limit, free, block_rows, piece_rows)

    def blocks_at_once(self, n_jobs: int, n_features: int) -> int:
        """Return how many threads may work on blocks if each has two more waiting."""
        block_bytes = 4 * 8 * n_features * self.block_rows
        return max(1, min(n_jobs, self.free // 3 // (3 * block_bytes)))

    def trees_at_once(
        self, sizes: list[int], n_features: int, itemsize: int, n_jobs: int
    ) -> int:
        """Return how many of the largest clusters fit into memory together."""
        need = tree_bytes(max(sizes), n_features, itemsize)
        self.require(
            need,
            f"the largest cluster has {max(sizes)} rows, whose tree",
            ": give more memory, or more clusters with n_clusters",
        )
        return max(1, min(n_jobs, len(sizes), self.free // need))

    def require(self, n_bytes: int, what: str, remedy: str = "") -> None:
        """Refuse to go on if ``what`` does not fit into memory."""
        if n_bytes > self.free:
            raise InvalidInputError(
                f"{what} needs about {show_size(n_bytes)} beside the "
                f"{show_size(self.limit - self.free)} in use, and max_memory is "
                f"{show_size(self.limit)}{remedy}"
            )


def tree_bytes(n_rows: int, n_features: int, itemsize: int) -> int:
    """Return the memory of a cluster and its tree, as measured, with a margin."""
    return int(1.25 * n_rows * ((16 + itemsize) * n_features + 300)) + 10**7
