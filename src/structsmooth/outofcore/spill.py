"""A directory for what does not fit into memory, from which a fit can resume.

A file is written as ``.part`` and renamed, so that it is complete or not there, and
ends with a checksum. A file that was damaged since counts as not there, so that its
stage is done again. The manifest records data and settings, and a lock keeps other fits
away.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from structsmooth.errors import InvalidParameterError
from structsmooth.io.atomic import OutputError, wrapped_errors

MANIFEST = "manifest.json"
LOCK = "lock"
FORMAT = "structsmooth.spill.2"
PART = ".part"
# All files that a fit may leave here.
OURS = re.compile(
    r"(manifest\.json|(seed|clusters|sizes|range|variance|components|classes|encoding"
    r"|looked_at|bounds-\d+)\.npz|(rows|codes|clusters|sorted_rows|sorted_codes)\.bin)"
    r"(\.part)?|lock"
)
# After the content of each file: a mark, the checksum and the number of bytes.
END, MARK = struct.Struct("<8sIQ"), b"checksum"
CHUNK = 2**20


def check_place(place: Path, target: Path) -> None:
    """Refuse a directory that would be mixed up with the output or other files."""
    spill, output = place.resolve(), target.resolve()
    if spill == output or output in spill.parents or spill in output.parents:
        raise InvalidParameterError(
            f"spill must be a directory apart from the output {target}, got {place}"
        )
    if place.is_symlink():
        raise OutputError(
            f"cannot spill to {place}: it is a symbolic link, expected a directory"
        )
    if not place.exists():
        return
    names = {"not a directory"}
    if place.is_dir():
        with wrapped_errors(place):
            names = {path.name for path in place.iterdir()}
    if not all(OURS.fullmatch(name) for name in names) or (
        names and not names & {LOCK, MANIFEST, MANIFEST + PART}
    ):
        raise OutputError(
            f"cannot spill to {place}: it holds other files, expected a new directory"
        )


class Spill:
    """The spill directory of the fit with this ``identity``: data and settings."""

    def __init__(self, directory: Path, identity: dict[str, Any]) -> None:
        self.directory = directory
        self._identity = {"format": FORMAT, **identity}
        self._lock: BinaryIO | None = None
        self._intact: set[str] = set()  # files whose checksums are known to be right

    def __enter__(self) -> Spill:
        with self.errors():
            self._refuse_others()
            self.directory.mkdir(parents=True, exist_ok=True)
            self._take_lock()
            for unfinished in self.directory.glob("*" + PART):
                unfinished.unlink()
            if not self.has(MANIFEST):
                self._clear()  # nobody knows which data the other files belong to
                with self.writing(MANIFEST) as stream:
                    stream.write(json.dumps(self._identity, indent=1).encode())
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.close()

    def remove(self) -> None:
        """Delete everything: the fit is complete, or cannot be resumed.

        The manifest goes last, so that after an interruption the rest is still known
        to be ours.
        """
        with contextlib.suppress(OSError):
            self._clear()
            for name in (MANIFEST, LOCK):
                self.path(name).unlink(missing_ok=True)
            self.directory.rmdir()

    def _clear(self) -> None:
        """Delete all but the manifest and the lock."""
        for path in self.directory.iterdir():
            if path.name not in (MANIFEST, LOCK) and OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def path(self, name: str) -> Path:
        """Return the path of a file."""
        return self.directory / name

    def has(self, *names: str) -> bool:
        """Whether all these files are there and intact; a damaged one is deleted."""
        return all(self._is_intact(name) for name in names)

    def _is_intact(self, name: str) -> bool:
        path = self.path(name)
        if name in self._intact or not path.is_file():
            return path.is_file()
        with self.errors(), path.open("rb") as stream:
            size = max(0, path.stat().st_size - END.size)
            found = _checksum(stream, size)
            end = stream.read()
        if end != END.pack(MARK, found, size):
            path.unlink()
            return False
        self._intact.add(name)
        return True

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the system into sentences."""
        try:
            yield
        except OutputError:
            raise
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise OutputError(
                f"cannot spill to {self.directory}: {reason}; the output was not "
                "touched, and the same fit resumes after the last finished stage"
            ) from error

    @contextlib.contextmanager
    def writing(self, name: str, n_bytes: int = 0) -> Iterator[BinaryIO]:
        """Give a file that gets its name when the block succeeds.

        A known size is reserved at once, so that a full disk is found before the work.
        Then the file is also on the disk before it gets its name; small files may be
        lost with the power, and are made again.
        """
        part = self.path(name + PART)
        with self.errors():
            try:
                with part.open("wb") as stream:
                    if n_bytes and hasattr(os, "posix_fallocate"):
                        os.posix_fallocate(stream.fileno(), 0, n_bytes)
                    yield stream
                with part.open("r+b") as stream:
                    size = part.stat().st_size
                    stream.write(END.pack(MARK, _checksum(stream, size), size))
                    if n_bytes:
                        stream.flush()
                        os.fsync(stream.fileno())
                os.replace(part, self.path(name))
                self._intact.add(name)
            finally:
                part.unlink(missing_ok=True)

    def once(
        self, name: str, make: Callable[[], dict[str, Any]], *beside: str
    ) -> dict[str, NDArray[Any]]:
        """Return small arrays from a file, made and written if it is not there yet.

        Files ``beside`` it are made at the same time, and again if one is missing.
        """
        if not self.has(*beside, name):
            arrays = make()
            with self.writing(name) as stream:
                np.savez(stream, allow_pickle=False, **arrays)
        with self.errors():
            content = io.BytesIO(self.path(name).read_bytes())
        with np.load(content, allow_pickle=False) as bundle:
            return {key: bundle[key] for key in bundle.files}

    def read(
        self, name: str, dtype: Any, start: int, stop: int, width: int | None = None
    ) -> NDArray[Any]:
        """Return some rows of a file of numbers; without a width, one number each."""
        kind = np.dtype(dtype)
        columns = 1 if width is None else width
        count, offset = (stop - start) * columns, start * columns * kind.itemsize
        with self.errors():
            found = np.fromfile(self.path(name), kind, count, offset=offset)
        if len(found) != count:
            raise OutputError(
                f"{self.path(name)} was cut short by something else; delete "
                f"{self.directory} and start the fit again"
            )
        return found if width is None else found.reshape(stop - start, width)

    def _refuse_others(self) -> None:
        """Refuse a directory that holds an unfinished fit that is not this one."""
        if not self.has(MANIFEST):
            return  # new, or damaged: then the fit starts again
        content = self.path(MANIFEST).read_bytes()[: -END.size]
        found = json.loads(content)
        other = [k for k, v in self._identity.items() if found.get(k) != v]
        if other:
            raise OutputError(
                f"{self.directory} belongs to an unfinished fit with other "
                f"{' and '.join(other)}: finish that one, or delete the directory"
            )

    def _take_lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # on Windows there is no lock
            return
        self._lock = self.path(LOCK).open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OutputError(
                f"another fit is at work in {self.directory}; wait for it, or choose "
                "another output"
            ) from None


def _checksum(stream: BinaryIO, size: int) -> int:
    """Return the checksum of the first bytes of a file, and leave it behind them."""
    stream.seek(0)
    found = 0
    while size > 0:
        chunk = stream.read(min(CHUNK, size))
        if not chunk:
            break
        found = zlib.crc32(chunk, found)
        size -= len(chunk)
    return found
