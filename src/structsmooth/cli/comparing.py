"""The command ``compare``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Context

from structsmooth.cli import options
from structsmooth.cli.options import (
    comparison_option,
    data_option,
    file_option,
    strength_option,
)
from structsmooth.io.paths import check_is_file

if TYPE_CHECKING:
    from structsmooth.compare.result import Comparison


@options.exit_codes()
def compare(
    context: Context,
    data: options.Data,
    label: options.Label = None,
    labels: options.Labels = None,
    drop: options.Drop = None,
    header: options.Header = None,
    test: Annotated[
        Path | None,
        data_option(
            metavar="FILE",
            help="File with a fixed test set, in the same format as DATA.",
        ),
    ] = None,
    max_rows: Annotated[
        int | None,
        data_option(
            metavar="NUMBER",
            help="Use a sample of at most so many rows, with the same share of each "
            "class.",
            show_default="all rows",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        data_option(
            metavar="NAME",
            help="Column (or npz array): rows with equal values stay on one side of "
            "a split.",
        ),
    ] = None,
    classifier: Annotated[
        options.Learner,
        comparison_option(
            metavar="NAME", help=f"Classifier to train: {', '.join(options.Learner)}."
        ),
    ] = options.Learner.logistic,
    seeds: Annotated[
        int, comparison_option(min=3, help="Number of paired splits.")
    ] = 10,
    budget: Annotated[
        str | None,
        comparison_option(
            metavar="TIME",
            help="Time after which no run is started, such as 5min: the result has "
            "the splits that are finished.",
            show_default="as long as it takes",
        ),
    ] = None,
    suspects: Annotated[
        options.Suspects,
        comparison_option(
            metavar="NAME",
            help="Training rows whose labels look like mistakes: keep, weigh (less, by "
            "their scores) or drop.",
        ),
    ] = options.Suspects.keep,
    criterion: Annotated[
        options.Criterion,
        comparison_option(
            metavar="NAME",
            help="What to choose by on validation rows: "
            f"{', '.join(options.Criterion)}.",
        ),
    ] = options.Criterion.nll,
    arms: Annotated[
        str | None,
        strength_option(
            metavar="NAMES",
            help="What else to train with, separated by commas: points, overlap, "
            "shrink, out-of-fold; several at once as in points+overlap; or all.",
            show_default="the defaults of 'structsmooth fit' only",
        ),
    ] = None,
    alpha: Annotated[
        Any,
        strength_option(
            parser=options.several(options.strength),
            metavar="NUMBERS",
            help="Mean strengths to choose from, separated by commas.",
        ),
    ] = "0.02,0.05,0.1,0.2",
    beta: Annotated[
        Any,
        strength_option(
            parser=options.several(options.strength),
            metavar="NUMBERS",
            help="Slopes to choose from, separated by commas.",
        ),
    ] = "0.5,auto",
    reducer: options.Reducer = options.Reduction.pca,
    clusters: options.Clusters = "auto",
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    output: Annotated[
        Path | None,
        file_option(
            help="File for finished runs, one line of JSON for each; if it exists, the "
            "comparison is resumed."
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Test whether smoothing helps on DATA, and say what to use.

    Trains without smoothing, with uniform, structural, reversed and shuffled strengths
    of the same mean, and with the defaults of 'structsmooth fit', on paired splits.
    Validation rows choose; test rows are for measuring only.
    """
    check_is_file(data)
    from structsmooth.io.readers import read_dataset

    dropped, group_values, test_pair = list(drop or ()), None, None
    with options.collected_notes() as notes:
        if groups is not None:
            others = [label] if label is not None and is_table(data) else []
            group_values = read_dataset(
                data, label=groups, drop=dropped + others, header=header
            ).y
            dropped += [groups] if is_table(data) else []
        dataset = read_dataset(
            data, label=label, labels=labels, drop=dropped, header=header
        )
        if test is not None:
            other = read_dataset(
                test,
                label=label,
                header=header,
                drop=drop or (),
                features=getattr(dataset.X, "names", None),
                text_labels=dataset.y.dtype.kind in "OU",
            )
            test_pair = (other.X, other.y)
    # These imports take seconds, so files that cannot be read are refused before.
    from structsmooth.cli.console import print_comparison
    from structsmooth.compare import compare as run_comparison
    from structsmooth.compare.trainers import make_learner
    from structsmooth.encode.table import Table
    from structsmooth.smoother import StructuralSmoother

    with options.collected_notes(notes) as notes:
        result = run_comparison(
            dataset.X,
            dataset.y,
            make_learner(classifier.value, isinstance(dataset.X, Table)),
            smoother=StructuralSmoother(
                reducer=reducer.value,
                n_clusters=clusters,
                n_jobs=jobs,
            ),
            arms=() if arms is None else arms.split(","),
            alpha=alpha,
            beta=beta,
            n_seeds=seeds,
            budget=budget,
            max_rows=max_rows,
            test=test_pair,
            groups=group_values,
            suspects=suspects.value,
            criterion=criterion.value,
            results=output,
            random_state=seed,
            verbose=int(not (quiet or as_json)),
        )
    command = _line_to_paste(context, result)
    if as_json:
        found = {"data": data.name, "notes": notes, **result.to_dict()}
        found["decision"]["command"] = command
        print(json.dumps(found, indent=1))
    elif not quiet:
        options.print_notes(notes)
        print_comparison(data.name, result, command, output)


def is_table(data: Path) -> bool:
    """Whether a file has columns, and not arrays."""
    return data.suffix.lower() not in (".npz", ".npy")


def _line_to_paste(context: Context, result: Comparison) -> str | None:
    """Return the command that fits what was chosen, if there is one."""
    from structsmooth.report.snippets import shared_words

    if result.choice.options is None:
        return None
    words = shared_words(options.command_line(context)[2:])
    given = context.params
    if given["groups"] is not None and is_table(Path(given["data"])):
        words += ["--drop", given["groups"]]  # it is no feature
    fit = ["structsmooth", "fit", *words, *result.choice.options]
    return shlex.join([*fit, "-o", "OUT"])
