"""What the figures share: axes, colors, legends and ticks."""

from __future__ import annotations

from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from structsmooth.report.drawing import FEW

BLUE, ORANGE = FEW[:2]
# Places and style of legends.
SMALL: dict[str, Any] = {"frameon": False, "fontsize": 8}
BESIDE = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), **SMALL}
ABOVE = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), **SMALL}


def new_axes(size: tuple[float, float]) -> Axes:
    """Return the axes of a new figure."""
    _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def escaped(text: str) -> str:
    """Return text that matplotlib does not take for mathematics."""
    return text.replace("$", r"\$")


def percent(value: float, _position: Any = None) -> str:
    """Return a share as a tick label in percent."""
    return f"{100 * value:.10g}"


def finish(ax: Axes) -> Axes:
    """Put a legend above the axes, and remove lines that carry no information."""
    ax.legend(**ABOVE, ncols=3, columnspacing=1.2)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
