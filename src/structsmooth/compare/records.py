"""Finished runs, one line of JSON each: what makes a comparison resumable.

The first line describes the comparison. A line is written at once when its run is
finished, so a kill loses no more than the run at hand; a line cut off by it is dropped
when the file is read again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from structsmooth.errors import FileFormatError
from structsmooth.files import wrapped_errors

Record = dict[str, Any]
Key = tuple[int, str, float, float | None]


class Records:
    """The runs of one comparison, in memory and, if a path is given, in a file.

    Parameters
    ----------
    path : path-like, optional
        A file to go on with, or to begin.
    description : dict
        What the comparison consists of; ``description["run"]`` identifies it.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, description: dict[str, Any]
    ) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[Key, Record] = {}
        if self._path is None:
            return
        if self._path.is_file() and self._path.stat().st_size > 0:
            self._read(description["run"])
        else:
            with wrapped_errors(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True)
            self._append(description)

    def find(self, key: Key) -> Record | None:
        """Return the run with this seed, method, alpha and beta, if it is finished."""
        return self._known.get(key)

    def add(self, key: Key, record: Record) -> Record:
        """Remember a finished run, and write it down."""
        # Numbers come back from JSON as they went in, so a comparison that was
        # resumed has the same bits as one that was not.
        self._known[key] = record
        self._append(record)
        return record

    def _read(self, run: str) -> None:
        assert self._path is not None  # noqa: S101 (for the type checker)
        text = self._path.read_text(encoding="utf-8", errors="replace")
        complete, _, rest = text.rpartition("\n")
        lines = complete.splitlines()
        try:
            first, *records = [json.loads(line) for line in lines]
            is_ours = first["run"] == run
            keyed = {key_of(record): record for record in records}
        except (ValueError, KeyError, TypeError):
            raise FileFormatError(
                f"{self._path} is not a file of results that a comparison has written"
            ) from None
        if not is_ours:
            raise FileFormatError(
                f"{self._path} belongs to a comparison with other data or settings; "
                "give another file, or delete it"
            )
        self._known = keyed
        if rest:
            with wrapped_errors(self._path):
                os.truncate(self._path, len(f"{complete}\n".encode()))

    def _append(self, record: Record) -> None:
        if self._path is None:
            return
        with (
            wrapped_errors(self._path),
            self._path.open("a", encoding="utf-8") as stream,
        ):
            stream.write(json.dumps(record) + "\n")


def key_of(record: Record) -> Key:
    """Return what identifies a run within a comparison."""
    return record["seed"], record["method"], record["alpha"], record["beta"]
