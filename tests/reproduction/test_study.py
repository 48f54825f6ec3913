"""Studies of a network at toy sizes: results, resumption, table and figure."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import configs, panels  # noqa: E402
from experiments.records import read  # noqa: E402
from experiments.study import figure, networks, regions, run, table, training  # noqa: E402
from experiments.study.rows import choose  # noqa: E402
from experiments.study.splits import split_of  # noqa: E402
from toys import TOYS, toy  # noqa: E402

from structsmooth.errors import FileFormatError  # noqa: E402

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(TOYS.keys() - {"pilot-svhn"}))
def test_every_study_runs_and_is_read_by_its_table_and_figure(toy_data, tmp_path, name):
    config, results = toy(name), tmp_path / f"{name}.jsonl"
    run(config, results, n_jobs=1)
    _, runs = read(results)
    keys = [json.dumps([r["config"], r["seed"]]) for r in runs]
    n_clusters, selecting = len(config["n_clusters"]), config["selection_seeds"]
    n_places = n_clusters * (2 if name == "compact-svhn" else 1)  # also out of fold
    assert (
        len(set(keys))
        == len(keys)
        == (2 * 2 + n_places * (2 * selecting + (2 - selecting)))
    )
    for finished in runs:
        assert finished["mean_strength"] == pytest.approx(finished["config"]["alpha"])
        assert finished["metrics"].keys() == finished["validation"].keys()
        assert finished["curve"]["epoch"][-1] == 2
        assert finished["curve"]["nll"][-1] == pytest.approx(
            finished["metrics"]["nll"], abs=1e-5
        )
    text = table(results)
    assert text.count("| structural |") == 4 * n_clusters
    assert text.count("| out of fold |") == 4 * (n_places - n_clusters)
    assert "million multiplications" in text
    assert "Scale: cpu. 2 of 2 seeds." in text
    errors = [
        100 * r["metrics"]["error"] for r in runs if r["config"]["method"] == "uniform"
    ]
    assert f"| {np.mean(errors):.2f} ± {np.std(errors, ddof=1):.2f} |" in text
    assert figure(results)[0].read_bytes().startswith(b"\x89PNG")


def test_a_study_without_alphas_trains_without_smoothing_only(toy_data, tmp_path):
    results = tmp_path / "r.jsonl"
    run(toy("pilot-svhn"), results, n_jobs=1)
    (finished,) = read(results)[1]
    assert finished["config"]["method"] == "none"
    text = table(results)
    assert "Beta was chosen" not in text
    assert f"| none |  |  |  | {100 * finished['metrics']['error']:.2f} |" in text
    (toy_data / "svhn.npz").unlink()
    run(toy("pilot-svhn"), results, n_jobs=1)  # nothing is left


def test_out_of_fold_outputs_come_from_models_that_did_not_see_the_row(
    toy_data, monkeypatch
):
    config = toy("compact-svhn")
    split = split_of(config)
    trained = []

    def train(build, X, y, strengths, recipe, inputs, seed):
        assert not strengths.any()
        trained.append({row.tobytes() for row in X})
        return build()

    def predict(network, inputs, X):
        assert not trained[-1] & {row.tobytes() for row in X}
        return np.full((len(X), 10), len(trained) / 10)

    monkeypatch.setattr(training, "train", train)
    monkeypatch.setattr(training, "predict", predict)
    found = np.exp(regions.outputs_of(config, split))
    assert len(trained) == 3
    # Every row was predicted once: a third of them by each model.
    np.testing.assert_allclose(np.unique(found.round(6)), [0.1, 0.2, 0.3], atol=1e-6)
    assert abs((found[:, 0] < 0.15).sum() - len(split.y) / 3) < 10


def test_a_study_without_curves_says_so(toy_data, tmp_path):
    results = tmp_path / "r.jsonl"
    run(toy("cifar10-plain") | {"curve_every": 2}, results, n_jobs=1)
    with pytest.raises(FileFormatError, match="only the last epoch was measured"):
        figure(results)


# New processes learn about the toy files from the environment.
SCRIPT = """
import sys
from pathlib import Path
from experiments.study import run
from toys import toy, use_toy_files
use_toy_files()
if __name__ == "__main__":
    run(toy("timit"), Path(sys.argv[1]), n_jobs=int(sys.argv[2]))
"""


@pytest.fixture
def command(toy_data, tmp_path, monkeypatch):
    """Run a study in a separate process."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{Path(__file__).parent}")
    monkeypatch.setenv("STRUCTSMOOTH_TOYS", str(tmp_path / "checkpoints"))
    script = tmp_path / "study.py"
    script.write_text(SCRIPT)
    return [sys.executable, str(script)]


def facts(path):
    """The parts in which two runs must agree, in any order."""
    drop = ("seconds", "cpu_seconds", "versions")
    return sorted(
        json.dumps({k: v for k, v in r.items() if k not in drop}, sort_keys=True)
        for r in read(path)[1]
    )


