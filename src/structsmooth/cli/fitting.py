"""The commands ``fit`` and ``demo``."""

from __future__ import annotations

import json
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from structsmooth.cli import options
from structsmooth.cli.options import number_or_text

if TYPE_CHECKING:
    from structsmooth.io.tables import Dataset
    from structsmooth.smoother import StructuralSmoother


@options.exit_codes()
def fit(
    data: options.DataOrDirectory,
    output: options.Output,
    label: options.Label = None,
    labels: options.Labels = None,
    drop: options.Drop = None,
    header: options.Header = None,
    alpha: Annotated[
        str,
        Option(
            help="Mean strength: a number, 'auto' for the estimated Bayes error, or "
            "'cautious' for the same but at most the strength of label_smoothing=0.1."
        ),
    ] = "cautious",
    beta: Annotated[
        str,
        Option(
            help="How closely strengths follow the Bayes error: a number, 'auto' for "
            "fully, or 'cautious' for half of that."
        ),
    ] = "cautious",
    reducer: options.Reducer = None,
    components: Annotated[
        int | None, Option(help="Number of principal components to keep.")
    ] = None,
    clusterer: Annotated[str, Option(help="kmeans or gmm.")] = "kmeans",
    clusters: options.Clusters = "auto",
    min_cluster_size: Annotated[
        str,
        Option(help="Smaller clusters are merged into their neighbor; or 'auto'."),
    ] = "auto",
    ties: Annotated[
        str, Option(help="index, or average for data with many equal distances.")
    ] = "index",
    regions: Annotated[
        str, Option(help="Give a strength to each cluster, or to each point.")
    ] = "cluster",
    shrink: Annotated[
        bool, Option(help="Shrink differences between clusters that may be noise.")
    ] = False,
    spread: Annotated[
        str,
        Option(
            help="Classes that soft labels give probability to: all others alike "
            "(even), or those that overlap there (overlap)."
        ),
    ] = "even",
    ignore_suspects: Annotated[
        bool,
        Option(
            help="List labels that look like mistakes, and count each as the label "
            "of its neighbors."
        ),
    ] = False,
    images: Annotated[
        Path | None, Option(help="npy file with an image of each row, for the report.")
    ] = None,
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
    from structsmooth.io.readers import read_dataset, read_npy
    from structsmooth.io.results import check_target, read_summary
    from structsmooth.outofcore import Request, fit_out_of_core, memory_limit
    from structsmooth.report.pictures import check_images
    from structsmooth.smoother import StructuralSmoother

    check_target(output)
    request = Request(data, label, labels, tuple(drop or ()), header)
    smoother = StructuralSmoother(
        alpha=number_or_text(alpha),
        beta=number_or_text(beta),
        reducer=reducer or ("scaled-pca" if request.is_table else "pca"),
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
        _print_result(read_summary(output), smoother, output, as_json, quiet)
        return
    dataset = read_dataset(
        data, label=label, labels=labels, drop=drop or (), header=header
    )
    pictures = None
    if images is not None:
        pictures = check_images(read_npy(images), len(dataset.X))
    _fit_in_memory(smoother, dataset, output, data.name, as_json, quiet, pictures)


@options.exit_codes()
def demo(
    output: options.Output = Path("structsmooth-demo"),
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Try it on the breast-cancer data that come with scikit-learn."""
    from structsmooth.io.results import check_target

    check_target(output)
    from sklearn.datasets import load_breast_cancer

    from structsmooth.io.tables import Dataset
    from structsmooth.smoother import StructuralSmoother

    cells = load_breast_cancer()
    names = cells.feature_names.tolist()
    labels = cells.target_names[cells.target]
    dataset = Dataset(cells.data, labels, names, is_table=True)
    smoother = StructuralSmoother(
        reducer="scaled-pca", random_state=0, verbose=int(not (quiet or as_json))
    )
    name = "scikit-learn's breast-cancer data"
    _fit_in_memory(smoother, dataset, output, name, as_json, quiet)


def _fit_in_memory(
    smoother: StructuralSmoother,
    dataset: Dataset,
    output: Path,
    name: str,
    as_json: bool,
    quiet: bool,
    images: Any = None,
) -> None:
    from structsmooth.io import results

    with options.collected_notes() as notes:
        smoother.fit(dataset.X, dataset.y)
    summary = {"data": name, **results.summarize(smoother, notes)}
    if dataset.feature_names is not None:
        summary["feature_names"] = dataset.feature_names
    coded = smoother.encode(dataset.y, len(dataset.X))
    view = results.view_of_dataset(smoother, dataset, images)
    write_files = partial(
        results.write_fitted, smoother=smoother, coded=coded, view=view
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
        print_summary(summary, cluster_table(smoother), output)
