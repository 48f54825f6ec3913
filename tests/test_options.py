"""Every option is honored or refused by every way to train, never ignored.

An option is honored if the result is that of the labels that the smoother itself makes
with it, which differ from those without it; it is refused by name otherwise.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from typer.testing import CliRunner

from structsmooth import (
    SmoothedClassifier,
    StructuralSmoother,
    compare,
    expand_rows,
    fit_out_of_core,
    smooth_labels,
)
from structsmooth.boosting import fit_smoothed
from structsmooth.cli import app
from structsmooth.errors import InvalidInputError

OPTIONS = {
    "point": {"regions": "point"},
    "overlap": {"spread": "overlap"},
    "shrink": {"shrink": True},
    "suspects": {"ignore_suspects": True},
    "alpha": {"alpha": 0.17},
    "beta": {"beta": 0.2},
    "gmm": {"clusterer": "gmm"},
    "raw": {"correct_forced_edges": False},
    "point overlap": {"regions": "point", "spread": "overlap"},
}
COMMON = {"n_clusters": 5, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    """Return three classes that mix to different degrees, and some isolated labels."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, size=500)
    X = rng.normal(size=(500, 2))
    X[:, 0] += np.array([0.0, 1.2, 8.0])[y]
    y[np.flatnonzero(X[:, 0] > 7.0)[:4]] = 0
    return X, y


@pytest.fixture(scope="module")
def plain(data):
    return StructuralSmoother(**COMMON).fit_smooth(*data)


@pytest.fixture(params=OPTIONS, scope="module")
def case(request, data, plain):
    """An option, the smoother, and the soft labels that it makes by itself."""
    options = COMMON | OPTIONS[request.param]
    soft = StructuralSmoother(**options).fit_smooth(*data)
    assert np.abs(soft - plain).max() > 1e-4  # the option has an effect here
    return request.param, StructuralSmoother(**options), soft


def test_new_rows(case, data):
    _, smoother, soft = case
    X, y = data
    np.testing.assert_array_equal(smoother.fit(X, y).soft_labels(X, y), soft)


def test_weighted_rows_and_classifiers(case, data):
    _, smoother, soft = case
    X, y = data
    rows, labels = np.nonzero(soft)
    expected = GaussianNB().fit(X[rows], labels, soft[rows, labels])
    found = SmoothedClassifier(GaussianNB(), smoother).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X))
    others = soft.copy()
    others[np.arange(len(y)), y] = 0.0
    total = others.sum(axis=1, keepdims=True)
    even = (1.0 - np.eye(3))[y] / 2.0
    spread = np.divide(others, total, out=even, where=total > 0.0)
    again = np.zeros_like(soft)
    rows, labels, weights = expand_rows(y, total.ravel(), 3, spread=spread)
    again[rows, labels] = weights
    np.testing.assert_allclose(again, soft, atol=1e-12)


def test_boosting(case, data):
    lightgbm = pytest.importorskip("lightgbm")
    _, _, soft = case
    X, y = data
    learner = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1)
    found = fit_smoothed(learner, X, y, soft_labels=soft).predict_proba(X)
    plain = fit_smoothed(learner, X, y, 0.0).predict_proba(X)
    assert np.abs(found - plain).max() > 1e-4


@pytest.mark.filterwarnings("ignore::structsmooth.errors.StructsmoothWarning")
def test_compare(case, data):
    name, smoother, _ = case
    given = []

    def train(X, y, strengths, n_classes, random_state, soft_labels=None):
        given.append((X, y, strengths, soft_labels, random_state))
        return lambda rows: np.full((len(rows), n_classes), 1.0 / n_classes)

    compare(*data, train, smoother=smoother, alpha=0.1, beta="auto", n_seeds=3)
    X, y, strengths, soft, seed = given[2]  # after none and uniform
    options = {"alpha": 0.1, "beta": "auto", "random_state": seed}
    expected = clone(smoother).set_params(**options).fit_smooth(X, y)
    assert (soft is not None) == ("overlap" in name)
    found = smooth_labels(y, strengths, 3) if soft is None else soft
    np.testing.assert_array_equal(found, expected)


def test_out_of_core(case, data, tmp_path):
    name, smoother, soft = case
    X, y = data
    if "point" in name or name == "suspects":
        option = "regions='point'" if "point" in name else "ignore_suspects=True"
        with pytest.raises(InvalidInputError, match=option):
            fit_out_of_core(X, tmp_path / "o", labels=y, smoother=smoother)
        return
    fit_out_of_core(X, tmp_path / "o", labels=y, smoother=smoother)
    found = np.load(tmp_path / "o" / "soft_labels.npy")
    np.testing.assert_array_equal(found, soft.astype(np.float32))


FLAGS = {
    "point": ["--regions", "point"],
    "overlap": ["--spread", "overlap"],
    "shrink": ["--shrink"],
    "suspects": ["--ignore-suspects"],
    "alpha": ["--alpha", "0.17"],
    "beta": ["--beta", "0.2"],
    "gmm": ["--clusterer", "gmm"],
    "point overlap": ["--regions", "point", "--spread", "overlap"],
}


def test_command_line(case, data, tmp_path):
    name, _, soft = case
    if name not in FLAGS:
        return  # the raw count is available in Python only
    np.savez(tmp_path / "d.npz", X=data[0], y=data[1])
    out = tmp_path / "out"
    fit = ["fit", f"{tmp_path / 'd.npz'}", "-o", f"{out}", "--clusters", "5", "-q"]
    assert CliRunner().invoke(app, [*fit, *FLAGS[name]]).exit_code == 0
    found = np.load(out / "soft_labels.npy")
    np.testing.assert_array_equal(found, soft.astype(np.float32))
    # A form that cannot express where the mass goes is refused.
    flipped = ["labels", f"{out}", "--kind", "flipped", "-o", f"{tmp_path / 'l.csv'}"]
    got = CliRunner().invoke(app, flipped)
    assert (got.exit_code != 0) == ("overlap" in name)
