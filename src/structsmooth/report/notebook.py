"""A fitted smoother in a notebook: the verdict, and a small table."""

from __future__ import annotations

from html import escape
from typing import Any

from structsmooth.report.build import build_report
from structsmooth.report.model import FAIL, WARN
from structsmooth.report.words import percents, plural, strength

# Clusters in the table, those that are hard for certain first.
MOST_ROWS = 6
_CELL = "padding:2px 12px 2px 0;text-align:left"
_NUMBER = "padding:2px 12px 2px 0;text-align:right;white-space:nowrap"


def html_of(smoother: Any) -> str:
    """Return a fitted smoother as HTML."""
    report = build_report(smoother, None)
    verdict = report.verdict
    facts = ", ".join(
        [
            plural(report.n_samples, "row"),
            plural(len(report.classes), "class", "classes"),
            plural(len(report.clusters), "cluster"),
            f"mean strength {strength(report.alpha)}",
        ]
    )
    head = "".join(
        f'<th scope="col" style="{style}">{title}</th>'
        for title, style in (
            ("cluster", _NUMBER),
            ("rows", _NUMBER),
            ("Bayes error", _NUMBER),
            ("strength", _NUMBER),
            ("classes", _CELL),
        )
    )
    body = "".join(
        f'<tr><th scope="row" style="{_NUMBER}">{row.cluster}</th>'
        f'<td style="{_NUMBER}">{row.size}</td>'
        f'<td style="{_NUMBER}">{percents(row.lower, row.upper)}'
        f"{', says little' if row.says_little else ''}</td>"
        f'<td style="{_NUMBER}">{strength(row.strength)}</td>'
        f'<td style="{_CELL}">{escape(row.classes)}</td></tr>'
        for row in report.clusters[:MOST_ROWS]
    )
    left = len(report.clusters) - MOST_ROWS
    if left > 0:
        body += f'<tr><td colspan="5" style="{_CELL}">and {left} more</td></tr>'
    troubles = "".join(
        f"<li>{escape(check.title)} {escape(check.finding)}</li>"
        for status in (FAIL, WARN)
        for check in report.checks
        if check.status == status
    )
    warnings = f'<ul style="margin:6px 0">{troubles}</ul>' if troubles else ""
    return (
        '<div style="max-width:52em;line-height:1.45">'
        f'<p style="margin:0"><strong>{escape(verdict.headline)}</strong></p>'
        f'<p style="margin:2px 0 6px;opacity:.75">StructuralSmoother, fitted: '
        f"{escape(facts)}</p>"
        f'<p style="margin:6px 0">{escape(verdict.smoothing)}</p>{warnings}'
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
