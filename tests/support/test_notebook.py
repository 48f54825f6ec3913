"""A smoother in a notebook."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.utils import estimator_html_repr

from structsmooth import StructuralSmoother


@pytest.fixture
def fitted(overlapping):
    X, y = overlapping
    names = np.array(["<b>no</b>", "yes"])[y]
    return StructuralSmoother(random_state=0, n_clusters=8).fit(X, names)


def test_a_fitted_smoother_shows_the_verdict_and_a_small_table(fitted):
    for html in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
        assert "estimated Bayes error" in html
        assert html.count("<tr>") == 1 + 6 + 1
        assert f"and {len(fitted.strengths_) - 6} more" in html
        assert "&lt;b&gt;no" in html
        assert "<b>" not in html


def test_one_that_is_not_fitted_shows_what_scikit_learn_shows():
    html = StructuralSmoother(alpha=0.2)._repr_html_()
    assert "sk-estimator" in html
    plain = estimator_html_repr(StructuralSmoother(alpha=0.2))
    assert abs(len(html) - len(plain)) < 50  # but for the numbers of its elements


def test_text_is_shown_where_text_is_wanted(fitted):
    with config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert set(fitted._repr_mimebundle_()) == {"text/plain"}
