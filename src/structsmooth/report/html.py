"""The page: one HTML file with everything in it."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

from structsmooth.bayes_error.shrinkage import FEW_ROWS
from structsmooth.errors import missing_package
from structsmooth.report import words
from structsmooth.report.figures import MOST_CLUSTERS, page_data, pair_rows
from structsmooth.report.model import Report

SCRIPTS = ("core.js", "map.js", "strengths.js", "overlap.js", "table.js", "samples.js")


def render_html(report: Report) -> str:
    """Return the page of a report.

    Names of classes and data are text wherever they stand: the template escapes them,
    the data for the script cannot end their element, the script writes text nodes only,
    and the page forbids every script but its own.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise missing_package("jinja2", "a report") from error
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "percent": words.percent,
        "percents": lambda ends: words.percents(*ends),
        "number": words.number,
        "plural": words.plural,
        "strength": words.strength,
        "points": words.points,
    }
    script = "".join(_asset(name) for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}}})();\n'
    counts = {
        status: sum(check.status == status for check in report.checks)
        for status in ("pass", "warn", "fail")
    }
    # Ours, and escaped by hand: no text of the user's goes in unescaped.
    return environment.from_string(_asset("page.html")).render(
        report=report,
        verdict=report.verdict,
        counts=counts,
        clusters=report.clusters[:MOST_CLUSTERS],
        few_rows=FEW_ROWS,
        n_left=len(report.clusters) - MOST_CLUSTERS,
        pairs=pair_rows(report, 10),
        scale=_scale(report),
        gauge=_gauge(report),
        style=Markup(_asset("style.css")),  # noqa: S704 (a file of ours)
        script=Markup(script),  # noqa: S704 (files of ours)
        script_hash=_hash(script),
        data=Markup(safe_json(page_data(report))),  # noqa: S704 (escaped)
    )


def safe_json(value: Any) -> str:
    """Return JSON that can stand inside a script element, whatever the names are."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _asset(name: str) -> str:
    return (resources.files("structsmooth.report") / "assets" / name).read_text("utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _scale(report: Report) -> float:
    """Return the largest Bayes error that the bars of the table must hold."""
    return max([row.interval[1] for row in report.clusters] + [1e-9])


def _gauge(report: Report) -> dict[str, float]:
    """Return the places, in percent, of a bar from no error to that of guessing."""
    verdict = report.verdict
    chance = 1.0 - verdict.largest_class_share
    top = max(chance, verdict.interval[1], 1e-9)
    low, high = verdict.interval
    places = {
        "low": low,
        "lower": verdict.lower,
        "upper": verdict.upper,
        "high": high,
        "chance": chance,
    }
    return {name: round(100.0 * value / top, 2) for name, value in places.items()}
