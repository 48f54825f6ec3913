"""The two figures: a floor of uniform smoothing, and the calibrating share of R."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes

from experiments import figures
from experiments.selective.arms import FLOORS
from experiments.selective.choice import LEARNER
from experiments.selective.finished import Finished
from experiments.selective.half import calibration_curve

# Arms from no floor to nothing but floor.
FLOOR_ARMS = {
    0.0: "R/2",
    **{floor: f"R/2 floor {floor:.0%}" for floor in FLOORS},
    1.0: "uniform R/2",
}
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = "os^Dv*"
STYLES = {"choosing": "-", "confirming": "--"}


def figure(results: Path) -> list[Path]:
    """Draw both figures."""
    finished = Finished(results)
    return [
        _floors(finished, results.with_name(f"{results.stem}-floor.png")),
        _shares(finished, results.with_name(f"{results.stem}-share.png")),
    ]


def _lines(finished: Finished):
    """Yield set, complete seeds, style, and color and marker of each line."""
    for part, style in STYLES.items():
        names, seeds = finished.complete(part)
        if seeds:
            for name, color, marker in zip(names, COLORS, MARKERS, strict=False):
                yield name, seeds, style, {"color": color, "marker": marker}


def _floors(finished: Finished, path: Path) -> Path:
    """AURC against the share of the mean strength that is the same everywhere."""
    plot, axes = figures.row(2, width=4.6, sharey=True)
    for name, seeds, style, looks in _lines(finished):
        axis = axes[0] if style == STYLES["choosing"] else axes[1]
        values = {
            at: finished.values(name, LEARNER, arm, "aurc", seeds).mean()
            for at, arm in FLOOR_ARMS.items()
        }
        none = finished.values(name, LEARNER, "none", "aurc", seeds).mean()
        axis.plot(
            [100 * at for at in values],
            [value / none for value in values.values()],
            style,
            markersize=4,
            label=name,
            **looks,
        )
    for axis, part in zip(axes, STYLES, strict=True):
        axis.axhline(1.0, color="#666666", linestyle=":", linewidth=1)
        axis.set_xlabel("uniform floor, % of the mean strength R/2")
        axis.set_title(f"sets for {part}")
        _legend(axis)
    axes[0].set_ylabel("AURC, no smoothing = 1")
    return figures.save(plot, path)


def _shares(finished: Finished, path: Path) -> Path:
    """ECE against the mean strength in units of R, a panel for each learner."""
    plot, axes = figures.row(len(finished.learners), width=3.8, sharey=True)
    for axis, learner in zip(axes, finished.learners, strict=True):
        for name, seeds, style, looks in _lines(finished):
            shares, errors = calibration_curve(finished, name, learner, seeds)
            axis.plot(
                shares,
                100 * errors,
                style,
                markersize=4,
                linewidth=1.2,
                label=name,
                **looks,
            )
        axis.axvline(0.5, color="#666666", linestyle=":", linewidth=1)
        axis.set_title(learner)
        axis.set_xlabel("mean strength, in units of R")
        axis.set_yscale("log")
        axis.set_yticks([1, 2, 5, 10, 20], labels=["1", "2", "5", "10", "20"])
        axis.minorticks_off()
    axes[0].set_ylabel("ECE on test rows, %")
    handles, labels = axes[0].get_legend_handles_labels()
    plot.legend(handles, labels, loc="outside right center", fontsize=8)
    return figures.save(plot, path)


def _legend(axis: Axes) -> None:
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=7, ncols=2)
