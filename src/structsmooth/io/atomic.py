"""Writing files so that nothing is ever half-written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


class OutputError(OSError):
    """A file or directory that cannot be written."""


@contextlib.contextmanager
def written_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file beside ``path`` that replaces it if the block succeeds.

    Whatever goes wrong, ``path`` is either as it was or complete.

    Raises
    ------
    OutputError
        One sentence that says which path cannot be written, and why.
    """
    target = Path(path)
    temporary: Path | None = None
    try:
        with wrapped_errors(target):
            handle, name = tempfile.mkstemp(
                dir=target.parent, prefix=f".{target.name}.", suffix=".part"
            )
            os.close(handle)
            temporary = Path(name)
        with wrapped_errors(target):
            yield temporary
            temporary.chmod(0o666 & ~_umask())  # mkstemp made it private
            temporary.replace(target)
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def wrapped_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the system's error into a sentence that names the path."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"cannot write {os.fspath(path)}: {reason}") from error


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
