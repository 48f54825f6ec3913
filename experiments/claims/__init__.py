"""The claims of the paper, what was measured here, and a verdict on each."""

from __future__ import annotations

from pathlib import Path

from experiments import tables
from experiments.claims.claims import CLAIMS
from experiments.claims.rule import UnfinishedError
from structsmooth.errors import FileFormatError
from structsmooth.io.atomic import written_beside

BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"


def table(results: Path) -> str:
    """Return the claims as Markdown, and mark those that were not run."""
    lines = []
    for number, claim in enumerate(CLAIMS, 1):
        try:
            here, verdict = claim.find(results)
        except FileFormatError:
            here, verdict = "", "not run yet"
        except UnfinishedError as unfinished:
            here, verdict = f"{unfinished}", "unfinished"
        lines.append([f"{number}", claim.text, claim.paper, here, verdict])
    return tables.markdown(["", "claim", "paper", "here", "verdict"], lines)


def write(page: Path, results: Path) -> str:
    """Write the claims into a page, between the markers, and return them."""
    text = page.read_text(encoding="utf-8")
    if not (BEGIN in text and END in text):
        raise FileFormatError(f"{page} has no markers for the claims; expected {BEGIN}")
    found = table(results)
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    with written_beside(page) as part:
        part.write_text(f"{before}{BEGIN}\n{found}{END}{after}", encoding="utf-8")
    return found
