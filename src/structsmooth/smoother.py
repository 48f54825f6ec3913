"""StructuralSmoother: from features and labels to smoothing strengths."""

from __future__ import annotations

import warnings
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from structsmooth.bounds import bounds_of_regions, check_confidence, combine_bounds
from structsmooth.cluster import check_clusterer, fit_regions, seed_of
from structsmooth.crossing import MANY_TIES
from structsmooth.display import NotebookDisplay
from structsmooth.errors import InvalidInputError, TiedDistancesWarning
from structsmooth.labels import smooth_labels
from structsmooth.neighborhoods import NOBODY
from structsmooth.points import Place, fit_points
from structsmooth.progress import Progress
from structsmooth.reduce import check_reducer, fit_reduction
from structsmooth.rowkeys import row_keys
from structsmooth.shrinkage import settled_bayes_error, shrink_bounds, which_count
from structsmooth.spread import (
    shares_of_whole,
    spread_by_cluster,
    spread_by_neighbors,
)
from structsmooth.strengths import (
    bayes_error_bias,
    resolve_alpha_beta,
    solve_strengths,
    strengths_of_others,
)
from structsmooth.suspects import Suspects, suspects_among
from structsmooth.validation import (
    check_choice,
    check_features,
    check_flag,
    check_integer,
    check_label_structure,
    check_n_jobs,
    encode_labels,
)

# Sparse features with more columns than this would not fit into memory as dense ones.
MOST_DENSE_COLUMNS = 1000


