"""The lines to paste run for tables with text and gaps too."""

import warnings

import numpy as np
import pandas as pd
import pytest

from structsmooth import StructuralSmoother
from structsmooth.report.snippets import make_snippets


@pytest.fixture
def table(rng):
    y = rng.integers(0, 2, 300)
    size = rng.normal(size=300) + y
    size[::50] = np.nan
    color = np.where(rng.random(300) < 0.3 + 0.4 * y, "red", "blue")
    return pd.DataFrame({"size": size, "color": color}), np.array(["no", "yes"])[y]


@pytest.mark.parametrize("answer", ["uniform", "structural"])
@pytest.mark.parametrize("spread", ["even", "overlap"])
def test_training_lines_run(table, answer, spread):
    pytest.importorskip("lightgbm")
    X, y = table
    smoother = StructuralSmoother(random_state=0, spread=spread).fit(X, y)
    boosting, wrapping = make_snippets(smoother, answer)[2:4]
    for snippet in (boosting, wrapping):
        names = {"X": X, "y": y, "smoother": smoother}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(snippet.code, names)  # noqa: S102
        assert "TableEncoder" in snippet.code
        model, features = names["model"], names.get("features", X)
        assert model.score(features, y) > 0.6


def test_fit_and_comparison_run(table, capsys):
    X, y = table
    smoother = StructuralSmoother(random_state=0, n_clusters=3).fit(X, y)
    again, compare = make_snippets(smoother, "none")
    names = {"X": X, "y": y}
    exec(again.code, names)  # noqa: S102
    np.testing.assert_array_equal(
        names["smoother"].sample_strengths_, smoother.sample_strengths_
    )
    quick = "smoother=smoother, n_seeds=3, alpha=0.05, beta=0.5"
    exec(compare.code.replace("smoother=smoother", quick), names)  # noqa: S102
    assert "structural" in capsys.readouterr().out
