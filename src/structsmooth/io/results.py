"""The result of a fit as files: strengths, soft labels, cluster table, settings."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.bayes_error.ranking import order_of_regions, says_little
from structsmooth.errors import FileFormatError
from structsmooth.io.atomic import OutputError, wrapped_errors
from structsmooth.io.store import FILE_NAME, versions
from structsmooth.io.tables import Dataset
from structsmooth.report import Report, build_report, make_view, write_report
from structsmooth.report.pictures import image_layout
from structsmooth.report.view import View
from structsmooth.report.viewfile import FILE_NAME as VIEW_NAME
from structsmooth.report.viewfile import load_view, save_view
from structsmooth.report.write import check_page_path
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.epsilon import epsilon_from_alpha
from structsmooth.support.validation import check_codes

SUMMARY = "summary.json"
SUSPECTS = "suspects.csv"
FORMAT = "structsmooth.result"
UNFINISHED = ".unfinished-"
# What an earlier fit, or a report of it, may have left, and would contradict this one.
OF_EARLIER_FITS = {
    "soft_labels.npy",
    "clusters.npy",
    SUSPECTS,
    VIEW_NAME,
    "report.html",
    "report.json",
}
WITHOUT_VIEW = (
    f"The map and the most ambiguous samples are left out: this result has no "
    f"{VIEW_NAME}, or an older one; it was written by an earlier version. Fit again to "
    "see them."
)
# Larger soft labels are left to `structsmooth labels`; float32, in bytes.
LARGEST_SOFT_LABELS = 2 * 1024**3


def cluster_table(smoother: StructuralSmoother) -> list[dict[str, Any]]:
    """Return one row for each cluster, those that are hard for certain first."""
    rows = []
    little = says_little(smoother.cluster_bounds_)
    for cluster in order_of_regions(smoother.cluster_bounds_):
        bounds = smoother.cluster_bounds_[cluster]
        rows.append(
            {
                "cluster": int(cluster),
                "size": bounds.n_samples,
                "weight": float(smoother.cluster_weights_[cluster]),
                "n_classes": int(np.count_nonzero(bounds.class_counts)),
                "classes": _describe_classes(bounds, smoother.classes_),
                "bayes_error_lower": bounds.lower,
                "bayes_error_upper": bounds.upper,
                "interval_low": bounds.interval[0],
                "interval_high": bounds.interval[1],
                "strength": float(smoother.strengths_[cluster]),
                "says_little": bool(little[cluster]),
            }
        )
    return rows


def _describe_classes(bounds: BayesErrorBounds, classes: NDArray[Any]) -> str:
    """Return the largest classes of a region with their shares, as text."""
    order = np.argsort(-bounds.class_counts, kind="stable")
    order = order[bounds.class_counts[order] > 0]
    share = bounds.class_counts / bounds.n_samples
    text = ", ".join(f"{classes[k]} {share[k]:.0%}" for k in order[:3])
    return text + (f", {len(order) - 3} more" if len(order) > 3 else "")


def suspect_table(
    smoother: StructuralSmoother, coded: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Return one row for each label that looks like a mistake, the surest first."""
    suspects = smoother.suspects_
    if suspects is None:
        return []
    return [
        {
            "row": int(row),
            "label": _plain(smoother.classes_[coded[row]]),
            "likely": _plain(likely),
            "agreement": float(agreement),
        }
        for row, likely, agreement in zip(
            suspects.rows, suspects.likely, suspects.agreement, strict=True
        )
    ]


def overlapping_pairs(
    smoother: StructuralSmoother, most: int = 5
) -> list[dict[str, Any]]:
    """Return the pairs of classes joined by most tree edges."""
    whole = smoother.bayes_error_bounds_
    order = np.argsort(-whole.crossing_counts, kind="stable")[:most]
    return [
        {
            "classes": [_plain(c) for c in smoother.classes_[whole.crossing_pairs[i]]],
            "edges": float(whole.crossing_counts[i]),
            "share": float(whole.crossing_counts[i] / whole.crossing_counts.sum()),
        }
        for i in order
    ]


