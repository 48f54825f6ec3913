"""Smoothed labels for LightGBM, XGBoost and CatBoost, without copying rows.

`fit_smoothed` trains a classifier of any of them. The other functions return what the
library's own training function, or its scikit-learn-style estimator, wants. A strength
is the probability mass that leaves a sample's own class, a = epsilon (K-1)/K for a
framework's ``label_smoothing`` epsilon. No library is imported before it is needed.
"""

from __future__ import annotations

from structsmooth.boosting.arguments import BoostingArguments
from structsmooth.boosting.catboost import CatBoostArguments, catboost_arguments
from structsmooth.boosting.fit import SmoothedModel, fit_smoothed
from structsmooth.boosting.lightgbm import LightGBMArguments, lightgbm_arguments
from structsmooth.boosting.xgboost import XGBoostArguments, xgboost_arguments

__all__ = [
    "BoostingArguments",
    "CatBoostArguments",
    "LightGBMArguments",
    "SmoothedModel",
    "XGBoostArguments",
    "catboost_arguments",
    "fit_smoothed",
    "lightgbm_arguments",
    "xgboost_arguments",
]
