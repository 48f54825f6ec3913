"""The command ``compare``."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structsmooth.cli.exits import exit_codes
from structsmooth.cli.options import (
    AsJson,
    DataArgument,
    Drop,
    Header,
    Label,
    Labels,
    Learner,
    Quiet,
    Reducer,
    Seed,
    notes_of,
    number_or_text,
)

if TYPE_CHECKING:
    from structsmooth.io.tables import Dataset


def compare(
    data: DataArgument,
    label: Label = None,
    labels: Labels = None,
    drop: Drop = None,
    header: Header = None,
    classifier: Annotated[
        Learner, typer.Option(help="What to train.")
    ] = Learner.logistic,
    seeds: Annotated[int, typer.Option(min=3, help="How many paired splits.")] = 10,
    alpha: Annotated[
        str, typer.Option(help="Mean strengths to choose from, with commas.")
    ] = "0.02,0.05,0.1,0.2",
    beta: Annotated[
        str, typer.Option(help="Slopes to choose from, with commas.")
    ] = "0.5,auto",
    criterion: Annotated[
        str,
        typer.Option(
            help="What validation rows choose by: nll, error, brier, ece, aurc."
        ),
    ] = "nll",
    test: Annotated[
        Path | None,
        typer.Option(help="File with a test set that is always the same, like DATA."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="Column whose equal values stay on one side of a split."),
    ] = None,
    reducer: Reducer = None,
    clusters: Annotated[str, typer.Option(help="How many, or 'auto'.")] = "auto",
    jobs: Annotated[
        int | None, typer.Option(help="Threads of the smoother; -1 for all cores.")
    ] = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File for finished runs, one line of JSON each; if it is there, the "
            "comparison goes on.",
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tell whether structural smoothing helps on DATA, and by how much.

    Trains without smoothing, with uniform, structural, reversed and shuffled strengths
    of the same mean, on paired splits. Validation rows choose the hyper-parameters,
    test rows only measure.
    """
    with exit_codes():
        from structsmooth.cli.console import print_comparison
        from structsmooth.compare import compare as run_comparison
        from structsmooth.compare.learners import make_learner
        from structsmooth.io.readers import read_dataset
        from structsmooth.smoother import StructuralSmoother

        dataset, group_values = _read_with_groups(
            data, label, labels, drop or [], header, groups
        )
        test_pair = None
        if test is not None:
            other = read_dataset(
                test,
                label=label,
                header=header,
                drop=drop or (),
                features=dataset.feature_names,
                text_labels=dataset.labels.dtype.kind in "OU",
            )
            test_pair = (other.X, other.labels)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = run_comparison(
                dataset.X,
                dataset.labels,
                make_learner(classifier.value),
                smoother=StructuralSmoother(
                    reducer=reducer or ("scaled-pca" if dataset.is_table else "pca"),
                    n_clusters=number_or_text(clusters),
                    n_jobs=jobs,
                ),
                alpha=[number_or_text(part) for part in alpha.split(",")],
                beta=[number_or_text(part) for part in beta.split(",")],
                n_seeds=seeds,
                test=test_pair,
                groups=group_values,
                criterion=criterion,
                results=output,
                random_state=seed,
                verbose=int(not (quiet or as_json)),
            )
        if as_json:
            found = {"data": data.name, "notes": notes_of(caught), **result.to_dict()}
            print(json.dumps(found, indent=1))
        elif not quiet:
            for note in notes_of(caught):
                print(f"note: {note}", file=sys.stderr)
            print_comparison(data.name, result, output)


def _read_with_groups(
    path: Path,
    label: str | None,
    labels: Path | None,
    drop: list[str],
    header: bool | None,
    groups: str | None,
) -> tuple[Dataset, Any]:
    """Read the data, and the column or array that groups their rows."""
    from structsmooth.io.readers import read_dataset

    if groups is None:
        return read_dataset(
            path, label=label, labels=labels, drop=drop, header=header
        ), None
    is_table = path.suffix.lower() not in (".npz", ".npy")
    other = [label] if label is not None and is_table else []
    grouped = read_dataset(path, label=groups, drop=drop + other, header=header)
    if is_table:
        drop = [*drop, groups]
    dataset = read_dataset(path, label=label, labels=labels, drop=drop, header=header)
    return dataset, grouped.labels
