"""What the command line prints for people: tables and sentences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from structsmooth.bayes_error.shrinkage import FEW_ROWS
from structsmooth.cli.options import printable

if TYPE_CHECKING:
    from structsmooth.compare.result import Comparison

MOST_ROWS = 20


def print_summary(
    summary: dict[str, Any], rows: list[dict[str, Any]], output: Path
) -> None:
    """Print what a fit has found, the cluster table first."""
    console = Console(highlight=False)
    bounds, bias = summary["bayes_error"], summary["bayes_error_bias"]
    strength, n_clusters = summary["strength"], summary["n_clusters"]
    clusters = "1 cluster" if n_clusters == 1 else f"{n_clusters} clusters"
    table = Table(
        title=f"{_text(summary['data'])}: {summary['n_samples']} rows, "
        f"{len(summary['classes'])} classes, {clusters}",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    n_little = sum(row["says_little"] for row in rows)
    # The column of classes gives way on a narrow screen: the others are 58 characters
    # wide, or 69 with the remark.
    room = console.width - (69 if n_little else 58)
    interval = f"{bounds['confidence']:.0%} interval"
    table.add_column("cluster", justify="right", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("classes", no_wrap=True, max_width=max(9, room))
    for title in ("Bayes error, %", interval, "strength"):
        table.add_column(title, justify="right", no_wrap=True)
    if n_little:
        table.add_column("", no_wrap=True)
    shown = rows if len(rows) <= MOST_ROWS else rows[:12] + [{}] + rows[-5:]
    for row in shown:
        table.add_row(*(_cells(row) if row else ["..."] * 6)[: len(table.columns)])
    console.print(table)

    names = dict(zip(summary["classes"], summary["class_names"], strict=True))
    pairs = ", ".join(
        f"{_text(names[p['classes'][0]])} and {_text(names[p['classes'][1]])} "
        f"({p['share']:.0%} of the crossing edges)"
        for p in summary["overlapping_classes"][:3]
    )
    lines = [
        f"Estimated Bayes error: {_percent(bounds['lower'])} to "
        f"{_percent(bounds['upper'])}. It is for comparing clusters: in many "
        "dimensions it is too high, so it is not a limit to what a classifier can "
        "reach.",
        f"Classes that overlap most: {pairs}." if pairs else "No classes overlap.",
        f"Strengths: {strength['smallest']:.3f} to {strength['largest']:.3f}, mean "
        f"{strength['mean']:.3f} (uniform label_smoothing="
        f"{summary['label_smoothing']:.3g} has the same mean).",
        f"Bias of the Bayes error: {_percent(bias['structural'])}, uniform smoothing "
        f"{_percent(bias['uniform'])}: {bias['saved']:.1%} saved.",
        f"Wrote to {_text(output)}: {', '.join(summary['files'])}, summary.json",
        f"As a page with maps and tables: structsmooth report {_text(output)}",
    ]
    if summary["n_suspects"] is not None:
        where = "see suspects.csv, and "
        lines.insert(-1, _about_suspects(summary["n_suspects"], where))
    if "encoding" in summary:
        lines.insert(0, _text(summary["encoding"]["summary"]) + ".")
    if n_little:
        lines.insert(0, _about_little(n_little))
    for line in lines:
        console.print(line, soft_wrap=True)


def print_suspects(
    name: str, rows: list[dict[str, Any]], about_others: str, output: Path | None
) -> None:
    """Print the most certain suspects, and where the others are."""
    console = Console(highlight=False)
    if rows:
        console.print(f"{_text(name)}: labels that look wrong, most certain first")
        cells = [["row", "label now", "likely label", "score", "why"]]
        for row in rows[:MOST_ROWS]:
            shown = [_text(row[key]) for key in ("row", "label", "likely")]
            cells.append([*shown, f"{row['score']:.3f}", _text(row["reason"])])
        console.print(_table(cells, 3))
    sentences = f"{_about_suspects(len(rows))} {about_others}".strip()
    console.print(sentences, soft_wrap=True)
    if output is not None:
        console.print(f"Wrote the list to {_text(output)}.", soft_wrap=True)
    elif len(rows) > MOST_ROWS:
        console.print("Write the whole list to a file with -o FILE.", soft_wrap=True)


def _about_suspects(number: int, where: str = "") -> str:
    if number == 0:
        return "No label clearly looks like a mistake."
    labels = "1 label looks like a mistake"
    if number > 1:
        labels = f"{number} labels look like mistakes"
    return (
        f"{labels}, as far as the other rows can tell: "
        f"{where}check before you change any."
    )


def _about_little(n_clusters: int) -> str:
    one = n_clusters == 1
    return (
        f"{n_clusters} cluster{'' if one else 's'} with few rows (fewer than "
        f"{FEW_ROWS}) may be like the others: {'it says' if one else 'they say'} "
        f"little, so {'it comes' if one else 'they come'} last."
    )


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        str(row["cluster"]),
        str(row["size"]),
        _text(row["classes"]),
        _range(row["bayes_error_lower"], row["bayes_error_upper"]),
        _range(row["interval_low"], row["interval_high"]),
        f"{row['strength']:.4f}",
        "few rows" if row["says_little"] else "",
    ]


def _text(value: Any) -> str:
    """Return a user's name so that it neither colors nor moves the screen."""
    return escape(printable(value).replace("\n", "?"))


def _range(low: float, high: float) -> str:
    return f"{100 * low:.1f} to {100 * high:.1f}"


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"


def print_comparison(
    name: str, result: Comparison, command: str | None, output: Path | None
) -> None:
    """Print a comparison: means, differences, findings, verdict, and decision."""
    from structsmooth.compare.tables import ABOUT_AFTER

    console = Console(highlight=False)
    facts = result.description
    n_seeds = len(result.values("none", "error"))
    console.print(
        f"{_text(name)}: {facts['n_rows']} rows, {len(facts['classes'])} classes, "
        f"{n_seeds} seeds",
        soft_wrap=True,
    )
    console.print(_table(result.rows(), 1))
    if result.has_cures:
        console.print(_table(result.after_rows(), 1))
        console.print(ABOUT_AFTER, soft_wrap=True)
    console.print(_table(result.difference_rows(), 2))
    console.print(result.legend, soft_wrap=True)
    for finding in result.findings:
        console.print(f"- {finding}.", soft_wrap=True)
    console.print(result.verdict, soft_wrap=True, style="bold")
    choice = result.choice
    console.print(f"\nDecision: {choice.headline}", soft_wrap=True, style="bold")
    console.print(choice.reason, soft_wrap=True)
    if command is not None:
        console.print(f"  {escape(command)}", soft_wrap=True)
        console.print("or in Python", soft_wrap=True)
    for line in choice.python.splitlines() if choice.smoother is not None else ():
        console.print(f"  {escape(line)}", soft_wrap=True)
    if output is not None:
        console.print(
            f"All runs are in {_text(output)}. As a page with risk-coverage "
            f"curves: structsmooth report {_text(output)}",
            soft_wrap=True,
        )


def _table(rows: list[list[str]], n_names: int) -> Table:
    """Return a table of rows, the first of them the header, with names on the left."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    header, *body = rows
    for number, title in enumerate(header):
        justify: Any = "left" if number < n_names else "right"
        table.add_column(title, justify=justify, overflow="fold")
    for cells in body:
        table.add_row(*cells)
    return table
