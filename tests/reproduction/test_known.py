"""Estimate against truth: tasks, metrics, and a toy run."""

import numpy as np
import pytest
from experiments import configs
from experiments.known import figure, run, runner, table, tasks
from experiments.known.table import Runs, slopes
from experiments.records import read

from structsmooth import StructuralSmoother

TOY = {"n_seeds": 2, "rows": [300], "features": [2], "classes": [2, 3]}
TOY |= {"bayes_errors": [0.2], "named": ["ringnorm"], "noise": [0.0, 0.4]}
TOY |= {"real": ["wine", "wine, scaled", "timit"]}


@pytest.fixture
def config(toy_data):
    found = configs.merge(configs.load("truths"), TOY)
    return {key: value for key, value in found.items() if key not in configs.WORDS}


def test_the_study_runs_and_is_read_by_its_table_and_figure(config, tmp_path):
    results = tmp_path / "truths.jsonl"
    run(config, results)
    before = results.read_text()
    run(config, results)
    assert results.read_text() == before
    # Ringnorm, two mixtures and two flat tasks; three real data sets at two shares.
    assert len(read(results)[1]) == 2 * (5 + 6)
    text = table(results)
    for title in ("### 2 dimensions", "### 20 dimensions", "| wine, scaled |"):
        assert title in text
    assert "nan" not in text
    assert figure(results)[0].is_file()


def test_missing_data_are_named_and_the_rest_is_measured(
    config, toy_data, tmp_path, capsys
):
    (toy_data / "phoneme_timit5.npz").unlink()
    results = tmp_path / "truths.jsonl"
    run(config, results)
    said = capsys.readouterr().err
    assert said.startswith("experiments: timit is left out: phoneme_timit5.npz is mis")
    text = table(results)
    assert "| wine |" in text
    assert "| timit |" not in text


def test_estimates_are_set_beside_the_truth_of_their_clusters():
    row = {"task": "mixture", "classes": 2, "features": 2, "bayes_error": 0.2}
    row |= {"rows": 400}
    found = runner.of_known(row, seed=3)
    drawn = tasks.draw(row, 3)
    assert found["truth"] == pytest.approx(0.2, abs=0.004)
    plain, shrunk = (
        StructuralSmoother(random_state=3, shrink=shrink).fit(drawn.X, drawn.y)
        for shrink in (False, True)
    )
    whole = plain.bayes_error_bounds_
    assert found["fit"] == [whole.lower, whole.upper]
    assert found["holds"] == (whole.interval[0] <= found["truth"] <= whole.interval[1])
    of_rows = {}
    for cluster, error in zip(plain.cluster_labels_, drawn.errors, strict=True):
        of_rows.setdefault(cluster, []).append(error)
    true = np.array([np.mean(of_rows[c]) for c in range(len(of_rows))])
    weights = plain.cluster_weights_
    for smoother, name in ((plain, "deviation"), (shrunk, "deviation_shrunk")):
        gaps = smoother.bayes_error_ - true
        expected = np.sqrt(
            np.average((gaps - np.average(gaps, weights=weights)) ** 2, weights=weights)
        )
        assert found[name] == pytest.approx(expected)
    expected = np.average(np.abs(plain.bayes_error_ - true), weights=weights)
    assert found["mean_error"] == pytest.approx(expected)


def test_a_flat_task_has_no_correlation_to_speak_of():
    row = {"task": "flat", "classes": 2, "features": 2, "bayes_error": 0.2}
    assert runner.of_known(row | {"rows": 300}, seed=0)["correlation"] is None


def test_slopes_are_those_of_the_line_and_of_the_truth():
    settings = {"noise": [0.0, 0.1, 0.2], "known_errors": {"wine": 0.1}}
    runs = [
        {
            "config": {"task": "wine, scaled", "noise": share},
            "metrics": {"fit": [0.1 + 0.5 * share, 0.2 + share], "n_classes": 4},
        }
        for share in settings["noise"]
    ]
    measured, expected = slopes(settings, Runs(runs), "wine, scaled")
    np.testing.assert_allclose(measured, [0.5, 1.0])
    np.testing.assert_allclose(expected, [0.75, 0.65])
