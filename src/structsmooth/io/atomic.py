"""Reading and writing of files: errors in one sentence, and nothing half-written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from structsmooth.errors import FileFormatError


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

    Whatever goes wrong, ``path`` is either as it was or complete.
    """
    target = Path(path)
    temporary = target.parent / f".{target.name}.{os.urandom(4).hex()}.part"
    with wrapped_errors(target):
        temporary.touch(exist_ok=False)
        try:
            yield temporary
            temporary.replace(target)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
