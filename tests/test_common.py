"""The checks every scikit-learn estimator must pass, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from structsmooth import SmoothedClassifier, SmoothedClassifierCV, StructuralSmoother

ESTIMATORS = [
    StructuralSmoother(),
    StructuralSmoother(regions="point", shrink=True),
    StructuralSmoother(clusterer="gmm", reducer="scaled-pca", ties="average"),
    StructuralSmoother(spread="overlap", shrink=True, ignore_suspects=True),
    StructuralSmoother("auto", "auto", regions="point", spread="overlap"),
    SmoothedClassifier(),
    SmoothedClassifierCV(cv=2),
    SmoothedClassifier(smoother=StructuralSmoother(regions="point", spread="overlap")),
]


# The checks fit a handful of rows, where small clusters are merged with a warning.
@pytest.mark.filterwarnings("ignore::structsmooth.errors.StructsmoothWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
