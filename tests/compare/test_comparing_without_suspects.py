"""Suspects among training rows can count less in all trainings of a comparison."""

import json

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from structsmooth import StructuralSmoother, find_suspects
from structsmooth.cli import app
from structsmooth.compare import Comparison, compare
from structsmooth.compare.trainers import TrainingSet, make_learner, trainer_of
from structsmooth.errors import FileFormatError, InvalidInputError

pytestmark = pytest.mark.filterwarnings(
    "ignore::structsmooth.errors.StructsmoothWarning"
)
FAST = {"alpha": 0.1, "beta": "auto", "n_seeds": 3}


@pytest.fixture
def mislabeled():
    """Three groups with some wrong labels, which rows have them is known."""
    X, y = make_blobs(240, centers=3, cluster_std=1.0, random_state=4)
    wrong = np.arange(0, 240, 24)
    y[wrong] = (y[wrong] + 1) % 3
    return X, y, wrong


class Watching:
    """A trainer that records what it is given, and always predicts class 0."""

    def __init__(self):
        self.given = []

    def __call__(self, X, y, strengths, n_classes, random_state, sample_weight=None):
        assert len(strengths) == len(y)
        self.given.append((X, y, random_state, sample_weight))
        return lambda rows: np.tile(np.eye(n_classes)[0], (len(rows), 1))


@pytest.mark.parametrize("how", ["weigh", "drop"])
def test_weights_come_from_the_training_rows_of_the_split_alone(mislabeled, how):
    X, y, wrong = mislabeled
    train = Watching()
    result = compare(X, y, train, suspects=how, arms=["points"], **FAST)
    n_runs = len(result.methods)
    assert len(train.given) == 3 * n_runs
    for seed in range(3):
        rows, labels, random_state, _ = train.given[seed * n_runs]
        found = find_suspects(rows, labels, random_state=random_state)
        assert len(found) > 0
        expected = found.sample_weight(how)
        for given in train.given[seed * n_runs : (seed + 1) * n_runs]:
            np.testing.assert_array_equal(given[3], expected)
            np.testing.assert_array_equal(given[1], labels)  # labels as they are
        assert {r["n_suspects"] for r in result.chosen if r["seed"] == seed} == {
            len(found)
        }
        number = {tuple(row): i for i, row in enumerate(X)}
        low = {number[tuple(row)] for row in rows[expected < 0.5]}
        assert low <= set(wrong.tolist())


def test_first_models_of_outputs_get_the_weights_of_their_rows(mislabeled):
    X, y, _ = mislabeled
    given = []

    def train(X, y, strengths, n_classes, random_state, sample_weight=None):  # noqa: ARG001
        given.append((X, y, random_state, sample_weight))
        scores = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]])
        return lambda rows: softmax(rows @ scores, axis=1)

    compare(X, y, train, suspects="drop", arms=["out-of-fold"], **FAST)
    sizes = [len(rows) for rows, *_ in given]
    whole = given[int(np.argmax(sizes))]
    seed = whole[2]
    weight_of = {tuple(row): w for row, w in zip(whole[0], whole[3], strict=True)}
    firsts = [g for g in given if len(g[0]) < max(sizes) and g[2] == seed]
    assert len(firsts) == 5
    for rows, _, _, weights in firsts:
        expected = [weight_of[tuple(row)] for row in rows]
        np.testing.assert_array_equal(weights, expected)
    assert sum(int((weights == 0.0).sum()) for *_, weights in firsts) > 0


def test_by_default_there_are_no_weights(mislabeled):
    train = Watching()
    result = compare(*mislabeled[:2], train, **FAST)
    assert all(weights is None for *_, weights in train.given)
    assert "suspects" not in result.description["settings"]
    assert "Suspects" not in result.verdict


def test_test_labels_stay_as_they_are_given(mislabeled):
    X, y, wrong = mislabeled
    test = X[wrong], y[wrong]  # all of them look like mistakes
    result = compare(X, y, Watching(), suspects="drop", test=test, **FAST)
    expected = np.mean(y[wrong] != 0)
    np.testing.assert_allclose(result.values("none", "error"), expected)
    assert all(run["n_test"] == len(wrong) for run in result.chosen)


