"""``python -m benchmarks``: measure, then write a table and a plot."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import (
    byhand,
    comparisons,
    components,
    costs,
    fits,
    losses,
    neighbors,
    points,
    report,
    shapes,
    suspects,
    tables,
    trees,
)
from benchmarks.clock import machine

RESULTS = Path(__file__).parent / "results"
PARTS = {
    "trees": trees.run,
    "threads": trees.run_threads,
    "shapes": shapes.run,
    "fits": fits.run,
    "byhand": byhand.run,
    "components": components.run,
    "costs": costs.run,
    "losses": losses.run,
    "points": points.run,
    "neighbors": neighbors.run,
    "suspects": suspects.run,
    "tables": tables.run,
    "comparisons": comparisons.run,
}


def main(names):
    """Run the named parts, or all, and write the results next to this file."""
    RESULTS.mkdir(exist_ok=True)
    for name in names or PARTS:
        with threadpool_limits(1):
            measured = {"machine": machine(), **PARTS[name]()}
        path = RESULTS / f"{name}.json"
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(measured, indent=1) + "\n")
        beside.replace(path)
    report.write(RESULTS)


if __name__ == "__main__":
    main(sys.argv[1:])
