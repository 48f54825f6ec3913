"""Overlap or mistake: labels that stand alone among neighbors that agree."""

import csv
import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors
from typer.testing import CliRunner

from structsmooth import StructuralSmoother, find_suspects
from structsmooth.cli import app
from structsmooth.errors import InvalidInputError


def two_groups(n=100, wrong=()):
    """Two far groups on a line, one class each, with some labels swapped."""
    X = np.concatenate([np.arange(n) * 1.01, 1e4 + np.arange(n) * 1.01])[:, None]
    y = np.repeat(["left", "right"], n)
    for row in wrong:
        y[row] = "right" if y[row] == "left" else "left"
    return X, y


def with_mistakes(y, share, n_classes, rng):
    """Labels with some of them changed, and which ones are changed."""
    wrong = rng.uniform(size=len(y)) < share
    moved = (y + rng.integers(1, n_classes, size=len(y))) % n_classes
    return np.where(wrong, moved, y), wrong


def test_single_wrong_labels_are_found_and_nothing_else():
    found = find_suspects(*two_groups(wrong=(10, 150)))
    assert sorted(found.rows.tolist()) == [10, 150]
    assert dict(zip(found.rows.tolist(), found.likely.tolist(), strict=True)) == {
        10: "left",
        150: "right",
    }
    np.testing.assert_array_equal(found.agreement, 1.0)
    assert len(find_suspects(*two_groups())) == 0


def test_the_rule_by_an_independent_count(rng):
    X, y = rng.normal(size=(900, 3)), rng.integers(0, 3, size=900)
    y[X[:, 0] > 0.3] = 2
    y[rng.choice(np.flatnonzero(X[:, 0] > 0.3), 12, replace=False)] = 0
    search = NearestNeighbors(n_neighbors=21).fit(X)
    near = search.kneighbors(X, return_distance=False)[:, 1:]
    expected = []
    for row in range(900):
        votes = np.bincount(y[near[row]], minlength=3)
        own, votes[y[row]] = votes[y[row]], 0
        if own <= 1 and votes.max() >= 16:
            expected.append((row, votes.argmax(), votes.max() / 20, own - votes.max()))
    expected.sort(key=lambda found: (found[3], found[0]))
    assert len(expected) > 3
    found = find_suspects(X, y, n_neighbors=20)
    assert found.rows.tolist() == [e[0] for e in expected]
    assert found.likely.tolist() == [e[1] for e in expected]
    np.testing.assert_allclose(found.agreement, [e[2] for e in expected])


def test_points_of_an_overlap_are_not_suspects(rng):
    # Two classes on top of each other: every label is as right as any other.
    X, y = rng.normal(size=(1000, 2)), rng.integers(0, 2, size=1000)
    assert len(find_suspects(X, y)) == 0


def test_most_wrong_labels_of_the_digits_are_found(rng):
    X, y = load_digits(return_X_y=True)
    noisy, wrong = with_mistakes(y, 0.05, 10, rng)
    found = find_suspects(X, noisy)
    assert wrong[found.rows].mean() > 0.9
    assert wrong[found.rows].sum() > 0.7 * wrong.sum()
    assert (found.likely == y[found.rows]).mean() > 0.9


def test_a_clean_region_is_not_smoothed_for_a_few_wrong_labels():
    X, y = two_groups(wrong=(10, 40, 70))
    options = {"reducer": "none", "n_clusters": 2, "random_state": 0}
    plain = StructuralSmoother(**options).fit(X, y)
    found = StructuralSmoother(ignore_suspects=True, **options).fit(X, y)
    assert plain.suspects_ is None
    assert sorted(found.suspects_.rows.tolist()) == [10, 40, 70]
    assert found.suspects_.likely.tolist() == ["left"] * 3
    left = plain.cluster_labels_[0]
    # Six edges cross, one of them forced, among 100 points; but only three labels are
    # in the other class, so no more than three can be wrong.
    crossing = plain.cluster_bounds_[left].crossing_fraction
    assert crossing == pytest.approx(5 / 98)
    assert plain.bayes_error_upper_[left] == pytest.approx(0.03)
    assert found.bayes_error_upper_[left] == 0.0
    assert np.ptp(found.sample_strengths_) == 0.0
    # The suspects keep their original label.
    soft = found.soft_labels(X, y)
    np.testing.assert_array_equal(soft.argmax(axis=1), (y == "right").astype(int))


