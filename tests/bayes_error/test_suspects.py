"""Overlap or mistake: labels that stand alone among neighbors that agree."""

import csv
import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestNeighbors
from typer.testing import CliRunner

from structsmooth import StructuralSmoother, find_suspects
from structsmooth.bayes_error import label_noise
from structsmooth.bayes_error import suspects as suspects_module
from structsmooth.bayes_error.label_noise import n_listed
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


def test_probabilities_that_say_too_much_do_not_make_right_labels_wrong(rng):
    # One row in eight is certain. Half have log odds of 3 for the true class in 90 of
    # 100 rows, and the others log odds of 6, but for the true class in 70 of 100 only.
    n = 4000
    true, kind = rng.integers(0, 3, n), np.digitize(rng.uniform(size=n), [0.125, 0.625])
    correct = rng.uniform(size=n) < np.array([1.0, 0.9, 0.7])[kind]
    said = np.where(correct, true, (true + rng.integers(1, 3, n)) % 3)
    odds = np.array([12.0, 3.0, 6.0])[kind][:, None] * np.eye(3)[said]
    wrong = rng.uniform(size=n) < 0.05
    y = np.where(wrong, (true + rng.integers(1, 3, n)) % 3, true)
    probabilities = softmax(odds, axis=1)
    found = find_suspects(None, y, pred_probs=probabilities)
    sharp = suspects_without_caution(y, probabilities)
    assert found.n_expected == pytest.approx(wrong.sum(), rel=0.5)
    assert sharp.n_expected > 3 * wrong.sum()
    assert len(found) < len(sharp)
    # The order is that of the sharper model, and equal rows have equal scores.
    order = np.argsort(-sharp.scores, kind="stable")
    assert (np.diff(found.scores[order]) <= 1e-12).all()
    backwards = find_suspects(None, y[::-1], pred_probs=probabilities[::-1])
    np.testing.assert_allclose(backwards.scores[::-1], found.scores, rtol=1e-9)


def suspects_without_caution(y, probabilities):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suspects_module, "fit_cautiously", lambda *_: None)
        return find_suspects(None, y, pred_probs=probabilities)


def test_right_labels_are_not_listed_where_features_tell_little(monkeypatch):
    # Ten classes that differ little from each other, in 30 features with heavy tails.
    draw = np.random.default_rng(0)
    y = draw.integers(0, 10, 2500)
    X = 0.5 * draw.normal(size=(10, 30))[y] + draw.standard_t(3, size=(2500, 30))
    X *= np.exp(0.6 * draw.normal(size=(2500, 1)))
    found = find_suspects(X, y, reducer="none")
    assert len(found) == 0
    # Without the limit of the tails, many more of them would count as wrong.
    monkeypatch.setattr(label_noise, "LARGEST_TAILS", np.inf)
    assert find_suspects(X, y, reducer="none").n_expected > 1.3 * found.n_expected


@pytest.mark.parametrize(
    ("n_clear", "fdr", "n_found"),
    [(2400, 0.05, 60), (1600, 0.05, 0), (1600, 0.3, 0), (1600, 0.35, 60)],
)
def test_where_classes_overlap_in_most_rows_a_list_needs_a_larger_fdr(
    n_clear, fdr, n_found
):
    # The fourth class is certain in some of the rows, the others overlap in the rest.
    draw = np.random.default_rng(0)
    is_clear = np.arange(4000) < n_clear
    probabilities = np.where(
        is_clear[:, None], [1e-6, 1e-6, 1e-6, 1.0 - 3e-6], [0.4, 0.3, 0.3 - 1e-6, 1e-6]
    )
    y = np.where(is_clear, 3, draw.choice(3, 4000, p=[0.4, 0.3, 0.3]))
    y[:60] = draw.integers(0, 3, 60)
    found = find_suspects(None, y, pred_probs=probabilities, fdr=fdr)
    np.testing.assert_array_equal(np.sort(found.rows), np.arange(n_found))
    assert found.scores[:60].min() > 0.99 > 0.1 > found.scores[60:].max()
    if n_found == 0:
        assert "a larger fdr may list more" in found.about_others()


