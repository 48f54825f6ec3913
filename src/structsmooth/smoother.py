"""StructuralSmoother: from features and labels to smoothing strengths."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from structsmooth.bayes_error.bounds import combine_bounds
from structsmooth.bayes_error.crossing import warn_about_ties
from structsmooth.bayes_error.points import Place, fit_points
from structsmooth.bayes_error.regions import bounds_of_regions
from structsmooth.bayes_error.shrinkage import which_count
from structsmooth.bayes_error.suspects import set_straight
from structsmooth.cluster.clusterers import seed_of
from structsmooth.cluster.regions import fit_regions
from structsmooth.encode.fitting import encode_rows
from structsmooth.encode.table import (
    Table,
    as_table,
    column_names,
    is_table,
    numbers_of,
)
from structsmooth.labels.forms import smooth_labels
from structsmooth.labels.spread import spread_of
from structsmooth.reduce.fit import fit_reduction, is_transformer
from structsmooth.reduce.reduction import dense_for_neighbors
from structsmooth.settings import check_settings, needs_copies
from structsmooth.strengths.decision import Decision, decide
from structsmooth.structure import Structure, keys_of
from structsmooth.support.estimator import SmootherBase
from structsmooth.support.progress import Progress
from structsmooth.support.validation import check_features, encode_as
from structsmooth.support.weights import count_rows


class StructuralSmoother(SmootherBase):
    """Find how much each sample's label should be smoothed.

    The features are reduced and clustered; in each cluster the minimum spanning
    tree's edges between different labels bound the Bayes error; and the strengths
    follow the lower bounds at a given mean, as proposed by Li, Dasarathy and Berisha
    (Regularization via Structural Label Smoothing, AISTATS 2020).

    Parameters
    ----------
    alpha : float, "cautious" or "auto", default="cautious"
        Mean strength: the probability mass that leaves a sample's own class, from 0
        to below (K-1)/K. A framework's ``label_smoothing`` is `epsilon_from_alpha`
        of it. "auto" is the estimated Bayes error; "cautious" is the same but at most
        the usual ``label_smoothing=0.1``, because the estimate can be too high.
    beta : float, "cautious" or "auto", default="cautious"
        How far the strengths follow the Bayes error; 0 is uniform smoothing. With
        "auto", 2(K-1)/K, they differ as much as the Bayes errors do, with "cautious"
        half as much.
    reducer : {"pca", "scaled-pca", "none"}, None or transformer, default="pca"
        "scaled-pca" first gives all features unit variance. A transformer of your own
        gets a DataFrame as it is; otherwise its columns are encoded first, see
        `TableEncoder`.
    n_components : int, optional
        By default up to 32 features are kept as they are; of more, the fewest principal
        components that hold 95 % of the variance, but at most 64. Those of 512 features
        or more are approximate: in pictures they hold over 99.9 % of what the exact
        ones would.
    clusterer : {"kmeans", "gmm"} or scikit-learn clusterer, default="kmeans"
        It may or may not have ``predict``.
    n_clusters : int or "auto", default="auto"
        "auto" is 1.5 n^(1/3), but so that a cluster has on average at least 50 rows and
        10 for each class; above a million rows, 150 (n / 10^6)^(3/2), at most n / 2 000
        and 16 384.
    regions : {"cluster", "point"}, default="cluster"
        "cluster" gives all samples of a cluster the same strength, "point" gives every
        sample one of its own, from the labels of its nearest neighbors.
    n_jobs : int, optional
        Threads, as in joblib. They do not change the result.
    random_state : int, RandomState instance or None, default=None
        Seed. With an int the strengths are the same to the last bit in every run.
    verbose : int, default=0
        Above 0, a progress bar on standard error.
    min_cluster_size : int or "auto", default="auto"
        Smaller clusters are merged into their nearest neighbor. "auto" is 10 rows, or
        one for each class if that is more.
    correct_forced_edges : bool, default=True
        Do not count the edges that connect a tree even where classes are far apart;
        ``False`` is the paper's raw count.
    ties : {"index", "average"}, default="index"
        "average" takes the mean over 16 orders of the rows, for data with many equal
        distances.
    confidence : float, default=0.95
        Level of the intervals of the bounds.
    shrink : bool, default=False
        Draw the Bayes errors of the clusters (or samples) together as far as their
        differences are noise, see `shrink_bounds`.
    n_neighbors : int or "auto", default="auto"
        Neighbors of a sample, in its cluster, if ``regions="point"``. "auto" is 0.4
        times the square root of n, from 5 to 50.
    ignore_suspects : bool, default=False
        Count labels that look like mistakes, see `find_suspects`, as what their
        neighbors have. Their own soft labels keep the label they came with.
    spread : {"even", "overlap"}, default="even"
        Where the mass of soft labels goes: to all other classes alike, or to those
        that overlap in the cluster or around the sample. The strengths are the same.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted.
    alpha_, beta_ : float
        The values used.
    cluster_labels_, sample_strengths_ : ndarray of shape (n,)
        Cluster and strength of each training row.
    cluster_weights_, strengths_ : ndarray of shape (C,)
        Share of the rows in each cluster, and its strength; with ``regions="point"``
        the mean of its samples.
    bayes_error_lower_, bayes_error_upper_ : ndarray of shape (C,)
        Bounds on the Bayes error of each cluster.
    cluster_bounds_ : list of BayesErrorBounds
        Everything known about each cluster's Bayes error.
    bayes_error_bounds_ : BayesErrorBounds
        The same for the whole data set.
    bayes_error_ : ndarray of shape (C,) or (n,)
        What the strengths follow: the lower bounds of clusters or around samples.
    bias_, uniform_bias_ : float
        How far these strengths, and uniform ones of the same mean, move the Bayes
        error.
    suspects_ : Suspects or None
        Training rows whose labels look like mistakes, if asked for.
    structure_, decision_ : Structure and Decision
        All that was measured, and all that was decided.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from structsmooth import StructuralSmoother
    >>> X, y = load_digits(return_X_y=True)
    >>> smoother = StructuralSmoother(alpha=0.1, random_state=0)
    >>> soft_labels = smoother.fit_smooth(X, y)
    >>> soft_labels.shape, round(float(smoother.sample_strengths_.mean()), 6)
    ((1797, 10), 0.1)
    """

    def __init__(
        self,
        alpha: float | str = "cautious",
        beta: float | str = "cautious",
        *,
        reducer: Any = "pca",
        n_components: int | None = None,
        clusterer: Any = "kmeans",
        n_clusters: int | str = "auto",
        regions: str = "cluster",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        min_cluster_size: int | str = "auto",
        correct_forced_edges: bool = True,
        ties: str = "index",
        confidence: float = 0.95,
        shrink: bool = False,
        n_neighbors: int | str = "auto",
        ignore_suspects: bool = False,
        spread: str = "even",
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.reducer = reducer
        self.n_components = n_components
        self.clusterer = clusterer
        self.n_clusters = n_clusters
        self.regions = regions
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.min_cluster_size = min_cluster_size
        self.correct_forced_edges = correct_forced_edges
        self.ties = ties
        self.confidence = confidence
        self.shrink = shrink
        self.n_neighbors = n_neighbors
        self.ignore_suspects = ignore_suspects
        self.spread = spread

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Measure the data, and decide on the strengths.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix or memory map of shape (n, d)
            A DataFrame of pandas or polars may hold text, categories, dates and gaps.
        y : array-like of shape (n,), labels of any kind
        sample_weight : array-like of shape (n,), optional
            A row of weight 2 counts as two rows, one of weight 0 as none. Weights with
            fractions are scaled to a mean of 1; ``regions="point"``,
            ``ignore_suspects`` and ``clusterer="gmm"`` take whole numbers only.
        """
        self._forget()
        X = self._read(X)
        settings = self.get_params(deep=False)
        counted = count_rows(X, y, sample_weight, repeat=needs_copies(settings))
        coded, weights, n_classes = counted.coded, counted.weights, len(counted.classes)
        encoding, rows = encode_rows(X, weights, counted.numbers)
        check_settings(settings, n_classes, rows.shape)
        seed, points, suspects = seed_of(self.random_state), None, None

        # The sums of BLAS depend on its number of threads, so it gets only one.
        with threadpool_limits(1), Progress(self.verbose > 0) as progress:
            with progress.stage("reduce"):
                reduction = fit_reduction(
                    rows, self.reducer, self.n_components, seed, weights, self.n_jobs
                )
                features = reduction.transform(rows, self.n_jobs)
                if self.regions == "point" or self.ignore_suspects:
                    features = dense_for_neighbors(features)
            with progress.stage("cluster"):
                regions = fit_regions(
                    features,
                    self.clusterer,
                    self.n_clusters,
                    n_classes=n_classes,
                    min_cluster_size=self.min_cluster_size,
                    random_state=seed,
                    weights=weights,
                    n_jobs=self.n_jobs,
                )
            if self.ignore_suspects:
                with progress.stage("suspects"):
                    suspects, coded = set_straight(
                        features, counted, X.shape[0], self.n_jobs
                    )
            bounds_with = partial(
                bounds_of_regions,
                features,
                region_of=regions.labels,
                weights=weights,
                n_classes=n_classes,
                correct_forced_edges=self.correct_forced_edges,
                ties=self.ties,
                confidence=self.confidence,
                n_jobs=self.n_jobs,
            )
            bounds = bounds_with(coded, progress=progress)
            if suspects:
                whole = combine_bounds(bounds_with(counted.coded))
                as_given = np.array([whole.lower, whole.upper])
                suspects = replace(suspects, bounds_as_given=as_given)
            if self.regions == "point":
                with progress.stage("neighbors"):
                    points = fit_points(
                        features,
                        coded,
                        regions.labels,
                        keys_of(rows, features),
                        n_classes=n_classes,
                        n_neighbors=self.n_neighbors,
                        n_jobs=self.n_jobs,
                        counts=which_count(bounds)[regions.labels],
                        shrink=self.shrink,
                    )
            structure = Structure(
                classes=counted.classes,
                n_features=X.shape[1],
                reduction=reduction,
                regions=regions,
                cluster_bounds=tuple(bounds),
                points=points,
                suspects=suspects,
                encoding=encoding,
            )
            if counted.numbers is not None:
                given = X if encoding is None else encoding.transform(X)
                place = structure.place(given, self.n_jobs)
                structure = replace(structure, given=place)
        return self.fit_structure(structure)

    def fit_structure(
        self,
        structure: Structure,
        decision: Decision | None = None,
        *,
        feature_names: NDArray[Any] | None = None,
        sample_strengths: NDArray[np.float64] | None = None,
    ) -> Self:
        """Decide on strengths without another fit, from what has been measured.

        Parameters
        ----------
        structure : Structure
            The ``structure_`` of a smoother. Of this one's parameters only ``alpha``,
            ``beta``, ``shrink``, ``regions`` and ``spread`` count.
        decision, feature_names, sample_strengths : optional
            What was decided before, the names of the columns, and the strengths of the
            training rows, if they are known already.
        """
        if decision is None:
            warn_about_ties(structure.whole.tied_fraction, self.ties)
            options: dict[str, Any] = {"shrink": self.shrink, "regions": self.regions}
            decision = decide(structure, self.alpha, self.beta, **options)
        self.n_features_in_ = structure.n_features
        if feature_names is not None:
            self.feature_names_in_ = feature_names
        self.structure_, self.decision_ = structure, decision
        self.classes_ = structure.classes
        self.cluster_labels_ = structure.cluster_labels
        self.cluster_weights_ = structure.cluster_weights
        self.cluster_bounds_ = list(structure.cluster_bounds)
        self.bayes_error_bounds_ = structure.whole
        self.bayes_error_lower_ = np.array([b.lower for b in self.cluster_bounds_])
        self.bayes_error_upper_ = np.array([b.upper for b in self.cluster_bounds_])
        self.suspects_ = structure.suspects
        self.alpha_, self.beta_ = decision.alpha, decision.beta
        self.bias_, self.uniform_bias_ = decision.bias, decision.uniform_bias
        self.bayes_error_ = decision.bayes_error
        self.strengths_ = decision.of_clusters(structure)
        if sample_strengths is None:
            sample_strengths = decision.of_samples(structure)
        self.sample_strengths_ = sample_strengths
        return self

    def predict_strength(self, X: Any) -> NDArray[np.float64]:
        """Return the strength of each row; rows of the fit get what they had.

        A new row gets the strength of its cluster, or of its nearest neighbors in it.
        """
        place = self._place(X)
        return self.decision_.at(self.structure_, place)

    def predict_cluster(self, X: Any) -> NDArray[np.int64]:
        """Return the number of each row's cluster, as in ``cluster_labels_``."""
        return self._place(X).clusters

    def soft_labels(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Return the smoothed labels of any rows: (m, K), in the order of ``classes_``.

        Each label in y must be one of the classes.
        """
        place = self._place(X)
        coded = self.encode(y, len(place.clusters))
        return self._smooth(coded, self.decision_.at(self.structure_, place), place)

    def fit_smooth(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Fit, and return the smoothed labels of the training rows, of shape (n, K)."""
        self.fit(X, y, sample_weight)
        return self.smooth_fitted(self.encode(y, len(self.sample_strengths_)))

    def smooth_fitted(self, coded: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the smoothed labels of the training rows from their class numbers."""
        check_is_fitted(self, "structure_")
        return self._smooth(coded, self.sample_strengths_, self.structure_.training)

    def encode(self, y: ArrayLike, n_rows: int | None = None) -> NDArray[np.int64]:
        """Return labels as positions in ``classes_``; ``n_rows`` of them, if given."""
        check_is_fitted(self, "structure_")
        return encode_as(self.classes_, y, n_rows, owner="StructuralSmoother")

    def check_rows(self, X: Any) -> Any:
        """Return rows as the structure takes them, those of a table as features."""
        check_is_fitted(self, "structure_")
        encoding = self.structure_.encoding
        if encoding is None:
            return self._read(X, reset=False)
        return encoding.transform(encoding.read(X))

    def _read(self, X: Any, *, reset: bool = True) -> Any:
        """Return checked features, a table, or a DataFrame for the reducer."""
        takes_tables = reset or getattr(
            self.structure_.reduction, "takes_tables", False
        )
        if isinstance(X, Table) and not takes_tables:
            X = numbers_of(X)
        if not (is_table(X) and takes_tables):
            options: dict[str, Any] = {"accept_sparse": True, "min_rows": 1 + reset}
            return check_features(X, estimator=self, reset=reset, **options)
        if is_transformer(self.reducer):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        table = as_table(X)
        if isinstance(X, Table) or all(isinstance(n, str) for n in column_names(X)):
            self.feature_names_in_ = np.array(table.names, dtype=object)
        return table

    def _place(self, X: Any) -> Place:
        rows = self.check_rows(X)
        with threadpool_limits(1):
            return self.structure_.place(rows, self.n_jobs)

    def _smooth(
        self, coded: NDArray[np.int64], strengths: NDArray[np.float64], place: Place
    ) -> NDArray[np.float64]:
        spread = None
        if self.spread == "overlap":
            with threadpool_limits(1):
                spread = spread_of(self.structure_, coded, place, self.n_jobs)
        return smooth_labels(coded, strengths, len(self.classes_), spread)
