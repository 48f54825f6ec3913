"""The study of wrong labels, at a toy size."""

import numpy as np
import pytest
from experiments import configs, suspects, suspects_ablation, suspects_training
from experiments.records import read

from structsmooth import find_suspects


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


def test_edges_and_clusters_vote_without_the_row_itself():
    y = np.array([0, 0, 1, 1])
    # A path 0 - 1 - 2 - 3. Of the other rows, row 1 has one of class 0, two of 1.
    edges = np.array([[0, 1], [1, 2], [2, 3]])
    prior = np.array([1.5, 2.5]) / 4.0
    found = suspects_ablation.edge_evidence(edges, y, 2)
    np.testing.assert_allclose(found[1, :, 0], np.log((1.0 + prior) / 3.0))
    found = suspects_ablation.cluster_evidence(np.array([0, 0, 0, 1]), y, 2)
    np.testing.assert_allclose(found[1, :, 0], np.log((1.0 + prior) / 3.0))
    alone = np.array([2.5, 1.5]) / 4.0  # no other row is in the cluster of row 3
    np.testing.assert_allclose(found[3, :, 0], np.log(alone))


def test_the_ablation_starts_from_the_scores_as_they_are(toy_data, tmp_path):
    config = configs.load("suspects-ablation") | {"n_seeds": 1, "most_rows": 300}
    config |= {"data": ["digits"], "wrong": [0.1], "kinds": ["uniform"]}
    results = tmp_path / "r.jsonl"
    suspects_ablation.run(config, results)
    (run,) = read(results)[1]
    X, y = suspects.rows_of(config, "digits", 0)
    noisy, wrong = suspects.with_mistakes(y, 0.1, 0)
    found = find_suspects(X, noisy, reducer="none")
    got = run["metrics"]["as it is"]
    assert got["n_listed"] == len(found)
    assert got["n_found"] == wrong[found.rows].sum()
    assert f"| digits | uniform | 10 | {got['ap']:.3f} |" in suspects_ablation.table(
        results
    )


def test_training_is_judged_by_what_every_draw_says(toy_data, tmp_path):
    pytest.importorskip("lightgbm")
    config = configs.load("suspects-training") | {"n_seeds": 2, "most_rows": 300}
    config |= {"data": ["digits"], "wrong": [0.2], "kinds": ["uniform"]}
    config |= {"learners": ["lightgbm"]}
    results = tmp_path / "r.jsonl"
    suspects_training.run(config, results)
    runs = read(results)[1]
    assert [run["config"]["wrong"] for run in runs] == [0.0, 0.2, 0.0, 0.2]
    text = suspects_training.table(results)
    drops = [
        run["metrics"]["lightgbm, drop"]["nll"]
        < run["metrics"]["lightgbm, keep"]["nll"]
        for run in runs
        if run["config"]["wrong"]
    ]
    line = next(x for x in text.splitlines() if x.startswith("- drop"))
    assert f"1 cases with wrong labels: NLL helps in {int(all(drops))}," in line
