"""The result of a fit as a directory, and smoothed labels as files for training."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.bayes_error.ranking import order_of_regions, says_little
from structsmooth.bayes_error.suspects import Suspects
from structsmooth.errors import (
    FileFormatError,
    FileOptionError,
)
from structsmooth.io import paths
from structsmooth.io.archive import write_arrays
from structsmooth.io.atomic import reading, written_beside
from structsmooth.io.directories import swapped_in
from structsmooth.io.store import FILE_NAME, settings_of, versions
from structsmooth.io.tables import Dataset
from structsmooth.labels.forms import expand_rows, flip_labels
from structsmooth.report import Report, build_report, make_view, write_report
from structsmooth.report.build import (
    distinctions_of,
    most_first,
    names_of_classes,
    pairs_of,
)
from structsmooth.report.html import check_page_path
from structsmooth.report.pictures import image_layout
from structsmooth.report.view import FILE_NAME as VIEW_NAME
from structsmooth.report.view import View, load_view, save_view
from structsmooth.report.words import short
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.epsilon import epsilon_from_alpha
from structsmooth.support.validation import check_codes

SUSPECTS = "suspects.csv"
LONGEST_NAME = 80  # of the data, in a report
WITHOUT_VIEW = (
    "The map, the most ambiguous samples and what distinguishes the clusters are left "
    "out, because {}. Fit again to see them."
)
# In bytes, as float32; larger soft labels are left to `structsmooth labels`.
LARGEST_SOFT_LABELS = 2 * 1024**3


def cluster_table(
    smoother: StructuralSmoother, class_names: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return one row for each cluster, those that are certainly hard first."""
    names = smoother.classes_ if class_names is None else class_names
    rows = []
    little = says_little(smoother.cluster_bounds_)
    for cluster in order_of_regions(smoother.cluster_bounds_):
        bounds = smoother.cluster_bounds_[cluster]
        classes = most_first(np.arange(len(smoother.classes_)), bounds.class_counts)
        text = ", ".join(
            f"{names[k]} {size / bounds.n_samples:.0%}" for k, size in classes[:3]
        )
        more = len(classes) - 3
        rows.append(
            {
                "cluster": int(cluster),
                "size": bounds.n_samples,
                "weight": float(smoother.cluster_weights_[cluster]),
                "n_classes": len(classes),
                "classes": text + (f", {more} more" if more > 0 else ""),
                "bayes_error_lower": bounds.lower,
                "bayes_error_upper": bounds.upper,
                "interval_low": bounds.interval[0],
                "interval_high": bounds.interval[1],
                "strength": float(smoother.strengths_[cluster]),
                "says_little": bool(little[cluster]),
            }
        )
    return rows


