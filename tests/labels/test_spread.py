"""With spread="overlap", the smoothed mass goes to the classes that overlap."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from typer.testing import CliRunner

from structsmooth import SmoothedClassifier, StructuralSmoother, smooth_labels
from structsmooth.bayes_error.neighborhoods import NOBODY
from structsmooth.cli import app
from structsmooth.errors import InvalidInputError
from structsmooth.labels.spread import shares, spread_by_neighbors


def two_pairs(rng, n=200):
    """Classes a and b on top of each other, far away c and d."""
    X = np.concatenate([rng.normal(0.0, 1.0, (n, 2)), rng.normal(50.0, 1.0, (n, 2))])
    y = np.array(["a", "b", "c", "d"])[rng.integers(0, 2, 2 * n) + np.repeat([0, 2], n)]
    return X, y


def test_shares_by_hand():
    # Class 0 has 15 edges to class 1 and none to class 2. Even shares count as much as
    # five edges, 2.5 each: 17.5 and 2.5 of 20.
    crossing = np.array([[0, 15, 0], [15, 0, 0], [0, 0, 0]])
    even = (1.0 - np.eye(3)) / 2.0
    found = shares(crossing, even)
    np.testing.assert_allclose(found[0], [0.0, 0.875, 0.125])
    np.testing.assert_allclose(found[2], [0.5, 0.5, 0.0])


def test_shares_of_neighbors_by_hand():
    # Row 0 of class 0: neighbors of classes 1, 1, 0. With 5 x (1/2, 1/2) on 1 and 2:
    # 4.5 and 2.5 of 7. Row 1 of class 2 has one neighbor, of class 1: 2.5 and 3.5 of 6.
    near = np.array([[1, 2, 3], [1, NOBODY, NOBODY]])
    labels = np.array([2, 1, 1, 0])
    even = (1.0 - np.eye(3)) / 2.0
    found = spread_by_neighbors(np.array([0, 2]), near, labels, even)
    np.testing.assert_allclose(found, [[0, 4.5 / 7, 2.5 / 7], [2.5 / 6, 3.5 / 6, 0]])


@pytest.mark.parametrize("regions", ["cluster", "point"])
def test_the_mass_goes_where_classes_overlap_and_the_strengths_stay(rng, regions):
    X, y = two_pairs(rng)
    options = {"regions": regions, "n_clusters": 2, "random_state": 0}
    even = StructuralSmoother(**options)
    overlap = StructuralSmoother(spread="overlap", **options)
    flat, soft = even.fit_smooth(X, y), overlap.fit_smooth(X, y)
    np.testing.assert_array_equal(even.sample_strengths_, overlap.sample_strengths_)
    np.testing.assert_allclose(soft.sum(axis=1), 1.0)
    own = np.arange(len(y)), overlap.encode(y)
    np.testing.assert_array_equal(soft[own], flat[own])
    of_a = soft[y == "a"].mean(axis=0)
    assert of_a[1] > 10 * of_a[2]
    of_d = soft[y == "d"].mean(axis=0)
    assert of_d[2] > 10 * of_d[0]
    # New rows too: near the first pair, whatever their label.
    new = overlap.soft_labels(X[:3] + 0.01, ["a", "b", "a"])
    np.testing.assert_allclose(new.sum(axis=1), 1.0)
    assert (new[[0, 2], 1] > 10 * new[[0, 2], 3]).all()


def test_with_two_classes_there_is_nowhere_else_to_go(overlapping):
    X, y = overlapping
    even = StructuralSmoother(random_state=0).fit_smooth(X, y)
    overlap = StructuralSmoother(spread="overlap", random_state=0).fit_smooth(X, y)
    np.testing.assert_allclose(even, overlap, atol=1e-15)


@pytest.mark.parametrize("regions", ["cluster", "point"])
def test_a_saved_smoother_spreads_alike(rng, tmp_path, regions):
    X, y = two_pairs(rng)
    smoother = StructuralSmoother(regions=regions, spread="overlap", random_state=0)
    smoother.fit(X, y).save(tmp_path / "s.zip")
    loaded = StructuralSmoother.load(tmp_path / "s.zip")
    np.testing.assert_array_equal(loaded.soft_labels(X, y), smoother.soft_labels(X, y))
    coded = smoother.encode(y)
    np.testing.assert_array_equal(
        loaded.smooth_fitted(coded), smoother.smooth_fitted(coded)
    )


def test_the_command_line_spreads_too(rng, tmp_path):
    X, y = two_pairs(rng)
    np.savez(tmp_path / "d.npz", X=X, y=y)
    out = tmp_path / "out"
    fit = ["fit", f"{tmp_path / 'd.npz'}", "-o", f"{out}", "--spread", "overlap"]
    assert CliRunner().invoke(app, fit).exit_code == 0
    smoother = StructuralSmoother.load(out)
    expected = smoother.smooth_fitted(smoother.encode(y))
    assert expected[y == "a", 1].mean() > 5 * expected[y == "a", 2].mean()
    np.testing.assert_allclose(np.load(out / "soft_labels.npy"), expected, atol=1e-6)
    labels = ["labels", f"{out}", "-o", f"{tmp_path / 'l.npy'}"]
    assert CliRunner().invoke(app, labels).exit_code == 0
    np.testing.assert_allclose(np.load(tmp_path / "l.npy"), expected)
    others = [*labels, "--data", f"{tmp_path / 'd.npz'}"]
    assert CliRunner().invoke(app, others).exit_code == 0
    soft = smoother.soft_labels(X, y)
    np.testing.assert_allclose(np.load(tmp_path / "l.npy"), soft)
    refused = CliRunner().invoke(app, [*labels, "--kind", "flipped"])
    assert refused.exit_code != 0
    assert "expected --kind soft" in " ".join(refused.output.split())


def test_smooth_labels_takes_shares_by_class_or_by_sample():
    by_class = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.25, 0.75, 0.0]])
    expected = [[0.9, 0.1, 0.0], [0.05, 0.15, 0.8]]
    np.testing.assert_allclose(smooth_labels([0, 2], [0.1, 0.2], 3, by_class), expected)
    by_sample = by_class[[0, 2]]
    found = smooth_labels([0, 2], [0.1, 0.2], 3, by_sample)
    np.testing.assert_allclose(found, expected)
    # As many samples as classes: told apart by the diagonal.
    found = smooth_labels([1, 0, 0], 0.2, 3, [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_allclose(found, [[0.2, 0.8, 0], [0.8, 0.2, 0], [0.8, 0, 0.2]])


def test_wrong_shares_are_refused():
    for wrong, words in (
        (np.ones((3, 2)), "shape"),
        (np.full((3, 3), 1 / 3), "own class"),
        ([[0.0, 0.5, 0.2], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]], "sum to 1"),
        ([[0.0, 1.5, -0.5], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]], "sum to 1"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            smooth_labels([0, 1], 0.1, 3, wrong)
    with pytest.raises(InvalidInputError, match="spread must be"):
        StructuralSmoother(spread="odd").fit([[0.0], [1.0], [2.0]], [0, 1, 0])


@pytest.mark.parametrize("regions", ["cluster", "point"])
def test_a_classifier_of_expanded_rows_learns_where_the_mass_goes(rng, regions):
    # Classes 0 and 1 mix; class 2 is far away, and gets nothing from them.
    y = rng.integers(0, 3, size=300)
    X = rng.normal(size=(300, 2)) + np.where(y[:, np.newaxis] == 2, 40.0, 0.0)
    smoother = StructuralSmoother(
        0.2, spread="overlap", regions=regions, n_clusters=2, random_state=0
    )
    model = SmoothedClassifier(GaussianNB(), smoother).fit(X, y)
    soft = model.smoother_.smooth_fitted(y)
    assert soft[y == 0, 1].mean() > 10 * soft[y == 0, 2].mean()
    rows, labels = np.nonzero(soft)
    weights = soft[rows, labels]
    expected = GaussianNB().fit(X[rows], labels, weights)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X))
