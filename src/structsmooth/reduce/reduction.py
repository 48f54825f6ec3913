"""What a fitted reduction is, and does to rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from structsmooth.errors import InvalidInputError
from structsmooth.support.blocks import blocks_of
from structsmooth.support.parallel import in_threads

# Sparse features with more columns than this would not fit into memory as dense ones.
MOST_DENSE_COLUMNS = 1000


class Reduction(Protocol):
    """A fitted reduction."""

    def transform(self, X: Any, n_jobs: int | None = None) -> Any:
        """Return the reduced features."""


@dataclass(frozen=True, eq=False)
class LinearReduction:
    """``(2**-exponent X - center) / scale``, projected onto orthonormal components.

    Each part may be absent. The exponent is not 0 only for data so large or small that
    their squares would leave the range of floating-point numbers. Everything is
    computed in float64, so that float32 rows are reduced like float64 rows.
    """

    center: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None
    components: NDArray[np.float64] | None = None
    exponent: int = 0

    @property
    def changes_values(self) -> bool:
        """Whether rows are not just left as they are."""
        parts = (self.center, self.scale, self.components)
        return self.exponent != 0 or any(part is not None for part in parts)

    def transform(self, X: Any, n_jobs: int | None = None) -> Any:
        """Return the reduced features, dense unless nothing but scaling is done.

        They are float64, except for dense rows that are left as they are. Those of a
        row depend on that row alone, to the last bit.
        """
        if self.components is not None and not sp.issparse(X):
            return self._project(X, self.components, n_jobs)
        if sp.issparse(X) or self.changes_values:
            X = X.astype(np.float64, copy=False)
        X = times_power(X, -self.exponent)
        if sp.issparse(X):
            return self._transform_sparse(X)
        if self.center is not None:
            X = X - self.center
        if self.scale is not None:
            X = X / self.scale
        return X

    def _project(
        self, X: NDArray[Any], components: NDArray[np.float64], n_jobs: int | None
    ) -> NDArray[np.float64]:
        from structsmooth.support.products import project  # loads numba

        reduced = np.empty((X.shape[0], len(components)))
        center = np.zeros(X.shape[1]) if self.center is None else self.center
        parts = list(blocks_of(X))
        n_threads = max(1, min(len(parts), effective_n_jobs(n_jobs)))

        def project_some(number: int) -> None:
            for part in parts[number::n_threads]:
                block = np.ascontiguousarray(times_power(X[part], -self.exponent))
                reduced[part] = project(block, center, self.scale, components)

        in_threads(n_threads, project_some)
        return reduced

    def _transform_sparse(self, X: Any) -> Any:
        # Distances do not depend on the center, so without components X stays sparse.
        if self.scale is not None:
            X = X @ sp.diags_array(1.0 / self.scale)
        if self.components is None:
            return sp.csr_matrix(X)
        projected = np.asarray(X @ self.components.T)
        if self.center is not None:
            center = self.center if self.scale is None else self.center / self.scale
            projected -= self.components @ center
        return projected


@dataclass(frozen=True, eq=False)
class TransformerReduction:
    """A fitted scikit-learn transformer from the user."""

    transformer: Any
    takes_tables: bool = False  # it was fitted to a DataFrame

    def transform(
        self,
        X: Any,
        n_jobs: int | None = None,  # noqa: ARG002 (it has its own)
    ) -> Any:
        """Return the transformer's output, checked to be finite numbers."""
        return check_array(
            self.transformer.transform(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            input_name="the reducer's output",
        )


def times_power(X: Any, power: int) -> Any:
    """Return X times a power of two, which changes no digit."""
    if power == 0:
        return X
    if not sp.issparse(X):
        return np.ldexp(X.astype(np.float64, copy=False), power)
    scaled = X.copy()
    scaled.data = np.ldexp(X.data, power)
    return scaled


def dense_for_neighbors(features: Any) -> Any:
    """Return features in which neighbors can be looked for."""
    if not hasattr(features, "toarray"):
        return features
    if features.shape[1] > MOST_DENSE_COLUMNS:
        raise InvalidInputError(
            "regions='point' and ignore_suspects=True look for neighbors among at "
            f"most {MOST_DENSE_COLUMNS} columns of a sparse X, got "
            f"{features.shape[1]}; reduce them first, as reducer='pca' does"
        )
    return features.toarray()
