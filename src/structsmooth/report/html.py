"""The page: one HTML file with everything in it, small enough to send by mail."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from itertools import islice
from typing import Any

import numpy as np

from structsmooth.bayes_error.crossing import crossing_matrix
from structsmooth.bayes_error.shrinkage import FEW_ROWS
from structsmooth.errors import missing_package
from structsmooth.report import words
from structsmooth.report.model import FAIL, PASS, WARN, Map, Pairs, Report
from structsmooth.report.palette import OTHER, class_colors, order_of_classes
from structsmooth.report.words import short

SCRIPTS = ("core.js", "map.js", "strengths.js", "overlap.js", "table.js", "samples.js")
FILTERS = ("number", "percent", "plural", "points", "strength")  # of words.py
# The heat map shows at most this many classes, those that overlap most.
HEAT_CLASSES = 100
# Pairs of classes that are kept for all clusters together.
MOST_PAIRS = 20_000
# Clusters and ambiguous samples on the page; the JSON file has all of them.
MOST_CLUSTERS = 500
MOST_SAMPLES = 1_500
# Positions on the map are whole numbers up to this.
GRID = 4_000
# The largest classes of a cluster, by which the filter finds it.
MOST_MEMBERS = 20


def render_html(report: Report) -> str:
    """Return the page of a report.

    Names of classes and data are treated as text everywhere: the template escapes them,
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
        **{name: getattr(words, name) for name in FILTERS},
        "percents": lambda ends: words.percents(*ends),
        "place": lambda value, top: round(100.0 * value / top, 2),  # in percent
    }
    script = "".join(_asset(name) for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}}})();\n'
    digest = hashlib.sha256(script.encode()).digest()
    verdict = report.verdict
    chance = 1.0 - verdict.largest_class_share
    statuses = [check.status for check in report.checks]
    # Markup is not escaped: only files of ours and escaped JSON are marked so.
    return environment.from_string(_asset("page.html")).render(
        report=report,
        verdict=verdict,
        chance=chance,
        counts={status: statuses.count(status) for status in (PASS, WARN, FAIL)},
        clusters=report.clusters[:MOST_CLUSTERS],
        few_rows=FEW_ROWS,
        pairs=pair_rows(report),
        scale=max([row.interval[1] for row in report.clusters] + [1e-9]),
        top=max(chance, verdict.interval[1], 1e-9),
        style=Markup(_asset("style.css")),  # noqa: S704
        script=Markup(script),  # noqa: S704
        script_hash="sha256-" + base64.b64encode(digest).decode(),
        data=Markup(safe_json(page_data(report))),  # noqa: S704
    )


def safe_json(value: Any) -> str:
    """Return JSON that can stand inside a script element, whatever the names are."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _asset(name: str) -> str:
    return (resources.files("structsmooth.report") / "assets" / name).read_text("utf-8")


def pair_rows(report: Report) -> list[tuple[str, str, float, int | None]]:
    """Return the ten pairs of classes with the most edges.

    Each has two names, the number of edges, and the cluster with the most of them.
    """
    best: dict[tuple[int, int], tuple[float, int | None]] = {}
    for row in report.clusters:
        for first, second, count in row.pairs:
            if count > best.get((first, second), (0.0, None))[0]:
                best[first, second] = (count, row.cluster)
    names = [short(row.name) for row in report.classes]
    return [
        (names[first], names[second], count, best.get((first, second), (0.0, None))[1])
        for first, second, count in report.pairs[:10]
    ]


def page_data(report: Report) -> dict[str, Any]:
    """Return what the script of the page reads."""
    clusters = report.clusters[:MOST_CLUSTERS]
    shown = {row.cluster for row in clusters}
    crossing = np.array([row.crossing for row in report.classes])
    heat = _heat_classes(report)
    samples = (sample for sample in report.samples if sample.cluster in shown)
    return {
        "classes": [short(row.name) for row in report.classes],
        "sizes": [row.size for row in report.classes],
        "colors": class_colors(crossing),
        "other": OTHER,
        "alpha": report.alpha,
        "perPoint": report.regions == "point",
        "heat": {
            "order": heat,
            "left": len(report.classes) - len(heat),
            "pairs": _pairs_among(report.pairs, set(heat), MOST_PAIRS),
        },
        "clusters": [
            {
                "id": row.cluster,
                "size": row.size,
                "weight": _round(row.weight),
                "lower": _round(row.lower),
                "upper": _round(row.upper),
                "interval": [_round(end) for end in row.lower_interval],
                "strength": _round(row.strength),
                "range": [_round(end) for end in row.strength_range],
                "classes": row.classes,
                "little": row.says_little,
                "members": [number for number, _ in row.members[:MOST_MEMBERS]],
                "pairs": _pairs_among(
                    row.pairs, set(heat), MOST_PAIRS // max(1, len(clusters))
                ),
            }
            for row in clusters
        ],
        "map": None if report.map is None else _map_data(report.map),
        "samples": [vars(sample) for sample in islice(samples, MOST_SAMPLES)],
    }


def _heat_classes(report: Report) -> list[int]:
    """Return the classes of the heat map in their order."""
    crossing = np.array([row.crossing for row in report.classes])
    kept = np.sort(np.argsort(-crossing, kind="stable")[:HEAT_CLASSES])
    place = {number: i for i, number in enumerate(kept.tolist())}
    inside = [pair for pair in report.pairs if pair[0] in place and pair[1] in place]
    pairs = np.array([(place[i], place[j]) for i, j, _ in inside], dtype=np.int64)
    counts = np.array([count for _, _, count in inside])
    matrix = crossing_matrix(pairs.reshape(-1, 2), counts, len(kept))
    return [int(k) for k in kept[order_of_classes(matrix)]]


def _pairs_among(
    pairs: Pairs, classes: set[int], most: int
) -> list[tuple[int, int, float]]:
    inside = (pair for pair in pairs if pair[0] in classes and pair[1] in classes)
    return [
        (first, second, int(count) if count.is_integer() else round(count, 2))
        for first, second, count in islice(inside, most)
    ]


def _map_data(found: Map) -> dict[str, Any]:
    x, y = np.array(found.x), np.array(found.y)
    width, height = float(np.ptp(x)), float(np.ptp(y))
    span = max(width, height) or 1.0
    return {
        **vars(found),
        "x": np.rint((x - x.min()) / span * GRID).astype(int).tolist(),
        "y": np.rint((y - y.min()) / span * GRID).astype(int).tolist(),
        "width": max(1, round(width / span * GRID)),
        "height": max(1, round(height / span * GRID)),
    }


def _round(value: float) -> float:
    return round(value, 4)
