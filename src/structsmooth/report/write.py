"""Write a report: the page, and the same content as JSON beside it."""

from __future__ import annotations

import os
from pathlib import Path

from structsmooth.errors import InvalidInputError
from structsmooth.files import written_beside
from structsmooth.report.html import render_html
from structsmooth.report.model import Report


def write_report(report: Report, path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write the page to a file, and the JSON to one of the same name.

    Parameters
    ----------
    report : Report
        What `build_report` has put together.
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
    """Return the path if a page can have it; cheap, so do it before the work."""
    page = Path(path)
    if page.suffix.lower() not in (".html", ".htm"):
        raise InvalidInputError(f"the report {page} must end in .html")
    return page
