"""Fixtures of the tests of reports."""

import numpy as np
import pytest

from structsmooth import StructuralSmoother
from structsmooth.report import make_view


@pytest.fixture
def seen(overlapping):
    X, y = overlapping
    smoother = StructuralSmoother(random_state=0).fit(X, y)
    return smoother, make_view(smoother, X, y, np.zeros((400, 4, 4))), X, y
