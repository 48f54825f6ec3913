"""A progress bar on standard error, or nothing."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Progress:
    """Show how far a chain of stages has come; silent unless enabled.

    Parameters
    ----------
    enabled : bool
        Without it no line is drawn and rich is not imported.
    """

    def __init__(self, enabled: bool) -> None:
        self._bar = None
        if enabled:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                TextColumn,
                TimeElapsedColumn,
            )
            from rich.progress import Progress as RichProgress

            self._bar = RichProgress(
                TextColumn("{task.description:<16}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
            )

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def stage(self, name: str, total: int = 1) -> Stage:
        """Begin a stage of ``total`` steps."""
        return Stage(self, name, total)


class Stage:
    """One line of the progress display; as a context it finishes itself."""

    def __init__(self, progress: Progress, name: str, total: int) -> None:
        self._bar = progress._bar
        self._task = (
            None if self._bar is None else self._bar.add_task(name, total=total)
        )
        self._total = total

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._total)

    def advance(self) -> None:
        """One step is done."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task)
