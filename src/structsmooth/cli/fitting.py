"""The commands ``fit`` and ``demo``."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from typer import Context, Option

from structsmooth.cli import options
from structsmooth.cli.options import cluster_option, data_option, strength_option
from structsmooth.io.paths import check_is_file, check_target, read_summary

if TYPE_CHECKING:
    from structsmooth.io.tables import Dataset
    from structsmooth.smoother import StructuralSmoother


@options.exit_codes()
def fit(
    context: Context,
    data: options.DataOrDirectory,
    output: options.Output,
    label: options.Label = None,
    labels: options.Labels = None,
    drop: options.Drop = None,
    header: options.Header = None,
    class_names: options.ClassNames = None,
    images: Annotated[
        Path | None,
        data_option(
            metavar="FILE", help="npy file with an image of each row, for the report."
        ),
    ] = None,
    alpha: Annotated[
        Any,
        strength_option(
            parser=options.strength,
            metavar="NUMBER",
            help="Mean strength: a number, 'auto' for the estimated Bayes error, or "
            "'cautious' for the same but at most the strength of label_smoothing=0.1.",
        ),
    ] = "cautious",
    beta: Annotated[
        Any,
        strength_option(
            parser=options.strength,
            metavar="NUMBER",
            help="How closely strengths follow the Bayes error: a number, 'auto' for "
            "fully, or 'cautious' for half of that.",
        ),
    ] = "cautious",
    regions: Annotated[
        options.Regions,
        strength_option(help="Give a strength to each cluster, or to each point."),
    ] = options.Regions.cluster,
    shrink: Annotated[
        bool,
        strength_option(
            "--shrink", help="Shrink differences between clusters that may be noise."
        ),
    ] = False,
    spread: Annotated[
        options.Spread,
        strength_option(
            help="Classes that soft labels give probability to: all others alike "
            "(even), or those that overlap there (overlap)."
        ),
    ] = options.Spread.even,
    ignore_suspects: Annotated[
        bool,
        strength_option(
            "--ignore-suspects",
            help="List labels that look like mistakes, and count each as the label "
            "of its neighbors.",
        ),
    ] = False,
    reducer: options.Reducer = options.Reduction.pca,
    components: options.Components = None,
    clusterer: Annotated[
        options.Clusterer, cluster_option(help="How to find clusters.")
    ] = options.Clusterer.kmeans,
    clusters: options.Clusters = "auto",
    min_cluster_size: Annotated[
        Any,
        cluster_option(
            parser=options.number_or("auto"),
            metavar="NUMBER",
            help="Smaller clusters are merged into their neighbor; or 'auto'.",
        ),
    ] = "auto",
    ties: Annotated[
        options.Ties,
        cluster_option(help="index, or average for data with many equal distances."),
    ] = options.Ties.index,
    jobs: options.Jobs = None,
    max_memory: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="Memory limit, such as 4GB: data that need more are read in pieces "
            "and sorted on disk.",
            show_default="half of this machine's memory",
        ),
    ] = None,
    spill: Annotated[
        Path | None,
        Option(help="Directory for the sorted pieces.", show_default="OUT.spill"),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the smoothing strength of every sample of DATA.

    Writes strengths, soft labels, cluster table, settings and the fitted smoother.
    """
    check_target(output)
    if not data.is_dir():
        check_is_file(data)
    from structsmooth.io.readers import read_dataset, read_npy
    from structsmooth.outofcore.plan import Request, memory_limit
    from structsmooth.outofcore.spill import check_place

    if spill is not None:
        check_place(spill, output)
    request = Request(data, label, labels, tuple(drop or ()), header)
    dataset = pictures = None
    with options.collected_notes() as notes:
        if not request.exceeds(memory_limit(max_memory)):
            dataset = read_dataset(
                data, label=label, labels=labels, drop=drop or (), header=header
            )
    # These imports take seconds, so files that cannot be read are refused before.
    from structsmooth.report.pictures import check_images
    from structsmooth.smoother import StructuralSmoother

    if dataset is not None and images is not None:
        pictures = check_images(read_npy(images), len(dataset.X))
    smoother = StructuralSmoother(
        alpha=alpha,
        beta=beta,
        reducer=reducer.value,
        n_components=components,
        clusterer=clusterer.value,
        n_clusters=clusters,
        min_cluster_size=min_cluster_size,
        ties=ties.value,
        regions=regions.value,
        shrink=shrink,
        spread=spread.value,
        ignore_suspects=ignore_suspects,
        n_jobs=jobs,
        random_state=seed,
        verbose=int(not (quiet or as_json)),
    )
    shown: dict[str, Any] = {"command": options.command_line(context)}
    if class_names is not None:
        shown["class_names"] = [name.strip() for name in class_names.split(",")]
    if dataset is not None:
        name = data.name
        _fit_in_memory(
            smoother, dataset, output, name, as_json, quiet, notes, pictures, shown
        )
        return
    from structsmooth.outofcore.fit import fit_out_of_core

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are among the summary's notes
        smoother = fit_out_of_core(
            **vars(request),
            output=output,
            smoother=smoother,
            max_memory=max_memory,
            spill=spill,
            images=images,
            **shown,
        )
    _print_result(read_summary(output), smoother, output, as_json, quiet)


@options.exit_codes()
def demo(
    output: options.Output = Path("structsmooth-demo"),
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Try it on the breast-cancer data that come with scikit-learn."""
    check_target(output)
    from sklearn.datasets import load_breast_cancer

    from structsmooth.encode.table import Table
    from structsmooth.io.tables import Dataset
    from structsmooth.smoother import StructuralSmoother

    cells = load_breast_cancer()
    table = Table.of_numbers(cells.feature_names.tolist(), cells.data)
    dataset = Dataset(table, cells.target_names[cells.target])
    smoother = StructuralSmoother(random_state=0, verbose=int(not (quiet or as_json)))
    name = "scikit-learn's breast-cancer data"
    _fit_in_memory(smoother, dataset, output, name, as_json, quiet)


def _fit_in_memory(
    smoother: StructuralSmoother,
    dataset: Dataset,
    output: Path,
    name: str,
    as_json: bool,
    quiet: bool,
    notes: Iterable[str] = (),
    images: Any = None,
    shown: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    from structsmooth.io import results
    from structsmooth.io.directories import locked

    with locked(output):
        with options.collected_notes(notes) as notes:
            smoother.fit(dataset.X, dataset.y)
        summary = {"data": name, **results.summarize(smoother, notes, **shown)}
        coded = smoother.encode(dataset.y, len(dataset.X))
        view = results.view_of_dataset(smoother, dataset, images)
        write_files = partial(
            results.write_fitted,
            smoother=smoother,
            coded=coded,
            view=view,
            class_names=summary["class_names"],
        )
        summary = results.write_results(output, summary, write_files)
    _print_result(summary, smoother, output, as_json, quiet)


def _print_result(
    summary: dict[str, Any],
    smoother: StructuralSmoother,
    output: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    from structsmooth.cli.console import print_summary
    from structsmooth.io.results import cluster_table

    if as_json:
        print(json.dumps(summary, indent=1, default=str), flush=True)
    elif not quiet:
        options.print_notes(summary["notes"])
        rows = cluster_table(smoother, summary["class_names"])
        print_summary(summary, rows, output)
