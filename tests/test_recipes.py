"""Every recipe in examples/recipes trains, offline, and leaves no files behind."""

import importlib.util
import json
import socket
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "recipes"
NEEDS = {
    "huggingface_trainer": ["torch", "transformers", "accelerate"],
    "keras_soft_labels": ["torch", "keras"],
    "lightning_module": ["torch", "lightning"],
    "optax_soft_labels": ["jax", "optax"],
    "plain_pytorch": ["torch"],
    "skorch_net": ["torch", "skorch"],
}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no examples here")


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    recipe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    return recipe


def run_offline(name):
    """Return what a recipe returns, and the addresses it tried to reach."""
    tried = []

    def refuse(*address):
        tried.append(repr(address))
        raise OSError("the recipes must not use the network")

    with (
        mock.patch.object(socket.socket, "connect", refuse),
        mock.patch.object(socket.socket, "connect_ex", refuse),
        mock.patch.object(socket, "getaddrinfo", refuse),
    ):
        return load(name).main(), tried


def run_apart(name):
    """Return the same from a separate process.

    JAX starts threads, and other tests fork the process that they run in.
    """
    code = f"""import json, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import test_recipes
        print(json.dumps(test_recipes.run_offline({name!r})))"""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(map(str.strip, code.splitlines()))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Run in an empty folder, and take back what a recipe sets for its process."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    with mock.patch.dict("os.environ"):
        yield


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.parametrize("name", sorted(NEEDS))
def test_recipe_trains_both_ways_without_network_or_files(name, capsys):
    for library in NEEDS[name]:
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    apart = "jax" in NEEDS[name]
    scores, tried = run_apart(name) if apart else run_offline(name)
    assert tried == []
    assert list(scores) == ["plain", "structural"]
    # A tenth of the error of guessing, and far from that of an untrained network.
    assert all(score["error"] < 0.09 for score in scores.values())
    assert all(score["nll"] < 0.5 for score in scores.values())
    assert scores["plain"] != scores["structural"]  # the strengths reach the loss
    assert list(Path.cwd().iterdir()) == []
    if not apart:
        assert capsys.readouterr().out.count("\n") == 1


def test_every_recipe_is_run():
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(NEEDS)


@pytest.mark.skipif(importlib.util.find_spec("skorch") is None, reason="no skorch")
def test_the_skorch_net_can_be_cloned_and_searched():
    from sklearn.model_selection import GridSearchCV
    from torch import nn

    recipe = load("skorch_net")
    net = recipe.SmoothedNet(
        recipe.Perceptron,
        smoother__random_state=0,
        predict_nonlinearity=nn.Softmax(dim=1),
        lr=0.5,
        max_epochs=20,
        verbose=0,
    )
    X, y = recipe.load_digits(return_X_y=True)
    X = (X[:300] / 16).astype("float32")
    # Enough smoothing to show: all classes are nearly equal in the soft labels.
    search = GridSearchCV(
        net,
        {"smoother__alpha": [0.0, 0.88]},
        cv=2,
        scoring="neg_log_loss",
        error_score="raise",
    ).fit(X, y[:300])
    assert search.best_params_ == {"smoother__alpha": 0.0}
    probabilities = search.predict_proba(X)
    assert probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
