"""The study of selective prediction: arms, learners, and the rule."""

import itertools
import json

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("lightgbm")

import torch
from experiments import configs, datasets, selective
from experiments.records import Records, read
from experiments.selective import choice, half, learners, perceptrons, rows, runner
from experiments.selective import images as images_study
from experiments.selective import trainings as trainings_study
from experiments.selective.afterwards import COLUMNS, fit_p_norm
from experiments.selective.arms import ARMS, Measured, arms_of, proportional
from experiments.selective.competitors import distilled_labels, neighbor_labels
from experiments.selective.finished import Finished
from experiments.selective.losses import focal_loss, margin_loss, relaxed_loss
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from structsmooth.errors import FileFormatError


def overlapping(n=240, n_classes=3, seed=0):
    """Rows whose classes overlap in the first feature."""
    draw = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = draw.normal(size=(n, 4)) + 1.5 * y[:, None] * np.array([1.0, 0, 0, 0])
    return X.astype(np.float32), y


def measured(n_classes=3, **options):
    X, y = overlapping(n_classes=n_classes)
    outputs = np.full((len(y), n_classes), 0.1 / (n_classes - 1))
    outputs[np.arange(len(y)), y] = 0.9
    outputs[0] = outputs[0, ::-1]  # one of 240 is wrong
    return Measured(X, y, n_classes, outputs, options, seed=0)


def test_half_of_the_bayes_error_is_half_in_every_region():
    bayes_error, weights = np.array([0.0, 0.1, 0.4]), np.array([0.5, 0.3, 0.2])
    mean = 0.5 * (0.3 * 0.1 + 0.2 * 0.4)
    found = proportional(bayes_error, weights, mean, n_classes=4)
    np.testing.assert_allclose(found, [0.0, 0.05, 0.2], atol=1e-12)


def test_without_overlap_anywhere_a_mean_is_uniform():
    found = proportional(np.zeros(2), np.array([0.5, 0.5]), 0.1, n_classes=2)
    np.testing.assert_allclose(found, [0.1, 0.1])


def test_every_arm_has_the_mean_strength_of_its_uniform_arm():
    facts = measured()
    assert facts.bayes_error > 0.05
    own = np.arange(len(facts.y)), facts.y
    means = {name: 1.0 - arm.labels(facts)[own].mean() for name, arm in ARMS.items()}
    for name, arm in ARMS.items():
        if arm.uniform is not None:
            assert means[name] == pytest.approx(means[arm.uniform], abs=1e-9), name
    assert means["uniform R/2"] == pytest.approx(facts.bayes_error / 2)
    assert means["uniform R capped"] == pytest.approx(0.1 * 2 / 3)
    assert means["none"] == means["focal"] == 0.0


def test_strengths_of_an_arm_follow_the_clusters():
    facts = measured()
    own = np.arange(len(facts.y)), facts.y
    strengths = 1.0 - ARMS["R/2"].labels(facts)[own]
    clusters = facts.smoother.cluster_labels_
    expected = facts.smoother.bayes_error_lower_[clusters] / 2.0
    np.testing.assert_allclose(strengths, expected, atol=1e-9)
    floored = 1.0 - ARMS["R/2 floor 50%"].labels(facts)[own]
    np.testing.assert_allclose(floored, expected / 2 + facts.bayes_error / 4)


def test_overconfidence_is_confidence_minus_accuracy():
    facts = measured()
    assert facts.overconfidence == 0.0  # 0.9 is below 239 of 240
    facts.outputs = np.eye(3)[np.roll(facts.y, 1)]
    assert Measured.overconfidence.func(facts) == pytest.approx(1 / 3, abs=1e-6)


def test_trees_and_lines_have_the_cross_entropy_only():
    assert "margin" in arms_of("perceptron")
    assert not {"margin", "relaxation", "focal"} & set(arms_of("logistic"))
    assert {"none", "default", "R/2", "uniform R/2"} <= set(arms_of("lightgbm"))


