"""The command line: parse, call, print.

Results go to standard output, progress and messages to standard error. Heavy
modules are imported inside the commands, so that ``--help`` answers at once.

Exit codes: 0 done, 1 a fault of this program, 2 wrong usage, 3 data or settings that
cannot be used, 4 output that cannot be written, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import warnings
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from structsmooth.smoother import StructuralSmoother
    from structsmooth.tables import Dataset

UNUSABLE, UNWRITABLE, INTERRUPTED = 3, 4, 130

app = typer.Typer(
    help="Smooth labels where the classes overlap.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


class Learner(StrEnum):
    """The classifiers that a comparison can be made with."""

    logistic = "logistic"
    forest = "forest"
    gradient_boosting = "gradient-boosting"
    mlp = "mlp"
    lightgbm = "lightgbm"
    xgboost = "xgboost"
    catboost = "catboost"


class Kind(StrEnum):
    """The forms labels can be written in."""

    soft = "soft"
    sparse = "sparse"
    flipped = "flipped"
    expanded = "expanded"


DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="An npz, npy, csv, csv.gz, tsv or parquet file."
    ),
]
DataOrDirectory = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="An npz, npy, csv, csv.gz, tsv or parquet file, or a directory of parquet "
        "files.",
    ),
]
Label = Annotated[
    str | None, typer.Option(help="Column (or npz array) that holds the labels.")
]
Labels = Annotated[
    Path | None, typer.Option(help="File with the labels, if not in DATA: npy or text.")
]
Drop = Annotated[
    list[str] | None, typer.Option(help="Column that is no feature; may be repeated.")
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a text table names the columns. [default: "
        "it does, unless all its cells are numbers]",
        show_default=False,
    ),
]
Reducer = Annotated[
    str | None,
    typer.Option(
        help="pca, scaled-pca or none. By default scaled-pca for tables, whose "
        "columns have units of their own, and pca for arrays."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    """Smooth labels where the classes overlap."""
    if version:
        import structsmooth

        print(f"structsmooth {structsmooth.__version__}")
        raise typer.Exit


@app.command()
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
            "but at most 0.1."
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
        str, typer.Option(help="What shares a strength: cluster, or point for none.")
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
        from structsmooth.outofcore import Request, fit_out_of_core, memory_limit
        from structsmooth.outputs import check_target, read_summary
        from structsmooth.readers import read_dataset, read_images
        from structsmooth.report.pictures import check_images
        from structsmooth.smoother import StructuralSmoother

        check_target(output)
        smoother = StructuralSmoother(
            alpha=_number_or_text(alpha),
            beta=_number_or_text(beta),
            reducer=reducer or "pca",
            n_components=components,
            clusterer=clusterer,
            n_clusters=_number_or_text(clusters),
            min_cluster_size=_number_or_text(min_cluster_size),
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


@app.command("report")
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
        from structsmooth.outputs import report_of_result

        report, page, beside = report_of_result(result, output)
        if as_json:
            files = {"file": str(page), "json": str(beside)}
            print(json.dumps({**files, "headline": report.verdict.headline}))
        elif not quiet:
            print(report.verdict.headline)
            for sentence in report.left_out:
                print(f"note: {sentence}", file=sys.stderr)
            print(f"Wrote {page} ({page.stat().st_size // 1000} kB) and {beside}.")


@app.command("labels")
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
        from structsmooth.labelfiles import label_columns, soft_columns, write_columns
        from structsmooth.outputs import read_result
        from structsmooth.readers import read_dataset

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


@app.command()
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
        from structsmooth.compare import compare as run_comparison
        from structsmooth.compare.learners import make_learner
        from structsmooth.console import print_comparison
        from structsmooth.readers import read_dataset
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
                    n_clusters=_number_or_text(clusters),
                    n_jobs=jobs,
                ),
                alpha=[_number_or_text(part) for part in alpha.split(",")],
                beta=[_number_or_text(part) for part in beta.split(",")],
                n_seeds=seeds,
                test=test_pair,
                groups=group_values,
                criterion=criterion,
                results=output,
                random_state=seed,
                verbose=int(not (quiet or as_json)),
            )
        if as_json:
            found = {"data": data.name, "notes": _notes(caught), **result.to_dict()}
            print(json.dumps(found, indent=1))
        elif not quiet:
            for note in _notes(caught):
                print(f"note: {note}", file=sys.stderr)
            print_comparison(data.name, result, output)


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory for the result.")
    ] = Path("structsmooth-demo"),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run the whole line on the breast-cancer data that ship with scikit-learn."""
    with exit_codes():
        from structsmooth.outputs import check_target

        check_target(output)
        from sklearn.datasets import load_breast_cancer

        from structsmooth.smoother import StructuralSmoother
        from structsmooth.tables import Dataset

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


def main() -> None:
    """Run the command ``structsmooth``."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets another one, not an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except BrokenPipeError:
        # Whoever reads the output has had enough; nothing more can be told to them.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def exit_codes() -> Iterator[None]:
    """Turn errors a user can do something about into one sentence and a code."""
    from structsmooth.files import OutputError

    try:
        yield
    except OutputError as error:
        _fail(str(error), UNWRITABLE)
    except ValueError as error:
        _fail(" ".join(str(error).split()), UNUSABLE)
    except MemoryError:
        _fail("the data do not fit into the memory of this machine", UNUSABLE)
    except BrokenPipeError:
        raise
    except OSError as error:
        _fail(f"cannot write the output: {error.strerror or error}", UNWRITABLE)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)


def _fail(message: str, code: int) -> None:
    print(f"structsmooth: {message}", file=sys.stderr)
    raise typer.Exit(code) from None


def _notes(caught: list[warnings.WarningMessage]) -> list[str]:
    """Return each warning once, as one line."""
    return list(dict.fromkeys(" ".join(str(w.message).split()) for w in caught))


def _read_with_groups(
    path: Path,
    label: str | None,
    labels: Path | None,
    drop: list[str],
    header: bool | None,
    groups: str | None,
) -> tuple[Dataset, Any]:
    """Read the data, and the column or array that groups their rows."""
    from structsmooth.readers import read_dataset

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


def _number_or_text(value: str) -> Any:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(value)
    return value


def _fit_and_report(
    smoother: StructuralSmoother,
    dataset: Dataset,
    output: Path,
    name: str,
    as_json: bool,
    quiet: bool,
    images: Any = None,
) -> None:
    from structsmooth.outputs import summarize, view_of_dataset, write_results

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        smoother.fit(dataset.X, dataset.labels)
    notes = _notes(caught)
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
    from structsmooth.console import print_summary
    from structsmooth.outputs import cluster_table

    if as_json:
        print(json.dumps(summary, indent=1, default=str))
        sys.stdout.flush()
        return
    if not quiet:
        for note in summary["notes"]:
            print(f"note: {note}", file=sys.stderr)
        print_summary(summary, cluster_table(smoother), output)
