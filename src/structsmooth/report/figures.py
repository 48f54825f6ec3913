"""What the pictures of a report are drawn from, small enough to send by mail."""

from __future__ import annotations

from typing import Any

import numpy as np

from structsmooth.bayes_error.crossing import crossing_matrix
from structsmooth.report.drawing.ordering import order_of_classes
from structsmooth.report.drawing.palette import OTHER, class_colors
from structsmooth.report.model import Map, Report, Sample
from structsmooth.report.words import short

# The heat map shows this many classes at most, those that overlap most.
HEAT_CLASSES = 100
# Pairs of classes that are kept for all clusters together.
MOST_PAIRS = 20_000
# Clusters in the table and in the other pictures, and ambiguous samples; the JSON file
# has all.
MOST_CLUSTERS = 500
MOST_SAMPLES = 1_500
# Positions on the map are whole numbers up to this.
GRID = 4_000
# Classes of a cluster that a filter finds it by.
MOST_MEMBERS = 20


def page_data(report: Report) -> dict[str, Any]:
    """Return what the script of the page reads."""
    shown = report.clusters[:MOST_CLUSTERS]
    crossing = np.array([row.crossing for row in report.classes])
    kept = heat_classes(report)
    return {
        "classes": [short(row.name) for row in report.classes],
        "sizes": [row.size for row in report.classes],
        "colors": class_colors(crossing),
        "other": OTHER,
        "alpha": report.alpha,
        "perPoint": report.regions == "point",
        "heat": {
            "order": kept,
            "left": len(report.classes) - len(kept),
            "pairs": _pairs_among(report.pairs, set(kept), MOST_PAIRS),
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
                    row.pairs, set(kept), MOST_PAIRS // max(1, len(shown))
                ),
            }
            for row in shown
        ],
        "map": None if report.map is None else _map_data(report.map),
        "samples": [
            {
                "row": sample.row,
                "cluster": sample.cluster,
                "label": sample.label,
                "near": sample.neighbors,
                "picture": sample.picture,
            }
            for sample in _samples_shown(report)
        ],
    }


def _samples_shown(report: Report) -> list[Sample]:
    """Return the samples of the clusters shown, in their order."""
    shown = {row.cluster for row in report.clusters[:MOST_CLUSTERS]}
    inside = [sample for sample in report.samples if sample.cluster in shown]
    return inside[:MOST_SAMPLES]


def pair_rows(report: Report, most: int) -> list[tuple[str, str, float, int | None]]:
    """Return the pairs of classes with most edges: names, edges, and the cluster where.

    That is the cluster with most edges between the two.
    """
    best: dict[tuple[int, int], tuple[float, int]] = {}
    for row in report.clusters:
        for first, second, count in row.pairs:
            if count > best.get((first, second), (0.0, -1))[0]:
                best[first, second] = (count, row.cluster)
    return [
        (
            short(report.classes[first].name),
            short(report.classes[second].name),
            count,
            best[first, second][1] if (first, second) in best else None,
        )
        for first, second, count in report.pairs[:most]
    ]


def heat_classes(report: Report) -> list[int]:
    """Return the classes of the heat map in their order."""
    n_classes = len(report.classes)
    crossing = np.array([row.crossing for row in report.classes])
    kept = np.sort(np.argsort(-crossing, kind="stable")[:HEAT_CLASSES])
    place = np.full(n_classes, -1)
    place[kept] = np.arange(len(kept))
    inside = [(i, j, c) for i, j, c in report.pairs if place[i] >= 0 and place[j] >= 0]
    pairs = np.array([(place[i], place[j]) for i, j, _ in inside], dtype=np.int64)
    counts = np.array([count for _, _, count in inside])
    matrix = crossing_matrix(pairs.reshape(-1, 2), counts, len(kept))
    return [int(k) for k in kept[order_of_classes(matrix)]]


def _pairs_among(
    pairs: tuple[tuple[int, int, float], ...], classes: set[int], most: int
) -> list[list[float]]:
    inside = (pair for pair in pairs if pair[0] in classes and pair[1] in classes)
    return [
        [first, second, int(count) if count.is_integer() else round(count, 2)]
        for (first, second, count), _ in zip(inside, range(most), strict=False)
    ]


def _map_data(found: Map) -> dict[str, Any]:
    x, y = np.array(found.x), np.array(found.y)
    width, height = float(np.ptp(x)), float(np.ptp(y))
    span = max(width, height) or 1.0
    return {
        "x": np.rint((x - x.min()) / span * GRID).astype(int).tolist(),
        "y": np.rint((y - y.min()) / span * GRID).astype(int).tolist(),
        "width": max(1, round(width / span * GRID)),
        "height": max(1, round(height / span * GRID)),
        "rows": found.rows,
        "classes": found.classes,
        "clusters": found.clusters,
        "errors": [_round(value) for value in found.errors],
        "strengths": [_round(value) for value in found.strengths],
        "agreement": found.agreement,
    }


def _round(value: float) -> float:
    return round(value, 4)
