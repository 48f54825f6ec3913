"""The command ``compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from structsmooth.cli import options
from structsmooth.cli.options import data_option, file_option, strength_option
from structsmooth.io.paths import check_is_file


@options.exit_codes()
def compare(
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
        Option(
            metavar="NAME", help=f"Classifier to train: {', '.join(options.Learner)}."
        ),
    ] = options.Learner.logistic,
    seeds: Annotated[int, Option(min=3, help="Number of paired splits.")] = 10,
    criterion: Annotated[
        options.Criterion,
        Option(
            metavar="NAME",
            help="What to choose by on validation rows: "
            f"{', '.join(options.Criterion)}.",
        ),
    ] = options.Criterion.nll,
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
    """Test whether structural smoothing helps on DATA, and by how much.

    Trains without smoothing, and with uniform, structural, reversed and shuffled
    strengths of the same mean, on paired splits. Hyper-parameters are chosen on
    validation rows; test rows are for measuring only.
    """
    check_is_file(data)
    from structsmooth.io.readers import read_dataset

    dropped, group_values, test_pair = list(drop or ()), None, None
    if groups is not None:
        is_table = data.suffix.lower() not in (".npz", ".npy")
        others = [label] if label is not None and is_table else []
        group_values = read_dataset(
            data, label=groups, drop=dropped + others, header=header
        ).y
        dropped += [groups] if is_table else []
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

    with options.collected_notes() as notes:
        result = run_comparison(
            dataset.X,
            dataset.y,
            make_learner(classifier.value, isinstance(dataset.X, Table)),
            smoother=StructuralSmoother(
                reducer=reducer.value,
                n_clusters=clusters,
                n_jobs=jobs,
            ),
            alpha=alpha,
            beta=beta,
            n_seeds=seeds,
            test=test_pair,
            groups=group_values,
            criterion=criterion.value,
            results=output,
            random_state=seed,
            verbose=int(not (quiet or as_json)),
        )
    if as_json:
        found = {"data": data.name, "notes": notes, **result.to_dict()}
        print(json.dumps(found, indent=1))
    elif not quiet:
        options.print_notes(notes)
        print_comparison(data.name, result, output)