def summarize(smoother: StructuralSmoother, notes: list[str]) -> dict[str, Any]:
    """Return all of a fit that is not an array, ready for JSON."""
    whole: BayesErrorBounds = smoother.bayes_error_bounds_
    n_classes = len(smoother.classes_)
    settings = {
        name: value
        if isinstance(value, str | int | float | bool | None)
        else repr(value)
        for name, value in smoother.get_params(deep=False).items()
    }
    saved = 0.0
    if smoother.uniform_bias_ > 0:
        saved = 1.0 - smoother.bias_ / smoother.uniform_bias_
    return {
        "n_samples": whole.n_samples,
        "n_features": int(smoother.n_features_in_),
        "classes": [_plain(label) for label in smoother.classes_],
        "n_clusters": len(smoother.strengths_),
        "n_clusters_merged": smoother.structure_.regions.n_merged,
        "alpha": smoother.alpha_,
        "beta": smoother.beta_,
        "label_smoothing": epsilon_from_alpha(smoother.alpha_, n_classes),
        "bayes_error": {
            "lower": whole.lower,
            "upper": whole.upper,
            "interval": list(whole.interval),
            "confidence": whole.confidence,
        },
        "strength": {
            "smallest": float(smoother.strengths_.min()),
            "mean": float(smoother.cluster_weights_ @ smoother.strengths_),
            "largest": float(smoother.strengths_.max()),
        },
        "bayes_error_bias": {
            "structural": smoother.bias_,
            "uniform": smoother.uniform_bias_,
            "saved": saved,
        },
        "overlapping_classes": overlapping_pairs(smoother),
        "n_suspects": None if smoother.suspects_ is None else len(smoother.suspects_),
        "notes": notes,
        "settings": settings,
        "versions": versions(),
    }


def write_results(
    directory: str | Path,
    smoother: StructuralSmoother,
    coded: NDArray[np.int64] | None,
    summary: dict[str, Any],
    view: View | None = None,
    write_files: Callable[[Path], list[str]] | None = None,
) -> dict[str, Any]:
    """Write a result directory and return its summary.

    All files are written to a folder inside the directory and moved when they are
    complete, the summary last: what has a summary is complete. An earlier result is
    replaced; any other directory with something in it is left alone. ``write_files``
    writes all but the summary into a folder and returns the names; by default it is
    given what is in memory.
    """
    target = Path(directory)
    check_target(target)
    with wrapped_errors(target):
        is_new = not target.exists()
        target.mkdir(parents=True, exist_ok=True)
        workshop = Path(tempfile.mkdtemp(dir=target, prefix=UNFINISHED))
    try:
        with wrapped_errors(target):
            if write_files is not None:
                files = write_files(workshop)
            else:
                files = _write_files(workshop, smoother, coded, view)
            summary = {"format": FORMAT, **summary, "files": files}
            text = json.dumps(summary, indent=1, default=str) + "\n"
            (workshop / SUMMARY).write_text(text, encoding="utf-8")
    except BaseException:
        shutil.rmtree(workshop, ignore_errors=True)
        if is_new:
            with contextlib.suppress(OSError):
                target.rmdir()
        raise
    # If this is cut short, the workshop stays and tells the next fit what happened.
    with wrapped_errors(target):
        (target / SUMMARY).unlink(missing_ok=True)
        for name in [*summary["files"], SUMMARY]:
            (workshop / name).replace(target / name)
        for name in OF_EARLIER_FITS - set(summary["files"]):
            (target / name).unlink(missing_ok=True)
        for unfinished in target.glob(UNFINISHED + "*"):
            shutil.rmtree(unfinished, ignore_errors=True)
    return summary


def check_target(target: Path) -> None:
    """Refuse to write where something else lies; cheap, so do it before the work."""
    with wrapped_errors(target):
        if target.exists() and not target.is_dir():
            raise OutputError(
                f"cannot write {target}: it is a file, expected a directory"
            )
        if target.is_dir() and any(target.iterdir()) and not _is_ours(target):
            raise OutputError(
                f"cannot write {target}: it holds other files, expected a new directory"
            )
        existing = next(p for p in (target, *target.absolute().parents) if p.exists())
        if not existing.is_dir():
            raise OutputError(f"cannot write {target}: {existing} is not a directory")
        if not os.access(existing, os.W_OK | os.X_OK, effective_ids=_EFFECTIVE_IDS):
            raise OutputError(f"cannot write {target}: permission denied")


