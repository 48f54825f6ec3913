"""TableEncoder: the encoding as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from structsmooth.encode.fitting import fit_encoding
from structsmooth.encode.table import as_table


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table as `StructuralSmoother` does, to train a classifier on it.

    Numbers and dates are standardized, categories one-hot encoded with rare levels
    taken together, and gaps marked where there are many. Columns that tell nothing
    about a row, such as names and identifiers, are left out with a warning.

    Attributes
    ----------
    encoding_ : TableEncoding
        What is done with each column; ``encoding_.summary()`` says it in one line.

    Examples
    --------
    >>> import pandas as pd
    >>> from structsmooth import TableEncoder
    >>> table = pd.DataFrame({"age": [25, 38] * 10, "smokes": [True, False] * 10})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.encoding_.summary()
    '2 columns: 1 number standardized, 1 category one-hot encoded'
    """

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Decide how each column of a DataFrame is encoded; y is ignored."""
        del y
        table = as_table(X)
        self.encoding_ = fit_encoding(table)
        self.n_features_in_ = table.shape[1]
        self.feature_names_in_ = np.array(table.names, dtype=object)
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features, such as "work=private"."""
        del input_features  # the names of the table count
        check_is_fitted(self)
        return np.array(self.encoding_.feature_names(), dtype=object)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the features of a table with the same columns, in any order."""
        check_is_fitted(self)
        return self.encoding_.transform(self.encoding_.read(X))
