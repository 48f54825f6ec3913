"""Overlap or mistake: labels that none of their neighbors share.

A wrong label in a clean region has crossing edges, as a point of an overlap has. The
two differ in what lies around them: where classes overlap, a point has neighbors of its
own class; a mistake stands alone among neighbors that agree with each other. A rare but
right label at the far end of an overlap looks the same, so these are only suspects, for
someone to inspect.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from structsmooth.bayes_error.points import usual_neighbors
from structsmooth.support.jit import kernel
from structsmooth.support.validation import (
    check_features,
    check_integer,
    check_n_jobs,
    encode_labels,
)
from structsmooth.support.weights import CountedRows
from structsmooth.tree import nearest_neighbors

# Fewer neighbors would often share no label with a point of an overlap, by chance.
FEWEST_NEIGHBORS = 15
# A suspect's own label is at most this share of its neighbors', and another at least
# that: chosen on digits and on the synthetic task of the experiments.
OWN_AT_MOST = 0.05
OTHER_AT_LEAST = 0.8


@dataclass(frozen=True, eq=False)
class Suspects:
    """Rows whose labels look like mistakes, the most certain first.

    Attributes
    ----------
    rows : ndarray of shape (m,), int64
        Row numbers.
    likely : ndarray of shape (m,)
        The label that their neighbors have.
    agreement : ndarray of shape (m,)
        Share of the neighbors with that label.
    n_neighbors : int
        How many neighbors each row was compared with.
    """

    rows: NDArray[np.int64]
    likely: NDArray[Any]
    agreement: NDArray[np.float64]
    n_neighbors: int

    def __len__(self) -> int:
        return len(self.rows)


def find_suspects(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_neighbors: int | str = "auto",
    n_jobs: int | None = None,
) -> Suspects:
    """List the samples whose labels look like mistakes, the most certain first.

    A sample is suspect if at most 5 % of its neighbors have its label, while 80 % or
    more agree on another one. Correct labels in the tails of an overlap are among them,
    so inspect them before you change any.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Features in which distances mean something; reduce or scale them before.
    y : array-like of shape (n,)
        Labels of any kind.
    n_neighbors : int or "auto", default="auto"
        How many neighbors to compare with; "auto" is 0.4 times the square root of n,
        from 15 to 50.
    n_jobs : int, optional
        Threads, as in joblib.

    Examples
    --------
    >>> import numpy as np
    >>> from structsmooth import find_suspects
    >>> X = np.concatenate([np.arange(40.0), 100.0 + np.arange(40.0)])[:, None]
    >>> y = np.repeat(["left", "right"], 40)
    >>> y[20] = "right"
    >>> suspects = find_suspects(X, y)
    >>> suspects.rows.tolist(), suspects.likely.tolist()
    ([20], ['left'])
    """
    features = check_features(X, min_rows=2)
    classes, coded = encode_labels(y, len(features))
    if n_neighbors != "auto":
        check_integer(n_neighbors, "n_neighbors", 1, len(features) - 1)
    check_n_jobs(n_jobs)
    with threadpool_limits(1):
        found = suspects_among(features, coded, n_neighbors, n_jobs)
    return Suspects(
        found.rows, classes[found.likely], found.agreement, found.n_neighbors
    )


def suspects_among(
    features: NDArray[Any],
    coded: NDArray[np.int64],
    n_neighbors: int | str,
    n_jobs: int | None,
) -> Suspects:
    """Find suspects, with class numbers as likely labels; the arguments are checked.

    Neighbors are searched among all rows: within a cluster, rows of another class at
    its border would stand alone.
    """
    n_samples = len(coded)
    k = min(max(FEWEST_NEIGHBORS, usual_neighbors(n_samples)), n_samples - 1)
    if isinstance(n_neighbors, int):
        k = n_neighbors
    near = nearest_neighbors(features, k, n_jobs).indices
    n_own, other, n_other = _count_votes(near, coded, int(coded.max()) + 1)
    is_suspect = (n_own <= OWN_AT_MOST * k) & (n_other >= OTHER_AT_LEAST * k)
    rows = np.flatnonzero(is_suspect)
    rows = rows[np.lexsort((rows, n_own[rows] - n_other[rows]))]
    return Suspects(rows, other[rows], n_other[rows] / k, k)


def set_straight(
    features: NDArray[Any], counted: CountedRows, n_jobs: int | None
) -> tuple[Suspects, NDArray[np.int64]]:
    """Return the suspects, and class numbers with theirs as their neighbors say."""
    found = suspects_among(features, counted.coded, "auto", n_jobs)
    straight = counted.coded.copy()
    straight[found.rows] = found.likely
    found = replace(found, likely=counted.classes[found.likely])
    if counted.numbers is not None:  # once each, by the numbers of the rows given
        rows = counted.numbers[found.rows]
        first = np.sort(np.unique(rows, return_index=True)[1])
        found = replace(
            found,
            rows=rows[first],
            likely=found.likely[first],
            agreement=found.agreement[first],
        )
    return found, straight


@kernel
def _count_votes(
    near: NDArray[np.int64], coded: NDArray[np.int64], n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return how many neighbors have a row's label, the best other label, its votes."""
    n = near.shape[0]
    n_own = np.empty(n, dtype=np.int64)
    other = np.empty(n, dtype=np.int64)
    n_other = np.empty(n, dtype=np.int64)
    counts = np.zeros(n_classes, dtype=np.int64)
    for i in range(n):
        for j in near[i]:
            counts[coded[j]] += 1
        n_own[i] = counts[coded[i]]
        counts[coded[i]] = 0
        best = -1
        for j in near[i]:
            c = coded[j]
            if c == coded[i]:
                continue
            gain = counts[c] - counts[best] if best >= 0 else 1
            if gain > 0 or (gain == 0 and c < best):
                best = c
        other[i] = best if best >= 0 else coded[i]
        n_other[i] = counts[best] if best >= 0 else 0
        for j in near[i]:
            counts[coded[j]] = 0
    return n_own, other, n_other
