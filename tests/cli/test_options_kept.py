"""What is kept of a command in its result."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from structsmooth.cli import app
from structsmooth.cli.options import command_line


@pytest.mark.parametrize("kind", [str, Path])  # what older and newer typers have there
def test_of_paths_only_the_last_part_is_kept(kind):
    given = {"data": kind("/home/ann/d.csv"), "output": kind("/home/ann/out")}
    given |= {"label": "a/b", "labels": kind("/home/ann/y.npy"), "seed": 3}
    given |= {"drop": ["x/1", "x/2"], "shrink": True}
    command = typer.main.get_command(app).commands["fit"]
    context = SimpleNamespace(
        info_name="fit",
        command=command,
        params={parameter.name: None for parameter in command.params} | given,
        get_parameter_source=lambda name: SimpleNamespace(
            name="COMMANDLINE" if name in given else "DEFAULT"
        ),
    )
    words = command_line(context)
    assert words[:3] == ["structsmooth", "fit", "d.csv"]
    pairs = set(zip(words[3::2], words[4::2], strict=False))
    assert {("--output", "out"), ("--labels", "y.npy"), ("--label", "a/b")} <= pairs
    assert {("--drop", "x/1"), ("--drop", "x/2")} <= pairs  # names of columns stay
    assert "ann" not in " ".join(words)
