"""The content of a report as plain values; the page and the JSON file are made of it.

Classes, rows and clusters are given by number, and pairs of classes with the number of
tree edges that join them.
"""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any

FORMAT = "structsmooth.report"
FORMAT_VERSION = 1

PASS, WARN, FAIL = "pass", "warn", "fail"

Pairs = tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class Check:
    """A question about the fit, what was found, and what to do about it if anything."""

    key: str  # a name that never changes
    title: str
    status: str  # "pass", "warn" or "fail"
    finding: str
    advice: str = ""


@dataclass(frozen=True)
class Verdict:
    """A summary of the report."""

    level: str  # how much classes overlap: a name in `structsmooth.report.verdict`
    headline: str
    lower: float  # bounds on the Bayes error, their interval and its level
    upper: float
    interval: tuple[float, float]
    confidence: float
    largest_class_share: float
    has_structure: bool  # whether clusters differ by more than sampling noise
    p_value: float  # how often clusters of equal Bayes error would differ as much
    bias: float  # how far the strengths move the Bayes error
    uniform_bias: float  # how far uniform strengths of the same mean move it
    saved: float  # the share of the uniform bias that the strengths avoid
    difficulty: str  # three paragraphs: how hard the data are,
    reach: str  # what that means for a classifier,
    smoothing: str  # and what smoothing does
    advice: tuple[str, ...]


@dataclass(frozen=True)
class ClassRow:
    """A class: its name, its rows, and the tree edges that lead to other classes."""

    name: str
    size: int
    crossing: float


@dataclass(frozen=True)
class ClusterRow:
    """A cluster, its estimated Bayes error and its strength."""

    cluster: int
    size: int
    weight: float  # share of all rows
    n_classes: int
    classes: str  # the largest classes with their shares
    members: tuple[tuple[int, int], ...]  # all classes and their rows, most rows first
    lower: float
    upper: float
    lower_interval: tuple[float, float]
    interval: tuple[float, float]  # to the high end of the upper bound's interval
    followed: float  # the Bayes error that the strength follows, or its mean
    strength: float  # with regions="point", the mean over the samples
    strength_range: tuple[float, float]  # 10th and 90th percentile of the samples'
    differs: bool  # whether its interval excludes the crossing fraction of all data
    says_little: bool  # whether it has few rows and may be like the others
    pairs: Pairs


@dataclass(frozen=True)
class Map:
    """Rows on a plane; all lists have the same length."""

    n_rows: int
    n_looked_at: int
    variance_shown: float
    rows: tuple[int, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    classes: tuple[int, ...]
    clusters: tuple[int, ...]
    errors: tuple[float, ...]
    strengths: tuple[float, ...]
    agreement: tuple[float | None, ...]


@dataclass(frozen=True)
class Sample:
    """An ambiguous row, as in `View`, with the classes of its neighbors and counts."""

    row: int
    cluster: int
    label: int
    ambiguity: float
    ambiguity_around: float
    neighbors: tuple[tuple[int, int], ...]
    picture: str | None


@dataclass(frozen=True)
class Report:
    """The content of a report.

    Attributes
    ----------
    name : str
        What the data are called.
    n_samples, n_features, n_dimensions : int
        Rows, features, and features after the reduction.
    alpha, beta, label_smoothing : float
        Mean strength, slope, and what frameworks call uniform smoothing of that mean.
    regions : str
        "cluster" or "point".
    verdict, checks, classes, clusters, pairs, map, samples
        The parts of the page. Clusters that are hard for certain come first, those that
        say little last; samples are sorted by the mean ambiguity around them. Without
        the rows there is no map (None), and there are no samples.
    unranked : str
        Which rows cannot be among the samples, and why; empty if all can.
    settings, versions, made_with
        Parameters of the smoother, the versions it was fitted with, and the version of
        structsmooth that made the report.
    notes, left_out : tuple of str
        Warnings of the fit, and what the report lacks and why.
    """

    name: str
    n_samples: int
    n_features: int
    n_dimensions: int
    alpha: float
    beta: float
    label_smoothing: float
    regions: str
    verdict: Verdict
    checks: tuple[Check, ...]
    classes: tuple[ClassRow, ...]
    clusters: tuple[ClusterRow, ...]
    pairs: Pairs
    map: Map | None
    samples: tuple[Sample, ...]
    unranked: str
    settings: dict[str, Any]
    versions: dict[str, str]
    made_with: str
    notes: tuple[str, ...]
    left_out: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, numbers and text."""
        head = {"format": FORMAT, "format_version": FORMAT_VERSION}
        return {**head, **dataclasses.asdict(self)}

    def to_json(self) -> str:
        """Return everything as JSON, which has no NaN: null stands for it."""
        return json.dumps(_finite(self.to_dict()), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