def test_losses_of_others_by_hand():
    own = torch.tensor([[0.7], [0.95]])
    scores = torch.cat([own, (1 - own) / 2, (1 - own) / 2], dim=1).log()
    soft = torch.tensor([[1.0, 0, 0], [1.0, 0, 0]])
    divergence = 0.9 * np.log(0.9 / 0.7) + 0.1 * np.log(0.1 / 0.3)
    found = relaxed_loss(scores, soft)
    np.testing.assert_allclose(found, [divergence, 0.0], rtol=1e-5)
    np.testing.assert_allclose(
        focal_loss(scores, soft),
        [-(0.3**3) * np.log(0.7), -(0.05**3) * np.log(0.95)],
        rtol=1e-4,
    )
    scores = torch.tensor([[0.0, -4.0, -13.0]])
    plain = np.log(1 + np.exp(-4.0) + np.exp(-13.0))
    loss = margin_loss(scores, soft[:1])
    np.testing.assert_allclose(loss, [plain + 0.1 * 3.0 / 3], rtol=1e-5)


def test_labels_of_neighbors_lose_the_mass_that_is_asked_for():
    X, y = overlapping()
    hard = np.eye(3)[y]
    soft = neighbor_labels(X, hard, 0.05)
    np.testing.assert_allclose(soft.sum(axis=1), 1.0)
    assert 1.0 - (soft * hard).sum(axis=1).mean() == pytest.approx(0.05)
    mixed = distilled_labels(np.array([[1.0, 0]]), np.array([[0.6, 0.4]]))
    np.testing.assert_allclose(mixed, [[0.8, 0.2]])


def test_networks_side_by_side_are_those_trained_alone():
    X, y = overlapping()
    labels = np.stack([np.eye(3)[y], np.full((len(y), 3), 1 / 3), np.eye(3)[y]])
    options = {"hidden": [8], "epochs": 3, "batch_size": 32}
    kinds = ["cross_entropy", "cross_entropy", "focal"]
    together = perceptrons.train(X, labels, kinds, 1, **options)(X)
    for number, kind in enumerate(kinds):
        alone = perceptrons.train(X, labels[[number]], [kind], 1, **options)(X)
        np.testing.assert_allclose(together[number], alone[0], atol=1e-5)
    assert np.abs(together[0] - together[2]).max() > 1e-3


def test_a_network_is_what_pytorch_trains():
    X, y = overlapping(64)
    options = {"hidden": [5], "epochs": 2, "batch_size": 16, "learning_rate": 0.01}
    soft = np.eye(3)[y][None]
    found = perceptrons.train(X, soft, ["cross_entropy"], 3, **options)(X)[0]
    generator = torch.Generator().manual_seed(3)
    network = torch.nn.Sequential(
        torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)
    )
    with torch.no_grad():
        for layer in (network[0], network[2]):
            bound = layer.in_features**-0.5
            shape = layer.in_features, layer.out_features
            layer.weight.copy_(
                (torch.rand(shape, generator=generator) * 2 - 1).T * bound
            )
            drawn = torch.rand((1, shape[1]), generator=generator)[0]
            layer.bias.copy_((drawn * 2 - 1) * bound)
    scaled = torch.from_numpy((X - X.mean(axis=0)) / X.std(axis=0))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(2):
        for batch in torch.randperm(64, generator=generator).split(16):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(
                network(scaled[batch]), torch.from_numpy(y)[batch]
            )
            loss.backward()
            optimizer.step()
    expected = network(scaled).softmax(dim=1).detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("learner", ["perceptron", "lightgbm", "logistic"])
def test_rows_of_weight_zero_do_not_count(learner):
    X, y = overlapping()
    options = {
        "perceptron": {"hidden": [8], "epochs": 2},
        "lightgbm": {"n_estimators": 3},
        "logistic": {"C": 1.0},
    }[learner]
    weights = np.ones((1, len(y)))
    weights[0, :40] = 0.0
    hard = np.eye(3)[y][None]
    other = hard.copy()
    other[0, :40] = [0.0, 0.0, 1.0]
    found = [
        learners.train(learner, options, X, soft, ["cross_entropy"], 0, weights)(X)
        for soft in (hard, other)
    ]
    np.testing.assert_array_equal(*found)


