"""The comparisons of `structsmooth.compare` as experiments, at a toy size."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("lightgbm")

from experiments import comparisons, configs

from structsmooth.errors import FileFormatError

SMALL = {
    "mlp": {"hidden": [4], "epochs": 1},
    "lightgbm": {"n_estimators": 2, "min_child_samples": 2},
}


@pytest.mark.parametrize(
    "name", [name for name in configs.names() if name.startswith("compare-")]
)
def test_every_comparison_runs_and_is_read_by_its_table(toy_data, tmp_path, name):
    config = configs.load(name)
    config = configs.merge(config, {"model_options": SMALL[config["model"]]})
    config["compare"] = config.get("compare", {}) | {
        "n_seeds": 3,
        "alpha": [0.1],
        "beta": ["auto"],
    }
    config["smoother"] = config.get("smoother", {}) | {"n_clusters": 2}
    results = tmp_path / f"{name}.jsonl"
    comparisons.run(config, results)
    text = comparisons.table(results)
    assert "| structural - uniform | error, % |" in text
    assert "Settings:" in text


def test_there_is_no_full_scale(tmp_path):
    config = configs.load("compare-timit-mlp", "full")
    with pytest.raises(FileFormatError, match="exists at the scale cpu only, got full"):
        comparisons.run(config, tmp_path / "r.jsonl")
