"""Files of arrays by name: npz archives, of which only known entries are read."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Larger arrays, in bytes, are not compressed: that would take longer than it saves.
LARGEST_COMPRESSED = 10**7
# What stands before the numbers of an array: more is never written.
LONGEST_HEADER = 2**16


def write_arrays(
    path: Path, arrays: dict[str, NDArray[Any]], others: dict[str, bytes] | None = None
) -> None:
    """Write an npz file with other entries first, always the same bytes."""
    with zipfile.ZipFile(path, "w") as bundle:
        for name, content in (others or {}).items():
            bundle.writestr(_zip_entry(name, len(content)), content)
        for name, array in arrays.items():
            # Streamed, because an array can be a memory map larger than memory.
            values = np.asarray(array)
            entry = _zip_entry(f"{name}.npy", values.nbytes)
            with bundle.open(entry, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, values, allow_pickle=False)


def _zip_entry(name: str, n_bytes: int) -> zipfile.ZipInfo:
    # A fixed date, so that the same arrays make the same file.
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    if n_bytes <= LARGEST_COMPRESSED:
        entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def read_arrays(path: Path, known: Collection[str]) -> dict[str, Any]:
    """Return the arrays with known names, and other known entries as bytes.

    Nothing else is read, and no more memory is taken than a file of this size may
    claim: `write_arrays` compresses small arrays only, so large ones are in the file
    as they are.
    """
    found: dict[str, Any] = {}
    room = path.stat().st_size
    with zipfile.ZipFile(path) as bundle:
        for entry in bundle.infolist():
            name = entry.filename.removesuffix(".npy")
            if name not in known:
                continue
            if entry.compress_type == zipfile.ZIP_STORED:
                room -= entry.file_size
                fits = room >= 0
            else:
                fits = entry.file_size <= LARGEST_COMPRESSED + LONGEST_HEADER
                fits = fits and entry.compress_type == zipfile.ZIP_DEFLATED
            if not fits or name in found:
                raise ValueError(f"the entry {entry.filename} is not as it was written")
            with bundle.open(entry) as stream:
                is_array = entry.filename.endswith(".npy")
                found[name] = _read_array(stream, entry) if is_array else stream.read()
    return found


def _read_array(stream: Any, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """Read an array whose header claims just what the entry holds."""
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"the entry {entry.filename} is of a version never written")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded")
    if math.prod(shape) * dtype.itemsize != entry.file_size - stream.tell():
        raise ValueError(f"the entry {entry.filename} is not as large as it claims")
    stream.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array
