"""The study of wrong labels, at a toy size."""

import numpy as np
from experiments import configs, suspects
from experiments.records import read


def test_the_study_runs_and_is_read_by_its_table(toy_data, tmp_path):
    config = configs.load("suspects") | {"n_seeds": 2, "n_synthetic": 200}
    config |= {"data": ["digits", "synthetic", "timit", "higgs"], "wrong": [0.0, 0.05]}
    results = tmp_path / "r.jsonl"
    suspects.run(config, results)
    before = results.read_text()
    suspects.run(config, results)
    assert results.read_text() == before
    runs = read(results)[1]
    assert len(runs) == 16
    of_digits = [r["metrics"] for r in runs if r["config"]["data"] == "digits"]
    assert of_digits[0]["n_wrong"] == 0
    assert of_digits[-1]["n_found"] > 0.7 * of_digits[-1]["n_wrong"]
    text = suspects.table(results)
    found = sum(m["n_found"] for m in of_digits[2:])
    share = 100 * found / sum(m["n_wrong"] for m in of_digits[2:])
    line = next(x for x in text.splitlines() if x.startswith("| digits | 5 |"))
    assert f"| {share:.0f} |" in line


def test_moved_labels_are_of_another_class(rng):
    y = rng.integers(0, 3, size=30_000)
    moved, wrong = suspects.with_mistakes(y, 0.1, seed=0)
    np.testing.assert_array_equal(moved != y, wrong)
    assert abs(wrong.mean() - 0.1) < 0.01
    assert np.bincount(moved[wrong & (y == 0)], minlength=3)[1:].min() > 400
