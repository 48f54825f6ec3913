"""A comparison as one HTML page that works offline, with risk-coverage curves."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from structsmooth.compare.measures import COVERAGES
from structsmooth.compare.tables import ABOUT_AFTER
from structsmooth.io.atomic import written_beside
from structsmooth.metrics.preference import corrected_error
from structsmooth.report.drawing import FEW

if TYPE_CHECKING:
    from structsmooth.compare.result import Comparison

WIDTH, HEIGHT, LEFT, BOTTOM = 560, 340, 48, 36
DASHES = ("", "7 3", "2 3", "9 3 2 3")
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto;
  padding: 0 1rem; color: #222; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; font-size: 0.85rem; display: block;
  overflow-x: auto; }
th, td { padding: 0.15rem 0.6rem; text-align: right; border-bottom: 1px solid #ddd;
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
pre { background: #f4f4f4; padding: 0.8rem; overflow-x: auto; }
svg { max-width: 100%; height: auto; } svg text { font-size: 12px; fill: #222; }
"""


def write_page(result: Comparison, path: str | os.PathLike[str]) -> None:
    """Write a comparison as one HTML file."""
    with written_beside(path) as beside:
        beside.write_text(page_of(result), encoding="utf-8")


def page_of(result: Comparison) -> str:
    """Return a comparison as HTML: decision, verdict, curves, tables and findings."""
    facts, choice = result.description, result.choice
    parts = [
        f"<h1>{escape(choice.headline)}</h1>",
        f"<p>{escape(choice.reason)}</p>",
    ]
    if choice.smoother is not None:
        parts.append(f"<pre>{escape(choice.python)}</pre>")
    parts += [
        f"<p>{escape(result.verdict)}</p>",
        f"<p>{facts['n_rows']} rows, {len(facts['classes'])} classes, "
        f"{result.n_seeds} seeds; classifier: "
        f"{escape(facts['settings']['classifier'])}.</p>",
    ]
    if all("risks" in run for run in result.chosen) and result.n_seeds > 1:
        parts += [
            "<h2>Error among the most confident predictions</h2>",
            draw_curves(result),
            f"<p>Means over the seeds on test rows; bands are {result.confidence:.0%} "
            "intervals at each coverage that allow for the rows that the splits share. "
            "Whether two methods differ shows in their paired differences below.</p>",
        ]
    parts += ["<h2>Means over the seeds</h2>", _table(result.rows())]
    if result.has_cures:
        parts += [
            "<h2>After training</h2>",
            _table(result.after_rows()),
            f"<p>{escape(ABOUT_AFTER)}</p>",
        ]
    parts += [
        "<h2>Paired differences</h2>",
        _table(result.difference_rows()),
        f"<p>{escape(result.legend)}</p>",
    ]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Does smoothing help?</title><style>{STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def curve_of(
    result: Comparison, method: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean risk at each coverage, and half of its interval."""
    runs = [run for run in result.chosen if run["method"] == method]
    risks = np.array([run["risks"] for run in runs])
    quantile = stats.t.ppf((1.0 + result.confidence) / 2.0, len(risks) - 1)
    errors = [corrected_error(column, result.test_ratio) for column in risks.T]
    return risks.mean(axis=0), np.asarray(quantile * np.array(errors))


def draw_curves(result: Comparison) -> str:
    """Return the risk-coverage curves of the methods, without controls, as SVG."""
    methods = [m for m in result.methods if m not in ("reversed", "shuffled")]
    curves = {method: curve_of(result, method) for method in methods}
    top = max(float((mean + half).max()) for mean, half in curves.values())
    top = min(1.0, max(top, 1e-3))

    def points(values: NDArray[np.float64]) -> list[str]:
        x = LEFT + (WIDTH - LEFT - 10) * COVERAGES
        y = 10 + (HEIGHT - BOTTOM - 10) * (1.0 - np.clip(values / top, 0.0, 1.0))
        return [f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True)]

    bands, lines, legend = [], [], []
    for number, (method, (mean, half)) in enumerate(curves.items()):
        color, dash = FEW[number % len(FEW)], DASHES[number % len(DASHES)]
        around = points(mean + half) + points(mean - half)[::-1]
        bands.append(
            f'<polygon points="{" ".join(around)}" fill="{color}" opacity="0.1"/>'
        )
        stroke = f'fill="none" stroke="{color}" stroke-width="2" '
        stroke += f'stroke-dasharray="{dash}"'
        lines.append(f'<polyline points="{" ".join(points(mean))}" {stroke}/>')
        y = 20 + 18 * number
        title = f"{method}, AURC {100.0 * result.values(method, 'aurc').mean():.2f} %"
        legend += [
            f'<line x1="{LEFT + 12}" x2="{LEFT + 44}" y1="{y}" y2="{y}" {stroke}/>',
            f'<text x="{LEFT + 50}" y="{y + 4}">{escape(title)}</text>',
        ]
    ends = [
        f'<text x="{LEFT - 6}" y="14" text-anchor="end">{100.0 * top:.1f} %</text>',
        f'<text x="{LEFT - 6}" y="{HEIGHT - BOTTOM}" text-anchor="end">0 %</text>',
        f'<text x="{WIDTH - 10}" y="{HEIGHT - BOTTOM + 18}" text-anchor="end">100 %'
        "</text>",
        f'<text x="{(LEFT + WIDTH) // 2}" y="{HEIGHT - 6}" text-anchor="middle">'
        "coverage: share of the samples that is predicted</text>",
        f'<path d="M{LEFT} 10V{HEIGHT - BOTTOM}H{WIDTH - 10}" fill="none" '
        'stroke="#222"/>',
    ]
    content = "\n".join([*bands, *lines, *ends, *legend])
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Risk-coverage '
        f'curves of {len(curves)} methods">\n{content}\n</svg>'
    )


def _table(rows: list[list[str]]) -> str:
    header, *body = rows
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    lines = [
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        for cells in body
    ]
    return f"<table>\n<tr>{head}</tr>\n" + "\n".join(lines) + "\n</table>"
