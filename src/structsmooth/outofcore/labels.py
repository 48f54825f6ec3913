"""Labels that come in pieces: numbered at once, named at the end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.errors import FileFormatError, InvalidInputError
from structsmooth.io.paths import check_is_file
from structsmooth.io.readers import read_npy
from structsmooth.io.tables import labels_from_text, refuse_missing
from structsmooth.support.validation import encode_labels

LABEL_ROWS = 2**18
# More than this are identifiers, and would fill the memory.
MOST_CLASSES = 1_000_000


class LabelCoder:
    """Number labels in the order in which they appear.

    Parameters
    ----------
    name : str
        For messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._numbers: dict[Any, int] = {}
        self._parts: list[NDArray[Any]] = []
        self._counts = np.zeros(0, dtype=np.int64)
        self._is_text = False

    def add(self, values: Any) -> NDArray[np.int32]:
        """Return numbers for labels, given as an array or, from text, as a list."""
        if isinstance(values, list):
            self._is_text = True
            distinct, coded = np.unique(np.array(values), return_inverse=True)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a short piece may repeat no label
                distinct, coded = encode_labels(values, None)
        new = [v not in self._numbers for v in distinct.tolist()]
        if any(new):
            self._parts.append(distinct[np.array(new)])
        numbers = self._numbers
        codes = [numbers.setdefault(v, len(numbers)) for v in distinct.tolist()]
        if len(numbers) > MOST_CLASSES:
            raise InvalidInputError(
                f"y has more than {MOST_CLASSES} different labels; expected classes "
                "that repeat (is it an identifier or a regression target?)"
            )
        numbered = np.array(codes, dtype=np.int32)[coded]
        counts = np.bincount(numbered, minlength=len(numbers))
        counts[: len(self._counts)] += self._counts
        self._counts = counts
        return numbered

    def classes(self) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]:
        """Return the sorted labels, which one each number is, how many rows have it."""
        kinds = {_kind(part) for part in self._parts}
        if len(kinds) > 1:
            raise FileFormatError(
                f"{self._name}: the labels are text in one place and numbers in another"
            )
        named = np.concatenate(self._parts)
        if self._is_text:
            named = labels_from_text(named.tolist(), Path(self._name), False)
        # Numbers that were read as text are looked at here for the first time.
        classes, place = encode_labels(named, None)
        counts = np.bincount(place, self._counts).astype(np.int64)
        return classes, place.astype(np.int32), counts


def _kind(part: NDArray[Any]) -> str:
    return "text" if part.dtype.kind in "UO" else "number"


def label_pieces(labels: Any) -> Iterator[Any]:
    """Give the labels of an array, an npy file or a text file, some at a time."""
    if not isinstance(labels, str | Path):
        if getattr(labels, "dtype", None) is None or not hasattr(labels, "ndim"):
            labels = np.asarray(labels)
        for start in range(0, len(labels), LABEL_ROWS):
            yield labels[start : start + LABEL_ROWS]
        return
    path = Path(labels)
    check_is_file(path)
    try:
        if path.suffix.lower() == ".npy":
            yield from label_pieces(read_npy(path))
            return
        with path.open(encoding="utf-8-sig") as stream:
            cells, n_before = [], 0
            for line in stream:
                if line.strip():
                    cells.append(line.strip())
                if len(cells) == LABEL_ROWS:
                    refuse_missing(cells, path, n_before)
                    yield cells
                    n_before += len(cells)
                    cells = []
            if cells:
                refuse_missing(cells, path, n_before)
                yield cells
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not a text file of labels") from None
