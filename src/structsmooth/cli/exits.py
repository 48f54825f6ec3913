"""Errors as one sentence and an exit code."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import typer

UNUSABLE, UNWRITABLE, INTERRUPTED = 3, 4, 130


@contextlib.contextmanager
def exit_codes() -> Iterator[None]:
    """Turn errors a user can do something about into one sentence and a code."""
    from structsmooth.io.atomic import OutputError

    try:
        yield
    except OutputError as error:
        _fail(str(error), UNWRITABLE)
    except ValueError as error:
        _fail(" ".join(str(error).split()), UNUSABLE)
    except MemoryError:
        _fail("the data do not fit into the memory of this machine", UNUSABLE)
    except BrokenPipeError:
        raise
    except OSError as error:
        _fail(f"cannot write the output: {error.strerror or error}", UNWRITABLE)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)


def _fail(message: str, code: int) -> None:
    print(f"structsmooth: {message}", file=sys.stderr)
    raise typer.Exit(code) from None
