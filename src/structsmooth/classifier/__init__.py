"""Any scikit-learn classifier, trained on smoothed labels."""

from __future__ import annotations

from structsmooth.classifier.cross_validation import SmoothedClassifierCV
from structsmooth.classifier.smoothed import SmoothedClassifier

__all__ = ["SmoothedClassifier", "SmoothedClassifierCV"]
