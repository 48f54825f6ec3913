"""A fitted smoother in a notebook: the verdict, and a small table."""

from __future__ import annotations

from html import escape

from structsmooth.report.build import build_report
from structsmooth.report.model import PASS
from structsmooth.report.words import percents, plural, strength
from structsmooth.smoother import StructuralSmoother

# Clusters in the table, those that are hard for certain first.
MOST_ROWS = 6
_TEXT = "padding:2px 12px 2px 0;text-align:left"
_NUMBER = "padding:2px 12px 2px 0;text-align:right;white-space:nowrap"
_COLUMNS = ("cluster", "rows", "Bayes error", "strength")


def html_of(smoother: StructuralSmoother) -> str:
    """Return a fitted smoother as HTML."""
    report = build_report(smoother, None)
    facts = (
        f"{plural(report.n_samples, 'row')}, "
        f"{plural(len(report.classes), 'class', 'classes')}, "
        f"{plural(len(report.clusters), 'cluster')}, "
        f"mean strength {strength(report.alpha)}"
    )
    head = "".join(
        f'<th scope="col" style="{_NUMBER}">{title}</th>' for title in _COLUMNS
    )
    body = "".join(
        f'<tr><th scope="row" style="{_NUMBER}">{row.cluster}</th>'
        f'<td style="{_NUMBER}">{row.size}</td>'
        f'<td style="{_NUMBER}">{percents(row.lower, row.upper)}'
        f"{', says little' if row.says_little else ''}</td>"
        f'<td style="{_NUMBER}">{strength(row.strength)}</td>'
        f'<td style="{_TEXT}">{escape(row.classes)}</td></tr>'
        for row in report.clusters[:MOST_ROWS]
    )
    left = len(report.clusters) - MOST_ROWS
    if left > 0:
        body += f'<tr><td colspan="5" style="{_TEXT}">and {left} more</td></tr>'
    troubles = "".join(
        f"<li>{escape(check.title)} {escape(check.finding)}</li>"
        for check in sorted(report.checks, key=lambda check: check.status)
        if check.status != PASS  # "fail" sorts before "warn"
    )
    warnings = f'<ul style="margin:6px 0">{troubles}</ul>' if troubles else ""
    return (
        '<div style="max-width:52em;line-height:1.45">'
        f'<p style="margin:0"><strong>{escape(report.verdict.headline)}</strong></p>'
        '<p style="margin:2px 0 6px;opacity:.75">StructuralSmoother, fitted: '
        f"{escape(facts)}</p>"
        f'<p style="margin:6px 0">{escape(report.verdict.smoothing)}</p>{warnings}'
        f'<table style="border-collapse:collapse"><thead><tr>{head}'
        f'<th scope="col" style="{_TEXT}">classes</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
