"""The checks every scikit-learn estimator must pass, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from structsmooth import SmoothedClassifier, StructuralSmoother


# The checks fit handfuls of rows, where small clusters are merged with a warning.
@pytest.mark.filterwarnings("ignore::structsmooth.errors.StructsmoothWarning")
@parametrize_with_checks([StructuralSmoother(), SmoothedClassifier()])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