def test_other_losses_are_for_networks_only():
    X, y = overlapping(30)
    with pytest.raises(ValueError, match="logistic has the cross-entropy only"):
        learners.train("logistic", {"C": 1.0}, X, np.eye(3)[y][None], ["focal"], 0)


def test_logistic_regression_is_that_of_scikit_learn():
    X, y = overlapping()
    hard = np.eye(3)[y][None]
    predict = learners.train("logistic", {"C": 1.0}, X, hard, ["cross_entropy"], 0)
    scaler = StandardScaler().fit(X)
    model = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000)
    model.fit(scaler.transform(X), y)
    expected = model.predict_proba(scaler.transform(X))
    np.testing.assert_allclose(predict(X)[0], expected, atol=2e-4)


def test_the_norm_has_the_lowest_aurc_or_is_not_used():
    # The third row is wrong: p = 1 ranks it with the others, larger ones below them.
    logits = np.array([[2.0, -1.0, -1.0], [4.0, -2.0, -2.0], [3.0, 0.0, -3.0]])
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    p = fit_p_norm(probabilities, np.array([0, 0, 1]))
    assert p is not None
    assert p > 1
    assert fit_p_norm(probabilities, np.array([1, 0, 0])) is None
    assert fit_p_norm(probabilities[:, :2], np.array([0, 1, 1])) is None


SMALL = {
    "choosing": ["digits"],
    "confirming": ["synthetic"],
    "n_seeds": 2,
    "n_folds": 2,
    "train_rows": 150,
    "validation_rows": 60,
    "test_rows": 100,
    "learners": {
        "perceptron": {"hidden": [8], "epochs": 2},
        "lightgbm": {"n_estimators": 2, "num_leaves": 4},
        "logistic": {"C": 1.0},
    },
}


def small():
    config = configs.load("selective")
    return {k: v for k, v in config.items() if k not in configs.WORDS} | SMALL


def test_seeds_share_test_rows_and_no_row_is_in_two_parts():
    config = small()
    first, second = (rows.parts_of(config, "digits", seed) for seed in (0, 1))
    np.testing.assert_array_equal(first.test[0], second.test[0])
    assert first.n_rows == [150, 60, 100]
    assert (first.train[0] != second.train[0]).any()
    data = datasets.load("digits").X
    known = {row.tobytes() for row in np.unique(data, axis=0)}
    parts = [
        {row.tobytes() for row in part[0]}
        for part in (first.train, first.validation, first.test)
    ]
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]
    assert set.union(*parts) <= known


def test_each_row_is_left_out_of_one_fold():
    weights = rows.folds_of(rows.parts_of(small(), "digits", 0), 5, seed=0)
    assert weights.shape == (5, 150)
    np.testing.assert_array_equal((weights == 0).sum(axis=0), 1)


def test_a_run_chooses_first_can_be_resumed_and_ends_with_a_page(tmp_path):
    results = tmp_path / "selective.jsonl"
    config = small()
    runner.run(config, results, n_jobs=1)
    _, runs = read(results)
    assert [run["config"]["data"] for run in runs] == ["digits"] * 6 + ["synthetic"] * 6
    assert choice.read_choice(results) in ARMS
    content = results.read_bytes()
    results.write_bytes(content[:-200])  # as if killed while writing
    runner.run(config, results, n_jobs=1)
    _, again = read(results)
    for name in ("config", "seed", "metrics", "arms", "clusters", "mean_strengths"):
        assert [run[name] for run in again] == [run[name] for run in runs]
    finished = Finished(results)
    assert finished.complete("confirming") == (["synthetic"], [0, 1])
    page = selective.table(results)
    chosen = choice.read_choice(results)
    assert f"**{chosen} is confirmed.**" in page or f"**{chosen} is not conf" in page
    assert "sets for confirming (synthetic): 2 of 2 seeds" in page
    assert all(path.stat().st_size > 5000 for path in selective.figure(results))
    error = finished.values("digits", "logistic", "none", "error", [0, 1])
    assert 0.0 < error.mean() < 0.5
    clusters = runs[0]["clusters"]
    n = np.array(clusters["test_rows"])
    assert n.sum() == 100
    assert n @ np.array(clusters["error"]) / 100 == pytest.approx(
        runs[0]["metrics"]["plain"][runs[0]["arms"]["none"]][0], abs=1e-4
    )


