"""StructuralSmoother: from features and labels to smoothing strengths."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from structsmooth.bayes_error.bounds import bounds_of_regions
from structsmooth.bayes_error.crossing import MANY_TIES
from structsmooth.bayes_error.points import Place, fit_points
from structsmooth.bayes_error.shrinkage import which_count
from structsmooth.bayes_error.suspects import set_straight
from structsmooth.cluster.regions import fit_regions, seed_of
from structsmooth.errors import TiedDistancesWarning
from structsmooth.labels.forms import smooth_labels
from structsmooth.labels.spread import spread_of
from structsmooth.reduce import fit_reduction
from structsmooth.settings import check_settings
from structsmooth.strengths.decision import Decision, decide
from structsmooth.structure import Structure, dense_for_neighbors
from structsmooth.support.notebook import NotebookDisplay
from structsmooth.support.progress import Progress
from structsmooth.support.rowkeys import row_keys
from structsmooth.support.validation import (
    check_features,
    check_label_structure,
    encode_as,
    encode_labels,
)


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
        "cluster" gives all samples of a cluster the same strength, "point" gives every
        sample one of its own, from the labels of its nearest neighbors.
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
    suspects_ : Suspects or None
        Training rows whose labels look like mistakes, if they were looked for.
    strengths_ : ndarray of shape (C,)
        Strength of each cluster; with ``regions="point"`` the mean of its samples.
    sample_strengths_ : ndarray of shape (n,)
        Strength of each training row.
    bias_, uniform_bias_ : float
        How far these strengths, and uniform ones of the same mean, move the Bayes
        error of the training data.
    structure_ : Structure
        All that was measured. `decide` and `fit_structure` find other strengths from it
        without another fit.
    decision_ : Decision
        All that was decided.
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

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Measure the data, and decide on the strengths.

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
        classes, coded = encode_labels(y, X.shape[0], owner=type(self).__name__)
        check_label_structure(classes, np.bincount(coded))
        n_classes = len(classes)
        check_settings(self.get_params(deep=False), n_classes, X.shape)
        seed = seed_of(self.random_state)
        points = suspects = None

        # One thread for BLAS: its sums depend on how many it has, and the trees have
        # threads of their own.
        with threadpool_limits(1), Progress(self.verbose > 0) as progress:
            with progress.stage("reduce"):
                reduction = fit_reduction(X, self.reducer, self.n_components, seed)
                features = reduction.transform(X)
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
                )
            if self.ignore_suspects:
                with progress.stage("suspects"):
                    suspects, coded = set_straight(
                        features, coded, classes, self.n_jobs
                    )
            bounds = bounds_of_regions(
                features,
                coded,
                regions.labels,
                n_classes=n_classes,
                correct_forced_edges=self.correct_forced_edges,
                ties=self.ties,
                confidence=self.confidence,
                n_jobs=self.n_jobs,
                progress=progress,
            )
            if self.regions == "point":
                with progress.stage("neighbors"):
                    points = fit_points(
                        features,
                        coded,
                        regions.labels,
                        row_keys(X),
                        n_classes=n_classes,
                        n_neighbors=self.n_neighbors,
                        n_jobs=self.n_jobs,
                        speaks=which_count(bounds)[regions.labels],
                        shrink=self.shrink,
                    )
        return self.fit_structure(
            Structure(
                classes=classes,
                n_features=X.shape[1],
                reduction=reduction,
                regions=regions,
                cluster_bounds=tuple(bounds),
                points=points,
                suspects=suspects,
            )
        )

    def fit_structure(
        self,
        structure: Structure,
        decision: Decision | None = None,
        *,
        feature_names: NDArray[Any] | None = None,
        sample_strengths: NDArray[np.float64] | None = None,
    ) -> Self:
        """Decide on the strengths of data that have been measured already.

        Parameters
        ----------
        structure : Structure
            The ``structure_`` of a smoother. Of this one's parameters only ``alpha``,
            ``beta``, ``shrink``, ``regions`` and ``spread`` count.
        decision : Decision, optional
            What was decided before. By default it is decided anew.
        feature_names : ndarray of shape (d,), optional
            Column names, if they are known.
        sample_strengths : ndarray of shape (n,), optional
            The strengths of the training rows, if they are at hand, in a file perhaps.

        Returns
        -------
        self
            The fitted smoother.
        """
        if decision is None:
            self._warn_about_ties(structure)
            decision = decide(
                structure,
                self.alpha,
                self.beta,
                shrink=self.shrink,
                regions=self.regions,
            )
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
        place = self._place(X)
        return self.decision_.at(self.structure_, place)

    def predict_cluster(self, X: Any) -> NDArray[np.int64]:
        """Return the cluster of each row.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (m, d)
            Features, of new rows or of those fitted.

        Returns
        -------
        ndarray of shape (m,), int64
            Cluster numbers, as in ``cluster_labels_``.
        """
        return self._place(X).clusters

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
        place = self._place(X)
        coded = self.encode(y, len(place.clusters))
        strengths = self.decision_.at(self.structure_, place)
        return self._smooth(coded, strengths, place)

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
        check_is_fitted(self, "structure_")
        place = Place(self.cluster_labels_)
        if self.spread == "overlap" and self.structure_.points is not None:
            with threadpool_limits(1):
                near = self.structure_.points.neighbors(self.n_jobs)
            place = place._replace(near=near)
        return self._smooth(coded, self.sample_strengths_, place)

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
        check_is_fitted(self, "structure_")
        return encode_as(self.classes_, y, n_rows, owner=type(self).__name__)

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
        from structsmooth.io.store import save_smoother

        check_is_fitted(self, "structure_")
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
        from structsmooth.io.store import load_smoother

        return load_smoother(cls, path)

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

        check_is_fitted(self, "structure_")
        report_of(self, path, X, y, images=images, name=name)

    def _place(self, X: Any) -> Place:
        """Return where rows are."""
        check_is_fitted(self, "structure_")
        X = check_features(X, estimator=self, reset=False, accept_sparse=True)
        with threadpool_limits(1):
            return self.structure_.place(
                X, self.n_jobs, with_neighbors=self.spread == "overlap"
            )

    def _smooth(
        self, coded: NDArray[np.int64], strengths: NDArray[np.float64], place: Place
    ) -> NDArray[np.float64]:
        spread = None
        if self.spread == "overlap":
            spread = spread_of(self.structure_, coded, place)
        return smooth_labels(coded, strengths, len(self.classes_), spread)

    def _forget(self) -> None:
        """Drop an earlier fit, so that a failing one leaves no mixture behind."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _warn_about_ties(self, structure: Structure) -> None:
        tied = structure.whole.tied_fraction
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
