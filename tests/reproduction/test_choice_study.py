"""The experiment on what cross-validation chooses, at a toy size."""

import pytest

pytest.importorskip("torch")

from experiments import choice, configs
from experiments.records import read

pytestmark = pytest.mark.filterwarnings(
    "ignore::structsmooth.errors.StructsmoothWarning"
)


def test_it_runs_on_every_set_and_is_read_by_its_table(toy_data, tmp_path):
    config = configs.load("choice") | {"n_seeds": 2, "max_rows": 120}
    config["data"] = ["timit", "cancer"]
    config["learners"] = {"logistic, C = 1": 1.0}
    results = tmp_path / "choice.jsonl"
    choice.run(config, results)
    _, runs = read(results)
    assert len(runs) == 4
    for run in runs:
        assert run["chosen"] in choice.NAMES
        assert run["metrics"]["chosen"] == run["metrics"][run["chosen"]]
    text = choice.table(results)
    assert text.count("| error, % |") == 2
    assert "| timit | logistic, C = 1 | error, % |" in text
