"""A directory for what does not fit into memory, from which a fit can resume.

A file is written as ``.part`` and renamed, so that it is complete or not there. The
manifest records data and settings, and a lock keeps other fits away.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from structsmooth.io.atomic import OutputError

MANIFEST = "manifest.json"
LOCK = "lock"
FORMAT = "structsmooth.spill"
PART = ".part"


class Spill:
    """The spill directory of the fit with this ``identity``: data and settings."""

    def __init__(self, directory: Path, identity: dict[str, Any]) -> None:
        self.directory = directory
        self._identity = {"format": FORMAT, **identity}
        self._lock: BinaryIO | None = None

    def __enter__(self) -> Spill:
        with self.errors():
            self._refuse_others()
            self.directory.mkdir(parents=True, exist_ok=True)
            self._take_lock()
            for unfinished in self.directory.glob("*" + PART):
                unfinished.unlink()
            if not self.has(MANIFEST):
                with self.writing(MANIFEST) as stream:
                    stream.write(json.dumps(self._identity, indent=1).encode())
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.close()

    def remove(self) -> None:
        """Delete everything: the fit is complete."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def path(self, name: str) -> Path:
        """Return the path of a file."""
        return self.directory / name

    def has(self, name: str) -> bool:
        """Whether a file is there, which means that it is complete."""
        return self.path(name).is_file()

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
        """
        part = self.path(name + PART)
        with self.errors():
            try:
                with part.open("wb") as stream:
                    if n_bytes and hasattr(os, "posix_fallocate"):
                        os.posix_fallocate(stream.fileno(), 0, n_bytes)
                    yield stream
                part.replace(self.path(name))
            finally:
                part.unlink(missing_ok=True)

    def once(
        self, name: str, make: Callable[[], dict[str, Any]]
    ) -> dict[str, NDArray[Any]]:
        """Return small arrays from a file, made and written if it is not there yet."""
        if not self.has(name):
            arrays = make()
            with self.writing(name) as stream:
                np.savez(stream, allow_pickle=False, **arrays)
        with self.errors(), np.load(self.path(name), allow_pickle=False) as bundle:
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
        """Refuse a directory that holds anything but an unfinished fit like this."""
        if not self.directory.exists():
            return
        found: Any = None
        if self.directory.is_dir():
            names = {path.name for path in self.directory.iterdir()}
            if not names or names <= {LOCK, MANIFEST + PART}:
                return
            with contextlib.suppress(OSError, ValueError):
                found = json.loads(self.path(MANIFEST).read_text(encoding="utf-8"))
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise OutputError(
                f"cannot spill to {self.directory}: it holds other files, expected a "
                "new directory"
            )
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
