"""The command ``compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from typer import Option

from structsmooth.cli import options
from structsmooth.cli.options import number_or_text


@options.exit_codes()
def compare(
    data: options.Data,
    label: options.Label = None,
    labels: options.Labels = None,
    drop: options.Drop = None,
    header: options.Header = None,
    classifier: Annotated[
        options.Learner, Option(help="Classifier to train.")
    ] = options.Learner.logistic,
    seeds: Annotated[int, Option(min=3, help="Number of paired splits.")] = 10,
    alpha: Annotated[
        str, Option(help="Mean strengths to choose from, separated by commas.")
    ] = "0.02,0.05,0.1,0.2",
    beta: Annotated[
        str, Option(help="Slopes to choose from, separated by commas.")
    ] = "0.5,auto",
    criterion: Annotated[
        str,
        Option(
            help="What to choose by on validation rows: nll, error, brier, ece or aurc."
        ),
    ] = "nll",
    test: Annotated[
        Path | None,
        Option(help="File with a fixed test set, in the same format as DATA."),
    ] = None,
    groups: Annotated[
        str | None,
        Option(
            help="Column (or npz array): rows with equal values stay on one side of "
            "a split."
        ),
    ] = None,
    reducer: options.Reducer = None,
    clusters: options.Clusters = "auto",
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            help="File for finished runs, one line of JSON for each; if it exists, the "
            "comparison is resumed.",
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
    from structsmooth.cli.console import print_comparison
    from structsmooth.compare import compare as run_comparison
    from structsmooth.compare.trainers import make_learner
    from structsmooth.io.readers import read_dataset
    from structsmooth.smoother import StructuralSmoother

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
            features=dataset.feature_names,
            text_labels=dataset.y.dtype.kind in "OU",
        )
        test_pair = (other.X, other.y)
    with options.collected_notes() as notes:
        result = run_comparison(
            dataset.X,
            dataset.y,
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
        found = {"data": data.name, "notes": notes, **result.to_dict()}
        print(json.dumps(found, indent=1))
    elif not quiet:
        options.print_notes(notes)
        print_comparison(data.name, result, output)
