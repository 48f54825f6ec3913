"""What all figures share: axes, names of classes, and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from structsmooth.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A name longer than this would push the figure off its page.
LONGEST_NAME = 24


def ready_axes(smoother: Any, ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the axes to draw on, of a new figure if none were given."""
    check_is_fitted(smoother, "sample_strengths_")
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
    if not hasattr(ax, "scatter"):
        raise InvalidInputError(
            f"ax must be matplotlib axes, got {type(ax).__name__} (of several axes, "
            "pass one)"
        )
    return ax


def class_names(smoother: Any) -> list[str]:
    """Return the labels as text that matplotlib shows as it is."""
    return [_plain(str(label)) for label in smoother.classes_.tolist()]


def _plain(name: str) -> str:
    short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")  # no mathematics


def tidy(ax: Axes) -> None:
    """Take away what carries no information."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def percent(value: float, _position: Any = None) -> str:
    """Return a share as a tick label in percent."""
    return f"{100 * value:.10g}"


def legend_above(ax: Axes) -> None:
    """Explain the marks where no mark can be."""
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=3,
        frameon=False,
        fontsize=8,
        columnspacing=1.2,
    )