def test_other_trainings_have_a_table_of_their_own(tmp_path):
    config = configs.load("selective-trainings")
    config = {k: v for k, v in config.items() if k not in configs.WORDS}
    short, long = (config["learners"][name] for name in ("5 epochs", "150 epochs"))
    assert short | {"epochs": 150} == long
    layer = {"hidden": [8], "batch_size": 64, "learning_rate": 1e-2}
    trainings = {"short": layer | {"epochs": 1}, "long": layer | {"epochs": 40}}
    config = config | SMALL | {"confirming": [], "learners": trainings}
    results = tmp_path / "trainings.jsonl"
    trainings_study.run(config, results, n_jobs=1)
    _, runs = read(results)
    assert [*runs[0]["arms"]] == config["arms"]
    facts, arms = trainings_study.table(results).split("| training | arm |")
    shown = {line.split(" | ")[0]: line for line in facts.splitlines()}
    errors = [float(shown[f"| {name}"].split(" | ")[1]) for name in trainings]
    assert errors[0] > errors[1]  # the longer training fits its rows better
    assert arms.count("| R/2 |") == 2


def test_networks_for_images_are_compared_with_uniform_smoothing_of_their_mean(
    toy_data, tmp_path
):
    config = configs.load("selective-images")
    config = {k: v for k, v in config.items() if k not in configs.WORDS}
    sizes = {"train_rows": 60, "validation_rows": 30, "test_rows": 40, "n_seeds": 2}
    config = config | sizes | {"confirming": ["cifar10"]}
    for learner in config["learners"].values():
        assert learner["network"]["widths"] == [16, 32, 64]
        learner["network"] = {"widths": [4, 4, 4]}
        learner["recipe"]["epochs"] = 1
    plain, varied = config["learners"].values()
    assert plain["recipe"] | {"flip": True, "crop": 2} == varied["recipe"]
    results = tmp_path / "images.jsonl"
    units = itertools.product(["cifar10"], config["learners"], range(2))
    runs = [runner.train_unit(config, unit) for unit in units]
    Records(results, config).add(runs)
    for run in runs:
        strength = {arm: run["mean_strengths"][n] for arm, n in run["arms"].items()}
        assert strength["none"] == 0.0
        half = min(0.5 * run["bayes_error"], 0.9)
        assert strength["R/2"] == pytest.approx(half, abs=1e-4)
        smaller = min(half, run["overconfidence"])
        assert strength["smaller"] == pytest.approx(smaller, abs=1e-4)
        for arm in ("R/2", "default", "smaller"):
            uniform = strength[ARMS[arm].uniform]
            assert uniform == pytest.approx(strength[arm], abs=1e-4)
    text = images_study.table(results)
    assert text.count("| R/2 - uniform R/2 |") == 2
    assert text.count("| smaller - none |") == 2


def recorded(path, values, names=("a", "b"), n_seeds=4):
    """Write results with the given (error, NLL, AURC) of arms, and little noise."""
    settings = {
        "choosing": list(names),
        "confirming": [],
        "learners": {"perceptron": {}},
    }
    lines = [{"settings": settings}]
    for name in names:
        for seed in range(n_seeds):
            found = []
            for number, arm in enumerate(ARMS):
                error, nll, aurc = values.get((arm, name), values.get(arm, (1, 9, 9)))
                noise = 1e-3 * ((seed * (number + 3)) % 5)
                plain = {"error": error, "nll": nll, "aurc": aurc}
                found.append([plain.get(m, 0.0) + noise for m in COLUMNS["plain"]])
            lines.append(
                {
                    "config": {"data": name, "learner": "perceptron"},
                    "seed": seed,
                    "metrics": {"plain": found},
                    "arms": {arm: number for number, arm in enumerate(ARMS)},
                }
            )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_lowest_mean_rank_wins(tmp_path):
    path = recorded(tmp_path / "r.jsonl", {"R/4": (1, 2, 3), "R/2": (1, 1.5, 2)})
    assert choice.choose(Finished(path))[0] == "R/2"
    text = choice.write_choice(path)
    assert "The choice: **R/2**." in text
    assert choice.read_choice(path) == "R/2"


