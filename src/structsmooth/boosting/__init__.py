"""Soft labels for LightGBM, XGBoost and CatBoost, without copying rows.

`fit_smoothed` trains a classifier of any of them, on strengths or on probabilities of
the classes. The other functions return what the library's own training function, or
its scikit-learn-style estimator, wants. A strength is the probability mass that leaves
a sample's own class, a = epsilon (K-1)/K for a framework's ``label_smoothing`` epsilon.
No library is imported before it is needed.
"""

from __future__ import annotations

from structsmooth.boosting.arguments import (
    BoostingArguments,
    catboost_arguments,
    lightgbm_arguments,
    xgboost_arguments,
)
from structsmooth.boosting.fit import SmoothedModel, fit_smoothed

__all__ = [
    "BoostingArguments",
    "SmoothedModel",
    "catboost_arguments",
    "fit_smoothed",
    "lightgbm_arguments",
    "xgboost_arguments",
]