@pytest.mark.parametrize(
    "classifier",
    [
        GaussianNB(),
        DecisionTreeClassifier(max_depth=2),
        make_pipeline("passthrough", LogisticRegression()),
    ],
)
def test_rows_of_no_weight_teach_nothing(mislabeled, classifier):
    X, y, wrong = mislabeled
    strengths, kept = np.full(240, 0.1), np.ones(240)
    kept[wrong] = 0.0
    train, left = trainer_of(classifier), kept > 0.0
    without = train(TrainingSet(X[left], y[left], strengths[left], 3, 0))(X)
    weighted = train(TrainingSet(X, y, strengths, 3, 0, sample_weight=kept))(X)
    np.testing.assert_allclose(weighted, without, atol=1e-4)
    everything = train(TrainingSet(X, y, strengths, 3, 0))(X)
    assert np.abs(everything - without).max() > 0.01


@pytest.mark.parametrize("name", ["lightgbm", "gradient-boosting"])
def test_boosting_gets_the_weights(mislabeled, name):
    if name == "lightgbm":
        pytest.importorskip(name)
    X, y, wrong = mislabeled
    learner = make_learner(name)
    if isinstance(learner, HistGradientBoostingClassifier):
        learner.set_params(max_iter=5)
    else:
        learner.set_params(n_estimators=5)
    train, weights = trainer_of(learner), np.ones(240)
    weights[wrong] = 0.0
    plain = train(TrainingSet(X, y, np.zeros(240), 3, 0))(X)
    weighted = train(TrainingSet(X, y, np.zeros(240), 3, 0, sample_weight=weights))(X)
    own = wrong, y[wrong]
    assert weighted[own].mean() < plain[own].mean()


def test_all_smoothers_ignore_suspects(mislabeled):
    arms = {"own": StructuralSmoother(alpha=0.05)}
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    result = compare(*mislabeled[:2], learner, suspects="drop", arms=arms, **FAST)
    assert all(arm.smoother.ignore_suspects for arm in result.arms)
    assert not arms["own"].ignore_suspects  # what was given is not changed
    assert "Suspects among the training rows" in result.verdict
    assert result.choice.suspects == "drop"
    if result.choice.options is not None:
        assert "--ignore-suspects" in result.choice.options


def test_the_lines_to_paste_make_the_weights(mislabeled):
    X, y, _ = mislabeled
    result = compare(X, y, suspects="drop", arms=["out-of-fold"], **FAST)
    expected = find_suspects(X, y, random_state=0).sample_weight("drop")
    classifier = LogisticRegression()
    for number in range(len(result.methods)):
        for run in result.chosen:  # make each method the best one
            is_best = run["method"] == result.methods[number]
            run["validation"] = {**run["validation"], "nll": 0.0 if is_best else 1.0}
        choice = Comparison(result.description, result.chosen, arms=result.arms).choice
        names = {"X": X, "y": y, "classifier": classifier}
        exec(choice.python, names)  # noqa: S102
        np.testing.assert_array_equal(names["weights"], expected)


def no_weights(X, y, strengths, n_classes, random_state):  # noqa: ARG001
    raise AssertionError("nothing is trained")


def test_a_function_must_take_weights(mislabeled):
    with pytest.raises(InvalidInputError, match="parameter sample_weight"):
        compare(*mislabeled[:2], no_weights, suspects="weigh", **FAST)
    with pytest.raises(ValueError, match=r"suspects must be .*got 'ignore'"):
        compare(*mislabeled[:2], suspects="ignore", **FAST)


def test_a_file_is_of_one_kind_of_training(mislabeled, tmp_path):
    X, y, _ = mislabeled
    path = tmp_path / "runs.jsonl"
    result = compare(X, y, suspects="drop", results=path, **FAST)
    again = Comparison.load(path)
    assert again.choice.suspects == "drop"
    assert again.verdict == result.verdict
    with pytest.raises(FileFormatError):
        compare(X, y, suspects="weigh", results=path, **FAST)


def test_the_command_line_has_the_same_words(mislabeled, tmp_path):
    X, y, _ = mislabeled
    np.savez(tmp_path / "data.npz", X=X, y=y)
    words = ["compare", str(tmp_path / "data.npz"), "--seeds", "3", "--alpha", "0.1"]
    words += ["--beta", "auto", "--json", "--suspects"]
    found = CliRunner().invoke(app, [*words, "drop"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told["decision"]["suspects"] == "drop"
    assert told["description"]["settings"]["suspects"] == "drop"
    assert CliRunner().invoke(app, [*words, "ignore"]).exit_code == 2
