"""The experiment on what cross-validation chooses, at a toy size."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from structsmooth import StructuralSmoother

pytest.importorskip("torch")

from experiments import choice, configs
from experiments.records import read

pytestmark = pytest.mark.filterwarnings(
    "ignore::structsmooth.errors.StructsmoothWarning"
)


def test_it_runs_on_every_set_and_is_read_by_its_table(toy_data, tmp_path):
    config = configs.load("choice-learners") | {"n_seeds": 2, "max_rows": 120}
    config["data"] = ["timit", "cancer"]
    config["learners"] = {
        "logistic, C = 1": 1.0,
        "lightgbm": {"n_estimators": 3},
        "perceptron": {"hidden": [8], "epochs": 2},
    }
    results = tmp_path / "choice.jsonl"
    choice.run(config, results)
    _, runs = read(results)
    assert len(runs) == 12
    for run in runs:
        assert choice._chosen(run) in choice.NAMES
        assert np.shape(run["folds"]["aurc"]) == (4, 5)
    text = choice.table(results)
    assert text.count("| error, % |") == 6
    assert "| timit | logistic, C = 1 | error, % |" in text


def test_perceptrons_choose_as_the_classifier_with_cross_validation_does(monkeypatch):
    # Networks that give row i of fold f the probability that a table says.
    y = np.tile([0, 1], 30)
    X = np.random.default_rng(0).normal(size=(60, 2))
    folds = list(StratifiedKFold(5).split(X, y))
    candidates = [None, StructuralSmoother(0.1, 0.0)]
    seen = {}

    def train(X, labels, losses, seed, *, weights):
        seen.update(labels=labels, weights=weights)
        means = np.tile([0.6, 0.9], 6)

        def predict(others):
            # Its own class gets the most, and the second candidate is far better; each
            # tenth row is wrong.
            parts = np.where(np.arange(len(others)) % 10, means[:, None], 0.1)
            own = np.zeros((len(labels), len(others), 2))
            rows = np.arange(len(others))
            own[:, rows, y[: len(others)]] = parts
            own[:, rows, 1 - y[: len(others)]] = 1.0 - parts
            return own

        return predict

    monkeypatch.setattr(choice.perceptrons, "train", train)
    folds_of, outputs = choice._choose_perceptron({}, candidates, folds, 0, X, y, X[:3])
    # Folds of 12 rows, of which one or two are wrong, with a probability of 0.9.
    wrong = np.array([(held % 10 == 0).sum() for _, held in folds])
    logs = np.log([[0.6], [0.9]])
    expected = (logs * (12 - wrong) + np.log(0.1) * wrong) / 12
    assert folds_of["score"] == pytest.approx(expected)
    # All rows are equally confident with the second candidate; with the first, wrong
    # rows come first: the mean of 1, ..., 1, w / (w + 1), ..., w / 12.
    assert folds_of["aurc"][1] == pytest.approx(wrong / 12)
    first = [np.minimum(1.0, w / np.arange(1, 13)).mean() for w in wrong]
    assert folds_of["aurc"][0] == pytest.approx(first)
    assert outputs.shape == (2, 3, 2)
    for fold, (kept, held) in enumerate(folds):
        for arm in (2 * fold, 2 * fold + 1):
            assert seen["weights"][arm, held].sum() == 0.0
            assert seen["weights"][arm, kept].all()
            assert np.allclose(seen["labels"][arm, kept].sum(axis=1), 1.0)
        # No smoothing first, then strengths of 0.1.
        assert (seen["labels"][2 * fold, kept, y[kept]] == 1.0).all()
        assert np.allclose(seen["labels"][2 * fold + 1, kept, y[kept]], 0.9)
