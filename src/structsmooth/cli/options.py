"""What the commands share: arguments, options, exit codes and notes."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option

UNUSABLE, UNWRITABLE, INTERRUPTED = 3, 4, 130


# The classifiers that can be compared with and without smoothing.
Learner = StrEnum(
    "Learner",
    "logistic forest gradient-boosting mlp lightgbm xgboost catboost",
)
# The forms in which labels can be written.
Kind = StrEnum("Kind", "soft sparse flipped expanded")

KINDS = "An npz, npy, csv, csv.gz, tsv or parquet file"
Data = Annotated[Path, Argument(metavar="DATA", help=f"{KINDS}.")]
DataOrDirectory = Annotated[
    Path,
    Argument(metavar="DATA", help=f"{KINDS}, or a directory of parquet files."),
]
Result = Annotated[
    Path, Argument(metavar="OUT", help="Directory that 'structsmooth fit' has written.")
]
Output = Annotated[Path, Option("--output", "-o", help="Directory for the result.")]
Label = Annotated[
    str | None, Option(help="Column (or npz array) that holds the labels.")
]
Labels = Annotated[
    Path | None, Option(help="File with the labels, if not in DATA: npy or text.")
]
Drop = Annotated[
    list[str] | None, Option(help="Column that is not a feature; can be repeated.")
]
Header = Annotated[
    bool | None,
    Option(
        "--header/--no-header",
        help="Whether the first line of a text table names the columns.",
        show_default="it does, unless all its cells are numbers",
    ),
]
Reducer = Annotated[
    str | None,
    Option(
        help="How to reduce the features: pca, scaled-pca (each column scaled to unit "
        "variance first) or none.",
        show_default="scaled-pca for tables, pca for arrays",
    ),
]
Clusters = Annotated[str, Option(help="Number of clusters, or 'auto'.")]
Jobs = Annotated[int | None, Option(help="Number of threads; -1 for all cores.")]
Seed = Annotated[int, Option(min=0, help="Random seed.")]
AsJson = Annotated[bool, Option("--json", help="Print one JSON object instead.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors.")]


@contextlib.contextmanager
def exit_codes() -> Iterator[None]:
    """Turn errors that a user can do something about into one sentence and a code."""
    from structsmooth.io.atomic import OutputError

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
    raise Exit(code) from None


def number_or_text(value: str) -> Any:
    """Return what was typed as a number, if it is one."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(value)
    return value


@contextlib.contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Collect each warning of the block once, as one line."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes += dict.fromkeys(" ".join(str(w.message).split()) for w in caught)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes to standard error."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