def test_as_many_are_listed_as_the_share_of_false_discoveries_allows(rng):
    X, y = load_digits(return_X_y=True)
    noisy, _ = with_mistakes(y, 0.05, 10, rng)
    n_listed = []
    for fdr in (0.01, 0.05, 0.2):
        found = find_suspects(X, noisy, fdr=fdr)
        doubt = 1.0 - found.scores
        # Lists of about 80 rows, so the limit is 0.2 + 0.8 / 80 of the share.
        assert np.mean(doubt[found.rows]) <= 0.22 * fdr
        others = np.setdiff1d(np.arange(len(y)), found.rows)
        longer = [*found.rows, others[doubt[others].argmin()]]
        assert np.mean(doubt[longer]) > 0.2 * fdr
        assert doubt[found.rows].max() <= doubt[others].min()
        assert (np.diff(doubt[found.rows]) >= 0.0).all()
        n_listed.append(len(found))
    assert n_listed == sorted(set(n_listed))


@pytest.mark.parametrize(
    ("score", "n_rows", "expected"),
    [
        (0.951, 1, 1),  # the limit of 1 - score is 0.05
        (0.949, 1, 0),
        (0.951, 2, 1),  # of two rows 0.03
        (0.971, 2, 2),
        (0.9801, 1000, 4),  # of m rows 0.01 + 0.04 / m, at least 0.0199 for m up to 4
        (0.991, 1000, 1000),
    ],
)
def test_a_longer_list_needs_higher_scores(score, n_rows, expected):
    assert n_listed(np.full(n_rows, score), 0.05) == expected


def test_neighbors_are_counted_by_an_independent_search(rng):
    X, y = rng.normal(size=(600, 3)), rng.integers(0, 3, size=600)
    X[:, 0] += 20.0 * y
    noisy, _ = with_mistakes(y, 0.05, 3, rng)
    found = find_suspects(X, noisy, n_neighbors=20)
    search = NearestNeighbors(n_neighbors=21).fit(X)
    near = search.kneighbors(X, return_distance=False)[:, 1:]
    assert len(found) > 10
    assert found.n_neighbors == 20
    for i, row in enumerate(found.rows):
        votes = np.bincount(noisy[near[row]], minlength=3) / 20
        assert found.agreement[i] == pytest.approx(votes[found.likely[i]])
        assert found.own[i] == pytest.approx(votes[noisy[row]])
    n_likely, n_own = round(20 * found.agreement[0]), round(20 * found.own[0])
    reason = found.reason(0)
    assert reason.startswith(f"{n_likely} of 20 neighbors are {found.likely[0]}, ")
    assert f"{n_own or 'none'} ha" in reason


def test_scores_are_probabilities_as_far_as_the_data_allow(rng):
    # Four normal distributions that overlap a little, of which a tenth is changed.
    y = rng.integers(0, 4, size=4000)
    X = rng.normal(size=(4000, 2)) + 3.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[y]
    noisy, wrong = with_mistakes(y, 0.1, 4, rng)
    scores = find_suspects(X, noisy).scores
    assert scores.min() >= 0.0
    assert scores.max() <= 1.0
    assert scores.sum() == pytest.approx(wrong.sum(), rel=0.2)
    for low, high, far in ((0.0, 0.2, 0.02), (0.2, 0.6, 0.2), (0.6, 1.01, 0.15)):
        some = (scores >= low) & (scores < high)
        assert some.sum() > 30
        assert wrong[some].mean() == pytest.approx(scores[some].mean(), abs=far)


def test_a_function_and_a_smoother_find_the_same(rng):
    X, y = load_digits(return_X_y=True)
    noisy, _ = with_mistakes(y, 0.05, 10, rng)
    found = find_suspects(X, noisy)
    smoother = StructuralSmoother(ignore_suspects=True, random_state=0).fit(X, noisy)
    for name in ("rows", "likely", "agreement", "own", "scores"):
        got = getattr(smoother.suspects_, name)
        np.testing.assert_array_equal(got, getattr(found, name))


def test_the_bounds_with_labels_as_they_are_stay_known(rng, tmp_path):
    X, y = load_digits(return_X_y=True)
    noisy, _ = with_mistakes(y, 0.05, 10, rng)
    plain = StructuralSmoother(random_state=0).fit(X, noisy).bayes_error_bounds_
    smoother = StructuralSmoother(ignore_suspects=True, random_state=0).fit(X, noisy)
    smoother.save(tmp_path / "s")
    for suspects in (smoother, StructuralSmoother.load(tmp_path / "s")):
        lower, upper = suspects.suspects_.bounds_as_given
        assert (lower, upper) == (plain.lower, plain.upper)
    assert smoother.bayes_error_bounds_.upper < upper - 0.03  # most mistakes are found


