"""Paths of data and results, checked before anything slow is imported."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from structsmooth.errors import FileFormatError, FileOptionError
from structsmooth.io.atomic import OutputError, reading, wrapped_errors

SUMMARY = "summary.json"
FORMAT = "structsmooth.result"
# The files of a result, and of its report.
OURS = frozenset(
    ("summary.json", "smoother.zip", "strengths.npy", "labels.npy", "soft_labels.npy")
    + ("clusters.npy", "clusters.csv", "suspects.csv", "view.npz")
    + ("report.html", "report.json")
)
# What a summary holds, as far as it is read again.
EXPECTED: dict[str, type] = {
    "data": str,
    "class_names": list,
    "notes": list,
    "versions": dict,
    "command": list,
    "feature_names": list,
    "files": list,
}
# A folder for the files of a result that are not complete.
UNFINISHED = ".unfinished-"
KINDS = "npz, npy, csv, csv.gz, tsv or parquet"


def check_is_file(path: Path) -> None:
    """Refuse a path where there is no file, or a directory."""
    with reading(path):
        if path.is_dir():
            raise FileFormatError(f"{path} is a directory, expected a file ({KINDS})")
        path.stat()


def check_target(target: Path) -> None:
    """Refuse a place that cannot be written to, or that holds other files."""
    with wrapped_errors(target):
        if target.is_dir() and any(target.iterdir()) and not is_result(target):
            raise OutputError(
                f"cannot write {target}: it holds other files, expected a new directory"
            )
        existing = next(p for p in (target, *target.absolute().parents) if p.exists())
        if not existing.is_dir():
            raise OutputError(f"cannot write {target}: {existing} is not a directory")
        if not os.access(existing, os.W_OK | os.X_OK):
            raise OutputError(f"cannot write {target}: permission denied")


def check_not_ours(path: Path) -> None:
    """Refuse to write labels or a report in place of a file of a result."""
    if path.name in OURS and is_result(path.parent):
        raise FileOptionError(
            f"{path} is a file of the result in {path.parent}: expected another name"
        )


def check_not_read(target: Path, *sources: Path | None) -> None:
    """Refuse to write in place of a file that is read."""
    for source in sources:
        if source is None or not (target.exists() and source.exists()):
            continue
        if target.samefile(source):
            raise FileOptionError(
                f"{target} is the file that is read: expected another name"
            )


def is_result(directory: Path) -> bool:
    """Whether a directory holds a result of this program, finished or not."""
    if any(directory.glob(UNFINISHED + "*")):
        return True
    try:
        summary = json.loads((directory / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(summary, dict) and summary.get("format") == FORMAT


def read_summary(directory: str | Path) -> dict[str, Any]:
    """Read the summary of a result."""
    path = Path(directory) / SUMMARY
    if not path.is_file():
        raise FileFormatError(
            f"{directory} is not a result of 'structsmooth fit': it has no {SUMMARY}"
        )
    with reading(path):
        summary: Any = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(summary, dict) or summary.get("format") != FORMAT:
            raise FileFormatError(
                f"{directory} is not a result of 'structsmooth fit': its {SUMMARY} is "
                "of another kind"
            )
        for key, kind in EXPECTED.items():
            if not isinstance(summary.get(key, kind()), kind):
                raise ValueError(f"{key} is not of the expected kind")
    found: dict[str, Any] = summary
    return found


def check_columns_path(path: str | Path) -> Path:
    """Refuse a file that columns cannot be written to; cheap, so do it first."""
    target = Path(path)
    if target.suffix.lower() not in (".csv", ".npz", ".npy"):
        raise FileOptionError(f"{target} must end in .csv, .npz or .npy")
    return target
