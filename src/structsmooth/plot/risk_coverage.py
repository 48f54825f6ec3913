"""Risk-coverage curves of one or several models, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from structsmooth.errors import InvalidInputError
from structsmooth.metrics.bands import risk_band
from structsmooth.plot.style import SMALL, escaped, new_axes, percent
from structsmooth.report.drawing import FEW

COVERAGES = np.arange(1, 201) / 200
# Where fewer samples are predicted, one of them would move the curve out of sight.
FEWEST_SAMPLES, LEAST_COVERAGE = 20, 0.05
LINES = ("-", "--", "-.", ":")


def plot_risk_coverage(
    predictions: Any,
    *,
    labels: ArrayLike | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the error that remains if a model predicts only what it is confident about.

    The lower the curve, the better; its mean, AURC, is in the legend. It is drawn from
    the coverage of 20 samples, or from 5 % if that is less.

    Bands are intervals at each coverage: over the runs if there are several (Student's,
    for the mean), else over resampled test samples (the bootstrap, and no narrower than
    Wilson's interval). They treat runs as independent. Runs on random splits of one
    data set are not, and whether two models differ shows in their paired differences:
    `structsmooth.compare` takes care of both.

    Parameters
    ----------
    predictions : pair, list of pairs, or dict of these by name
        Labels and predicted probabilities of test samples, as in
        `structsmooth.metrics.risk_coverage_curve`, perhaps with a confidence as third.
        A list has one pair for each run, such as a seed. The names of a dict are
        those of models or methods.
    labels : array-like of shape (K,), optional
        Class of each column of the probabilities; see `structsmooth.metrics.evaluate`.
    level : float, default=0.95
        Probability of the intervals.
    """
    if not isinstance(predictions, Mapping):
        predictions = {"": predictions}
    if not predictions:
        raise InvalidInputError("predictions must have at least one model, got none")
    bands = {
        name: risk_band(_runs_of(given), COVERAGES, level=level, labels=labels)
        for name, given in predictions.items()
    }
    ax = new_axes((5.6, 3.8)) if ax is None else ax
    for number, (name, band) in enumerate(bands.items()):
        color, line = FEW[number % len(FEW)], LINES[number % len(LINES)]
        title = f"{name}, " if name != "" else ""
        title += f"AURC {100 * band.aurc:.2f} %"
        start = min(FEWEST_SAMPLES / band.n_samples, LEAST_COVERAGE)
        first = int(np.searchsorted(COVERAGES, start))
        x, low, high = COVERAGES[first:], band.low[first:], band.high[first:]
        ax.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
        ax.plot(x, band.risk[first:], line, color=color, label=escaped(title))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(percent)
    ax.set(xlabel="coverage, %", ylabel="error among those predicted, %")
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(bottom=0.0)
    ax.legend(**SMALL, loc="best")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _runs_of(given: Any) -> list[tuple[Any, ...]]:
    """Return pairs (or triples with a confidence), one for each run."""
    runs = given if isinstance(given, list) else [given]
    for run in runs:
        if not isinstance(run, tuple) or len(run) not in (2, 3):
            raise InvalidInputError(
                "predictions must be a pair (y, probabilities), a list of such pairs, "
                f"or a dict of these by name, got {type(run).__name__}"
            )
    if not runs:
        raise InvalidInputError("predictions must have at least one run, got none")
    return runs
