"""Files of results: one line with the settings, then one for each finished run.

Readers never see part of a line: an incomplete line left by a killed process is removed
when the file is opened again. Runs are identified by their config and seed, so that a
finished run is never repeated.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from structsmooth.errors import FileFormatError
from structsmooth.io.store import versions


def digest_of(settings: dict) -> str:
    """Return a short hash of settings."""
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def key_of(config: dict, seed: int) -> str:
    """Return the key that identifies a run."""
    return json.dumps([config, seed], sort_keys=True)


class Records:
    """The finished runs of one experiment.

    Parameters
    ----------
    path : path
        The file. It need not exist.
    settings : dict
        Settings that all runs share. A file with other settings is refused.
    """

    def __init__(self, path: Path, settings: dict) -> None:
        self.path = path
        self.runs: list[dict] = []
        if path.is_file():
            self._cut_off_what_is_broken()
        if path.is_file() and path.stat().st_size:
            found, self.runs = read(path)
            if found != json.loads(json.dumps(settings)):
                changed = sorted(
                    name
                    for name in found.keys() | settings.keys()
                    if found.get(name) != settings.get(name)
                )
                raise FileFormatError(
                    f"{path} was made with other settings ({', '.join(changed)}); "
                    "move it away, or use the config it was made with"
                )
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write([{"settings": settings}])
        self.done = {key_of(run["config"], run["seed"]) for run in self.runs}

    def has(self, config: dict, seed: int) -> bool:
        """Tell whether a run is finished."""
        return key_of(config, seed) in self.done

    def add(self, runs: Iterable[dict]) -> None:
        """Write finished runs, several at once if they belong together.

        Each has ``config``, ``seed``, ``metrics`` and ``seconds``, and may have more.
        """
        used = versions()
        if "torch" in sys.modules:
            used["torch"] = sys.modules["torch"].__version__
        runs = [run | {"versions": used} for run in runs]
        self._write(runs)
        self.runs += runs
        self.done |= {key_of(run["config"], run["seed"]) for run in runs}

    def _write(self, lines: list[dict]) -> None:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write("".join(json.dumps(line) + "\n" for line in lines))
            stream.flush()
            os.fsync(stream.fileno())

    def _cut_off_what_is_broken(self) -> None:
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self.path, whole)


def made_with(path: Path) -> list[str]:
    """Return the versions of structsmooth that made the runs of a file."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted({v["structsmooth"] for line in lines if (v := line.get("versions"))})


def read(path: Path) -> tuple[dict, list[dict]]:
    """Return the settings and the runs of a file."""
    if not path.is_file():
        raise FileFormatError(
            f"there are no results in {path}; python -m experiments run makes them"
        )
    lines = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], 1):
        try:
            lines.append(json.loads(line))
        except ValueError as error:
            raise FileFormatError(
                f"line {number} of {path} is not JSON; expected a run on each line"
            ) from error
    if not lines or "settings" not in lines[0]:
        raise FileFormatError(
            f"{path} does not begin with its settings; expected a file of results"
        )
    return lines[0]["settings"], lines[1:]
