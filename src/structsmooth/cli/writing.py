"""The commands ``report`` and ``labels``, which read what ``fit`` has written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from structsmooth.cli import options
from structsmooth.cli.options import Kind, data_option, file_option, output_option
from structsmooth.errors import InvalidParameterError
from structsmooth.io.paths import check_columns_path, check_not_read, read_summary


@options.exit_codes()
def write_report(
    result: options.Result,
    output: Annotated[
        Path | None,
        file_option(
            help="HTML file to write.",
            show_default="OUT/report.html, or beside the runs",
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write what a fit has found as one HTML file that works offline.

    The same content is written beside it as JSON. If OUT is a file of runs that
    'structsmooth compare -o' has written, the page shows the comparison.
    """
    if result.is_file():
        _write_comparison(result, output, as_json, quiet)
        return
    read_summary(result)
    from structsmooth.io.results import report_of_result

    report, page, beside = report_of_result(result, output)
    if as_json:
        files = {"file": str(page), "json": str(beside)}
        print(json.dumps({**files, "headline": report.verdict.headline}))
    elif not quiet:
        print(options.printable(report.verdict.headline))
        options.print_notes(report.left_out)
        size = page.stat().st_size // 1000
        print(options.printable(f"Wrote {page} ({size} kB) and {beside}."))


def _write_comparison(
    runs: Path, output: Path | None, as_json: bool, quiet: bool
) -> None:
    """Write a page about a file of runs."""
    from structsmooth.compare.page import write_page
    from structsmooth.compare.result import Comparison
    from structsmooth.report.html import check_page_path

    page = check_page_path(output or runs.with_suffix(".html"))
    check_not_read(page, runs)
    comparison = Comparison.load(runs)
    write_page(comparison, page)
    headline = comparison.choice.headline
    if as_json:
        print(json.dumps({"file": str(page), "headline": headline}))
    elif not quiet:
        size = page.stat().st_size // 1000
        print(options.printable(headline))
        print(options.printable(f"Wrote {page} ({size} kB)."))


@options.exit_codes()
def write_labels(
    result: options.Result,
    output: Annotated[Path, file_option(help="File to write: npy, npz or csv.")],
    data: Annotated[
        Path | None,
        data_option(
            metavar="FILE",
            help="New rows to smooth.",
            show_default="the rows that were fitted",
        ),
    ] = None,
    label: options.Label = None,
    labels: options.Labels = None,
    header: options.Header = None,
    kind: Annotated[
        Kind,
        output_option(
            metavar="NAME",
            help="soft: a probability for each class; sparse: label and strength; "
            "flipped: hard labels drawn at random; expanded: row, label and weight.",
        ),
    ] = Kind.soft,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the smoothed labels of the rows of a result, or of new rows."""
    read_summary(result)
    check_columns_path(output)
    check_not_read(output, data, labels)
    from structsmooth.io.readers import read_dataset
    from structsmooth.io.results import label_columns, read_result, write_columns

    smoother, coded, summary = read_result(result)
    X = None
    if data is not None:
        encoding = smoother.structure_.encoding
        used = [] if encoding is None else [c for c in encoding.columns if c.width]
        dataset = read_dataset(
            data,
            label=label,
            labels=labels,
            header=header,
            features=[c.name for c in used] or summary.get("feature_names"),
            text_features=[c.name for c in used if c.kind == "category"],
            text_labels=smoother.classes_.dtype.kind in "OU",
        )
        X, coded = dataset.X, smoother.encode(dataset.y, len(dataset.X))
    elif label is not None or labels is not None or header is not None:
        raise InvalidParameterError(
            "--label, --labels and --header are for rows given with --data"
        )
    with options.collected_notes() as notes:
        columns = label_columns(smoother, kind.value, coded, X, seed)
    write_columns(output, columns)
    rows = len(next(iter(columns.values())))
    if as_json:
        answer = {"file": str(output), "kind": kind.value, "rows": rows, "notes": notes}
        print(json.dumps(answer))
    elif not quiet:
        options.print_notes(notes)
        sentence = f"Wrote {kind.value} labels, {rows} rows, to {output}."
        print(options.printable(sentence))
