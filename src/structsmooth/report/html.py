"""The page: one HTML file with everything in it, and the same content as JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsmooth.bayes_error.shrinkage import FEW_ROWS
from structsmooth.errors import InvalidParameterError, missing_package
from structsmooth.io.atomic import written_beside
from structsmooth.io.paths import check_not_ours
from structsmooth.report import words
from structsmooth.report.build import build_report, names_of_classes
from structsmooth.report.drawing import OTHER, class_colors, order_of_classes
from structsmooth.report.model import Pairs, Report
from structsmooth.report.rows import make_view
from structsmooth.report.words import short
from structsmooth.smoother import StructuralSmoother

SCRIPTS = (
    *("core.js", "map.js", "strengths.js", "overlap.js", "table.js", "samples.js"),
    "snippets.js",
)
FILTERS = ("number", "percent", "plural", "points", "strength")  # of words.py
# The heat map shows at most this many classes, those that overlap most.
HEAT_CLASSES = 100
# Pairs of classes that are kept for all clusters together.
MOST_PAIRS = 20_000
# Clusters and ambiguous samples on the page; the JSON file has all of them.
MOST_CLUSTERS = 500
MOST_SAMPLES = 1_500
# Values of a row that are shown at first, bytes of all values on the page, and how
# unusual a value stands out.
FIRST_VALUES = 6
VALUE_BYTES = 400_000
UNUSUAL = 2.0
# Positions on the map are whole numbers up to this.
GRID = 4_000
# The largest classes of a cluster, by which the filter finds it.
MOST_MEMBERS = 20
WITHOUT_ROWS = (
    "The map, the most ambiguous samples and what distinguishes the clusters are left "
    "out because they need the rows: smoother.report(path, X, y)."
)


def report_of(
    smoother: StructuralSmoother,
    path: str | os.PathLike[str],
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    images: Any = None,
    name: str = "data",
    class_names: Sequence[str] | None = None,
) -> tuple[Path, Path]:
    """Write the report of a fitted smoother; see `StructuralSmoother.report`."""
    check_page_path(path)
    if (X is None) != (y is None) or (X is None and images is not None):
        raise InvalidParameterError(
            "X and y must be given together, and images with them"
        )
    names_of_classes(smoother.classes_, class_names)
    view = None if X is None or y is None else make_view(smoother, X, y, images)
    left_out = [WITHOUT_ROWS] if view is None else []
    report = build_report(
        smoother, view, name=name, class_names=class_names, left_out=left_out
    )
    return write_report(report, path)


def write_report(report: Report, path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write the page, and the same content as JSON beside it; return both paths."""
    page = check_page_path(path)
    beside = page.with_suffix(".json")
    html = render_html(report)
    for target, text in ((beside, report.to_json() + "\n"), (page, html)):
        with written_beside(target) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return page, beside


