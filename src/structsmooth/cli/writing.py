"""The commands ``report`` and ``labels``, which read what ``fit`` has written."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from structsmooth.cli.exits import exit_codes
from structsmooth.cli.options import (
    AsJson,
    Header,
    Kind,
    Label,
    Labels,
    Quiet,
    Seed,
)


def write_report(
    result: Annotated[
        Path, typer.Argument(metavar="OUT", help="Directory that 'fit' has written.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="HTML file to write. [default: OUT/report.html]"
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write one offline HTML file that says what a fit has found.

    The same content as JSON goes beside it.
    """
    with exit_codes():
        from structsmooth.io.results import report_of_result

        report, page, beside = report_of_result(result, output)
        if as_json:
            files = {"file": str(page), "json": str(beside)}
            print(json.dumps({**files, "headline": report.verdict.headline}))
        elif not quiet:
            print(report.verdict.headline)
            for sentence in report.left_out:
                print(f"note: {sentence}", file=sys.stderr)
            print(f"Wrote {page} ({page.stat().st_size // 1000} kB) and {beside}.")


def write_labels(
    result: Annotated[
        Path, typer.Argument(metavar="OUT", help="Directory that 'fit' has written.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: npy, npz or csv.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="Other rows to smooth; by default those that were fitted."),
    ] = None,
    label: Label = None,
    labels: Labels = None,
    header: Header = None,
    kind: Annotated[
        Kind,
        typer.Option(
            help="soft: a probability for each class; sparse: label and strength; "
            "flipped: hard labels drawn at random; expanded: row, label and weight."
        ),
    ] = Kind.soft,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write smoothed labels of a result's rows, or of new ones."""
    with exit_codes():
        from structsmooth.errors import FileFormatError
        from structsmooth.io.labelfiles import (
            label_columns,
            soft_columns,
            write_columns,
        )
        from structsmooth.io.readers import read_dataset
        from structsmooth.io.results import read_result

        smoother, coded, summary = read_result(result)
        strengths, soft = smoother.sample_strengths_, None
        if kind is not Kind.soft and smoother.spread != "even":
            raise FileFormatError(
                f"{kind.value} labels have even shares, and {result} was fitted with "
                "--spread overlap; expected --kind soft"
            )
        if data is not None:
            dataset = read_dataset(
                data,
                label=label,
                labels=labels,
                header=header,
                features=summary.get("feature_names"),
                text_labels=smoother.classes_.dtype.kind in "OU",
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if kind is Kind.soft:
                    soft = smoother.soft_labels(dataset.X, dataset.labels)
                else:
                    strengths = smoother.predict_strength(dataset.X)
                    coded = smoother.encode(dataset.labels, len(strengths))
        elif label is not None or labels is not None or header is not None:
            raise FileFormatError(
                "--label, --labels and --header are for rows given with --data"
            )
        if kind is Kind.soft:
            soft = smoother.smooth_fitted(coded) if soft is None else soft
            columns = soft_columns(soft, smoother.classes_)
        else:
            columns = label_columns(
                kind.value, coded, strengths, smoother.classes_, seed
            )
        write_columns(output, columns)
        rows = len(next(iter(columns.values())))
        facts = {"file": str(output), "kind": kind.value, "rows": rows}
        if as_json:
            print(json.dumps(facts))
        elif not quiet:
            print(f"Wrote {kind.value} labels, {rows} rows, to {output}.")
