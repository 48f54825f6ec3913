"""A directory that holds what does not fit into memory, and where a fit resumes.

Every file is complete or not there: it is written as ``.part`` and renamed. A manifest
says which data and settings it belongs to, and a lock that a fit is at work in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
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
    """The spill directory of one fit.

    Parameters
    ----------
    directory : Path
        Where; made if it is not there.
    identity : dict
        Data and settings, ready for JSON. What lies there must belong to the same.
    """

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
                self.keep_text(MANIFEST, json.dumps(self._identity, indent=1))
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.close()

    def remove(self) -> None:
        """Delete everything: the fit is complete."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def path(self, name: str) -> Path:
        """Return where a file lies."""
        return self.directory / name

    def has(self, name: str) -> bool:
        """Whether a file is there, and so complete."""
        return self.path(name).is_file()

    def discard(self, name: str) -> None:
        """Delete a file that is no longer needed."""
        with self.errors():
            self.path(name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn the system's errors into sentences."""
        try:
            yield
        except OutputError:
            raise
        except FileNotFoundError as error:
            raise OutputError(
                f"the spill directory {self.directory} is gone, or a file in it; "
                "nothing else was written, start the fit again"
            ) from error
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise OutputError(
                f"cannot spill to {self.directory}: {reason}; the output was not "
                "touched, and the same fit resumes after the last finished stage"
            ) from error

    @contextlib.contextmanager
    def writing(self, name: str, n_bytes: int = 0) -> Iterator[BinaryIO]:
        """Give a file that gets its name when the block succeeds.

        With a size its place on the disk is taken at once: a disk too small for it
        says so before the work.
        """
        part = self.path(name + PART)
        with self.errors():
            try:
                with part.open("wb") as stream:
                    if n_bytes and hasattr(os, "posix_fallocate"):
                        os.posix_fallocate(stream.fileno(), 0, n_bytes)
                    yield stream
                part.replace(self.path(name))
            except BaseException:
                with contextlib.suppress(OSError):
                    part.unlink(missing_ok=True)
                raise

    def keep_text(self, name: str, text: str) -> None:
        """Write a small file."""
        with self.writing(name) as stream:
            stream.write(text.encode())

    def keep(self, name: str, **arrays: Any) -> None:
        """Write small arrays."""
        with self.writing(name) as stream:
            plain: dict[str, Any] = {k: np.asarray(v) for k, v in arrays.items()}
            np.savez(stream, allow_pickle=False, **plain)

    def kept(self, name: str) -> dict[str, NDArray[Any]]:
        """Read small arrays back."""
        with self.errors(), np.load(self.path(name), allow_pickle=False) as bundle:
            return {key: bundle[key] for key in bundle.files}

    def read(
        self, name: str, dtype: Any, start: int, stop: int, width: int | None = None
    ) -> NDArray[Any]:
        """Return some rows of a file of numbers; without a width, of single ones."""
        kind = np.dtype(dtype)
        columns = 1 if width is None else width
        count = (stop - start) * columns
        with self.errors():
            found = np.fromfile(
                self.path(name), kind, count, offset=start * columns * kind.itemsize
            )
        if len(found) != count:
            raise OutputError(
                f"{self.path(name)} was cut short by something else; delete "
                f"{self.directory} and start the fit again"
            )
        return found if width is None else found.reshape(-1, width)

    def append(self, name: str, entry: dict[str, Any]) -> None:
        """Add a line of JSON to a journal."""
        with self.errors(), self.path(name).open("rb+") as stream:
            stream.seek(0, os.SEEK_END)
            stream.write(json.dumps(entry).encode() + b"\n")

    def entries(self, name: str) -> list[dict[str, Any]]:
        """Read a journal, made if it is not there; what was cut off is cut away."""
        if not self.has(name):
            self.keep_text(name, "")
        with self.errors():
            content = self.path(name).read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            if len(whole) < len(content):
                os.truncate(self.path(name), len(whole))
        return [json.loads(line) for line in whole.splitlines()]

    def _refuse_others(self) -> None:
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
        except ImportError:  # Windows: the user must know
            return
        self._lock = self.path(LOCK).open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OutputError(
                f"another fit is at work in {self.directory}; wait for it, or choose "
                "another output"
            ) from None
