"""The results as a page and a figure."""

from __future__ import annotations

import json

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from benchmarks import (
    byhand,
    comparisons,
    components,
    losses,
    neighbors,
    points,
    shapes,
    suspects,
    tables,
)
from benchmarks.clock import machine_lines


def write(directory):
    """Write README.md and trees.png from the recorded measurements."""
    lines = [
        "# Benchmarks",
        "",
        "Made by `make bench`. Compare ratios, not seconds, because machines differ "
        "and are shared. Unless stated otherwise, times are CPU seconds on one thread, "
        "the least of up to five runs, or of as many runs as fit into half a second.",
    ]
    if (directory / "trees.json").is_file():
        measured = json.loads((directory / "trees.json").read_text())
        lines += _trees(measured)
        _plot(measured["trees"], directory / "trees.png")
    if (directory / "threads.json").is_file():
        gains = json.loads((directory / "threads.json").read_text())["gains"]
        lines += ["", "## Two threads", "", "Wall-clock times, measured in turns.", ""]
        lines += [
            f"- {name}: {single / double:.2f} times as fast as one thread."
            for name, (single, double) in gains.items()
        ]
    if (directory / "shapes.json").is_file():
        lines += shapes.lines(json.loads((directory / "shapes.json").read_text()))
    if (directory / "fits.json").is_file():
        lines += _fits(json.loads((directory / "fits.json").read_text()))
    if (directory / "byhand.json").is_file():
        lines += byhand.lines(json.loads((directory / "byhand.json").read_text()))
    if (directory / "components.json").is_file():
        lines += components.lines(
            json.loads((directory / "components.json").read_text())
        )
    if (directory / "costs.json").is_file():
        costs = json.loads((directory / "costs.json").read_text())["costs"]
        lines += ["", "## One-time costs", "", "| cost | value |", "|---|---|"]
        lines += [f"| {name} | {value:.2f} |" for name, value in costs.items()]
    if (directory / "losses.json").is_file():
        lines += losses.lines(json.loads((directory / "losses.json").read_text()))
    if (directory / "points.json").is_file():
        lines += points.lines(json.loads((directory / "points.json").read_text()))
    if (directory / "neighbors.json").is_file():
        lines += neighbors.lines(json.loads((directory / "neighbors.json").read_text()))
    if (directory / "suspects.json").is_file():
        lines += suspects.lines(json.loads((directory / "suspects.json").read_text()))
    if (directory / "tables.json").is_file():
        lines += tables.lines(json.loads((directory / "tables.json").read_text()))
    if (directory / "comparisons.json").is_file():
        measured = json.loads((directory / "comparisons.json").read_text())
        lines += comparisons.lines(measured)
    (directory / "README.md").write_text("\n".join(lines) + "\n")


def _trees(measured):
    cases = measured["trees"]
    names = list(dict.fromkeys(name for row in cases.values() for name in row))
    lines = ["", "## Exact Euclidean minimum spanning trees", ""]
    lines += ["Seconds, and in brackets the ratio to ours.", ""]
    lines += ["| | " + " | ".join(cases) + " |", "|---" * (len(cases) + 1) + "|"]
    for name in names:
        cells = []
        for row in cases.values():
            if name not in row:
                cells.append("")
            elif name == "ours":
                cells.append(f"**{row[name]:.4g}**")
            else:
                cells.append(f"{row[name]:.4g} ({row[name] / row['ours']:.2g})")
        lines.append(f"| {name.replace('_', ' ')} | " + " | ".join(cells) + " |")
    lines += ["", "![Times of all contenders](trees.png)"]
    return lines + machine_lines(measured)


def _fits(measured):
    lines = ["", "## The whole fit, stage by stage", ""]
    lines += ["| case | library | reduce | cluster | trees and bounds | total |"]
    lines += ["|---|---|---|---|---|---|"]
    for case, rows in measured["stages"].items():
        for line, laps in rows.items():
            parts = [laps[k] for k in ("reduce", "cluster", "trees and bounds")]
            cells = [f"{part:.2f}" for part in [*parts, sum(parts)]]
            if "clusters measured" in laps:
                line += f" ({laps['clusters measured']} clusters measured)"
            lines.append(f"| {case} | {line} | " + " | ".join(cells) + " |")
    lines += ["", "## One tree over all rows, compared with FeeBee's recipe", ""]
    lines += ["| rows (256 features) | structsmooth | all distances + scipy | ratio |"]
    lines += ["|---|---|---|---|"]
    for n, row in measured["feebee"].items():
        a, b = row["structsmooth"], row["FeeBee"]
        lines.append(f"| {n} | {a:.3f} | {b:.3f} | {b / a:.1f} |")
    lines += ["", "## How a default fit grows", "", "| rows | seconds | factor |"]
    lines += ["|---|---|---|"]
    before = None
    for n, spent in measured["growth"].items():
        factor = "" if before is None else f"{spent / before:.1f}"
        lines.append(f"| {n} | {spent:.2f} | {factor} |")
        before = spent
    return lines + machine_lines(measured)


def _plot(cases, path):
    names = list(dict.fromkeys(name for row in cases.values() for name in row))
    figure, axis = plt.subplots(figsize=(9, 4.2), layout="constrained")
    markers = "osD^vP*X"
    for name, marker in zip(names, markers, strict=False):
        points = [
            (place, row[name] / row["ours"])
            for place, row in enumerate(cases.values())
            if name in row
        ]
        label = name.replace("_", " ")
        axis.plot(*zip(*points, strict=True), marker, label=label, ms=8)
    axis.axhline(1.0, color="0.6", lw=0.8, zorder=0)
    axis.set_yscale("log")
    axis.set_xticks(range(len(cases)), list(cases), rotation=15, fontsize=8)
    axis.set_ylabel("time, relative to ours")
    axis.legend(fontsize=8, ncols=2)
    figure.savefig(path, dpi=110)
    plt.close(figure)
