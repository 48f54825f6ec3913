"""The synthetic task at a toy size: results, resumption and table."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import configs  # noqa: E402
from experiments.records import read  # noqa: E402
from experiments.synthetic import (  # noqa: E402
    clusters,
    figure,
    neighbors,
    networks,
    runner,
    sensitivity,
    table,
)
from experiments.synthetic.data import draw, true_bayes_error  # noqa: E402
from experiments.synthetic.layout import Layout  # noqa: E402

TOY = {"n_train": 240, "n_test": 200, "n_clusters": 3, "epochs": 6, "n_hidden": 8}
TOY |= {"curve_every": 2, "n_seeds": 2, "batch_size": 64, "other_n_clusters": [2, 4]}


@pytest.fixture
def config():
    return configs.merge(configs.load("synthetic"), TOY)


class Silent:
    def __call__(self, epoch, networks):
        pass

    def observed(self):
        return np.zeros(1)


def test_training_is_that_of_pytorch(rng):
    n, d, h = 150, 7, 5
    X = rng.normal(size=(n, d)).astype(np.float32)
    soft = rng.uniform(size=(6, n)).astype(np.float32)
    several = networks.Networks.start(6, d, h, seed=3)
    networks.train(
        several,
        X,
        soft,
        epochs=3,
        batch_size=64,
        learning_rate=0.5,
        seed=9,
        every=10,
        observe=Silent(),
    )
    found = networks.predict(several, X)

    draw = np.random.default_rng(3)  # two outputs, as in PyTorch
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
    # Among rows with the posterior p, the share of class 1 is p.
    for low in np.arange(0.0, 1.0, 0.1):
        rows = (posterior >= low) & (posterior < low + 0.1)
        assert abs(y[rows].mean() - posterior[rows].mean()) < 0.02
    # The Bayes error is how often the more probable class is not the drawn one.
    drawn = ((posterior > 0.5) != y).mean()
    assert np.minimum(posterior, 1.0 - posterior).mean() == pytest.approx(
        drawn, abs=0.004
    )


def test_table_1_is_resumed_with_the_same_bits(config, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "CHECKPOINTS", tmp_path / "checkpoints")
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    runner.run(config, whole)

    train_epoch, left = networks._train_epoch, [40 * 4]  # killed after four epochs

    def dying(*arguments):
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        train_epoch(*arguments)

    save_often = networks.train.__kwdefaults__ | {"checkpoint_every": 1}
    monkeypatch.setattr(networks.train, "__kwdefaults__", save_often)
    monkeypatch.setattr(networks, "_train_epoch", dying)
    with pytest.raises(KeyboardInterrupt):
        runner.run(config, killed, n_jobs=1)
    assert read(killed)[1] == []
    left[0] = -1
    runner.run(config, killed, n_jobs=1)

    def numbers(path):
        drop = ("seconds", "versions")
        return [
            {k: v for k, v in record.items() if k not in drop}
            for record in read(path)[1]
        ]

    assert numbers(killed) == numbers(whole)
    assert len(numbers(whole)) == 2 * 40
    assert len(numbers(whole)[0]["curve"]) == 3
    # Two epochs of the first seed were left, and all six of the second.
    assert left[0] == -1 - 40 * (2 + 6)
    assert not list((tmp_path / "checkpoints").glob("*.npz"))


def test_a_checkpoint_of_other_settings_is_left_alone(config, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "CHECKPOINTS", tmp_path)
    names = []
    train = runner.train

    def watch(*arguments, checkpoint, **options):
        names.append(checkpoint.name)
        train(*arguments, checkpoint=checkpoint, **options)

    monkeypatch.setattr(runner, "train", watch)
    for number, rate in enumerate((0.01, 0.02)):
        changed = config | {"learning_rate": rate, "n_seeds": 1, "epochs": 1}
        folder = tmp_path / str(number)
        runner.run(changed | {"curve_every": 1}, folder / "synthetic.jsonl")
    assert len(set(names)) == 2


def test_the_table_and_the_figures_read_what_the_runner_wrote(
    config, tmp_path, monkeypatch
):
    monkeypatch.setattr(runner, "CHECKPOINTS", tmp_path)
    results = tmp_path / "synthetic.jsonl"
    runner.run(config, results)
    text = table(results)
    assert "2 of 2 seeds" in text
    errors, others = text.split("## Other numbers of clusters")
    assert sum(line.startswith("| ") for line in errors.splitlines()) == 2 + 34
    numbers, others = others.split("## Lowest test error of each curve")
    assert sum(line.startswith("| ") for line in numbers.splitlines()) == 2 + 9
    lowest = others.split("## Test error during")[0]
    assert sum(line.startswith("| ") for line in lowest.splitlines()) == 2 + 40
    curves = [
        100 * np.array(run["curve"])
        for run in read(results)[1]
        if run["config"]["method"] == "none"
    ]
    ends = [curve.min() for curve in curves]
    epochs = [2 * (1 + int(curve.argmin())) for curve in curves]
    assert (
        f"| none |  |  |  | {np.mean(ends):.2f} ± {np.std(ends, ddof=1):.2f} | "
        f"{np.mean(epochs):.0f} |"
    ) in lowest
    # The paper's numbers are next to ours, in the row of the same settings.
    row = next(
        line for line in errors.splitlines() if "| structural | 0.2 | 0.3 |" in line
    )
    assert row.endswith("| 24.46 ± 0.05 |")
    mean = np.mean(
        [
            run["metrics"]["error"]
            for run in read(results)[1]
            if run["config"]
            == {"method": "structural", "alpha": 0.2, "beta": 0.3, "n_clusters": 3}
        ]
    )
    assert f"| {100 * mean:.2f} ±" in row
    for path in figure(results):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_a_strength_is_that_of_the_row_and_its_clusters(config):
    X, y = draw(config, 0, "train")
    smoothers = {n: runner.fit_smoother(config, n, X, y, 0) for n in (2, 3, 4)}
    for row in runner.rows_of(config):
        strengths = runner.strengths_of(row, len(y), smoothers)
        assert strengths.mean() == pytest.approx(row["alpha"], abs=1e-12)
        if row["beta"] is None:
            assert np.ptp(strengths) == 0.0
        else:
            bounds = smoothers[row["n_clusters"]]
            order = bounds.bayes_error_lower_[bounds.cluster_labels_]
            slope = np.corrcoef(order, strengths)[0, 1]
            assert slope > 0.9 if row["method"] == "structural" else slope < 0.0


def test_the_true_bayes_error_of_a_cluster_is_the_mean_of_its_rows(config):
    X, _ = draw(config, 0, "train")
    p = Layout.from_config(config["layout"]).posterior(X)
    found = true_bayes_error(config, X, (X[:, 0] > 0).astype(int))
    for side in (0, 1):
        rows = (X[:, 0] > 0) == side
        assert found[side] == pytest.approx(np.minimum(p, 1 - p)[rows].mean())


def test_figure_2_reads_what_its_runner_wrote(tmp_path):
    config = configs.merge(
        configs.load("synthetic-clusters"),
        {"n_train": 400, "n_clusters": [2, 4], "n_seeds": 2},
    )
    results = tmp_path / "synthetic-clusters.jsonl"
    clusters.run(config, results)
    first = results.read_text()
    clusters.run(config, results)  # nothing is left to do
    assert results.read_text() == first
    run = read(results)[1][0]
    lower, true = np.array(run["lower"]), np.array(run["true"])
    gap = sum(abs(a - b) for a, b in zip(lower, true, strict=True)) / len(true)
    assert run["metrics"]["mean_error"] == pytest.approx(gap)
    assert "2 of 2 seeds" in clusters.table(results)
    assert clusters.figure(results)[0].is_file()


def test_the_study_of_neighbors_measures_against_the_truth(tmp_path):
    config = configs.merge(
        configs.load("synthetic-neighbors"),
        {"rows": [200], "noise_features": [0, 3], "neighbors": [5], "n_seeds": 2},
    )
    results = tmp_path / "r.jsonl"
    neighbors.run(config, results)
    before = results.read_text()
    neighbors.run(config, results)
    assert results.read_text() == before
    _, runs = read(results)
    assert len(runs) == 2 * 2 * 2
    gaps = [
        run["metrics"]["root_mean_square"]
        for run in runs
        if run["config"] == {"n_rows": 200, "n_noise": 3, "n_neighbors": 5}
    ]
    assert all(0.02 < gap < 0.4 for gap in gaps)  # neither the truth nor nonsense
    assert f"| {np.mean(gaps):.3f} |" in neighbors.table(results)


@pytest.fixture
def cells(monkeypatch, tmp_path):
    """Settings of a sensitivity analysis of two cells, at a toy size."""
    monkeypatch.setattr(sensitivity, "CHECKPOINTS", tmp_path / "checkpoints")
    changes = {key: value for key, value in TOY.items() if "batch" not in key}
    changes |= {"batch_sizes": [32, 240], "noises": [0.1], "spreads": [1.2]}
    changes |= {"methods": ["structural", "reversed"]}
    return configs.merge(configs.load("synthetic-sensitivity"), changes)


def test_every_cell_of_the_sensitivity_analysis_is_run_and_reported(cells, tmp_path):
    results = tmp_path / "synthetic-sensitivity.jsonl"
    sensitivity.run(cells, results, n_jobs=1)
    first = results.read_text()
    sensitivity.run(cells, results, n_jobs=1)  # nothing is left to do
    assert results.read_text() == first
    _, runs = read(results)
    # Two cells, two seeds; none, two uniform, and two of each of two methods.
    assert len(runs) == 2 * 2 * 7
    assert {run["config"]["batch_size"] for run in runs} == {32, 240}
    # A cell is the synthetic task with its settings.
    changed = configs.merge(
        configs.load("synthetic"), TOY | {"batch_size": 240, "n_seeds": 1}
    )
    changed["layout"] |= {"noise_deviation": 0.1, "spread": 1.2}
    runner.run(changed, tmp_path / "synthetic.jsonl")
    ours, theirs = (
        next(r for r in found if r["config"].items() >= row.items() and r["seed"] == 0)
        for found, row in (
            (runs, {"method": "uniform", "alpha": 0.3, "batch_size": 240}),
            (
                read(tmp_path / "synthetic.jsonl")[1],
                {"method": "uniform", "alpha": 0.3},
            ),
        )
    )
    assert ours["curve"] == theirs["curve"]
    text = sensitivity.table(results)
    assert text.count("| 240 | 0.1 | 1.2 |") == text.count("| 32 | 0.1 | 1.2 |") == 3
    none = [
        100 * r["metrics"]["error"]
        for r in runs
        if r["config"]["method"] == "none" and r["config"]["batch_size"] == 240
    ]
    assert f"| {np.mean(none):.2f} ± {np.std(none, ddof=1):.2f} |" in text


def test_swapping_by_rank_changes_the_mean_and_mirroring_does_not(config):
    X, y = draw(config, 0, "train")
    smoothers = {3: runner.fit_smoother(config, 3, X, y, 0)}
    means, orders = {}, {}
    for method in ("structural", "reversed", "swapped"):
        row = {"method": method, "alpha": 0.2, "beta": 0.5, "n_clusters": 3}
        strengths = runner.strengths_of(row, len(y), smoothers)
        means[method] = strengths.mean()
        clusters = smoothers[3].cluster_labels_
        by_cluster = [strengths[clusters == number][0] for number in range(3)]
        orders[method] = np.argsort(by_cluster).tolist()
        if method == "structural":
            values = sorted(by_cluster)
    assert sorted(by_cluster) == values  # the last one, swapped: the same values
    assert orders["swapped"] == orders["reversed"] == orders["structural"][::-1]
    assert means["reversed"] == pytest.approx(0.2, abs=1e-12)
    assert means["swapped"] != pytest.approx(0.2, abs=1e-6)


def test_a_wider_spread_makes_the_bayes_error_larger(config):
    errors = []
    for spread in (1.0, 1.17):
        layout = Layout.from_config(config["layout"] | {"spread": spread, "n_noise": 0})
        X, _ = layout.draw(100_000, seed=0)
        p = layout.posterior(X)
        errors.append(np.minimum(p, 1.0 - p).mean())
    # What the config of the sensitivity analysis says.
    assert errors == pytest.approx([0.188, 0.228], abs=0.002)
