"""The comparison of ways to find strengths, at a toy size."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("lightgbm")

from experiments import configs
from experiments.beyond import run, summary, table
from experiments.beyond.methods import METHODS, Strengths, methods_of
from experiments.beyond.parts import out_of_fold, parts_of
from experiments.records import Records, read

from structsmooth import smooth_labels
from structsmooth.metrics.posthoc import fit_temperature, scale

SMALL = {
    "mlp": {"hidden": [4], "epochs": 1},
    "lightgbm": {"n_estimators": 2, "min_child_samples": 2},
    "mobilenet": {"recipe": {"epochs": 1}},
}
NAMES = [name for name in configs.names() if name.startswith("beyond-")]


_load = configs.load  # a test replaces this


def toy(name):
    config = _load(name)
    config = {k: v for k, v in config.items() if k not in configs.WORDS}
    changes = {"n_seeds": 2, "alphas": [0.1, "auto"], "n_folds": 2}
    if config["data"] == "cifar100":  # at least one row of each class is held out
        changes |= {"validation_share": 0.3}
    if config["data"] == "synthetic":
        changes |= {"n_train": 200, "n_test": 100}
    if "autoencoder" in config:
        small = {"n_components": 4, "max_epochs": 1, "channels": [4]}
        changes |= {"alphas": [0.1], "autoencoder": small}
    changes |= {"model_options": SMALL[config["model"]], "smoother": {"n_clusters": 2}}
    return configs.merge(config, changes)


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_runs_and_is_read_by_its_table(toy_data, tmp_path, name):
    config, results = toy(name), tmp_path / "r.jsonl"
    run(config, results)
    _, runs = read(results)
    assert len(runs) == 2 * (2 + len(methods_of(config)) * len(config["alphas"]))
    for found in runs:
        if found["config"]["alpha"] != "auto":
            # The strengths of rows that are left out do not count.
            rel = 0.2 if "left out" in found["config"]["method"] else 1e-6
            alpha = pytest.approx(found["config"]["alpha"], rel=rel)
            assert found["mean_strength"] == alpha
    text = table(results)
    assert text.count("| temperature |") == len(config["alphas"]) + 1
    assert "## alpha chosen by validation NLL" in text
    before = results.read_text()
    run(config, results)
    assert results.read_text() == before


def test_the_summary_counts_what_beats_uniform(tmp_path):
    # Three seeds; "cluster" is lower than uniform by 0.1 each time, "point" by chance.
    settings = {"model": "lightgbm", "data": "timit", "alphas": [0.1], "n_seeds": 3}
    settings |= {"methods": ["cluster", "point"]}
    gaps = {"cluster": [-0.1, -0.1, -0.1001], "point": [0.2, -0.1, 0.0]}
    lines = [{"settings": settings}]
    for seed in range(3):
        for method in ("none", "temperature", "uniform", "cluster", "point"):
            nll = 0.5 + 0.01 * seed + gaps.get(method, [0.0] * 3)[seed]
            metrics = {"error": 0.3, "nll": nll, "ece": 0.1, "aurc": 0.1}
            alpha = 0.0 if method in ("none", "temperature") else 0.1
            row = {"method": method, "alpha": alpha}
            lines.append({"config": row, "seed": seed, "metrics": metrics})
            lines[-1]["n_rows"] = [1, 1, 1]
    records = Records(tmp_path / "beyond-a.jsonl", settings)
    records.add(lines[1:])
    results = tmp_path / "beyond.jsonl"
    Records(results, {"choosing": ["beyond-a"], "confirming": [], "alphas": [0.1]})
    text = summary.table(results)
    assert "| cluster | -0.100* | 1 | 0 |" in text
    assert "| point | +0.033 | 0 | 0 |" in text
    assert "| uniform | NLL | 0.510 |" in text
    assert "confirming: none yet" in text


def test_the_summary_judges_the_cautious_alpha(tmp_path):
    # Two of three estimates are below 0.1; only there does anything change, by -0.3.
    settings = {"model": "mlp", "data": "timit", "n_seeds": 3, "methods": ["cluster"]}
    settings |= {"alphas": [0.1, "auto"]}
    lines = []
    for seed, estimate in enumerate((0.02, 0.04, 0.3)):
        rows = [("none", 0.0), ("temperature", 0.0)]
        rows += [(m, a) for m in ("uniform", "cluster") for a in (0.1, "auto")]
        for method, alpha in rows:
            nll = 0.5 - 0.3 * (alpha == "auto")
            metrics = {"error": 0.3, "nll": nll, "ece": 0.1, "aurc": 0.1}
            row = {"config": {"method": method, "alpha": alpha}, "seed": seed}
            mean = estimate if alpha == "auto" else alpha
            facts = {"metrics": metrics, "mean_strength": mean, "n_rows": [1, 1, 1]}
            lines.append(row | facts)
    Records(tmp_path / "beyond-a.jsonl", settings).add(lines)
    results = tmp_path / "beyond.jsonl"
    Records(results, {"choosing": ["beyond-a"], "confirming": [], "alphas": [0.1]})
    text = summary.table(results)
    assert "| estimated Bayes error |  | 0.120 |  |  |" in text
    assert "| cluster | NLL | -0.200 | 0 | 0 |" in text
    assert "| uniform | error, % | +0.00 | 0 | 0 |" in text


def test_the_summary_runs_what_is_left(toy_data, tmp_path, monkeypatch):
    monkeypatch.setattr(configs, "load", lambda name, scale="cpu": toy(name))
    config = {"choosing": ["beyond-digits-lightgbm"], "confirming": ["beyond-none"]}
    config |= {"alphas": [0.1], "scale": "cpu"}
    results = tmp_path / "beyond.jsonl"
    only = config | {"confirming": []}
    summary.run(only, results)
    assert "| digits lightgbm |" in summary.table(results)
    other = tmp_path / "other" / "beyond.jsonl"
    other.parent.mkdir()
    Records(other, config)
    assert "Not run: digits lightgbm, none." in summary.table(other)


def test_a_killed_run_repeats_nothing(toy_data, tmp_path):
    config, results = toy("beyond-digits-lightgbm"), tmp_path / "r.jsonl"
    run(config, results)
    lines = results.read_text().splitlines(keepends=True)
    results.write_text("".join(lines[:9]) + lines[9][:30])
    run(config, results)

    def facts(runs):
        return [(r["config"], r["seed"], r["metrics"]) for r in runs]

    again = read(results)[1]
    assert len(again) == len(lines) - 1
    whole = tmp_path / "whole.jsonl"
    whole.write_text("".join(lines))
    assert facts(again) == facts(read(whole)[1])


def test_strengths_share_their_mean_and_differ_in_where(overlapping):
    X, y = overlapping
    strengths = Strengths(X, y, 10.0 * X, {"n_clusters": 4}, seed=0)
    found = {method: strengths(method, 0.1) for method in ("uniform", *METHODS)}
    for kind in ("cluster", "point", "out of fold, point"):
        soft = found.pop(f"{kind}, overlap")
        np.testing.assert_allclose(soft.sum(axis=1), 1.0)
        own = soft[np.arange(len(y)), y]
        np.testing.assert_allclose(1.0 - own, found[kind], atol=1e-12)
    for values in found.values():
        assert values.mean() == pytest.approx(0.1)
    assert np.ptp(found.pop("uniform")) == 0.0
    control = found.pop("shuffled")
    np.testing.assert_allclose(np.sort(control), np.sort(found["point"]), atol=1e-12)
    # The one group that mixes the classes is smoothed most, but not when shuffled.
    mixed = np.abs(X).max(axis=1) < 6.0
    for values in found.values():
        assert values[mixed].mean() > 1.2 * values[~mixed].mean()
    assert abs(np.corrcoef(control, mixed)[0, 1]) < 0.2
    half, whole = found["cluster, half beta"], found["cluster"]
    assert half.std() < whole.std()


def test_neighbors_say_where_the_mass_of_a_point_goes(rng):
    # On a line, class 0 lies among class 1; far away, class 2 lies among class 3.
    X = np.concatenate([rng.normal(0.0, 1.0, 200), rng.normal(50.0, 1.0, 200)])
    y = rng.integers(0, 2, 400) + np.repeat([0, 2], 200)
    soft = Strengths(X[:, None], y, None, {}, seed=0)("point, overlap", 0.1)
    assert soft[y == 0].mean(axis=0)[1] > 20 * soft[y == 0].mean(axis=0)[2]
    assert soft[y == 3].mean(axis=0)[2] > 20 * soft[y == 3].mean(axis=0)[0]


def test_out_of_fold_rows_are_predicted_by_models_that_have_not_seen_them():
    config = toy("beyond-digits-mlp")
    parts = parts_of(config, seed=0)
    seen = []

    def train(known):
        assert not known.strengths.any()
        seen.append({row.tobytes() for row in known.X})

        def predict(rows):
            assert seen[-1].isdisjoint(row.tobytes() for row in rows)
            return np.full((len(rows), known.n_classes), 1.0 / known.n_classes)

        return predict

    found = out_of_fold(train, parts, 5, 10, seed=0)
    assert len(seen) == 5
    np.testing.assert_allclose(found, np.log(0.1))


def test_uniform_auto_has_the_estimated_bayes_error(overlapping):
    X, y = overlapping
    strengths = Strengths(X, y, None, {"n_clusters": 4}, seed=0)
    smoother = strengths.smoother(METHODS["cluster"])
    expected = smoother.cluster_weights_ @ smoother.bayes_error_lower_
    np.testing.assert_allclose(strengths("uniform", "auto"), expected)


def test_parts_share_no_row_and_speakers_stay_apart(toy_data):
    for name in ("beyond-digits-mlp", "beyond-higgs-mlp", "beyond-timit-mlp"):
        parts = parts_of(toy(name), seed=1)
        rows = [
            {row.tobytes() for row in part[0]}
            for part in (parts.train, parts.validation, parts.test)
        ]
        assert sum(map(len, rows)) == len(set.union(*rows))
        other = parts_of(toy(name), seed=2)
        assert not np.array_equal(parts.train[1], other.train[1])


def test_wrong_labels_are_in_all_rows_but_those_to_report():
    right = parts_of(toy("beyond-digits-mlp"), seed=1)
    wrong = parts_of(toy("beyond-digits-mistakes"), seed=1)
    for name, share in (("train", 0.05), ("validation", 0.05), ("test", 0.0)):
        (X, y), (same, moved) = getattr(right, name), getattr(wrong, name)
        assert np.array_equal(X, same)
        assert np.mean(y != moved) == pytest.approx(share, abs=0.025)
        assert (y != moved).any() == (share > 0)


def test_suspects_are_left_out_and_only_by_the_method_that_says_so(overlapping):
    X, y = overlapping
    far = np.flatnonzero(X[:, 0] > 6.0)
    labels = y.copy()
    labels[far[0]] = 1 - y[far[0]]  # a wrong label in a clean group
    strengths = Strengths(X, labels, None, {"n_clusters": 4}, seed=0)
    for name in ("none", "uniform", "cluster", "cluster, suspects ignored"):
        assert np.array_equal(strengths.rows(name), np.arange(len(y)))
    kept = strengths.rows("cluster, suspects left out")
    assert far[0] not in kept
    assert len(kept) > 0.9 * len(y)


def test_the_temperature_of_honest_probabilities_is_one(rng):
    p = rng.dirichlet([1.0, 1.0, 1.0], size=20_000)
    y = (rng.uniform(size=(20_000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    assert fit_temperature(p, y) == pytest.approx(1.0, abs=0.03)
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    assert fit_temperature(sharp, y) == pytest.approx(3.0, abs=0.1)
    np.testing.assert_allclose(scale(sharp, 3.0), p, atol=1e-9)


def test_soft_labels_can_be_trained_on(rng):
    import torch
    from experiments.study import networks, training

    X, y = rng.normal(size=(30, 3)).astype(np.float32), rng.integers(0, 3, size=30)
    strengths = rng.uniform(0.0, 0.3, size=30)
    recipe = training.Recipe(epochs=2, batch_size=8)
    inputs = training.Inputs.fit(X, torch.device("cpu"))

    def weights(labels):
        network = training.train(
            lambda: networks.perceptron(3, [], 3), X, y, labels, recipe, inputs, seed=1
        )
        return network[0].weight

    soft = smooth_labels(y, strengths, 3)
    torch.testing.assert_close(weights(soft), weights(strengths), atol=1e-5, rtol=1e-5)
