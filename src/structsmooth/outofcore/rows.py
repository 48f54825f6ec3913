"""All rows of the data, block by block in their order, as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from structsmooth.outofcore.plan import Plan
from structsmooth.outofcore.sources import Source
from structsmooth.reduce import LinearReduction
from structsmooth.support.parallel import side_by_side
from structsmooth.support.validation import check_features

Result = TypeVar("Result")
Work = Callable[[NDArray[Any]], Result]


class Rows:
    """The rows of a source, as they are or reduced, in blocks that threads work on."""

    def __init__(self, source: Source, plan: Plan, n_jobs: int) -> None:
        self._source, self.plan = source, plan
        self._n_jobs = plan.blocks_at_once(n_jobs, source.n_features)
        self.reduction = LinearReduction()
        self.n_rows = source.n_rows
        # The reduced features have the type of the data.
        self.dtype = source.dtype
        self.n_pieces = -(-self.n_rows // plan.piece_rows)
        self.n_blocks = -(-self.n_rows // plan.block_rows)

    @property
    def width(self) -> int:
        """Number of features after the reduction."""
        components = self.reduction.components
        return self._source.n_features if components is None else len(components)

    def checked(self, work: Work[Result]) -> Iterator[Result]:
        """Work on rows as they are, and refuse what is not finite."""
        return self._side_by_side(
            lambda first, rows: work(check_features(rows, first_row=first))
        )

    def raw(self, work: Work[Result]) -> Iterator[Result]:
        """Work on rows as they are."""
        return self._side_by_side(lambda _, rows: work(rows))

    def reduced(self, work: Work[Result]) -> Iterator[Result]:
        """Work on reduced rows."""
        return self._side_by_side(lambda _, rows: work(self.reduction.transform(rows)))

    def reduced_pieces(
        self, work: Callable[[int, NDArray[Any]], Result]
    ) -> Iterator[Result]:
        """Work on pieces of reduced rows, with the number of the first row."""

        def reduce_and_work(numbered: tuple[int, NDArray[Any]]) -> Result:
            first, piece = numbered
            # Block by block, because a product of matrices depends on their size.
            blocks = [self.reduction.transform(block) for block in self._cut(piece)]
            return work(first, np.concatenate(blocks))

        # A plan allows for three pieces: two are worked on while one is read.
        n_jobs = min(2, self._n_jobs)
        return side_by_side(
            reduce_and_work, self._pieces(), n_jobs, share_memory=True, ahead=1
        )

    def _pieces(self) -> Iterator[tuple[int, NDArray[Any]]]:
        for start in range(0, self.n_rows, self.plan.piece_rows):
            stop = min(start + self.plan.piece_rows, self.n_rows)
            yield start, self._source.read(start, stop)

    def _cut(self, piece: NDArray[Any]) -> list[NDArray[Any]]:
        step = self.plan.block_rows
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
