"""Comparisons as tables, for the command line and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from structsmooth.compare.statistics import NAMES, Difference

if TYPE_CHECKING:
    from structsmooth.compare.result import Comparison

IN_PERCENT = ("error", "ece", "aurc", "augrc")
# What can be done after training, as the records name it.
CURES = ("temperature", "pnorm")
AFTER = (
    ("nll", None, "NLL"),
    ("nll", "temperature", "scaled"),
    ("ece", None, "ECE, %"),
    ("ece", "temperature", "scaled"),
    ("aurc", None, "AURC, %"),
    ("aurc", "temperature", "scaled"),
    ("aurc", "pnorm", "pNorm"),
)
ABOUT_AFTER = (
    "The same models after temperature scaling (scaled), and with the confidence "
    "MaxLogit-pNorm; both are fitted on validation rows."
)


def means(result: Comparison) -> list[list[str]]:
    """Return a row for each method, header first: mean ± standard deviation."""
    metrics = [*NAMES, *(["augrc"] if "augrc" in result.chosen[0]["test"] else [])]
    table = [["", *(_title(metric) for metric in metrics)]]
    for method in result.methods:
        cells = [method]
        for metric in metrics:
            values = result.values(method, metric)
            mean = _number(metric, values.mean())
            spread = values.std(ddof=1) if len(values) > 1 else float("nan")
            cells.append(
                f"{mean}±{_number(metric, spread)}" if len(values) > 1 else mean
            )
        table.append(cells)
    return table


def differences(found: Sequence[Difference]) -> list[list[str]]:
    """Return a row for each difference, header first."""
    table = [["", "", "difference", "interval", "seeds"]]
    for d in found:
        low, mean, high = (
            _number(d.metric, value, "+") for value in (d.low, d.mean, d.high)
        )
        interval = f"{low} to {high}{' *' if d.is_decided else ''}"
        agree = f"{d.n_lower if d.mean < 0.0 else d.n_higher} of {d.n_seeds}"
        pair = f"{d.method} - {d.reference}"
        table.append([pair, _title(d.metric), mean, interval, agree])
    return table


def after_training(result: Comparison) -> list[list[str]]:
    """Return a row for each method, header first: means as it is, and after cures."""
    if not result.has_cures:
        return []
    table = [["", *(title for _, _, title in AFTER)]]
    for method in result.methods:
        cells = [
            _number(metric, result.values(method, metric, after=after).mean())
            for metric, after, _ in AFTER
        ]
        table.append([method, *cells])
    return table


def markdown(result: Comparison) -> str:
    """Return decision, verdict, tables and findings."""
    alphas = [f"{alpha:g} ({n})" for alpha, n in result.chosen_alphas().items()]
    paragraphs = [
        f"**{result.choice.headline}** {result.choice.reason}",
        f"**{result.verdict}**",
        _markdown(result.rows()),
        "Mean over the seeds ± standard deviation; lower is better for all "
        "metrics. Error, ECE, AURC and AUGRC are in percent.",
    ]
    if result.has_cures:
        paragraphs += [_markdown(result.after_rows()), ABOUT_AFTER]
    paragraphs += [
        _markdown(result.difference_rows()),
        result.legend,
        "\n".join(f"- {finding}." for finding in result.findings),
        f"Mean strength chosen on validation rows (seeds): {', '.join(alphas)}.",
    ]
    return "\n\n".join(paragraphs) + "\n"


def _title(metric: str) -> str:
    name = NAMES.get(metric, metric.upper())
    return name + (", %" if metric in IN_PERCENT else "")


def _number(metric: str, value: float, sign: str = "") -> str:
    if metric in IN_PERCENT:
        return f"{100.0 * value:{sign}.2f}"
    return f"{value:{sign}.3f}"


def _markdown(rows: list[list[str]]) -> str:
    header, *body = (f"| {' | '.join(cells)} |" for cells in rows)
    return "\n".join([header, "|" + "---|" * len(rows[0]), *body])
