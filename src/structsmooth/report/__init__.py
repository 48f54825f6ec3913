"""One offline HTML file that shows what a fit has found, and its content as JSON."""

from __future__ import annotations

from structsmooth.report.build import build_report
from structsmooth.report.html import report_of, write_report
from structsmooth.report.model import Report
from structsmooth.report.rows import make_view
from structsmooth.report.view import View

__all__ = ["Report", "View", "build_report", "make_view", "report_of", "write_report"]