def test_an_arm_that_is_worse_than_uniform_anywhere_is_out(tmp_path):
    values = {"R/4": (1, 2, 3), "R/2": (1, 1.5, 2), ("R/2", "b"): (2, 1.5, 2)}
    path = recorded(tmp_path / "r.jsonl", values)
    winner, ranks, harmful = choice.choose(Finished(path))
    assert winner == "R/4"
    assert ranks["R/2"] < ranks["R/4"]
    assert [(name, d.metric) for name, d in harmful["R/2"]] == [("b", "error")]


def test_no_smoothing_can_win(tmp_path):
    path = recorded(tmp_path / "r.jsonl", {"none": (1, 1, 1)})
    assert choice.choose(Finished(path))[0] == "none"


def test_a_choice_needs_seeds_that_are_complete(tmp_path):
    path = recorded(tmp_path / "r.jsonl", {}, n_seeds=1)
    with pytest.raises(FileFormatError, match="at least two seeds"):
        choice.choose(Finished(path))
    with pytest.raises(FileFormatError, match="there is no choice in"):
        choice.read_choice(path)


@pytest.mark.parametrize("bayes_error", [0.02, 0.2, 0.35, 0.5])
def test_overconfidence_of_one_two_and_three_neighbors(bayes_error):
    r = bayes_error
    for n_neighbors, expected in (
        (1, 2 * r * (1 - r)),
        (2, r * (1 - r)),
        (3, 4 * r**2 * (1 - r) ** 2),
    ):
        doubt, error = half.doubt_and_error(n_neighbors, r)
        assert error - doubt == pytest.approx(expected)


def test_a_vote_of_five_neighbors_is_that_of_a_simulation():
    draw = np.random.default_rng(0)
    votes = (draw.random((200_000, 5)) < 0.7).mean(axis=1)
    truth = draw.random(200_000) < 0.7
    doubt, error = half.doubt_and_error(5, 0.3)
    assert 1 - np.maximum(votes, 1 - votes).mean() == pytest.approx(doubt, abs=3e-3)
    assert ((votes > 0.5) != truth).mean() == pytest.approx(error, abs=5e-3)


def test_slopes_are_weighted_by_test_rows(tmp_path):
    path = recorded(tmp_path / "r.jsonl", {}, names=("a",), n_seeds=2)
    finished = Finished(path)
    for run in finished.runs("a", "perceptron", [0, 1]):
        run["n_classes"] = 2
        run["clusters"] = {
            "bayes_error": [0.0, 0.1, 0.4],
            "test_rows": [50, 30, 0],
            "confidence": [1.0, 0.95, 0.5],
            "error": [0.0, 0.1, 0.9],
        }
    found = half.slopes_of(finished, "a", "perceptron", [0, 1])
    np.testing.assert_allclose(found.error, 1.0)
    np.testing.assert_allclose(found.doubt, 0.5)
    np.testing.assert_allclose(found.overconfidence, 0.5)
    np.testing.assert_allclose(found.needed, 0.5 / 0.9)


def test_there_is_one_scale(tmp_path):
    with pytest.raises(FileFormatError, match="at the scale cpu only, got full"):
        runner.run(small() | {"scale": "full"}, tmp_path / "selective-full.jsonl")


def test_validation_rows_choose_an_arm_for_each_seed(tmp_path):
    path = recorded(tmp_path / "r.jsonl", {}, names=("a",), n_seeds=2)
    finished = Finished(path)
    for seed, run in enumerate(finished.runs("a", "perceptron", [0, 1])):
        run["arms"] = {"none": 0, "R": 1}
        run["metrics"] = {
            "validation": [[0, 0.3, 0], [0, 0.2 + 0.2 * seed, 0]],
            "plain": [[0, 1.0, 0, 0, 0, 0, 0], [0, 2.0, 0, 0, 0, 0, 0]],
        }
    found = finished.chosen("a", "perceptron", ["none", "R"], "nll", [0, 1])
    np.testing.assert_array_equal(found, [2.0, 1.0])
