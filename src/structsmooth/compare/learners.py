"""Classifiers by name, for the command line."""

from __future__ import annotations

import importlib
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from structsmooth.errors import InvalidParameterError, missing_package

BOOSTING: dict[str, tuple[str, dict[str, Any]]] = {
    "lightgbm": ("LGBMClassifier", {"verbose": -1, "deterministic": True}),
    "xgboost": ("XGBClassifier", {}),
    "catboost": ("CatBoostClassifier", {"verbose": 0, "allow_writing_files": False}),
}


def make_learner(name: str) -> Any:
    """Return a classifier, not fitted, with the defaults of its library."""
    if name in BOOSTING:
        class_name, options = BOOSTING[name]
        try:
            library = importlib.import_module(name)
        except ImportError as error:
            raise missing_package(name, f"the classifier {name}") from error
        return getattr(library, class_name)(**options)
    learners = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "forest": RandomForestClassifier(),
        # Early stopping would hold out copies of training rows.
        "gradient-boosting": HistGradientBoostingClassifier(early_stopping=False),
        "mlp": make_pipeline(StandardScaler(), MLPClassifier()),
    }
    if name not in learners:
        known = ", ".join([*learners, *BOOSTING])
        raise InvalidParameterError(f"classifier must be one of {known}, got {name!r}")
    return learners[name]
