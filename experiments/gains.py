"""Draw the figure in the README: what structural smoothing gains, where it does not.

``python -m experiments.gains docs/gains.png`` reads the recorded pages of comparisons.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from experiments import figures

RESULTS = Path(__file__).parent / "results"
# From top to bottom.
COMPARISONS = {
    "compare-timit-mlp": "TIMIT, network",
    "compare-timit-lightgbm": "TIMIT, LightGBM",
    "compare-higgs-mlp": "HIGGS, network",
    "compare-higgs-lightgbm": "HIGGS, LightGBM",
}
METRICS = {
    "AURC": "AURC: error among the most confident",
    "error": "error of all predictions",
}


def differences(page: str, other: str, metric: str) -> tuple[float, float, float]:
    """Return the difference of structural to other smoothing, and its interval."""
    number = r"([+-]\d+\.\d+)"
    row = rf"\| structural - {other} \| {metric}, % \| {number} \| {number} to {number}"
    (found,) = re.findall(row, page)
    mean, low, high = map(float, found)
    return mean, low, high


def draw(path: Path) -> None:
    """Draw the differences to uniform smoothing and to none, in percentage points."""
    plot, axes = figures.row(2, width=4.4, height=2.9, sharey=True)
    for axis, (metric, title) in zip(axes, METRICS.items(), strict=True):
        axis.axvline(0.0, color="#222222", linewidth=0.8)
        for place, name in enumerate(COMPARISONS):
            page = (RESULTS / f"{name}.md").read_text()
            for shift, other, label in (
                (-0.14, "uniform", "minus uniform smoothing"),
                (0.14, "none", "minus no smoothing"),
            ):
                mean, low, high = differences(page, other, metric)
                axis.errorbar(
                    mean,
                    place + shift,
                    xerr=[[mean - low], [high - mean]],
                    color=figures.COLORS[other],
                    marker="o" if other == "uniform" else "s",
                    markersize=4,
                    label=f"structural {label}" if place == 0 else None,
                )
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("percentage points; left of 0 is better")
        axis.set_yticks(range(len(COMPARISONS)), COMPARISONS.values())
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    plot.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=2)
    figures.save(plot, path)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
