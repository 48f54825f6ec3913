"""Overlap or mistake: how likely each label is to be wrong.

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

from structsmooth.bayes_error.evidence import Evidence, gather_evidence
from structsmooth.bayes_error.label_noise import (
    fit_cautiously,
    fit_label_noise,
    n_listed,
    overlap_much,
    wrong_probability,
)
from structsmooth.cluster.clusterers import seed_of
from structsmooth.encode.fitting import encode_rows
from structsmooth.encode.table import as_table, is_table
from structsmooth.errors import InvalidInputError, InvalidParameterError
from structsmooth.reduce.fit import fit_reduction, is_transformer
from structsmooth.reduce.reduction import dense_for_neighbors
from structsmooth.support.validation import (
    check_choice,
    check_features,
    check_integer,
    check_n_jobs,
    check_share,
    encode_labels,
)
from structsmooth.support.weights import CountedRows

# Of the labels that are listed, this share may be right after all.
FALSE_DISCOVERIES = 0.05
# The model has few parameters: it is fitted to so many rows, or to so many rows times
# classes. More are judged in blocks of so many numbers.
FITTED_ROWS, FITTED_CELLS = 5_000, 200_000
BLOCK_CELLS = 500_000
# Where classes overlap much, this share of a list may be right whatever the model says:
# it is as sure of rows that look like another class as of wrong labels.
LOOK_WRONG = 0.3
# How many more labels must be wrong than are listed to be worth a sentence.
MANY_MORE = 1.5
# How far the sum of a row of float32 probabilities may be from 1.
TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Suspects:
    """Rows whose labels look like mistakes, the most certain first.

    Attributes
    ----------
    rows : ndarray of shape (m,), int64
        Row numbers.
    likely : ndarray of shape (m,)
        The label that they should have, as far as the other rows can tell.
    agreement, own : ndarray of shape (m,)
        Share of the neighbors with that label, and with the label that the row has.
        Without features, the probabilities given for the two labels.
    n_neighbors : int
        How many neighbors each row was compared with; 0 without features.
    scores : ndarray of shape (n,)
        Estimated probability that the label is wrong, of every row, suspect or not;
        NaN for rows of weight 0. Their sum estimates how many labels are wrong.
    bounds_as_given : ndarray of shape (2,) or None
        The lower and the upper bound on the Bayes error with all labels as they are, if
        a smoother has found the suspects; its own bounds count the likely labels.
    """

    rows: NDArray[np.int64]
    likely: NDArray[Any]
    agreement: NDArray[np.float64]
    n_neighbors: int
    # Files of version 0.1 have none of these.
    own: NDArray[np.float64] | None = None
    scores: NDArray[np.float64] | None = None
    bounds_as_given: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_expected(self) -> int:
        """About how many labels are wrong, listed or not, by the sum of the scores."""
        if self.scores is None:
            return len(self)
        return round(float(np.nansum(self.scores)))

    def about_others(self) -> str:
        """Say that more labels are wrong than can be listed, or nothing if not so."""
        if self.n_expected <= MANY_MORE * len(self) + 1:
            return ""
        return (
            f"About {self.n_expected} labels are wrong in all, by the sum of the "
            "scores, but the features do not tell well enough which; a larger fdr "
            "may list more."
        )

    def reason(self, number: int) -> str:
        """Say why a suspect is one; ``number`` is its place in the list."""
        likely, agreement = self.likely[number], self.agreement[number]
        own = 0.0 if self.own is None else self.own[number]
        if self.n_neighbors == 0:
            return f"probability {own:.2g}, that of {likely} is {agreement:.2g}"
        n_likely, n_own = (round(s * self.n_neighbors) for s in (agreement, own))
        have = "has" if n_own == 1 else "have"
        return (
            f"{n_likely} of {self.n_neighbors} neighbors are {likely}, "
            f"{n_own or 'none'} {have} this label"
        )

    def sample_weight(self, how: str = "weigh") -> NDArray[np.float64]:
        """Return weights of all rows, to train with.

        Parameters
        ----------
        how : {"weigh", "drop"}, default="weigh"
            With "weigh" a row counts as much as its label is likely to be right, 1
            minus its score; with "drop" suspects have the weight 0, all others 1. Rows
            of weight 0 in a smoother's fit keep it.
        """
        check_choice(how, "how", ("weigh", "drop"))
        if self.scores is None:
            raise InvalidInputError(
                "these suspects come from a file of version 0.1, which has no scores; "
                "fit again"
            )
        weights = 1.0 - np.nan_to_num(self.scores, nan=1.0)
        if how == "drop":
            weights = (~np.isnan(self.scores)).astype(np.float64)
            weights[self.rows] = 0.0
        return np.asarray(weights)


def find_suspects(
    X: Any,
    y: ArrayLike,
    *,
    pred_probs: ArrayLike | None = None,
    fdr: float = FALSE_DISCOVERIES,
    reducer: Any = "pca",
    n_components: int | None = None,
    n_neighbors: int | str = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Suspects:
    """List the samples whose labels look like mistakes, the most certain first.

    Every row gets a score, the estimated probability that its label is wrong, from the
    labels of its neighbors, from the shapes of the classes, and from the probabilities
    of a model if there are any. How much each of these counts, and how many labels are
    wrong at all, is estimated from the data. Right labels in far tails of an overlap
    are among the suspects, so inspect them before you change any.

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix of shape (n, d), or None
        Features in which distances mean something; None to judge by ``pred_probs``
        alone.
    y : array-like of shape (n,)
        Labels of any kind.
    pred_probs : array-like of shape (n, K), optional
        Probability of each class, in the order of the sorted labels, by a model that
        was not trained on the row, as
        `sklearn.model_selection.cross_val_predict` returns with
        ``method="predict_proba"``.
    fdr : float, default=0.05
        Share of the suspects that may be right after all. By their scores alone, only a
        fifth of that is, except in the shortest lists: the highest scores of many rows
        are often too sure together, and the list allows for that. Where classes overlap
        by more than 20 % in most rows, nothing is listed unless it is above 0.3.
    reducer, n_components, random_state
        How the features are reduced first, as in `StructuralSmoother`, which finds the
        same suspects with ``ignore_suspects=True``.
    n_neighbors : int or "auto", default="auto"
        How many neighbors to compare with at the most; with "auto" 30 vote, and how far
        away the classes are is told by 60 to 120, more if there are more classes.
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
    >>> suspects.reason(0)
    '30 of 30 neighbors are left, none have this label'
    >>> bool(suspects.scores[20] > 0.9 > suspects.scores[21])
    True
    """
    if X is None and pred_probs is None:
        raise InvalidInputError("X and pred_probs are both None, expected one of them")
    fdr = check_share(fdr, "fdr")
    check_n_jobs(n_jobs)
    seed = seed_of(random_state)
    features, n_rows = None, None
    with threadpool_limits(1):  # sums in BLAS depend on how many threads it has
        if X is not None:
            features = _reduced(X, reducer, n_components, seed)
            n_rows = len(features)
        classes, coded = encode_labels(y, n_rows)
        if n_neighbors != "auto":
            check_integer(n_neighbors, "n_neighbors", 1, len(coded) - 1)
        given = None
        if pred_probs is not None:
            given = _check_probabilities(pred_probs, len(coded), len(classes))
        found = suspects_among(features, coded, given, fdr, n_neighbors, n_jobs)
    return replace(found, likely=classes[found.likely])


def suspects_among(
    features: NDArray[Any] | None,
    coded: NDArray[np.int64],
    pred_probs: NDArray[np.float64] | None = None,
    fdr: float = FALSE_DISCOVERIES,
    n_neighbors: int | str = "auto",
    n_jobs: int | None = None,
) -> Suspects:
    """Find suspects, with class numbers as likely labels; the arguments are checked.

    Neighbors are searched among all rows: within a cluster, rows of another class at
    its border would stand alone.
    """
    n, n_classes = len(coded), int(coded.max()) + 1
    if n_classes == 1:
        nothing = np.empty(0)
        rows = nothing.astype(np.int64)
        return Suspects(rows, rows, nothing, 0, nothing, np.zeros(n))
    evidence = gather_evidence(
        features, coded, n_classes, pred_probs, n_neighbors, n_jobs
    )
    log_odds, cautious, other, is_much = _judge(evidence)
    order = np.lexsort((np.arange(n), -log_odds))
    scores = wrong_probability(log_odds)
    if cautious is not None:  # its scores, in the order of the first; equal for equals
        scores[order] = np.sort(wrong_probability(cautious))[::-1]
        _, place = np.unique(log_odds, return_inverse=True)
        scores = (np.bincount(place, scores) / np.bincount(place))[place]
    rows = order[: n_listed(scores[order], fdr - LOOK_WRONG if is_much else fdr)]
    likely = other[rows]
    if pred_probs is not None and features is None:
        agreement, own = pred_probs[rows, likely], pred_probs[rows, coded[rows]]
    else:
        votes = coded[evidence.near[rows, : evidence.n_votes]]
        agreement, own = (
            (votes == of[:, None]).mean(axis=1) for of in (likely, coded[rows])
        )
    return Suspects(rows, likely, agreement, evidence.n_votes, own, scores)


def set_straight(
    features: NDArray[Any], counted: CountedRows, n_rows: int, n_jobs: int | None
) -> tuple[Suspects, NDArray[np.int64]]:
    """Return the suspects, and class numbers with theirs as they are likely to be.

    ``n_rows`` is how many rows were given, of which some may not count.
    """
    found = suspects_among(features, counted.coded, n_jobs=n_jobs)
    straight = counted.coded.copy()
    straight[found.rows] = found.likely
    found = replace(found, likely=counted.classes[found.likely])
    if counted.numbers is not None:  # once each, by the numbers of the rows given
        rows = counted.numbers[found.rows]
        first = np.sort(np.unique(rows, return_index=True)[1])
        scores = np.full(n_rows, np.nan)
        scores[counted.numbers] = found.scores
        found = replace(
            found,
            rows=rows[first],
            likely=found.likely[first],
            agreement=found.agreement[first],
            own=None if found.own is None else found.own[first],
            scores=scores,
        )
    return found, straight


def _judge(
    evidence: Evidence,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.int64], bool]:
    """Return the log odds that labels are wrong, twice, and the likely other classes.

    The first are those that rank best, the second those of a cautious model, if that
    differs. The last value says whether the classes overlap much.
    """
    coded, n_classes = evidence.coded, evidence.n_classes
    n = len(coded)
    rows = np.arange(n)
    n_fitted = max(FITTED_ROWS, FITTED_CELLS // n_classes)
    if n > n_fitted:
        generator = np.random.default_rng(0)
        rows = np.sort(generator.choice(n, n_fitted, replace=False))
    some, labels = evidence.of(rows), coded[rows]
    model = fit_label_noise(some, labels)
    is_much = overlap_much(model, some)
    cautious = fit_cautiously(model, some, labels, is_much)
    log_odds, other = np.empty(n), np.empty(n, dtype=np.int64)
    careful = None if cautious is None else np.empty(n)
    size = max(1, BLOCK_CELLS // n_classes)
    for start in range(0, n, size):
        block = np.arange(start, min(n, start + size))
        given = evidence.of(block), coded[block]
        log_odds[block], other[block] = model.judge(*given)
        if cautious is not None and careful is not None:
            careful[block], _ = cautious.judge(*given)
    return log_odds, careful, other, is_much


def _reduced(X: Any, reducer: Any, n_components: int | None, seed: Any) -> NDArray[Any]:
    """Return features as a smoother of these settings would reduce them."""
    if is_table(X) and not is_transformer(reducer):
        _, rows = encode_rows(as_table(X))
    elif is_table(X):
        rows = X
    else:
        rows = check_features(X, accept_sparse=True, min_rows=2)
    features = fit_reduction(rows, reducer, n_components, seed).transform(rows)
    return np.asarray(dense_for_neighbors(features))


def _check_probabilities(
    pred_probs: ArrayLike, n_rows: int, n_classes: int
) -> NDArray[np.float64]:
    probabilities = np.asarray(pred_probs, dtype=np.float64)
    if probabilities.shape != (n_rows, n_classes):
        raise InvalidParameterError(
            f"pred_probs must have the shape {(n_rows, n_classes)}, a row for each "
            f"label and a column for each class, got {probabilities.shape}"
        )
    sums = probabilities.sum(axis=1)
    # NaN fails both comparisons.
    right = (np.abs(sums - 1.0) <= TOLERANCE) & (probabilities.min(axis=1) >= 0.0)
    if not right.all():
        row = int(right.argmin())
        raise InvalidParameterError(
            "pred_probs must have rows of probabilities that are not negative and sum "
            f"to 1, got a sum of {sums[row]:g} in row {row}"
        )
    return probabilities
