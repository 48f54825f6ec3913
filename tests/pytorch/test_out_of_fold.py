"""Out-of-fold outputs: each sample is predicted by a model not trained on it."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from structsmooth.errors import InvalidInputError  # noqa: E402
from structsmooth.torch import out_of_fold_outputs  # noqa: E402


def perceptron(n_inputs=8, n_classes=2):
    return lambda: torch.nn.Sequential(
        torch.nn.Linear(n_inputs, 64), torch.nn.ReLU(), torch.nn.Linear(64, n_classes)
    )


def error_of(outputs, y):
    return float((outputs.argmax(axis=1) != y).mean())


def test_labels_learned_by_heart_do_not_show(rng):
    # Random labels, which such a network can memorize: a network that had seen them
    # would be right almost always, one that has not, half of the time.
    X, y = rng.normal(size=(200, 8)), rng.integers(0, 2, size=200)
    outputs = out_of_fold_outputs(
        perceptron(), X, y, epochs=60, learning_rate=0.01, random_state=0
    )
    assert 0.35 < error_of(outputs, y) < 0.65


@pytest.fixture
def watched():
    """A class of networks that note which rows they see, and a list of them."""
    models = []

    class Watched(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(1, 2)
            self.trained, self.embedded = set(), set()
            models.append(self)

        def forward(self, rows):
            seen = self.trained if self.training else self.embedded
            seen.update(rows[:, 0].int().tolist())
            return self.inner(rows / 100.0)

    return Watched, models


def test_every_row_is_embedded_by_a_model_of_the_other_folds(watched):
    build, models = watched
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    # A network may come in evaluation mode, as a pretrained one does.
    out_of_fold_outputs(
        lambda: build().eval(), X, y, n_folds=4, epochs=1, random_state=0
    )
    assert len(models) == 4
    for model in models:
        assert len(model.embedded) == 10
        assert model.trained == set(range(40)) - model.embedded
    assert set.union(*(model.embedded for model in models)) == set(range(40))


def test_groups_stay_together(watched):
    build, models = watched
    X, y, groups = np.arange(60.0)[:, None], np.arange(60) % 2, np.arange(60) // 6
    out_of_fold_outputs(build, X, y, groups=groups, n_folds=5, epochs=1, random_state=0)
    for model in models:
        rows = np.array(sorted(model.embedded))
        assert np.isin(groups, groups[rows]).sum() == len(rows)


def test_outputs_are_log_probabilities_that_tell_the_classes_apart(rng):
    y = np.array(["no", "yes"])[np.arange(300) % 2]
    X = rng.normal(size=(300, 8)).astype(np.float32)
    X[:, 0] += 4.0 * (y == "yes")
    outputs = out_of_fold_outputs(
        perceptron(), X, y, epochs=10, learning_rate=0.01, random_state=0
    )
    assert outputs.dtype == np.float32
    np.testing.assert_allclose(np.exp(outputs).sum(axis=1), 1.0, atol=1e-5)
    assert error_of(outputs, (y == "yes").astype(int)) < 0.08


def test_the_same_seed_gives_the_same_bits_and_leaves_the_global_generator(rng):
    X, y = rng.normal(size=(60, 8)), np.arange(60) % 3
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    first, second = (
        out_of_fold_outputs(perceptron(8, 3), X, y, epochs=2, random_state=4)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    torch.testing.assert_close(torch.rand(3), expected)
    other = out_of_fold_outputs(perceptron(8, 3), X, y, epochs=2, random_state=5)
    assert not np.array_equal(first, other)


def test_images_and_tensors_and_batch_norm_are_taken():
    images = torch.arange(24 * 3 * 4 * 4, dtype=torch.uint8).view(24, 3, 4, 4)

    def build():
        return torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3),
            torch.nn.BatchNorm2d(4),
            torch.nn.Flatten(),
            torch.nn.Linear(16, 2),
        )

    # 24 samples in 3 folds: 16 to train on, of which batches of 15 leave one alone.
    outputs = out_of_fold_outputs(
        build, images, np.arange(24) % 2, n_folds=3, epochs=1, batch_size=15
    )
    assert outputs.shape == (24, 2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_folds": 1}, "n_folds"),
        ({"n_folds": 11}, "every class needs at least n_folds=11 samples"),
        ({"epochs": 0}, "epochs"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"learning_rate": 1e30}, "a first model diverged"),
        ({"groups": [1, 2]}, "groups must have one entry for each of 20 samples"),
        ({"build": perceptron(8, 5)}, "one score for each of 2 classes, got shape"),
        ({"build": perceptron(8, 1)}, "logits must be .* with at least two classes"),
        ({"build": lambda: 3}, "build must return a torch.nn.Module, got int"),
        ({"X": np.full((20, 8), np.nan)}, "X must have finite numbers only"),
        ({"X": np.zeros(20)}, "X must have at least 2 samples"),
        ({"y": np.zeros(20)}, "one class"),
        ({"device": "nowhere"}, "device 'nowhere' is not available here"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(rng, changes, said):
    given = {"build": perceptron(), "X": rng.normal(size=(20, 8))}
    given |= {"y": np.arange(20) % 2, "epochs": 1, "random_state": 0} | changes
    with pytest.raises(InvalidInputError, match=said):
        out_of_fold_outputs(**given)
