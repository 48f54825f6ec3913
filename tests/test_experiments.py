"""The experiments, at toy sizes: right, resumable, and read by their own tables."""

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "experiments").is_dir():
    pytest.skip("no experiments here", allow_module_level=True)
sys.path.insert(0, str(ROOT))

torch = pytest.importorskip("torch")

from experiments import table1, wide  # noqa: E402
from experiments.synthetic import Layout  # noqa: E402


@pytest.fixture
def config():
    text = (ROOT / "experiments" / "configs" / "synthetic.toml").read_text()
    toy = {"n_train": 240, "n_test": 200, "n_clusters": 3, "epochs": 6, "n_hidden": 8}
    toy |= {"curve_every": 2, "n_seeds": 2, "batch_size": 64}
    return tomllib.loads(text) | toy


class Silent:
    def __call__(self, epoch, networks):
        pass

    def observed(self):
        return np.zeros(1)


def test_wide_training_is_that_of_networks_one_by_one(rng):
    n, d, h = 150, 7, 5
    X = rng.normal(size=(n, d)).astype(np.float32)
    soft = rng.uniform(size=(6, n)).astype(np.float32)
    networks = wide.Networks.start(6, d, h, seed=3)
    wide.train(
        networks,
        X,
        soft,
        epochs=3,
        batch_size=64,
        learning_rate=0.5,
        seed=9,
        every=10,
        observe=Silent(),
    )
    found = wide.predict(networks, X, 6)

    draw = np.random.default_rng(3)  # two outputs, as PyTorch would have them
    shapes = ((d, h), d), ((h,), d), ((2, h), h), ((2,), h)
    start = [
        draw.uniform(-(fan**-0.5), fan**-0.5, size=shape).astype(np.float32)
        for shape, fan in shapes
    ]
    inputs = torch.from_numpy(X)
    for number in range(6):
        weights = [torch.tensor(w, requires_grad=True) for w in start]
        target = torch.from_numpy(np.stack([1 - soft[number], soft[number]], axis=1))

        def scores(rows, weights=weights):
            hidden = torch.relu(inputs[rows] @ weights[0] + weights[1])
            return hidden @ weights[2].T + weights[3]

        optimizer = torch.optim.SGD(weights, lr=0.5)
        for epoch in range(3):
            order = np.random.default_rng([9, epoch]).permutation(n)
            for rows in np.split(order, range(64, n, 64)):
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(scores(rows), target[rows])
                loss.backward()
                optimizer.step()
        with torch.no_grad():
            expected = scores(np.arange(n)).softmax(dim=1)[:, 1].numpy()
        np.testing.assert_allclose(found[number], expected, atol=2e-6)


def test_the_posterior_is_that_of_the_layout(config):
    layout = Layout.from_config(config["layout"])
    X, y = layout.draw(200_000, seed=0)
    posterior = layout.posterior(X)
    # Among rows with the posterior p, a share of p is of class 1.
    for low in np.arange(0.0, 1.0, 0.1):
        rows = (posterior >= low) & (posterior < low + 0.1)
        assert abs(y[rows].mean() - posterior[rows].mean()) < 0.02
    # The Bayes error is how often the more probable class is not the drawn one.
    drawn = ((posterior > 0.5) != y).mean()
    assert np.minimum(posterior, 1.0 - posterior).mean() == pytest.approx(
        drawn, abs=0.004
    )


def test_table_1_is_resumed_with_the_same_bits(config, tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "CHECKPOINTS", tmp_path / "checkpoints")
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    table1.run(config, whole)

    train_epoch, left = wide._train_epoch, [9 * 4]  # nine groups, killed after 4 epochs

    def dying(*arguments):
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        train_epoch(*arguments)

    save_often = wide.train.__kwdefaults__ | {"checkpoint_every": 1}
    monkeypatch.setattr(wide.train, "__kwdefaults__", save_often)
    monkeypatch.setattr(wide, "_train_epoch", dying)
    with pytest.raises(KeyboardInterrupt):
        table1.run(config, killed, n_threads=1)
    assert not killed.exists()
    left[0] = -1
    table1.run(config, killed, n_threads=1)

    def numbers(path):
        drop = ("seconds", "versions")
        return [
            {k: v for k, v in record.items() if k not in drop}
            for record in table1.read(path)
        ]

    assert numbers(killed) == numbers(whole)
    assert len(numbers(whole)) == 2 * 34
    assert len(numbers(whole)[0]["curve"]) == 3
    assert left[0] < -1
    assert not list((tmp_path / "checkpoints").glob("*.npz"))


def test_the_table_has_a_row_for_each_method(config, tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "CHECKPOINTS", tmp_path)
    table1.run(config, tmp_path / "r.jsonl")
    lines = table1.table(config, tmp_path / "r.jsonl").splitlines()
    assert sum(line.startswith("| ") for line in lines) == 1 + 34
    assert "2 of 2 seeds" in lines[0]