def test_a_killed_study_goes_on_and_repeats_nothing(command, tmp_path):
    config = toy("timit")
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    run(config, whole, n_jobs=1)
    process = subprocess.Popen([*command, str(killed), "1"], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not killed.is_file() or killed.read_text().count("\n") < 4:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 3 <= len(read(killed)[1]) < len(read(whole)[1])
    before = killed.read_text()
    run(config, killed, n_jobs=1)
    assert killed.read_text().startswith(before[: before.rfind("\n") + 1])
    assert facts(killed) == facts(whole)


def test_two_processes_side_by_side_find_the_same(command, tmp_path):
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    run(toy("timit"), one, n_jobs=1)
    subprocess.run([*command, str(two), "2"], check=True, stdout=subprocess.DEVNULL)
    assert facts(one) == facts(two)


def test_no_more_runs_wait_than_work(monkeypatch):
    """Strengths of many rows are large, so they are made one by one."""
    from concurrent.futures import ThreadPoolExecutor

    from experiments.study import runner

    made, done = [], []

    def tasks():
        for number in range(6):
            made.append(number)
            # Two runs are working, two are finished and not yet collected.
            assert len(made) - len(done) <= 2 + 2
            yield (number,)

    monkeypatch.setattr(
        runner, "ProcessPoolExecutor", lambda n, mp_context: ThreadPoolExecutor(n)
    )
    monkeypatch.setattr(runner, "train_one", lambda number: number)
    for number in runner._side_by_side(tasks(), 2):
        done.append(number)
    assert sorted(done) == list(range(6))


def test_a_diverged_network_is_at_chance_and_no_crash():
    network = networks.perceptron(3, [], 4)
    with torch.no_grad():
        network[0].weight.fill_(float("nan"))
    X = np.zeros((5, 3), dtype=np.float32)
    inputs = training.Inputs.fit(X, torch.device("cpu"))
    np.testing.assert_array_equal(training.predict(network, inputs, X), 0.25)


def test_without_batch_norm_the_first_outputs_still_tell_images_apart():
    torch.manual_seed(0)
    images = torch.randn(8, 3, 32, 32)
    for width in (0.25, 1.0):
        network = networks.mobilenet_v2(10, width=width, batch_norm=False)
        with torch.no_grad():
            spread = network(images).std(dim=0).mean()
        assert spread > 0.01


def test_the_official_higgs_file_is_studied_without_being_read_whole(
    tmp_path, monkeypatch, rng
):
    from experiments import datasets

    rows = np.hstack([np.arange(300)[:, None] % 2, rng.normal(size=(300, 28))])
    np.savetxt(tmp_path / "HIGGS.csv", rows, delimiter=",")
    monkeypatch.setenv("STRUCTSMOOTH_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "HIGGS_ROWS", 300)
    monkeypatch.setattr(datasets, "HIGGS_TEST_ROWS", 60)
    config = configs.merge(configs.load("higgs", "full"), TOYS["higgs"])
    config |= {"n_clusters": [2], "betas": [1.0]}
    split = split_of(config)
    assert isinstance(split.X.source, np.memmap)
    assert len(split.y) == 300 - 60 - 40
    np.testing.assert_array_equal(split.y_test, rows[-60:, 0])
    np.testing.assert_allclose(
        split.X[np.array([0, 5])],
        rows[split.X.numbers[[0, 5]], 1:].astype(np.float32),
    )
    run(config, tmp_path / "higgs-full.jsonl", n_jobs=1)
    assert len(read(tmp_path / "higgs-full.jsonl")[1]) == 6


def result_of(beta, error, seed=0, alpha=0.1):
    row = {"method": "structural", "alpha": alpha, "beta": beta, "n_clusters": 8}
    return {
        "config": row,
        "seed": seed,
        "validation": {"error": error},
        "metrics": {"error": 1.0 - error},  # the test would choose otherwise
    }


def test_beta_is_chosen_on_validation_rows_of_the_first_seeds_only():
    runs = [
        result_of(0.2, 0.30),
        result_of(0.6, 0.10),
        result_of(1.0, 0.20),
        result_of(1.0, 0.0, seed=1),  # not one of the seeds that choose
        result_of(0.2, 0.40, alpha=0.3),
        result_of(0.6, 0.40, alpha=0.3),  # on a tie, the smaller
        result_of(1.0, 0.50, alpha=0.3),
        result_of(0.6, 0.10, alpha=0.2),  # the other betas are missing: no choice
    ]
    config = {"selection_seeds": 1, "betas": [0.2, 0.6, 1.0]}
    best = choose(config, runs)
    assert best == {(0.1, 8): 0.6, (0.3, 8): 0.2}
    runs += [result_of(0.2, 0.0, seed=1), result_of(0.6, 0.5, seed=1)]
    assert choose(config | {"selection_seeds": 2}, runs) == {(0.1, 8): 1.0}


def test_no_row_is_in_two_parts(toy_data):
    for name in ("svhn", "timit", "higgs"):
        split = split_of(toy(name))
        parts = [split.X, split.X_validation, split.X_test]
        rows = [{row.tobytes() for row in part} for part in parts]
        assert sum(map(len, rows)) == len(set.union(*rows)) == sum(map(len, parts))


def test_validation_speakers_of_timit_are_not_trained_on(toy_data):
    from experiments.datasets import load

    data, split = load("timit"), split_of(toy("timit"))
    speaker = {row.tobytes(): who for row, who in zip(data.X, data.groups, strict=True)}
    train, validation = (
        {speaker[row.tobytes()] for row in part}
        for part in (split.X, split.X_validation)
    )
    assert not train & validation
    assert 0 < len(split.y_validation) < len(split.y)


def test_rows_that_were_not_fitted_get_the_strength_of_their_cluster(toy_data):
    config = toy("higgs")
    split = split_of(config)
    found = regions.find(config, split, 2)
    assert len(found.smoother.cluster_labels_) == 120 < len(split.y)
    strengths = found.strengths(0.2, 1.0)
    assert strengths[found.clusters].mean() == pytest.approx(0.2)
    centers = found.smoother.structure_.regions.assign(
        found.smoother.structure_.reduction.transform(split.X)
    )
    np.testing.assert_array_equal(found.clusters, centers)


def test_the_codes_of_the_autoencoder_are_made_once(toy_data, monkeypatch):
    config = toy("svhn")
    split = split_of(config)
    first = regions.features_of(config, split)
    import structsmooth.torch as rooms

    monkeypatch.setattr(rooms, "Autoencoder", None)
    again = regions.features_of(config | {"alphas": [0.7]}, split)
    np.testing.assert_array_equal(first[0], again[0])
    assert first[0].shape == (240, 4)
    with pytest.raises(TypeError):  # other rows, other codes
        regions.features_of(config | {"rows": 290}, split)


# The paper counts 3.4 million weights, torchvision's model 3 504 872.
def test_mobilenet_v2_has_as_many_weights_as_others():
    network = networks.mobilenet_v2(1000)
    assert sum(p.numel() for p in network.parameters()) == 3_504_872
    plain = networks.mobilenet_v2(1000, batch_norm=False)
    # A bias instead of the two numbers of batch normalization, for each channel.
    channels = sum(
        layer.num_features
        for layer in network.modules()
        if isinstance(layer, torch.nn.BatchNorm2d)
    )
    n_plain = sum(p.numel() for p in plain.parameters())
    assert n_plain == 3_504_872 - channels


def test_strides_set_the_size_of_the_last_images():
    network = networks.mobilenet_v2(
        10, width=0.25, stem_stride=2, strides=(1, 2, 1, 2, 1, 2, 1), head=16
    )
    features = network[:-3](torch.zeros(2, 3, 32, 32))
    assert features.shape == (2, 16, 2, 2)
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_training_is_gradient_descent_on_smoothed_labels(rng):
    X = rng.normal(size=(40, 3)).astype(np.float32)
    y = rng.integers(0, 2, size=40)
    strengths = rng.uniform(0.0, 0.3, size=40)
    recipe = training.Recipe(
        epochs=4, batch_size=40, learning_rate=0.5, last_learning_rate=0.1, drop_at=0.5
    )
    inputs = training.Inputs.fit(X, torch.device("cpu"))
    network = training.train(
        lambda: networks.perceptron(3, [], 2), X, y, strengths, recipe, inputs, seed=5
    )
    torch.manual_seed(5)
    twin = networks.perceptron(3, [], 2)
    scaled = torch.from_numpy((X - X.mean(axis=0)) / X.std(axis=0))
    soft = torch.zeros(40, 2)
    soft[range(40), y] = torch.from_numpy(1.0 - strengths).float()
    soft[range(40), 1 - y] = torch.from_numpy(strengths).float()
    momentum = [torch.zeros_like(p) for p in twin.parameters()]
    for rate in (0.5, 0.5, 0.1, 0.1):
        loss = -(soft * twin(scaled).log_softmax(dim=1)).sum(dim=1).mean()
        gradients = torch.autograd.grad(loss, list(twin.parameters()))
        with torch.no_grad():
            for weight, moved, gradient in zip(
                twin.parameters(), momentum, gradients, strict=True
            ):
                moved.mul_(0.9).add_(gradient)
                weight.sub_(rate * moved)
    for ours, theirs in zip(network.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_figure_4_trains_what_is_left_of_its_studies(toy_data, tmp_path, monkeypatch):
    config = {"studies": ["higgs", "svhn"], "alpha": 0.2, "scale": "cpu"}
    config["changes"] = {"n_clusters": [2]}
    results = tmp_path / "figure4.jsonl"
    monkeypatch.setattr(configs, "load", lambda name, scale: toy(name))
    panels.run(config, results, n_jobs=1)
    before = (tmp_path / "svhn.jsonl").read_text()
    (toy_data / "svhn.npz").unlink()  # a finished study does not need its data
    panels.run(config, results, n_jobs=1)
    assert (tmp_path / "svhn.jsonl").read_text() == before
    assert panels.figure(results)[0].is_file()
    lines = panels.table(results).splitlines()
    assert [line.split("|")[1].strip() for line in lines[-2:]] == ["higgs", "svhn"]
    assert lines[-2].endswith("of 2 |")
