"""The command ``suspects``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from structsmooth.cli import options
from structsmooth.cli.options import file_option
from structsmooth.errors import FileFormatError, InvalidParameterError
from structsmooth.io.paths import check_columns_path, check_is_file, read_summary


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

    A label is suspect if hardly any of the nearest neighbors of its row have it,
    while most of them agree on another one. Rare but right labels are among them:
    check before you change any. Rows are counted from 0.
    """
    notes: list[str] = []
    if output is not None:
        check_columns_path(output)
    if data.is_dir():
        read_summary(data)
        given = (label, labels, drop, header, components, jobs, seed or None)
        is_default = reducer is options.Reduction.pca
        if not is_default or any(value is not None for value in given):
            raise InvalidParameterError(
                f"{data} is a directory, whose suspects are known: expected no options "
                "but --output, --json and --quiet"
            )
        columns = _of_result(data)
    else:
        check_is_file(data)
        from structsmooth.io.readers import read_dataset

        dataset = read_dataset(
            data, label=label, labels=labels, drop=drop or (), header=header
        )
        with options.collected_notes() as notes:
            columns = _of_rows(
                dataset.X, dataset.y, reducer.value, components, jobs, seed
            )
    from structsmooth.cli.console import print_suspects
    from structsmooth.io.results import write_columns

    if output is not None:
        write_columns(output, columns)
    cells = zip(*(column.tolist() for column in columns.values()), strict=True)
    rows = [dict(zip(columns, row, strict=True)) for row in cells]
    if as_json:
        found = {"data": data.name, "notes": notes, "suspects": rows}
        print(json.dumps(found, indent=1, default=str))
    elif not quiet:
        options.print_notes(notes)
        print_suspects(data.name, rows, output)


def _of_result(directory: Path) -> dict[str, Any]:
    from structsmooth.io.results import read_result, suspect_columns

    smoother, coded, _ = read_result(directory)
    if smoother.suspects_ is None:
        raise FileFormatError(
            f"{directory} holds no suspects: it was fitted without --ignore-suspects; "
            "give the data instead"
        )
    return suspect_columns(smoother.suspects_, smoother.classes_[coded])


def _of_rows(
    X: Any, y: Any, reducer: str, components: int | None, jobs: int | None, seed: int
) -> dict[str, Any]:
    """Return the suspects that a fit with these settings would find."""
    from threadpoolctl import threadpool_limits

    from structsmooth.bayes_error.suspects import find_suspects
    from structsmooth.cluster.clusterers import seed_of
    from structsmooth.encode.fitting import encode_rows
    from structsmooth.io.results import suspect_columns
    from structsmooth.reduce import fit_reduction
    from structsmooth.support.validation import check_features
    from structsmooth.support.weights import count_rows

    _, X = encode_rows(X)
    X = check_features(X, min_rows=2)
    count_rows(X, y, None, repeat=False)  # refuses labels that are no classes
    with threadpool_limits(1):  # sums in BLAS depend on how many threads it has
        features = fit_reduction(X, reducer, components, seed_of(seed)).transform(X)
    return suspect_columns(find_suspects(features, y, n_jobs=jobs), y)
