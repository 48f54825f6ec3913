"""All rows, block by block, as often as asked for, worked on side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from structsmooth.outofcore.chunks import Source
from structsmooth.outofcore.plan import Plan
from structsmooth.reduce import LinearReduction
from structsmooth.support.parallel import side_by_side
from structsmooth.support.validation import check_features

Result = TypeVar("Result")


class Blocks(Protocol):
    """Reads all rows, and gives what some work makes of each block, in their order."""

    def __call__(self, work: Callable[[NDArray[Any]], Result]) -> Iterator[Result]:
        """Begin with the first row."""


class Rows:
    """The rows of a source, as they are or reduced.

    Parameters
    ----------
    source : Source
        Where they are.
    plan : Plan
        How many may be in memory.
    n_jobs : int
        Threads.
    """

    def __init__(self, source: Source, plan: Plan, n_jobs: int) -> None:
        self._source, self._plan = source, plan
        self._n_jobs = plan.blocks_at_once(n_jobs, source.n_features)
        self.reduction = LinearReduction()

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return self._source.n_rows

    @property
    def n_pieces(self) -> int:
        """How many pieces they are read in."""
        return -(-self.n_rows // self._plan.piece_rows)

    @property
    def n_blocks(self) -> int:
        """How many blocks they are worked on in; a piece is whole blocks."""
        return -(-self.n_rows // self._plan.block_rows)

    @property
    def width(self) -> int:
        """Features after the reduction."""
        components = self.reduction.components
        return self._source.n_features if components is None else len(components)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the reduced features."""
        return self._source.dtype

    def checked(self, work: Callable[[NDArray[Any]], Result]) -> Iterator[Result]:
        """Work on rows as they are, and refuse what is not finite."""
        return self._side_by_side(
            lambda first, rows: work(check_features(rows, first_row=first))
        )

    def raw(self, work: Callable[[NDArray[Any]], Result]) -> Iterator[Result]:
        """Work on rows as they are."""
        return self._side_by_side(lambda _, rows: work(rows))

    def reduced(self, work: Callable[[NDArray[Any]], Result]) -> Iterator[Result]:
        """Work on reduced rows."""
        return self._side_by_side(lambda _, rows: work(self.reduction.transform(rows)))

    def pieces(
        self, work: Callable[[int, list[NDArray[Any]]], Result]
    ) -> Iterator[Result]:
        """Work on lists of reduced blocks, with the number of the first row."""

        def one(numbered: tuple[int, NDArray[Any]]) -> Result:
            first, piece = numbered
            # Block by block here too: a product of matrices depends on their size.
            blocks = self._cut(piece)
            return work(first, [self.reduction.transform(block) for block in blocks])

        # A plan has room for three pieces: two at work, one being read.
        two = min(2, self._n_jobs)
        return side_by_side(one, self._pieces(), two, share_memory=True, ahead=1)

    def _pieces(self) -> Iterator[tuple[int, NDArray[Any]]]:
        for start in range(0, self.n_rows, self._plan.piece_rows):
            stop = min(start + self._plan.piece_rows, self.n_rows)
            yield start, self._source.read(start, stop)

    def _cut(self, piece: NDArray[Any]) -> list[NDArray[Any]]:
        step = self._plan.block_rows
        return [piece[start : start + step] for start in range(0, len(piece), step)]

    def _blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        for first, piece in self._pieces():
            for block in self._cut(piece):
                yield first, block
                first += len(block)

    def _side_by_side(
        self, work: Callable[[int, NDArray[Any]], Result]
    ) -> Iterator[Result]:
        return side_by_side(
            lambda numbered: work(*numbered),
            self._blocks(),
            self._n_jobs,
            share_memory=True,
            ahead=2,
        )
