"""What a report says, as plain values: the page and the JSON file are made of it."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any

FORMAT = "structsmooth.report"
FORMAT_VERSION = 1

PASS, WARN, FAIL = "pass", "warn", "fail"


@dataclass(frozen=True)
class Check:
    """One question to the fit, and the answer.

    Attributes
    ----------
    key : str
        A name that stays.
    title, finding, advice : str
        The question, what was found, and what to do about it if anything.
    status : {"pass", "warn", "fail"}
        How it went.
    """

    key: str
    title: str
    status: str
    finding: str
    advice: str = ""


@dataclass(frozen=True)
class Verdict:
    """The report in short.

    Attributes
    ----------
    level : {"apart", "little", "clear", "strong", "mixed", "unsure"}
        How much the classes overlap, see `structsmooth.report.verdict`.
    headline : str
        The same as a sentence.
    lower, upper : float
        Estimated bounds on the Bayes error.
    interval : tuple of float
        Their confidence interval.
    confidence : float
        Its level.
    largest_class_share : float
        What always answering with the largest class gets right.
    has_structure : bool
        Whether clusters differ by more than sampling noise.
    p_value : float
        How often clusters of equal Bayes error would differ as much.
    bias, uniform_bias, saved : float
        How far the strengths, and uniform ones of the same mean, move the Bayes
        error, and the share that the former save.
    difficulty, reach, smoothing : str
        A paragraph each: how hard the data are, what that means, what smoothing does.
    advice : tuple of str
        What to do about it.
    """

    level: str
    headline: str
    lower: float
    upper: float
    interval: tuple[float, float]
    confidence: float
    largest_class_share: float
    has_structure: bool
    p_value: float
    bias: float
    uniform_bias: float
    saved: float
    difficulty: str
    reach: str
    smoothing: str
    advice: tuple[str, ...]


@dataclass(frozen=True)
class ClassRow:
    """A class: its name, its rows, and the tree edges that lead to other classes."""

    name: str
    size: int
    crossing: float


@dataclass(frozen=True)
class ClusterRow:
    """A cluster.

    Attributes
    ----------
    cluster, size : int
        Its number and its rows.
    weight : float
        Its share of all rows.
    n_classes : int
        Classes that it has.
    classes : str
        The largest of them with their shares.
    members : tuple of (int, int)
        All of them by number, and their rows, most first.
    lower, upper : float
        Bounds on its Bayes error.
    lower_interval, interval : tuple of float
        Confidence interval of the lower bound, and from its low end to the high end of
        the upper bound's.
    followed : float
        What its strength follows: the lower bound, shrunk or not, or the mean around
        its samples.
    strength : float
        Its strength, or the mean of its samples'.
    strength_range : tuple of float
        10th and 90th percentile of its samples' strengths.
    differs : bool
        Whether its interval leaves out the crossing fraction of the whole, and it does
        not say little.
    says_little : bool
        Whether it has fewer than 30 rows and an interval that holds the mean Bayes
        error: it may be like the others, and is listed after them.
    pairs : tuple of (int, int, float)
        Classes joined by tree edges, and by how many.
    """

    cluster: int
    size: int
    weight: float
    n_classes: int
    classes: str
    members: tuple[tuple[int, int], ...]
    lower: float
    upper: float
    lower_interval: tuple[float, float]
    interval: tuple[float, float]
    followed: float
    strength: float
    strength_range: tuple[float, float]
    differs: bool
    says_little: bool
    pairs: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class Map:
    """Rows on a plane; lists of equal length, classes by number."""

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
    """An ambiguous row: its number, and the classes of its neighbors with counts.

    ``ambiguity`` is the share of unequal pairs among its label and theirs, and
    ``ambiguity_around`` the mean of that over the row and its neighbors.
    """

    row: int
    cluster: int
    label: int
    ambiguity: float
    ambiguity_around: float
    neighbors: tuple[tuple[int, int], ...]
    picture: str | None


@dataclass(frozen=True)
class Report:
    """All of a report.

    Attributes
    ----------
    name : str
        Of the data.
    n_samples, n_features, n_dimensions : int
        Rows, features, and features after the reduction.
    alpha, beta, label_smoothing : float
        Mean strength, slope, and what a framework would call uniform smoothing of the
        same mean.
    regions : str
        "cluster" or "point".
    verdict, checks, classes, clusters, samples
        See their classes. Clusters that are hard for certain come first, and those that
        say little last; samples are in the order of the mean ambiguity around them.
    unranked : str
        Which rows cannot be among the samples, and why; empty if all can.
    pairs : tuple of (int, int, float)
        Classes joined by tree edges of all clusters, and by how many, most first.
    map : Map or None
        If the rows were at hand.
    settings, versions : dict
        Of the fit.
    made_with : str
        Version of structsmooth that made the report.
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
    pairs: tuple[tuple[int, int, float], ...]
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
        """Return everything as JSON, without NaN, which JSON does not have."""
        return json.dumps(_finite(self.to_dict()), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