class StructuralSmoother(NotebookDisplay, BaseEstimator):
    """Find how much each sample's label should be smoothed.

    The features are reduced and clustered; in each cluster the minimum spanning
    tree's edges between different labels bound the Bayes error; and the strengths
    follow the lower bounds at a given mean [1]_. All before training, for any
    classifier.

    Parameters
    ----------
    alpha : float, "cautious" or "auto", default="cautious"
        Mean strength: the probability mass that leaves a sample's own class, from 0
        to below (K-1)/K. A framework's ``label_smoothing`` is `epsilon_from_alpha`
        of it. "auto" is the estimated Bayes error, ``bayes_error_bounds_.lower``;
        "cautious" is that but at most what people smooth by, ``label_smoothing=0.1``,
        because the estimate can be too high.
    beta : float, "cautious" or "auto", default="cautious"
        How far the strengths follow the Bayes error; 0 is uniform smoothing. "auto"
        is 2(K-1)/K, where they differ just as much as the Bayes errors do;
        "cautious" is half of that.
    reducer : {"pca", "scaled-pca", "none"}, None or transformer, default="pca"
        "scaled-pca" gives all features unit variance first, for tables whose
        columns have different units.
    n_components : int, optional
        How many components the reducer keeps. With None, up to 32 features are
        kept as they are; of more, the fewest principal components that hold 95 % of
        the variance, but at most 64.
    clusterer : {"kmeans", "gmm"} or clusterer, default="kmeans"
        Any scikit-learn clusterer will do, with or without ``predict``.
    n_clusters : int or "auto", default="auto"
        "auto" is 1.5 n^(1/3), but so that a cluster has on average at least 50
        rows and 10 for each class; above a million rows, one for 6 667 rows, at
        most 2 048.
    regions : {"cluster", "point"}, default="cluster"
        What shares one strength: all samples of a cluster, or none. "point" gives
        every sample its own, from the labels of its nearest neighbors.
    n_jobs : int, optional
        Threads for the spanning trees, as in joblib. The result does not depend on
        it.
    random_state : int, RandomState instance or None, default=None
        Seed of reduction and clustering. With an int the strengths are the same to
        the last bit in every run.
    verbose : int, default=0
        Above 0, a progress bar on standard error.
    min_cluster_size : int or "auto", default="auto"
        Smaller clusters are merged into their nearest neighbor, with a warning.
        "auto" is 10 rows, or one for each class if that is more.
    correct_forced_edges : bool, default=True
        Do not count the edges that connect a tree even where classes are far apart;
        ``False`` is the paper's raw count.
    ties : {"index", "average"}, default="index"
        For data with many equal distances, "average" takes the mean over 16 orders
        of the rows.
    confidence : float, default=0.95
        Level of the intervals in ``cluster_bounds_`` and ``bayes_error_bounds_``.
    shrink : bool, default=False
        Draw the clusters' Bayes errors together as far as their differences are
        noise, see `shrink_bounds`; where all of them may be, smoothing is uniform.
        The same for the samples if ``regions="point"``.
    n_neighbors : int or "auto", default="auto"
        Neighbors of a sample, in its cluster, if ``regions="point"``. "auto" is 0.4
        times the root of n, from 5 to 50.
    ignore_suspects : bool, default=False
        Count labels that look like mistakes as what their neighbors have, so that a
        clean region is not smoothed because of a few wrong labels; see
        `find_suspects`. Their own soft labels keep the label they came with. Costs a
        search for neighbors among all rows.
    spread : {"even", "overlap"}, default="even"
        Where the mass of soft labels goes: to all other classes alike, or to those
        that overlap there, as the crossing edges of the cluster or the neighbors of
        the sample say. The strengths are the same.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted.
    alpha_, beta_ : float
        The values used.
    cluster_labels_ : ndarray of shape (n,), int64
        Cluster of each training row.
    cluster_weights_ : ndarray of shape (C,)
        Share of the rows in each cluster.
    cluster_bounds_ : list of BayesErrorBounds
        Everything known of each cluster's Bayes error.
    bayes_error_lower_, bayes_error_upper_ : ndarray of shape (C,)
        Bounds on the Bayes error of each cluster.
    bayes_error_bounds_ : BayesErrorBounds
        The same for the whole data set.
    bayes_error_ : ndarray of shape (C,) or (n,)
        What the strengths follow: the lower bounds of clusters or around samples,
        shrunk or not.
    region_labels_ : ndarray of shape (n,), int64
        Which of them belongs to each training row.
    region_weights_ : ndarray of shape (C,) or (n,)
        Share of the rows that each of them stands for.
    shrinkage_ : Shrinkage or None
        How far the clusters were drawn together, if they were.
    suspects_ : Suspects or None
        Training rows whose labels look like mistakes, if they were looked for.
    points_ : Points or None
        The neighborhoods of the samples, if ``regions="point"``.
    strengths_ : ndarray of shape (C,)
        Strength of each cluster; with ``regions="point"`` the mean of its samples.
    sample_strengths_ : ndarray of shape (n,)
        Strength of each training row.
    bias_, uniform_bias_ : float
        How far these strengths, and uniform ones of the same mean, move the Bayes
        error of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Column names, if X had them.

    References
    ----------
    .. [1] Li, Dasarathy, Berisha: Regularization via Structural Label Smoothing,
       AISTATS 2020.

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

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Find the strengths.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix or memory map of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Labels of any kind.

        Returns
        -------
        self
            The fitted smoother.
        """
        self._forget()
        X = check_features(X, estimator=self, accept_sparse=True, min_rows=2)
        self.classes_, coded = encode_labels(y, X.shape[0], owner=type(self).__name__)
        check_label_structure(self.classes_, np.bincount(coded))
        n_classes = len(self.classes_)
        self._check_parameters(n_classes, X.shape)
        seed = seed_of(self.random_state)

        # One thread for BLAS: its sums depend on how many it has, and the trees have
        # threads of their own.
        with threadpool_limits(1), Progress(self.verbose > 0) as progress:
            with progress.stage("reduce"):
                self.reduction_ = fit_reduction(
                    X, self.reducer, self.n_components, seed
                )
                features = self._dense_for_neighbors(self.reduction_.transform(X))
            with progress.stage("cluster"):
                self.regions_ = fit_regions(
                    features,
                    self.clusterer,
                    self.n_clusters,
                    n_classes=n_classes,
                    min_cluster_size=self.min_cluster_size,
                    random_state=seed,
                )
            self.cluster_labels_ = self.regions_.labels
            self.suspects_ = None
            if self.ignore_suspects:
                with progress.stage("suspects"):
                    self.suspects_, coded = self._set_straight(features, coded)
            self.cluster_bounds_ = bounds_of_regions(
                features,
                coded,
                self.cluster_labels_,
                n_classes=n_classes,
                correct_forced_edges=self.correct_forced_edges,
                ties=self.ties,
                confidence=self.confidence,
                n_jobs=self.n_jobs,
                progress=progress,
            )
            self.points_ = None
            if self.regions == "point":
                with progress.stage("neighbors"):
                    self.points_ = fit_points(
                        features,
                        coded,
                        self.cluster_labels_,
                        row_keys(X),
                        n_classes=n_classes,
                        n_neighbors=self.n_neighbors,
                        shrink=self.shrink,
                        n_jobs=self.n_jobs,
                        speaks=which_count(self.cluster_bounds_)[self.cluster_labels_],
                    )
        strengths = self._solve(n_classes)
        self.sample_strengths_ = strengths[self.region_labels_]
        if self.regions == "point":
            sizes = np.bincount(self.cluster_labels_)
            sums = np.bincount(self.cluster_labels_, self.sample_strengths_)
            self.strengths_ = sums / sizes
        return self

    def predict_strength(self, X: Any) -> NDArray[np.float64]:
        """Return the strength of each row: that of its cluster, or around it.

        Rows of the fit get what they had. A new row gets the strength of its cluster,
        or that of its nearest neighbors in it; far from all data, that is still the
        cluster with the nearest center (of a Gaussian mixture, the likeliest one).

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (m, d)
            Features, of new rows or of those fitted.

        Returns
        -------
        ndarray of shape (m,)
            Strengths.
        """
        return self._strengths_at(*self._place(X))

    def soft_labels(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Return the smoothed labels of any rows.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (m, d)
            Features.
        y : array-like of shape (m,)
            Labels, each one of ``classes_``.

        Returns
        -------
        ndarray of shape (m, K)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        clusters, place = self._place(X)
        coded = self.encode(y, len(clusters))
        return smooth_labels(
            coded,
            self._strengths_at(clusters, place),
            len(self.classes_),
            self.spread_of(coded, clusters, None if place is None else place.near),
        )

    def fit_smooth(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Fit, and return the smoothed labels of the training rows.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix or memory map of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Labels of any kind.

        Returns
        -------
        ndarray of shape (n, K)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        self.fit(X, y)
        return self.smooth_fitted(self.encode(y, len(self.sample_strengths_)))

    def smooth_fitted(self, coded: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the smoothed labels of the training rows from their class numbers.

        Parameters
        ----------
        coded : ndarray of shape (n,)
            What `encode` makes of the labels.

        Returns
        -------
        ndarray of shape (n, K)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        check_is_fitted(self, "sample_strengths_")
        near = None
        if self.spread == "overlap" and self.points_ is not None:
            with threadpool_limits(1):
                near = self.points_.neighbors(self.n_jobs)
        return smooth_labels(
            coded,
            self.sample_strengths_,
            len(self.classes_),
            self.spread_of(coded, self.cluster_labels_, near),
        )

    def encode(self, y: ArrayLike, n_rows: int | None = None) -> NDArray[np.int64]:
        """Return labels as positions in ``classes_``, as most learners want them.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels, each one of ``classes_``.
        n_rows : int, optional
            How many there must be.

        Returns
        -------
        ndarray of shape (n,), int64
            Class numbers.
        """
        check_is_fitted(self, "sample_strengths_")
        labels, coded = encode_labels(y, n_rows, owner=type(self).__name__)
        position = {label: i for i, label in enumerate(self.classes_.tolist())}
        for label in labels.tolist():
            if label not in position:
                known = ", ".join(map(repr, self.classes_[:10].tolist()))
                more = ", ..." if len(self.classes_) > 10 else ""
                raise InvalidInputError(
                    f"y has the label {label!r}, which fit did not see; expected "
                    f"one of {known}{more}"
                )
        return np.array([position[label] for label in labels.tolist()])[coded]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted smoother to a file, or into a directory.

        Plain arrays and text; no pickle, so loading it never executes code. A
        smoother with a reducer or clusterer object of your own cannot be saved.

        Parameters
        ----------
        path : path-like
            A file, or a directory (an existing one, or a name that ends in a slash)
            that gets ``smoother.zip``.
        """
        from structsmooth.store import save_smoother

        check_is_fitted(self, "sample_strengths_")
        save_smoother(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a smoother that `save` has written.

        Parameters
        ----------
        path : path-like
            The file, or the directory that holds ``smoother.zip``.

        Returns
        -------
        StructuralSmoother
            Fitted.
        """
        from structsmooth.store import load_smoother

        smoother = load_smoother(cls, path)
        smoother._follow_regions()
        return smoother

    def report(
        self,
        path: str | PathLike[str],
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        images: Any = None,
        name: str = "data",
    ) -> None:
        """Write one offline HTML file that says what was found, and JSON beside it.

        Parameters
        ----------
        path : path-like
            The file, which must end in .html.
        X : array-like, DataFrame or sparse matrix of shape (n, d), optional
            The rows fitted, for the map and the most ambiguous samples; without them
            the report has neither. Large data are sampled.
        y : array-like of shape (n,), optional
            Their labels, needed with X.
        images : array-like of shape (n, h, w), (n, h, w, c) or (n, c, h, w), optional
            Pictures of the rows, to show the most ambiguous ones.
        name : str, default="data"
            What to call the data.
        """
        from structsmooth.report import report_of

        check_is_fitted(self, "sample_strengths_")
        report_of(self, path, X, y, images=images, name=name)

    def _place(self, X: Any) -> tuple[NDArray[np.int64], Place | None]:
        """Return the clusters of rows and, of points, where they are."""
        check_is_fitted(self, "sample_strengths_")
        X = check_features(X, estimator=self, reset=False, accept_sparse=True)
        with threadpool_limits(1):
            features = self._dense_for_neighbors(self.reduction_.transform(X))
            clusters = self.regions_.assign(features)
            if self.points_ is None:
                return clusters, None
            place = self.points_.place(
                self.regions_.within_reach(features),
                clusters,
                row_keys(X),
                self.n_jobs,
                with_neighbors=self.spread == "overlap",
            )
        return place.clusters, place

    def _strengths_at(
        self, clusters: NDArray[np.int64], place: Place | None
    ) -> NDArray[np.float64]:
        """Return the strengths of rows in these clusters, or at these places."""
        if self.points_ is None or place is None:
            return self.strengths_[clusters]
        is_known = place.known != NOBODY
        strengths = np.empty(len(clusters))
        strengths[is_known] = self.sample_strengths_[place.known[is_known]]
        strengths[~is_known] = strengths_of_others(
            self.points_.predict(place.near[~is_known]),
            self.bayes_error_,
            self.sample_strengths_,
            self.alpha_,
            self.beta_,
            n_classes=len(self.classes_),
        )
        return strengths

    def spread_of(
        self,
        coded: NDArray[np.int64],
        clusters: NDArray[np.int64],
        near: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float64] | None:
        """Return where the mass of rows goes, by their clusters or their neighbors.

        Parameters
        ----------
        coded, clusters : ndarray of shape (n,)
            Class numbers and clusters of the rows.
        near : ndarray of shape (n, k), optional
            Training rows near each of them, if ``regions="point"``.

        Returns
        -------
        ndarray of shape (n, K) or None
            Shares for `smooth_labels`; None for even ones.
        """
        if self.spread == "even":
            return None
        whole = shares_of_whole(self.bayes_error_bounds_)
        if near is None or self.points_ is None:
            return spread_by_cluster(coded, clusters, self.cluster_bounds_, whole)
        return spread_by_neighbors(coded, near, self.points_.labels, whole)

    def _set_straight(
        self, features: Any, coded: NDArray[np.int64]
    ) -> tuple[Suspects, NDArray[np.int64]]:
        """Return the suspects, and class numbers with theirs as their neighbors say."""
        found = suspects_among(features, coded, "auto", self.n_jobs)
        straight = coded.copy()
        straight[found.rows] = found.likely
        return replace(found, likely=self.classes_[found.likely]), straight

    def _solve(self, n_classes: int) -> NDArray[np.float64]:
        """Set and return the strengths of the regions, from the clusters' bounds."""
        self.bayes_error_bounds_ = combine_bounds(self.cluster_bounds_)
        self.bayes_error_lower_ = np.array([b.lower for b in self.cluster_bounds_])
        self.bayes_error_upper_ = np.array([b.upper for b in self.cluster_bounds_])
        self._warn_about_ties()
        sizes = np.array([b.n_samples for b in self.cluster_bounds_])
        self.cluster_weights_ = sizes / sizes.sum()
        self._follow_regions()
        # The mean is the trees' to say, whatever the strengths follow: neighborhoods
        # overlap more than the classes do.
        self.alpha_, self.beta_ = resolve_alpha_beta(
            self.alpha,
            self.beta,
            self.bayes_error_lower_,
            self.cluster_weights_,
            n_classes,
        )
        where = (self.bayes_error_, self.region_weights_)
        strengths = solve_strengths(
            *where, self.alpha_, self.beta_, n_classes=n_classes
        )
        self.bias_ = bayes_error_bias(strengths, *where, n_classes=n_classes)
        self.uniform_bias_ = bayes_error_bias(self.alpha_, *where, n_classes=n_classes)
        self.strengths_ = strengths
        return strengths

    def _follow_regions(self) -> None:
        """Set what the strengths follow, and what follows it."""
        self.shrinkage_ = None
        self.bayes_error_ = settled_bayes_error(self.cluster_bounds_)
        self.region_weights_ = self.cluster_weights_
        self.region_labels_ = self.cluster_labels_
        if self.shrink:
            self.shrinkage_ = shrink_bounds(self.cluster_bounds_)
            self.bayes_error_ = self.shrinkage_.bayes_error
        if self.points_ is not None:
            n_samples = len(self.cluster_labels_)
            self.bayes_error_ = self.points_.bayes_error
            self.region_weights_ = np.full(n_samples, 1.0 / n_samples)
            self.region_labels_ = np.arange(n_samples)

    def _forget(self) -> None:
        """Drop an earlier fit, so that a failing one leaves no mixture behind."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _check_parameters(self, n_classes: int, shape: tuple[int, int]) -> None:
        """Refuse what can be refused before any work is done."""
        resolve_alpha_beta(self.alpha, self.beta, np.zeros(1), np.ones(1), n_classes)
        check_reducer(self.reducer, self.n_components, shape)
        check_clusterer(
            self.clusterer, self.n_clusters, self.min_cluster_size, shape[0]
        )
        check_choice(self.regions, "regions", ("cluster", "point"))
        check_choice(self.ties, "ties", ("index", "average"))
        check_choice(self.spread, "spread", ("even", "overlap"))
        check_confidence(self.confidence)
        check_flag(self.correct_forced_edges, "correct_forced_edges")
        check_flag(self.shrink, "shrink")
        check_flag(self.ignore_suspects, "ignore_suspects")
        if self.n_neighbors != "auto":
            check_integer(self.n_neighbors, "n_neighbors", 1, shape[0] - 1)
        check_n_jobs(self.n_jobs)

    def _dense_for_neighbors(self, features: Any) -> Any:
        """Return features in which neighbors can be looked for, if they are wanted."""
        wanted = self.regions == "point" or self.ignore_suspects
        if not wanted or not hasattr(features, "toarray"):
            return features
        if features.shape[1] > MOST_DENSE_COLUMNS:
            raise InvalidInputError(
                "regions='point' and ignore_suspects=True look for neighbors among at "
                f"most {MOST_DENSE_COLUMNS} columns of a sparse X, got "
                f"{features.shape[1]}; reduce them first, as reducer='pca' does"
            )
        return features.toarray()

    def _warn_about_ties(self) -> None:
        tied = self.bayes_error_bounds_.tied_fraction
        if self.ties == "index" and tied > MANY_TIES:
            warnings.warn(
                f"equal distances leave {tied:.0%} of the spanning trees' edges to the "
                "order of the rows; pass ties='average' for data with many ties",
                TiedDistancesWarning,
                stacklevel=4,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.input_tags.sparse = True
        return tags
