"""Progress bars on standard error, or nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Self

from structsmooth.support.jit import watch_compilation

# What a stage says while it waits for the compiler.
COMPILING = "compiling, once for this machine"


class Stage:
    """One line of the progress display; any thread may advance it."""

    def __init__(self, bar: Any = None, task: Any = None) -> None:
        self._bar, self._task, self._has_spoken = bar, task, False
        self._words, self._has_compiled = "", False

    def advance(self) -> None:
        """Count one more step as done."""
        if self._bar is not None:
            self._bar.advance(self._task)

    def say(self, text: str) -> None:
        """Show some words after the bar; where bars do not move, once as a line."""
        if self._bar is None:
            return
        if text and not self._bar.console.is_terminal and not self._has_spoken:
            self._bar.console.print(text, highlight=False)
            self._has_spoken = True
        self._words = text
        self._bar.update(self._task, words=text)

    def compiling(self, begins: bool) -> None:
        """Say that kernels are being compiled, until they are."""
        if not self._has_compiled and not self._bar.console.is_terminal:
            self._bar.console.print(f"{COMPILING} ...", highlight=False)
        self._has_compiled = True
        self._bar.update(self._task, words=COMPILING if begins else self._words)


class Progress:
    """Show the stages of a computation; if not enabled, rich is not even imported."""

    def __init__(self, enabled: bool) -> None:
        self._bar = None
        if enabled:
            from rich import progress
            from rich.console import Console

            self._bar = progress.Progress(
                progress.TextColumn("{task.description:<16}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TimeElapsedColumn(),
                progress.TextColumn("{task.fields[words]}"),
                console=Console(stderr=True),
            )

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    @contextlib.contextmanager
    def stage(self, name: str, total: int = 1) -> Iterator[Stage]:
        """Begin a stage of ``total`` steps; it is complete if the block succeeds."""
        if self._bar is None:
            yield Stage()
            return
        task = self._bar.add_task(name, total=total, words="")
        stage = Stage(self._bar, task)
        with watch_compilation(stage.compiling):
            yield stage
        self._bar.update(task, completed=total, words="")
