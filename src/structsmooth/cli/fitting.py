"""The commands ``fit`` and ``demo``."""

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
    DataOrDirectory,
    Drop,
    Header,
    Label,
    Labels,
    Quiet,
    Reducer,
    Seed,
    notes_of,
    number_or_text,
)

if TYPE_CHECKING:
    from structsmooth.io.tables import Dataset
    from structsmooth.smoother import StructuralSmoother


def fit(
    data: DataOrDirectory,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory for the result.")
    ],
    label: Label = None,
    labels: Labels = None,
    drop: Drop = None,
    header: Header = None,
    alpha: Annotated[
        str,
        typer.Option(
            help="Mean strength; 'auto' is the estimated Bayes error, 'cautious' that "
            "but at most what label_smoothing=0.1 is."
        ),
    ] = "cautious",
    beta: Annotated[
        str,
        typer.Option(
            help="How far strengths follow the Bayes error; 'auto' is all the way, "
            "'cautious' half."
        ),
    ] = "cautious",
    reducer: Reducer = None,
    components: Annotated[
        int | None, typer.Option(help="Principal components to keep.")
    ] = None,
    clusterer: Annotated[str, typer.Option(help="kmeans or gmm.")] = "kmeans",
    clusters: Annotated[str, typer.Option(help="How many, or 'auto'.")] = "auto",
    min_cluster_size: Annotated[
        str, typer.Option(help="Smaller clusters join their neighbor, or 'auto'.")
    ] = "auto",
    ties: Annotated[
        str, typer.Option(help="index, or average for data with many equal distances.")
    ] = "index",
    regions: Annotated[
        str, typer.Option(help="A strength for each cluster, or for each point.")
    ] = "cluster",
    shrink: Annotated[
        bool,
        typer.Option(help="Draw clusters together as far as they differ by noise."),
    ] = False,
    spread: Annotated[
        str,
        typer.Option(help="Mass goes to all other classes alike (even), or overlap."),
    ] = "even",
    ignore_suspects: Annotated[
        bool,
        typer.Option(help="List labels that look like mistakes; do not count them."),
    ] = False,
    images: Annotated[
        Path | None,
        typer.Option(help="npy file with a picture of each row, for the report."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; -1 for all cores.")] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Limit on memory, such as 4GB: data that need more are read in "
            "pieces and sorted on disk. [default: half of this machine's]",
            show_default=False,
        ),
    ] = None,
    spill: Annotated[
        Path | None,
        typer.Option(help="Directory for that. [default: OUT.spill]"),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the smoothing strength of every sample of DATA.

    Writes strengths, soft labels, cluster table, settings and the fitted smoother.
    """
    with exit_codes():
        from structsmooth.io.readers import read_dataset, read_images
        from structsmooth.io.results import check_target, read_summary
        from structsmooth.outofcore import Request, fit_out_of_core, memory_limit
        from structsmooth.report.pictures import check_images
        from structsmooth.smoother import StructuralSmoother

        check_target(output)
        smoother = StructuralSmoother(
            alpha=number_or_text(alpha),
            beta=number_or_text(beta),
            reducer=reducer or "pca",
            n_components=components,
            clusterer=clusterer,
            n_clusters=number_or_text(clusters),
            min_cluster_size=number_or_text(min_cluster_size),
            ties=ties,
            regions=regions,
            shrink=shrink,
            spread=spread,
            ignore_suspects=ignore_suspects,
            n_jobs=jobs,
            random_state=seed,
            verbose=int(not (quiet or as_json)),
        )
        request = Request(data, label, labels, tuple(drop or ()), header)
        if reducer is None and request.is_table:
            smoother.set_params(reducer="scaled-pca")
        if request.exceeds(memory_limit(max_memory)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they are among the summary's notes
                smoother = fit_out_of_core(
                    **vars(request),
                    output=output,
                    smoother=smoother,
                    max_memory=max_memory,
                    spill=spill,
                )
            summary = read_summary(output)
            _report(summary, smoother, output, as_json, quiet)
            return
        dataset = read_dataset(
            data, label=label, labels=labels, drop=drop or (), header=header
        )
        pictures = None
        if images is not None:
            pictures = check_images(read_images(images), len(dataset.X))
        _fit_and_report(smoother, dataset, output, data.name, as_json, quiet, pictures)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory for the result.")
    ] = Path("structsmooth-demo"),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Try it on the breast-cancer data that ship with scikit-learn."""
    with exit_codes():
        from structsmooth.io.results import check_target

        check_target(output)
        from sklearn.datasets import load_breast_cancer

        from structsmooth.io.tables import Dataset
        from structsmooth.smoother import StructuralSmoother

        cells = load_breast_cancer()
        dataset = Dataset(
            cells.data,
            cells.target_names[cells.target],
            [str(name) for name in cells.feature_names],
            is_table=True,
        )
        smoother = StructuralSmoother(
            reducer="scaled-pca", random_state=0, verbose=int(not (quiet or as_json))
        )
        name = "scikit-learn's breast-cancer data"
        _fit_and_report(smoother, dataset, output, name, as_json, quiet)


def _fit_and_report(
    smoother: StructuralSmoother,
    dataset: Dataset,
    output: Path,
    name: str,
    as_json: bool,
    quiet: bool,
    images: Any = None,
) -> None:
    from structsmooth.io.results import summarize, view_of_dataset, write_results

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        smoother.fit(dataset.X, dataset.labels)
    notes = notes_of(caught)
    summary = {"data": name, **summarize(smoother, notes)}
    if dataset.feature_names is not None:
        summary["feature_names"] = dataset.feature_names
    coded = smoother.encode(dataset.labels, len(dataset.X))
    view = view_of_dataset(smoother, dataset, images)
    summary = write_results(output, smoother, coded, summary, view)
    _report(summary, smoother, output, as_json, quiet)


def _report(
    summary: dict[str, Any],
    smoother: StructuralSmoother,
    output: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    from structsmooth.cli.console import print_summary
    from structsmooth.io.results import cluster_table

    if as_json:
        print(json.dumps(summary, indent=1, default=str))
        sys.stdout.flush()
        return
    if not quiet:
        for note in summary["notes"]:
            print(f"note: {note}", file=sys.stderr)
        print_summary(summary, cluster_table(smoother), output)
