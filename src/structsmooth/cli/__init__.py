"""The command line: parse, call, print.

Results go to standard output, progress and messages to standard error. Heavy
modules are imported inside the commands, after the files are read, so that ``--help``
and errors in the arguments answer at once.

Exit codes: 0 done, 1 a bug in this program, 2 wrong usage or a missing package, 3 data
that cannot be used, 4 output that cannot be written, 130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from structsmooth.cli.comparing import compare
from structsmooth.cli.fitting import demo, fit
from structsmooth.cli.suspecting import suspects
from structsmooth.cli.writing import write_labels, write_report

app = typer.Typer(
    help="Smooth labels where the classes overlap.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(fit)
app.command("report")(write_report)
app.command("labels")(write_labels)
app.command()(suspects)
app.command()(compare)
app.command()(demo)


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


def main() -> None:
    """Run the command ``structsmooth``."""
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot show is replaced, not an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except BrokenPipeError:
        # The reader of the output has closed the pipe: print nothing more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
