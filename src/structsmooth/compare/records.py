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
from structsmooth.io.atomic import wrapped_errors

BEGINNING = b'{"run": "'
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
        before, self._known = read_records(self._path)
        if before is not None and before["run"] != description["run"]:
            raise FileFormatError(
                f"{self._path} belongs to a comparison with other data or settings; "
                "give another file, or delete it"
            )
        with wrapped_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.is_file():
                whole = self._path.read_bytes().rfind(b"\n") + 1
                os.truncate(self._path, whole)
        if before is None:
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

    def _append(self, record: Record) -> None:
        if self._path is None:
            return
        with wrapped_errors(self._path), self._path.open("ab") as stream:
            stream.write(json.dumps(record).encode() + b"\n")


def read_records(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any] | None, dict[Key, Record]]:
    """Return the description in a file of results, if there is one, and its runs."""
    path = Path(path)
    if not path.is_file():
        return None, {}
    content = path.read_bytes()
    lines = content.split(b"\n")[:-1]  # what has no end was cut off
    try:
        entries = [json.loads(line) for line in lines]
        if not entries:
            if not (BEGINNING.startswith(content) or content.startswith(BEGINNING)):
                raise ValueError
            return None, {}
        description = entries[0]
        _ = description["run"], description["settings"]["criterion"]
        # A process that started at the same time may have described it once more.
        runs = [entry for entry in entries[1:] if "run" not in entry]
        known = {key_of(run): run for run in runs}
        _ = [run["test"]["nll"] + run["validation"]["nll"] for run in runs]
    except (ValueError, KeyError, TypeError, UnicodeDecodeError):
        raise FileFormatError(
            f"{path} is not a file of results that a comparison has written"
        ) from None
    return description, known


def key_of(record: Record) -> Key:
    """Return what identifies a run within a comparison."""
    return record["seed"], record["method"], record["alpha"], record["beta"]