def test_rows_of_no_weight_have_no_score_and_repeated_ones_one():
    X, y = two_groups(wrong=(10, 150))
    weights = np.ones(200, dtype=int)
    weights[[20, 150]] = 0, 2
    smoother = StructuralSmoother(ignore_suspects=True, random_state=0)
    found = smoother.fit(X, y, sample_weight=weights).suspects_
    assert np.flatnonzero(np.isnan(found.scores)).tolist() == [20]
    assert 10 in found.rows
    assert len(set(found.rows.tolist())) == len(found.rows)


def test_probabilities_of_a_model_alone_or_with_the_features(rng):
    X, y = load_digits(return_X_y=True)
    noisy, wrong = with_mistakes(y, 0.05, 10, rng)
    given = cross_val_predict(GaussianNB(), X, noisy, cv=5, method="predict_proba")
    alone = find_suspects(None, noisy, pred_probs=given)
    both = find_suspects(X, noisy, pred_probs=given)
    assert alone.n_neighbors == 0
    precision = {"alone": average_precision_score(wrong, alone.scores)}
    precision["both"] = average_precision_score(wrong, both.scores)
    assert precision["both"] > max(0.97, precision["alone"])
    assert wrong[both.rows].mean() > 0.85
    for i, row in enumerate(alone.rows):
        assert alone.own[i] == given[row, noisy[row]]
    assert "probability" in find_suspects(
        None, two_groups(wrong=[10])[1], pred_probs=sure_of_two_groups()
    ).reason(0)


def sure_of_two_groups():
    """Probabilities of a model that knows the right labels of `two_groups`."""
    right = np.repeat([0, 1], 100)
    return np.where(np.arange(2) == right[:, None], 0.999, 0.001)


def test_probabilities_are_of_the_sorted_labels():
    _, y = two_groups(wrong=(10, 150))
    found = find_suspects(None, y, pred_probs=sure_of_two_groups())
    assert sorted(found.rows.tolist()) == [10, 150]
    assert found.likely[found.rows == 10].tolist() == ["left"]


def test_weights_for_training_come_from_the_scores():
    X, y = two_groups(wrong=(10, 150))
    found = find_suspects(X, y)
    np.testing.assert_array_equal(found.sample_weight(), 1.0 - found.scores)
    dropped = found.sample_weight("drop")
    assert np.flatnonzero(dropped == 0.0).tolist() == [10, 150]
    assert dropped.sum() == 198.0
    with pytest.raises(InvalidInputError, match="how must be"):
        found.sample_weight("other")


def test_one_class_has_no_suspects():
    found = find_suspects(np.arange(10.0)[:, None], np.zeros(10))
    assert len(found) == 0
    np.testing.assert_array_equal(found.scores, np.zeros(10))


def test_right_labels_of_the_digits_are_not_expected_to_be_wrong():
    # Kinds of evidence that say nearly the same must not send the search in circles.
    assert find_suspects(*load_digits(return_X_y=True)).scores.sum() < 5.0


def test_right_labels_far_from_all_classes_are_not_suspects(rng):
    means, y = 0.6 * rng.normal(size=(10, 10)), rng.integers(0, 10, size=2_000)
    heavy = rng.normal(size=(2_000, 10)) / np.sqrt(rng.chisquare(3, (2_000, 1)) / 3.0)
    # By normal distributions alone, about 6 % were.
    assert len(find_suspects(means[y] + heavy, y, reducer="none")) < 20


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
        for name in ("rows", "likely", "agreement", "n_neighbors", "own", "scores"):
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
    assert find_suspects(X, y).n_neighbors == min(30, n_rows - 1)


def test_wrong_arguments_are_named():
    X, y = two_groups()
    with pytest.raises(InvalidInputError, match="n_neighbors must be"):
        find_suspects(X, y, n_neighbors=200)
    for given, message in (
        (np.ones((200, 3)) / 3, r"must have the shape \(200, 2\)"),
        (np.full((200, 2), 0.6), "a sum of 1.2 in row 0"),
        (np.full((200, 2), np.nan), "a sum of nan in row 0"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            find_suspects(X, y, pred_probs=given)
    with pytest.raises(InvalidInputError, match="both None"):
        find_suspects(None, y)
    with pytest.raises(InvalidInputError, match="fdr must be"):
        find_suspects(X, y, fdr=1.5)
    with pytest.raises(InvalidInputError, match="ignore_suspects must be"):
        StructuralSmoother(ignore_suspects="yes").fit(X, y)