_EFFECTIVE_IDS = os.access in os.supports_effective_ids


def _is_ours(directory: Path) -> bool:
    """Whether a directory holds a result of ours, finished or not."""
    if any(directory.glob(UNFINISHED + "*")):
        return True
    try:
        summary = json.loads((directory / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(summary, dict) and summary.get("format") == FORMAT


def read_summary(directory: str | Path) -> dict[str, Any]:
    """Read the summary of a result."""
    source = Path(directory)
    try:
        text = (source / SUMMARY).read_text(encoding="utf-8")
    except OSError:
        raise FileFormatError(
            f"{source} is not a result of 'structsmooth fit': it has no {SUMMARY}"
        ) from None
    try:
        summary: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise FileFormatError(f"{source} is damaged") from error
    return summary


def read_result(
    directory: str | Path,
) -> tuple[StructuralSmoother, NDArray[np.int64], dict[str, Any]]:
    """Read back the smoother, the class numbers and the summary of a result."""
    source = Path(directory)
    summary = read_summary(source)
    smoother = StructuralSmoother.load(source / FILE_NAME)
    try:
        coded = check_codes(
            np.load(source / "labels.npy", allow_pickle=False), len(smoother.classes_)
        )
    except (ValueError, OSError, EOFError, MemoryError, OverflowError) as error:
        raise FileFormatError(f"{source} is damaged") from error
    if len(coded) != len(smoother.sample_strengths_):
        raise FileFormatError(f"{source} is damaged: its files do not fit together")
    return smoother, coded, summary


def view_of_dataset(
    smoother: StructuralSmoother, dataset: Dataset, images: Any = None
) -> View:
    """Look at the rows for a report, as images if they are given or the rows are."""
    shape = dataset.sample_shape
    if images is None and shape is not None and image_layout(shape) is not None:
        images = dataset.X.reshape(len(dataset.X), *shape)
    return make_view(smoother, dataset.X, dataset.labels, images)


def report_of_result(
    directory: str | Path, output: str | Path | None = None
) -> tuple[Report, Path, Path]:
    """Write the report of a result and return it with the paths of its two files."""
    source = Path(directory)
    page = check_page_path(source / "report.html" if output is None else output)
    smoother, _, summary = read_result(source)
    view = load_view(
        source / VIEW_NAME, len(smoother.classes_), len(smoother.strengths_)
    )
    report = build_report(
        smoother,
        view,
        name=str(summary.get("data", source.name)),
        notes=[str(note) for note in summary.get("notes", [])],
        fit_versions=summary.get("versions"),
        left_out=[WITHOUT_VIEW] if view is None else [],
    )
    return report, *write_report(report, page)


def _write_files(
    directory: Path,
    smoother: StructuralSmoother,
    coded: Any,
    view: View | None,
) -> list[str]:
    smoother.save(directory / FILE_NAME)
    np.save(directory / "labels.npy", coded)
    np.save(directory / "strengths.npy", smoother.sample_strengths_)
    write_cluster_table(directory, smoother)
    names = ["strengths.npy", "clusters.csv", FILE_NAME, "labels.npy"]
    if smoother.suspects_ is not None and len(smoother.suspects_):
        _write_csv(directory / SUSPECTS, suspect_table(smoother, coded))
        names.insert(2, SUSPECTS)
    n_classes = len(smoother.classes_)
    if len(coded) * n_classes * 4 <= LARGEST_SOFT_LABELS:
        soft = smoother.smooth_fitted(coded)
        np.save(directory / "soft_labels.npy", soft.astype(np.float32))
        names.insert(1, "soft_labels.npy")
    if view is not None:
        save_view(view, directory / VIEW_NAME)
        names.append(VIEW_NAME)
    return names


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_cluster_table(directory: Path, smoother: StructuralSmoother) -> None:
    """Write the table of the clusters as csv."""
    _write_csv(directory / "clusters.csv", cluster_table(smoother))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
