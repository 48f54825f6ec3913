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
    config = configs.load("choice") | {"n_seeds": 2, "max_rows": 120}
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
        assert run["chosen"] in choice.NAMES
        assert run["metrics"]["chosen"] == run["metrics"][run["chosen"]]
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
            own = np.full((len(labels), len(others), 2), 0.5)
            # The second candidate is far better, in every fold.
            own[np.arange(len(labels)), :, :] = means[:, None, None]
            return own

        return predict

    monkeypatch.setattr(choice.perceptrons, "train", train)
    index, outputs = choice._choose_perceptron({}, candidates, folds, 0, X, y, X[:3])
    assert index == 1
    assert outputs.shape == (2, 3, 2)
    for fold, (kept, held) in enumerate(folds):
        for arm in (2 * fold, 2 * fold + 1):
            assert seen["weights"][arm, held].sum() == 0.0
            assert seen["weights"][arm, kept].all()
            assert np.allclose(seen["labels"][arm, kept].sum(axis=1), 1.0)
        # No smoothing first, then strengths of 0.1.
        assert (seen["labels"][2 * fold, kept, y[kept]] == 1.0).all()
        assert np.allclose(seen["labels"][2 * fold + 1, kept, y[kept]], 0.9)
