"""Finished runs, one line of JSON each, so that a comparison can be resumed.

The first line describes the comparison. A line is written as soon as its run is
finished, so an interruption loses no more than the current run; a line that it cut
off is dropped when the file is read again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from structsmooth.errors import FileFormatError
from structsmooth.io.atomic import wrapped_errors

BEGINNING = b'{"run": "'
Record = dict[str, Any]
# Seed and method, and the rest of what tells a run from others: alpha and beta, or the
# smoother of an arm.
Key = tuple[Any, ...]


class Records:
    """The runs of one comparison, in memory and, if a path is given, in a file."""

    def __init__(
        self, path: str | os.PathLike[str] | None, description: dict[str, Any]
    ) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[Key, Record] = {}
        if self._path is None:
            return
        before, self._known = read_records(self._path)
        if before and before["run"] != description["run"]:
            raise FileFormatError(
                f"{self._path} belongs to a comparison with other data or settings"
                f"{_another_version(before, description)}; choose another file, or "
                "delete it"
            )
        with wrapped_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.is_file():
                os.truncate(self._path, self._path.read_bytes().rfind(b"\n") + 1)
        if not before:
            self._append(description)

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def get(self, key: Key, make: Callable[[], Record]) -> Record:
        """Return the run with this key; make it if it is missing."""
        if key not in self._known:
            # JSON does not round numbers, so a resumed comparison has the same bits.
            self._known[key] = make()
            self._append(self._known[key])
        return self._known[key]

    def _append(self, record: Record) -> None:
        if self._path is None:
            return
        with wrapped_errors(self._path), self._path.open("ab") as stream:
            stream.write(json.dumps(record).encode() + b"\n")


def key_of(run: Record) -> Key:
    """Return what tells a run from others."""
    rest = (run["arm"],) if "arm" in run else (run["alpha"], run["beta"])
    return run["seed"], run["method"], *rest


def _another_version(before: Record, now: Record) -> str:
    """Return who wrote a file, if it was not this version."""
    version = before.get("versions", {}).get("structsmooth")
    if version in (None, now["versions"]["structsmooth"]):
        return ""
    return f", or was written by structsmooth {version}, which trained differently"


def read_records(path: Path) -> tuple[dict[str, Any], dict[Key, Record]]:
    """Return the description in a file of results and its runs, if there are any."""
    if not path.is_file():
        return {}, {}
    content = path.read_bytes()
    lines = content.split(b"\n")[:-1]  # a line without an end was cut off
    try:
        entries = [json.loads(line) for line in lines]
        if not entries and content.startswith(BEGINNING[: len(content)]):
            return {}, {}
        description = entries[0]
        _ = description["run"], description["settings"]["criterion"]
        # A process that started at the same time may have added its description.
        runs = [entry for entry in entries[1:] if "run" not in entry]
        _ = [run["test"]["nll"] + run["validation"]["nll"] for run in runs]
        known = {key_of(run): run for run in runs}
    except (ValueError, KeyError, TypeError, IndexError):
        raise FileFormatError(
            f"{path} is not a file of results that a comparison has written"
        ) from None
    return description, known
