"""The content of a report, of which the page and the JSON file are made.

Classes, rows and clusters are given by number.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from structsmooth.report.words import percent, short

PASS, WARN, FAIL = "pass", "warn", "fail"

Pairs = tuple[tuple[int, int, float], ...]  # two classes and the edges between them
ClassCounts = tuple[tuple[int, int], ...]  # classes and their rows, most rows first


@dataclass(frozen=True)
class Check:
    """A question about the fit, what was found, and what to do about it if anything."""

    key: str  # a name that never changes
    title: str
    status: str  # "pass", "warn" or "fail"
    finding: str
    advice: str = ""


@dataclass(frozen=True)
class Snippet:
    """Lines to paste into a shell or a program."""

    title: str
    language: str  # "shell" or "python"
    code: str


@dataclass(frozen=True)
class Verdict:
    """A summary of the report."""

    level: str  # how much classes overlap: a name in `structsmooth.report.verdict`
    answer: str  # what to smooth with: "none", "uniform" or "structural"
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
    difficulty: str  # up to four paragraphs: how hard the data are,
    hardest: str  # where they are certainly hard, if anywhere,
    reach: str  # what that means for a classifier,
    smoothing: str  # and what smoothing does
    advice: tuple[str, ...]


@dataclass(frozen=True)
class ClassRow:
    """A class: its name, its rows, and the tree edges that lead to other classes."""

    name: str
    label: str  # in the data
    size: int
    crossing: float


@dataclass(frozen=True)
class Distinction:
    """A condition that holds more or less often in a cluster than elsewhere."""

    feature: str
    condition: str
    share: float  # of the cluster's rows
    elsewhere: float  # share of all other rows

    def __str__(self) -> str:
        shares = (
            f"{percent(self.share, 0)} here, {percent(self.elsewhere, 0)} elsewhere"
        )
        return f"{short(self.feature)} {short(self.condition)}: {shares}"


@dataclass(frozen=True)
class ClusterRow:
    """A cluster, its estimated Bayes error and its strength."""

    cluster: int
    size: int
    weight: float  # share of all rows
    n_classes: int
    classes: str  # the largest classes with their shares
    members: ClassCounts
    lower: float
    upper: float
    lower_interval: tuple[float, float]
    interval: tuple[float, float]  # to the high end of the upper bound's interval
    followed: float  # the Bayes error that the strength follows, or its mean
    strength: float  # with regions="point", the mean over the samples
    strength_range: tuple[float, float]  # 10th and 90th percentile of the samples'
    differs: bool  # whether its interval excludes the crossing fraction of all data
    says_little: bool  # whether it has few rows and may be like the others
    distinctions: tuple[Distinction, ...]  # what distinguishes it, at most three
    pairs: Pairs


@dataclass(frozen=True)
class Report:
    """The content of a report; without the rows, it has neither map nor samples."""

    name: str
    n_samples: int
    n_features: int
    n_dimensions: int  # after the reduction
    alpha: float
    beta: float
    label_smoothing: float  # what frameworks call uniform smoothing of mean alpha
    regions: str
    verdict: Verdict
    checks: tuple[Check, ...]
    classes: tuple[ClassRow, ...]
    clusters: tuple[
        ClusterRow, ...
    ]  # hard for certain first, those that say little last
    pairs: Pairs
    map: dict[str, Any] | None
    samples: tuple[dict[str, Any], ...]  # sorted by the mean ambiguity around them
    unranked: str  # which rows cannot be among the samples, and why
    suspects: tuple[dict[str, Any], ...]  # labels that look wrong, most certain first
    n_suspects: int  # how many there are; not all are listed
    snippets: tuple[Snippet, ...]  # what to do next, to paste
    settings: dict[str, Any]  # parameters of the smoother
    versions: dict[str, str]  # those that the smoother was fitted with
    made_with: str  # the version that made the report
    notes: tuple[str, ...]  # warnings of the fit
    left_out: tuple[str, ...]  # what the report lacks and why

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, numbers and text."""
        head = {"format": "structsmooth.report", "format_version": 1}
        return head | dataclasses.asdict(self)

    def to_json(self) -> str:
        """Return everything as JSON, which has no NaN or inf: null stands for them."""
        text = json.dumps(self.to_dict())
        finite = json.loads(text, parse_constant=lambda _: None)
        return json.dumps(finite, ensure_ascii=False)
