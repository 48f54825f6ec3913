"""The claims of the paper, what was measured here, and a verdict on each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from experiments import tables
from experiments.claims.claims import CLAIMS, Claim
from experiments.claims.rule import UnfinishedError
from structsmooth.errors import FileFormatError
from structsmooth.io.atomic import written_beside

SUMMARY, TABLE = "summary", "claims"


@dataclass(frozen=True)
class Found:
    """A claim with what was measured and the verdict."""

    claim: Claim
    here: str
    verdict: str


def found(results: Path) -> list[Found]:
    """Return the claims with their verdicts, and mark those that were not run."""
    judged = []
    for claim in CLAIMS:
        try:
            here, verdict = claim.find(results)
        except FileFormatError:
            here, verdict = "", "not run yet"
        except UnfinishedError as unfinished:
            here, verdict = f"{unfinished}", "unfinished"
        judged.append(Found(claim, here, verdict))
    return judged


def table(judged: list[Found]) -> str:
    """Return the claims as Markdown."""
    lines = [
        [f"{number}", one.claim.text, one.claim.paper, one.here, one.verdict]
        for number, one in enumerate(judged, 1)
    ]
    return tables.markdown(["", "claim", "paper", "here", "verdict"], lines)


def summary(judged: list[Found]) -> str:
    """Return how many claims have which verdict, and the main ones, as Markdown."""
    counts = Counter(one.verdict.split(":")[0] for one in judged if one.claim.paper)
    words = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    lines = [
        [one.claim.short, one.claim.paper, one.here.split(" together")[0], one.verdict]
        for one in judged
        if one.claim.short
    ]
    main = tables.markdown(["", "paper", "here", "verdict"], lines)
    return f"The verdicts on the paper's {counts.total()} claims: {words}.\n\n{main}"


def write(page: Path, results: Path) -> str:
    """Write summary and claims into a page, between markers, and return them."""
    text, judged = page.read_text(encoding="utf-8"), found(results)
    blocks = {SUMMARY: summary(judged), TABLE: table(judged)}
    for name, block in blocks.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if not (begin in text and end in text):
            raise FileFormatError(f"{page} has no markers; expected {begin} and {end}")
        before, after = text.split(begin)[0], text.split(end)[1]
        text = f"{before}{begin}\n{block}{end}{after}"
    with written_beside(page) as part:
        part.write_text(text, encoding="utf-8")
    return "\n".join(blocks.values())
