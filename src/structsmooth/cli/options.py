"""Arguments and options that commands share."""

from __future__ import annotations

import contextlib
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


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


def number_or_text(value: str) -> Any:
    """Return what was typed as a number, if it is one."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(value)
    return value


def notes_of(caught: list[warnings.WarningMessage]) -> list[str]:
    """Return each warning once, as one line."""
    return list(dict.fromkeys(" ".join(str(w.message).split()) for w in caught))
