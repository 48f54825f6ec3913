"""The order of the gallery: the tutorial first, then from simple to special."""

from pathlib import Path

FIRST = (
    "plot_tutorial",
    "plot_map",
    "plot_figures",
    "plot_how_hard",
    "plot_alpha_beta",
    "plot_boosting",
    "plot_images",
    "plot_points",
    "plot_suspects",
    "plot_compare",
)


class GalleryOrder:
    """Sorts the examples in FIRST first, and the others after them by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> tuple[int, str]:
        """Return the sort key of one example."""
        name = Path(file).stem
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)