def summarize(
    smoother: StructuralSmoother,
    notes: list[str],
    class_names: Sequence[str] | None = None,
    command: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the numbers, settings and versions of a fit, ready for JSON.

    ``class_names`` are shown for the sorted labels, and ``command`` is what was typed.
    """
    whole: BayesErrorBounds = smoother.bayes_error_bounds_
    n_classes = len(smoother.classes_)
    n_crossing = float(whole.crossing_counts.sum())
    uniform = smoother.uniform_bias_
    saved = 1.0 - smoother.bias_ / uniform if uniform > 0 else 0.0
    encoding = smoother.structure_.encoding
    table: dict[str, Any] = {}
    if encoding is not None:
        table["feature_names"] = list(encoding.names)
        table["encoding"] = {
            "summary": encoding.summary(),
            "columns": encoding.to_dict(),
        }
    return {
        "n_samples": whole.n_samples,
        "n_features": int(smoother.n_features_in_),
        **table,
        "classes": smoother.classes_.tolist(),
        "class_names": names_of_classes(smoother.classes_, class_names),
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
            "uniform": uniform,
            "saved": saved,
        },
        "overlapping_classes": [
            {
                "classes": smoother.classes_[[first, second]].tolist(),
                "edges": count,
                "share": count / n_crossing,
            }
            for first, second, count in pairs_of(whole)[:5]
        ],
        "n_suspects": None if smoother.suspects_ is None else len(smoother.suspects_),
        "notes": notes,
        "settings": settings_of(smoother),
        "command": list(command),
        "versions": versions(),
    }


def write_results(
    directory: str | Path,
    summary: dict[str, Any],
    write_files: Callable[[Path], None],
) -> dict[str, Any]:
    """Write a result directory and return its summary.

    ``write_files`` writes all but the summary into a given folder, which then replaces
    the directory with one rename: an earlier result is there until the new one is. Any
    other directory with files in it is left alone.
    """
    target = Path(directory)
    paths.check_target(target)
    with swapped_in(target) as folder:
        write_files(folder)
        files = sorted(path.name for path in folder.iterdir())
        summary = {"format": paths.FORMAT, **summary, "files": files}
        text = json.dumps(summary, indent=1, default=str) + "\n"
        (folder / paths.SUMMARY).write_text(text, encoding="utf-8")
    return summary


def read_result(
    directory: str | Path,
) -> tuple[StructuralSmoother, NDArray[np.int64], dict[str, Any]]:
    """Read back the smoother, the class numbers and the summary of a result."""
    source = Path(directory)
    while True:
        summary = paths.read_summary(source)
        before = source.stat()
        smoother = StructuralSmoother.load(source / FILE_NAME)
        with reading(source / "labels.npy"):
            coded = np.load(source / "labels.npy", allow_pickle=False)
            coded = check_codes(coded, len(smoother.classes_))
        # A fit that ends just now may have put another directory in this place.
        if summary == paths.read_summary(source) and os.path.samestat(
            before, source.stat()
        ):
            break
    names = summary.get("class_names", smoother.classes_)
    if (len(coded), len(names)) != (
        len(smoother.sample_strengths_),
        len(smoother.classes_),
    ):
        raise FileFormatError(f"{source} is damaged: its files do not fit together")
    return smoother, coded, summary


def view_of_dataset(
    smoother: StructuralSmoother, dataset: Dataset, images: Any = None
) -> View:
    """Return the view of the rows, with pictures if there are images."""
    shape = dataset.sample_shape
    if images is None and shape is not None and image_layout(shape) is not None:
        images = dataset.X.reshape(len(dataset.X), *shape)
    return make_view(smoother, dataset.X, dataset.y, images)


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
    left_out = []
    if view is None:
        reason = f"this result has no {VIEW_NAME}"
        if (source / VIEW_NAME).exists():
            reason = f"the {VIEW_NAME} of this result is of an earlier version"
        elif VIEW_NAME in summary.get("files", []):
            reason = f"the {VIEW_NAME} of this result is gone"
        left_out = [WITHOUT_VIEW.format(reason)]
    report = build_report(
        smoother,
        view,
        name=short(str(summary.get("data", source.name)), LONGEST_NAME),
        class_names=summary.get("class_names"),
        notes=[str(note) for note in summary.get("notes", [])],
        fit_versions=summary.get("versions"),
        left_out=left_out,
        command=[str(word) for word in summary.get("command", [])],
        directory=source.resolve().name,
    )
    return report, *write_report(report, page)


def write_fitted(
    directory: Path,
    smoother: StructuralSmoother,
    coded: NDArray[np.int64],
    view: View,
    class_names: Sequence[str] | None = None,
) -> None:
    """Write all files of a fit in memory but the summary."""
    np.save(directory / "labels.npy", coded)
    np.save(directory / "strengths.npy", smoother.sample_strengths_)
    if len(coded) * len(smoother.classes_) * 4 <= LARGEST_SOFT_LABELS:
        soft = smoother.smooth_fitted(coded)
        np.save(directory / "soft_labels.npy", soft.astype(np.float32))
    if smoother.suspects_:
        columns = suspect_columns(smoother.suspects_, smoother.classes_[coded])
        write_columns(directory / SUSPECTS, columns)
    write_cluster_table(directory, smoother, view, class_names)
    smoother.save(directory / FILE_NAME)
    save_view(view, directory / VIEW_NAME)


def suspect_columns(suspects: Suspects, y: ArrayLike) -> dict[str, NDArray[Any]]:
    """Return the columns of a table of suspects, the most certain first."""
    n_suspects = len(suspects)
    scores = np.full(n_suspects, np.nan)
    if suspects.scores is not None:
        scores = suspects.scores[suspects.rows]
    reasons = [suspects.reason(number) for number in range(n_suspects)]
    return {
        "row": suspects.rows,
        "label": np.asarray(y)[suspects.rows],
        "likely": suspects.likely,
        "score": scores,
        "agreement": suspects.agreement,
        "reason": np.array(reasons, dtype=str),
    }


def write_cluster_table(
    directory: Path,
    smoother: StructuralSmoother,
    view: View | None = None,
    class_names: Sequence[str] | None = None,
) -> None:
    """Write the table of the clusters as csv, with what distinguishes each."""
    rows = cluster_table(smoother, class_names)
    for row in rows:
        found = distinctions_of(view, row["cluster"])
        row["distinguished_by"] = "; ".join(
            f"{d.feature} {d.condition} ({d.share:.0%} here, {d.elsewhere:.0%} "
            "elsewhere)"
            for d in found
        )
    path = directory / "clusters.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(rows[0])
        writer.writerows(map(_safe_cell, row.values()) for row in rows)


def _safe_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula.

    Text that begins like one, and is no number, gets an apostrophe in front.
    """
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t")):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def label_columns(
    smoother: StructuralSmoother,
    kind: str,
    coded: NDArray[np.int64],
    X: Any = None,
    seed: int = 0,
) -> dict[str, NDArray[Any]]:
    """Return the columns of one form of the labels of X, or of the training rows.

    The forms are soft, sparse, flipped and expanded.
    """
    classes, n_classes = smoother.classes_, len(smoother.classes_)
    if kind == "soft":
        soft = (
            smoother.smooth_fitted(coded)
            if X is None
            else smoother.soft_labels(X, classes[coded])
        )
        return {str(label): soft[:, k] for k, label in enumerate(classes.tolist())}
    if smoother.spread != "even":
        raise FileOptionError(
            f"{kind} labels have even shares, and the smoother was fitted with "
            f"--spread {smoother.spread}; expected --kind soft"
        )
    strengths = (
        smoother.sample_strengths_ if X is None else smoother.predict_strength(X)
    )
    if kind == "sparse":
        return {"label": classes[coded], "strength": strengths}
    if kind == "flipped":
        return {"label": classes[flip_labels(coded, strengths, n_classes, rng=seed)]}
    rows, labels, weights = expand_rows(coded, strengths, n_classes)
    return {"row": rows, "label": classes[labels], "weight": weights}


def write_columns(path: str | Path, columns: dict[str, NDArray[Any]]) -> None:
    """Write columns to csv (with a header), npz (by name) or npy (stacked)."""
    target = paths.check_columns_path(path)
    paths.check_not_ours(target)
    kind = target.suffix.lower()
    arrays = [c.astype(str) if c.dtype.kind == "O" else c for c in columns.values()]
    if kind == ".npy" and len({array.dtype.kind for array in arrays}) > 1:
        raise FileOptionError(
            f"{target}: an npy file holds one kind of number, and this form of labels "
            "has several; write a .csv or .npz"
        )
    with written_beside(target) as temporary:
        if kind == ".csv":
            with temporary.open("w", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream)
                writer.writerow(map(_safe_cell, columns))
                cells = zip(*(a.tolist() for a in arrays), strict=True)
                writer.writerows(map(_safe_cell, row) for row in cells)
        elif kind == ".npz":
            write_arrays(temporary, dict(zip(columns, arrays, strict=True)))
        else:
            stacked = np.column_stack(arrays) if len(arrays) > 1 else arrays[0]
            with temporary.open("wb") as binary:
                np.save(binary, stacked, allow_pickle=False)
