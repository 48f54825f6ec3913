"""What the maps of the report and of the plots show: places, colors and orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.sparse.linalg import svds
from scipy.spatial.distance import squareform
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.smoother import StructuralSmoother

# The seed of every random choice for a picture: the same data give the same picture.
SEED = 0
# Sparse rows with at most this many features are made dense.
DENSE_FEATURES = 4096
# In place of the class of a row whose label was not given.
UNKNOWN = -1
# Okabe and Ito, without black.
FEW = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
# Petroff's ten (arXiv:2107.02270), their two grays last.
MANY = (
    *("#3f90da", "#ffa90e", "#bd1f01", "#832db6", "#92dadd", "#a96b59", "#e76300"),
    *("#b9ac70", "#717581", "#94a4a2"),
)
# Nobody can tell more than ten colors apart: of more classes, this many have a color of
# their own, and the others are gray.
N_COLORED = 8
OTHER = "#90959b"
# Fewer classes than this keep the order of their labels, which readers know.
FEW_CLASSES = 13


@dataclass(frozen=True, eq=False)
class Placed:
    """Row numbers, positions on a plane, and what is known of each row."""

    rows: NDArray[np.int64]
    features: Any  # after the reduction
    positions: NDArray[np.float64]
    classes: NDArray[np.int64]
    clusters: NDArray[np.int64]
    errors: NDArray[np.float64]  # the Bayes errors that the strengths follow
    strengths: NDArray[np.float64]
    variance_shown: float  # the share of the variance that the plane holds


def place_rows(
    smoother: StructuralSmoother, X: Any, y: ArrayLike | None, most: int
) -> Placed:
    """Place training rows or others; of more than ``most``, a random choice."""
    n_rows = _num_samples(X)
    classes = np.full(n_rows, UNKNOWN) if y is None else smoother.encode(y, n_rows)
    rows = draw_rows(n_rows, most)
    return place_chosen(smoother, rows, take_rows(X, rows), classes[rows])


def place_chosen(
    smoother: StructuralSmoother,
    rows: NDArray[np.int64],
    X: Any,
    classes: NDArray[np.int64],
) -> Placed:
    """Place rows with these numbers, features and classes."""
    given = smoother.check_rows(X)
    structure, decision = smoother.structure_, smoother.decision_
    features = structure.reduction.transform(given)
    place = structure.place(given, smoother.n_jobs)
    positions, variance_shown = project(features)
    return Placed(
        rows=rows,
        features=features,
        positions=positions,
        classes=classes,
        clusters=place.clusters,
        errors=decision.bayes_error_at(structure, place),
        strengths=decision.at(structure, place),
        variance_shown=variance_shown,
    )


def take_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of an array, a sparse matrix or a table."""
    return _safe_indexing(X.tocsr() if sp.issparse(X) else X, rows)


def project(
    features: Any, weights: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], float]:
    """Return positions on the plane of most variance, and the share that it holds.

    One or two features are kept as they are. ``weights`` say how much each row of the
    array or CSR matrix counts; by default all count the same.
    """
    n_rows, n_features = features.shape
    if n_features <= 2:
        return np.asarray(features @ np.eye(n_features, 2), dtype=np.float64), 1.0
    if sp.issparse(features) and n_features <= DENSE_FEATURES:
        features = features.toarray()
    weights = np.full(n_rows, 1.0 / n_rows) if weights is None else weights
    weights = weights / weights.sum()
    center = np.asarray(weights @ features, dtype=np.float64).ravel()
    if sp.issparse(features):
        # Not centered, because that would fill in the zeros.
        _, values, directions = svds(features, k=2, random_state=SEED)
        total = float(features.multiply(features).sum())
        squares, directions = values[::-1] ** 2, directions[::-1]
    else:
        root = np.sqrt(weights)[:, np.newaxis]
        scaled = (np.asarray(features, dtype=np.float64) - center) * root
        squares, vectors = np.linalg.eigh(scaled.T @ scaled)
        total = float(squares.clip(0.0).sum())
        squares, directions = squares[::-1][:2], vectors[:, ::-1][:, :2].T
    # A direction is as good as its opposite: its largest component is made positive.
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[[0, 1], largest])[:, np.newaxis]
    shown = float(squares.sum()) / total if total > 0.0 else 1.0
    offset = directions @ center
    positions = np.asarray(features @ directions.T, dtype=np.float64) - offset
    return positions, min(1.0, shown)


def draw_rows(n_rows: int, most: int) -> NDArray[np.int64]:
    """Return at most that many row numbers, chosen at random, in ascending order."""
    if n_rows <= most:
        return np.arange(n_rows)
    drawn = np.random.default_rng(SEED).choice(n_rows, most, replace=False)
    return np.sort(drawn)


def class_colors(counts: NDArray[np.float64]) -> list[str | None]:
    """Return a color for each class; of many, None (gray) for the smaller counts."""
    n_classes = len(counts)
    if n_classes <= len(MANY):
        palette = FEW if n_classes <= len(FEW) else MANY
        return list(palette[:n_classes])
    largest = np.sort(np.argsort(-counts, kind="stable")[:N_COLORED])
    color_of = dict(zip(largest.tolist(), MANY, strict=False))
    return [color_of.get(number) for number in range(n_classes)]


def overlap_of_classes(bounds: BayesErrorBounds) -> NDArray[np.float64]:
    """Return for each class how many tree edges lead to another class."""
    counts = np.repeat(bounds.crossing_counts, 2)
    n_classes = len(bounds.class_counts)
    return np.asarray(np.bincount(bounds.crossing_pairs.ravel(), counts, n_classes))


def order_of_classes(crossing: NDArray[Any]) -> NDArray[np.int64]:
    """Return an order of the classes in which those that overlap are neighbors.

    It is that of average linkage over ``1 - c_ij / sqrt(c_i c_j)``, where ``c_ij`` of
    the matrix ``crossing`` is how many tree edges join classes i and j, and ``c_i`` is
    how many join class i and any other.
    """
    n_classes = len(crossing)
    if n_classes < FEW_CLASSES:
        return np.arange(n_classes)
    counts = np.asarray(crossing, dtype=np.float64)
    scale = np.sqrt(np.maximum(counts.sum(axis=1), 1.0))
    distance = 1.0 - counts / np.outer(scale, scale)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average")
    return np.asarray(leaves_list(tree), dtype=np.int64)
