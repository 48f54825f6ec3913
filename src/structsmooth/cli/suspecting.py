"""The command ``suspects``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from structsmooth.cli import options
from structsmooth.cli.options import file_option
from structsmooth.errors import FileFormatError, InvalidParameterError
from structsmooth.io.paths import (
    check_columns_path,
    check_is_file,
    check_not_read,
    read_summary,
)

if TYPE_CHECKING:
    from structsmooth.bayes_error.suspects import Suspects


@options.exit_codes()
def suspects(
    data: Annotated[
        Path,
        Argument(
            metavar="DATA",
            help=f"{options.KINDS}, or a directory that 'structsmooth fit "
            "--ignore-suspects' has written.",
        ),
    ],
    label: options.Label = None,
    labels: options.Labels = None,
    drop: options.Drop = None,
    header: options.Header = None,
    fdr: Annotated[
        float | None,
        Option(
            help="Share of the listed labels that may be right after all, 0.05 "
            "unless given."
        ),
    ] = None,
    reducer: options.Reducer = options.Reduction.pca,
    components: options.Components = None,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    output: Annotated[
        Path | None, file_option(help="File for all suspects: csv or npz.")
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """List the labels of DATA that look like mistakes, the most certain first.

    The score of a label is the estimated probability that it is wrong, from the labels
    of the nearest neighbors of its row and from the shapes of the classes. Rare but
    right labels are among the suspects: check before you change any. Rows are counted
    from 0.
    """
    notes: list[str] = []
    if output is not None:
        check_columns_path(output)
        check_not_read(output, data, labels)
    if data.is_dir():
        read_summary(data)
        given = (label, labels, drop, header, fdr, components, jobs, seed or None)
        is_default = reducer is options.Reduction.pca
        if not is_default or any(value is not None for value in given):
            raise InvalidParameterError(
                f"{data} is a directory, whose suspects are known: expected no options "
                "but --output, --json and --quiet"
            )
        found, labeled = _of_result(data)
    else:
        check_is_file(data)
        from structsmooth.io.readers import read_dataset

        with options.collected_notes() as notes:
            dataset = read_dataset(
                data, label=label, labels=labels, drop=drop or (), header=header
            )
            labeled = dataset.y
            found = _of_rows(
                dataset.X, labeled, fdr, reducer.value, components, jobs, seed
            )
    from structsmooth.cli.console import print_suspects
    from structsmooth.io.results import suspect_columns, write_columns

    columns = suspect_columns(found, labeled)
    if output is not None:
        write_columns(output, columns)
    cells = zip(*(column.tolist() for column in columns.values()), strict=True)
    rows = [dict(zip(columns, row, strict=True)) for row in cells]
    if as_json:
        described = {
            "data": data.name,
            "notes": notes,
            "suspects": rows,
            "n_expected": found.n_expected,
        }
        print(json.dumps(described, indent=1, default=str))
    elif not quiet:
        options.print_notes(notes)
        print_suspects(data.name, rows, found.about_others(), output)


def _of_result(directory: Path) -> tuple[Suspects, Any]:
    from structsmooth.io.results import read_result

    smoother, coded, _ = read_result(directory)
    if smoother.suspects_ is None:
        raise FileFormatError(
            f"{directory} holds no suspects: it was fitted without --ignore-suspects; "
            "give the data instead"
        )
    return smoother.suspects_, smoother.classes_[coded]


def _of_rows(
    X: Any,
    y: Any,
    fdr: float | None,
    reducer: str,
    components: int | None,
    jobs: int | None,
    seed: int,
) -> Suspects:
    """Return the suspects that a fit with these settings would find."""
    from structsmooth.bayes_error.suspects import FALSE_DISCOVERIES, find_suspects
    from structsmooth.support.weights import count_rows

    count_rows(X, y, None, repeat=False)  # refuses labels that are no classes
    return find_suspects(
        X,
        y,
        fdr=FALSE_DISCOVERIES if fdr is None else fdr,
        reducer=reducer,
        n_components=components,
        n_jobs=jobs,
        random_state=seed,
    )