def test_the_estimate_comes_back_to_that_of_the_right_labels(rng):
    X, y = load_digits(return_X_y=True)
    noisy, _ = with_mistakes(y, 0.05, 10, rng)
    lower = {}
    for name, labels, ignore in (
        ("right", y, False),
        ("noisy", noisy, False),
        ("ignored", noisy, True),
    ):
        smoother = StructuralSmoother(random_state=0, ignore_suspects=ignore)
        lower[name] = smoother.fit(X, labels).bayes_error_bounds_.lower
    assert lower["noisy"] > lower["right"] + 0.03
    assert abs(lower["ignored"] - lower["right"]) < 0.012


def test_points_ignore_suspects_too():
    X, y = two_groups(wrong=(50,))
    plain = StructuralSmoother(regions="point", random_state=0).fit(X, y)
    found = StructuralSmoother(regions="point", ignore_suspects=True, random_state=0)
    assert plain.structure_.points.disagreement[50] > 0.0
    assert found.fit(X, y).structure_.points.disagreement[50] == 0.0


def test_suspects_of_sparse_data_are_those_of_their_components(rng):
    X = rng.normal(size=(200, 5)) + np.repeat([0.0, 20.0], 100)[:, None]
    y = np.repeat([0, 1], 100)
    y[[10, 150]] = 1 - y[[10, 150]]
    found = StructuralSmoother(ignore_suspects=True, random_state=0)
    assert sorted(found.fit(csr_matrix(X), y).suspects_.rows.tolist()) == [10, 150]


@pytest.mark.parametrize("option", [{"regions": "point"}, {"ignore_suspects": True}])
def test_wide_sparse_features_without_a_reducer_are_refused(option):
    X, y = two_groups()
    wide = csr_matrix(np.hstack([X, np.zeros((200, 1000))]))
    with pytest.raises(InvalidInputError, match="got 1001; reduce them first"):
        StructuralSmoother(reducer="none", **option).fit(wide, y)


def test_suspects_are_saved_and_loaded(tmp_path):
    X, y = two_groups(wrong=(10, 150))
    for labels, n_found in ((y, 2), (np.repeat([3, 5], 100), 0)):
        smoother = StructuralSmoother(ignore_suspects=True, random_state=0)
        smoother.fit(X, labels).save(tmp_path / "s.zip")
        back = StructuralSmoother.load(tmp_path / "s.zip").suspects_
        assert len(back) == n_found
        for name in ("rows", "likely", "agreement", "n_neighbors"):
            expected = getattr(smoother.suspects_, name)
            np.testing.assert_array_equal(getattr(back, name), expected)
    smoother = StructuralSmoother(random_state=0).fit(X, y)
    smoother.save(tmp_path / "s.zip")
    assert StructuralSmoother.load(tmp_path / "s.zip").suspects_ is None


def test_the_command_line_lists_them(tmp_path):
    X, y = two_groups(wrong=(10, 150))
    np.savez(tmp_path / "d.npz", X=X, y=y)
    arguments = ["fit", f"{tmp_path / 'd.npz'}", "-o", f"{tmp_path / 'out'}"]
    shown = CliRunner().invoke(app, [*arguments, "--ignore-suspects"])
    assert shown.exit_code == 0, shown.output
    assert "2 labels look like mistakes" in " ".join(shown.output.split())
    with (tmp_path / "out" / "suspects.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert sorted((r["row"], r["label"], r["likely"]) for r in rows) == [
        ("10", "right", "left"),
        ("150", "left", "right"),
    ]
    # A fit without the option removes the list.
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert not (tmp_path / "out" / "suspects.csv").exists()
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["n_suspects"] is None


@pytest.mark.parametrize("n_rows", [2, 3, 16])
def test_few_rows_have_few_neighbors(n_rows):
    X = np.arange(n_rows, dtype=float)[:, None]
    y = np.arange(n_rows) % 2
    assert find_suspects(X, y).n_neighbors == min(15, n_rows - 1)


def test_wrong_arguments_are_named():
    X, y = two_groups()
    with pytest.raises(InvalidInputError, match="n_neighbors must be"):
        find_suspects(X, y, n_neighbors=200)
    with pytest.raises(InvalidInputError, match="ignore_suspects must be"):
        StructuralSmoother(ignore_suspects="yes").fit(X, y)
