"""Training LightGBM, XGBoost and CatBoost on soft labels, without copying rows.

`fit_smoothed` trains a classifier of any of them, on strengths or on probabilities of
the classes. The other functions return the arguments for the library's own training
function or estimator. No library is imported before it is needed.
"""

from __future__ import annotations

from structsmooth.boosting.arguments import BoostingArguments
from structsmooth.boosting.fit import SmoothedModel, fit_smoothed
from structsmooth.boosting.libraries import (
    catboost_arguments,
    lightgbm_arguments,
    xgboost_arguments,
)

__all__ = [
    "BoostingArguments",
    "SmoothedModel",
    "catboost_arguments",
    "fit_smoothed",
    "lightgbm_arguments",
    "xgboost_arguments",
]
