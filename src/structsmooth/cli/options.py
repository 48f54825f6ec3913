"""What the commands share: arguments, options, exit codes and notes."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints
from unicodedata import category

from typer import Argument, BadParameter, Context, Exit, Option

from structsmooth.errors import InvalidParameterError, MissingPackageError
from structsmooth.io.atomic import OutputError

USAGE, UNUSABLE, UNWRITABLE, INTERRUPTED = 2, 3, 4, 130
# Options by the group under which --help shows them.
data_option: Any = partial(Option, rich_help_panel="Data")
strength_option: Any = partial(Option, rich_help_panel="Strengths")
cluster_option: Any = partial(Option, rich_help_panel="Clusters")
comparison_option: Any = partial(Option, rich_help_panel="Comparison")
output_option: Any = partial(Option, rich_help_panel="Output")
file_option: Any = partial(output_option, "--output", "-o")

# The values of options that take one of a few words. They are written here again, so
# that neither --help nor a wrong word loads the modules that use them.
Learner = StrEnum(
    "Learner", "logistic forest gradient-boosting mlp lightgbm xgboost catboost"
)
Criterion = StrEnum("Criterion", "nll error brier ece aurc")
Kind = StrEnum("Kind", "soft sparse flipped expanded")
Reduction = StrEnum("Reduction", "pca scaled-pca none")
Clusterer = StrEnum("Clusterer", "kmeans gmm")
Ties = StrEnum("Ties", "index average")
Regions = StrEnum("Regions", "cluster point")
Spread = StrEnum("Spread", "even overlap")
Suspects = StrEnum("Suspects", "keep weigh drop")


def command_line(context: Context) -> list[str]:
    """Return the command as it was typed, with the full names of its options.

    Of paths only the last part is kept, because results are passed on to others.
    """
    words, given = ["structsmooth", str(context.info_name)], []
    # Not every typer has made paths of the texts in the context.
    hints = get_type_hints(context.command.callback)
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        is_given = source is not None and source.name == "COMMANDLINE"
        if not is_given or parameter.name in ("as_json", "quiet"):
            continue
        value = context.params[str(parameter.name)]
        if parameter.param_type_name == "argument":
            words.append(Path(value).name)
        elif isinstance(value, bool):
            names = parameter.opts if value else parameter.secondary_opts
            given.append(names[0])
        else:
            for one in value if parameter.multiple else [value]:
                is_path = _takes_path(hints.get(str(parameter.name)))
                text = Path(one).name if is_path else getattr(one, "value", one)
                given += [parameter.opts[0], str(text)]
    return words + given


def _takes_path(hint: Any) -> bool:
    """Whether a type is Path, or a list or a union with it."""
    return hint is Path or any(_takes_path(part) for part in get_args(hint))


def number_or(*words: str) -> Callable[[Any], Any]:
    """Return a parser of a number, or of one of some words."""

    def parse(text: Any) -> Any:
        for kind in (int, float):
            with contextlib.suppress(ValueError):
                return kind(text)
        if text not in words:
            expected = " or ".join(map(repr, words))
            raise BadParameter(f"expected a number or {expected}, got {text!r}")
        return text

    return parse


def several(parse: Callable[[Any], Any]) -> Callable[[str], list[Any]]:
    """Return a parser of values that are separated by commas."""
    return lambda text: [parse(part) for part in text.split(",")]


strength = number_or("auto", "cautious")

KINDS = "An npz, npy, csv, csv.gz, tsv or parquet file"
Data = Annotated[Path, Argument(metavar="DATA", help=f"{KINDS}.")]
DataOrDirectory = Annotated[
    Path, Argument(metavar="DATA", help=f"{KINDS}, or a directory of parquet files.")
]
Result = Annotated[
    Path, Argument(metavar="OUT", help="Directory that 'structsmooth fit' has written.")
]
Output = Annotated[Path, file_option(help="Directory for the result.")]
Label = Annotated[
    str | None,
    data_option(metavar="NAME", help="Column (or npz array) that holds the labels."),
]
Labels = Annotated[
    Path | None,
    data_option(
        metavar="FILE", help="File with the labels, if not in DATA: npy or text."
    ),
]
Drop = Annotated[
    list[str] | None,
    data_option(
        metavar="NAMES",
        help="Columns that are not features, separated by commas; can be repeated.",
    ),
]
Header = Annotated[
    bool | None,
    data_option(
        "--header/--no-header",
        help="Whether the first line of a text table names the columns.",
        show_default="it does, unless all its cells are numbers",
    ),
]
ClassNames = Annotated[
    str | None,
    data_option(
        metavar="NAMES",
        help="Names of the classes for tables and reports, separated by commas, in the "
        "order of the sorted labels.",
    ),
]
Reducer = Annotated[
    Reduction,
    cluster_option(
        metavar="NAME",
        help="How to reduce the features: pca, scaled-pca (each feature scaled to unit "
        "variance first) or none. The columns of a table are encoded before.",
    ),
]
Components = Annotated[
    int | None,
    cluster_option(
        help="Number of principal components to keep.",
        show_default="the fewest that hold 95 % of the variance, at most 64; up to 32 "
        "features are all kept",
    ),
]
Clusters = Annotated[
    Any,
    cluster_option(
        parser=number_or("auto"),
        metavar="NUMBER",
        help="Number of clusters, or 'auto'.",
    ),
]
Jobs = Annotated[int | None, Option(help="Number of threads; -1 for all cores.")]
Seed = Annotated[int, Option(min=0, help="Random seed.")]
AsJson = Annotated[bool, output_option("--json", help="Print one JSON object instead.")]
Quiet = Annotated[
    bool, output_option("--quiet", "-q", help="Print nothing but errors.")
]


@contextlib.contextmanager
def exit_codes() -> Iterator[None]:
    """Turn errors that a user can do something about into one sentence and a code."""
    try:
        yield
    except OutputError as error:
        _fail(str(error), UNWRITABLE)
    except (InvalidParameterError, MissingPackageError) as error:
        _fail(" ".join(str(error).split()), USAGE)
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
    print(f"structsmooth: {printable(message)}", file=sys.stderr)
    raise Exit(code) from None


@contextlib.contextmanager
def collected_notes(earlier: Iterable[str] = ()) -> Iterator[list[str]]:
    """Collect each warning of the block once, as one line, after earlier notes."""
    notes = list(earlier)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    found = [" ".join(str(w.message).split()) for w in caught]
    notes[:] = dict.fromkeys([*notes, *found])


def print_notes(notes: Iterable[str]) -> None:
    """Print notes to standard error."""
    for note in notes:
        print(f"note: {printable(note)}", file=sys.stderr)


def printable(text: Any) -> str:
    """Return text from a file so that it neither colors nor moves the screen."""
    # Python counts no space but the usual one as printable.
    is_harmless = [
        c.isprintable() or c == "\n" or category(c) == "Zs" for c in str(text)
    ]
    kept = zip(str(text), is_harmless, strict=True)
    return "".join(c if harmless else "?" for c, harmless in kept)