def check_page_path(path: str | os.PathLike[str]) -> Path:
    """Refuse a path that does not end in .html; cheap, so done before the work."""
    page = Path(path)
    if page.suffix.lower() not in (".html", ".htm"):
        raise InvalidParameterError(f"the report {page} must end in .html")
    if page.stem != "report":
        check_not_ours(page.with_suffix(".json"))
    return page


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
    # Markup is not escaped: only files of ours and escaped JSON are marked so.
    return environment.from_string(_asset("page.html")).render(
        report=report,
        clusters=report.clusters[:MOST_CLUSTERS],
        few_rows=FEW_ROWS,
        pairs=pair_rows(report),
        distinctions=any(row.distinctions for row in report.clusters[:MOST_CLUSTERS]),
        values=any(sample["values"] for sample in report.samples),
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


def pair_rows(report: Report) -> list[tuple[str, str, float, int]]:
    """Return the ten pairs of classes with the most edges.

    Each has two names, the number of edges, and the cluster with the most of them.
    """
    best: dict[tuple[int, int], tuple[float, int]] = {}
    for row in report.clusters:
        for first, second, count in row.pairs:
            if (first, second) not in best or count > best[first, second][0]:
                best[first, second] = (count, row.cluster)
    names = [short(row.name) for row in report.classes]
    return [
        (names[first], names[second], count, best[first, second][1])
        for first, second, count in report.pairs[:10]
    ]


def page_data(report: Report) -> dict[str, Any]:
    """Return what the script of the page reads."""
    clusters = report.clusters[:MOST_CLUSTERS]
    shown = {row.cluster for row in clusters}
    crossing = np.array([row.crossing for row in report.classes])
    heat = _heat_classes(report.pairs, crossing)
    n_pairs = MOST_PAIRS // max(1, len(clusters))  # of each cluster
    samples = (sample for sample in report.samples if sample["cluster"] in shown)
    values = _ValueTable()
    rows = {
        "suspects": [values.compact(row) for row in report.suspects],
        "samples": [values.compact(row) for row in islice(samples, MOST_SAMPLES)],
    }
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
            "pairs": _pairs_among(report.pairs, heat, MOST_PAIRS),
        },
        "clusters": [
            {
                "id": row.cluster,
                "size": row.size,
                "weight": round(row.weight, 4),
                "lower": round(row.lower, 4),
                "upper": round(row.upper, 4),
                "interval": [round(end, 4) for end in row.lower_interval],
                "strength": round(row.strength, 4),
                "range": [round(end, 4) for end in row.strength_range],
                "classes": row.classes,
                "distinctions": [str(found) for found in row.distinctions],
                "little": row.says_little,
                "members": [number for number, _ in row.members[:MOST_MEMBERS]],
                "pairs": _pairs_among(row.pairs, heat, n_pairs),
            }
            for row in clusters
        ],
        "map": None if report.map is None else _map_data(report.map),
        **rows,
        "firstValues": FIRST_VALUES,
        "features": list(values.features),
        "texts": list(values.texts),
    }


class _ValueTable:
    """Values of rows as numbers of features and texts, until there is no more room."""

    def __init__(self) -> None:
        self.features: dict[str, int] = {}
        self.texts: dict[str, int] = {}
        self._n_bytes = 0

    def compact(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with fewer values, as numbers, or with none.

        They are numbers of the feature, of its value and of what is usual; the first
        ones, ``unusual`` of them, stand out.
        """
        most = FIRST_VALUES if 2 * self._n_bytes > VALUE_BYTES else len(row["values"])
        numbers: list[int] = []
        if self._n_bytes < VALUE_BYTES:
            for value in row["values"][:most]:
                numbers.append(self._number(self.features, short(value["feature"])))
                numbers.append(self._number(self.texts, value["value"]))
                usual = value["usual"] or value["value"]  # nothing beside the value
                numbers.append(self._number(self.texts, usual))
        unusual = sum(value["distance"] >= UNUSUAL for value in row["values"])
        return {**row, "values": numbers, "unusual": unusual}

    def _number(self, known: dict[str, int], text: str) -> int:
        if text not in known:
            self._n_bytes += len(json.dumps(text))
            known[text] = len(known)
        self._n_bytes += 6
        return known[text]


def _heat_classes(pairs: Pairs, crossing: NDArray[np.float64]) -> list[int]:
    """Return the classes of the heat map in their order."""
    kept = np.sort(np.argsort(-crossing, kind="stable")[:HEAT_CLASSES])
    place = {number: i for i, number in enumerate(kept.tolist())}
    matrix = np.zeros((len(kept), len(kept)))
    for first, second, count in pairs:
        if first in place and second in place:
            i, j = place[first], place[second]
            matrix[i, j] = matrix[j, i] = count
    return [int(k) for k in kept[order_of_classes(matrix)]]


def _pairs_among(pairs: Pairs, classes: list[int], most: int) -> list[Any]:
    known = set(classes)
    inside = (pair for pair in pairs if known.issuperset(pair[:2]))
    return [
        (first, second, int(count) if count.is_integer() else round(count, 2))
        for first, second, count in islice(inside, most)
    ]


def _map_data(found: dict[str, Any]) -> dict[str, Any]:
    places = np.array([found["x"], found["y"]])
    places -= places.min(axis=1, keepdims=True)
    x, y = np.rint(places / (places.max() or 1.0) * GRID).astype(int).tolist()
    return {**found, "x": x, "y": y, "width": max([1, *x]), "height": max([1, *y])}
