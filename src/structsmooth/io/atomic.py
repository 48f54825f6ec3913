"""Reading and writing of files: errors in one sentence, and nothing half-written."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structsmooth.errors import FileFormatError

fcntl: Any = None  # on Windows there are no locks
with contextlib.suppress(ImportError):
    fcntl = importlib.import_module("fcntl")

PART = ".part"  # ends the name of a file that is not complete


class OutputError(OSError):
    """A file or directory that cannot be written."""


@contextlib.contextmanager
def reading(
    path: str | os.PathLike[str], damaged: str = "is damaged"
) -> Iterator[None]:
    """Turn the errors of reading a file into a sentence that names the path.

    Parsing bytes that are not what they should be can raise almost any error, so all
    of them mean that the file is damaged.
    """
    try:
        yield
    except FileFormatError:
        raise
    except FileNotFoundError:
        raise FileFormatError(f"there is no file {path}") from None
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {_reason(error)}") from None
    except (MemoryError, OverflowError) as error:
        raise FileFormatError(
            f"{path} is damaged, or larger than the memory of this machine"
        ) from error
    except Exception as error:
        # NumPy's messages for an array of objects, read at once or memory-mapped.
        if "Object arrays" in str(error) or "Python objects" in str(error):
            damaged = (
                "holds Python objects, which are never loaded; expected numbers or text"
            )
        raise FileFormatError(f"{path} {damaged}") from error


@contextlib.contextmanager
def wrapped_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the errors of writing a file into a sentence that names the path."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write {path}: {_reason(error)}") from error


@contextlib.contextmanager
def written_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file beside ``path`` that replaces it if the block succeeds.

    Whatever goes wrong, ``path`` is either as it was or complete. What a killed process
    has left beside it is removed.
    """
    target = Path(path)
    with wrapped_errors(target):
        _remove_left(target)
        temporary, lock = _locked_part(target)
        try:
            yield temporary
            _sync(temporary)
            temporary.replace(target)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
            os.close(lock)


def _locked_part(target: Path) -> tuple[Path, int]:
    """Make a temporary file, locked for as long as its descriptor is open."""
    while True:
        path = target.parent / f".{target.name}.{os.urandom(4).hex()}{PART}"
        lock = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        if _try_lock(lock) and path.exists():
            return path, lock
        os.close(lock)  # somebody took it for a file of a killed process


def _remove_left(target: Path) -> None:
    """Remove temporary files of processes that are gone, whose locks are free."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}{re.escape(PART)}")
    for path in target.parent.iterdir():
        if name.fullmatch(path.name):
            with contextlib.suppress(OSError):
                lock = os.open(path, os.O_RDWR)
                try:
                    if fcntl is not None and _try_lock(lock):
                        path.unlink()
                finally:
                    os.close(lock)


def _try_lock(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: OSError) -> str:
    # NumPy says how many numbers it wrote, but not why no more.
    if error.errno is None and re.search(r"requested and \d+ written", str(error)):
        return "no space left on device"
    return " ".join((error.strerror or str(error)).lower().split())
