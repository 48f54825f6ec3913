"""Write a report: the page, and the same content as JSON beside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from structsmooth.errors import InvalidInputError, InvalidParameterError
from structsmooth.io.atomic import written_beside
from structsmooth.report.build import build_report
from structsmooth.report.html import render_html
from structsmooth.report.model import Report
from structsmooth.report.view import make_view
from structsmooth.smoother import StructuralSmoother

WITHOUT_ROWS = (
    "The map and the most ambiguous samples are left out because they need the rows: "
    "smoother.report(path, X, y)."
)


def report_of(
    smoother: StructuralSmoother,
    path: str | os.PathLike[str],
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    images: Any = None,
    name: str = "data",
) -> tuple[Path, Path]:
    """Write the report of a fitted smoother; see `StructuralSmoother.report`."""
    check_page_path(path)
    if (X is None) != (y is None) or (X is None and images is not None):
        raise InvalidInputError("X and y must be given together, and images with them")
    view = None if X is None or y is None else make_view(smoother, X, y, images)
    left_out = [WITHOUT_ROWS] if view is None else []
    report = build_report(smoother, view, name=name, left_out=left_out)
    return write_report(report, path)


def write_report(report: Report, path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write the page to a file, and the same content as JSON beside it.

    Parameters
    ----------
    report : Report
        What `build_report` returns.
    path : path-like
        Must end in .html or .htm.

    Returns
    -------
    tuple of Path
        The two files.
    """
    page = check_page_path(path)
    beside = page.with_suffix(".json")
    html, text = render_html(report), report.to_json()
    with written_beside(beside) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    with written_beside(page) as temporary:
        temporary.write_text(html, encoding="utf-8")
    return page, beside


def check_page_path(path: str | os.PathLike[str]) -> Path:
    """Refuse a path that does not end in .html; cheap, so done before the work."""
    page = Path(path)
    if page.suffix.lower() not in (".html", ".htm"):
        raise InvalidParameterError(f"the report {page} must end in .html")
    return page
