"""The study of wrong labels, at a toy size."""

import numpy as np
import pytest
from experiments import configs, suspects
from experiments.records import read


def test_the_study_runs_and_is_read_by_its_table(toy_data, tmp_path):
    pytest.importorskip("cleanlab")
    config = configs.load("suspects") | {"n_seeds": 1, "most_rows": 300, "n_trees": 5}
    config |= {"data": ["digits", "synthetic"], "wrong": [0.1], "kinds": ["uniform"]}
    results = tmp_path / "r.jsonl"
    suspects.run(config, results)
    before = results.read_text()
    suspects.run(config, results)
    assert results.read_text() == before
    runs = read(results)[1]
    assert [run["config"]["wrong"] for run in runs] == [0.0, 0.0, 0.1, 0.1]
    digits = runs[2]["metrics"]
    assert digits["features"]["ap"] > 0.8
    text = suspects.table(results)
    found, listed = digits["features"]["n_found"], digits["features"]["n_listed"]
    line = next(x for x in text.splitlines() if x.startswith("| digits | uniform | 10"))
    assert f" {digits['features']['ap']:.3f} |" in line
    share = f"{100 * found / listed:.0f}" if listed else "none"
    assert f"| {share} / {100 * found / digits['n_wrong']:.0f} |" in text


def test_similar_classes_and_one_class(rng):
    y = rng.integers(0, 3, size=30_000)
    confusion = np.array([[90, 10, 0], [0, 90, 10], [10, 0, 90]])
    moved, wrong = suspects.with_mistakes(y, 0.1, 0, "similar", confusion)
    assert abs(wrong.mean() - 0.1) < 0.01
    assert (moved[wrong] == (y[wrong] + 1) % 3).mean() > 0.99
    largest = np.bincount(y).argmax()
    moved, wrong = suspects.with_mistakes(y, 0.05, 0, "one class")
    np.testing.assert_array_equal(moved != y, wrong)
    assert abs(wrong.mean() - 0.05) < 0.01
    assert (y[wrong] == largest).all()


def test_moved_labels_are_of_another_class(rng):
    y = rng.integers(0, 3, size=30_000)
    moved, wrong = suspects.with_mistakes(y, 0.1, seed=0)
    np.testing.assert_array_equal(moved != y, wrong)
    assert abs(wrong.mean() - 0.1) < 0.01
    assert np.bincount(moved[wrong & (y == 0)], minlength=3)[1:].min() > 400
