"""The study of estimators: its tasks, its estimators, and a toy run."""

import networkx as nx
import numpy as np
import pytest
from experiments import configs
from experiments.estimators import graphs, run, table, tasks
from experiments.estimators.graphs import pairs_of_neighbors, votes
from experiments.records import read
from scipy.spatial.distance import cdist
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from structsmooth import bayes_error_bounds


def test_the_bayes_error_of_the_gaussians_is_what_was_asked_for():
    X, y = tasks.gaussians(200_000, 3, 0.15, seed=0)
    middle = (X[y == 0, 0].mean() + X[y == 1, 0].mean()) / 2.0
    assert np.mean((X[:, 0] > middle) != y) == pytest.approx(0.15, abs=0.004)


def test_drawn_labels_have_the_error_that_is_claimed(rng):
    # Separate classes: a rule that knows the true class errs only on drawn labels.
    y = rng.integers(0, 4, size=100_000)
    drawn = tasks.inject(y, 0.2, 4, seed=0)
    assert np.mean(drawn != y) == pytest.approx(0.15, abs=0.005)
    assert tasks.injected_error(0.0, 0.2, 4) == pytest.approx(0.15)
    # Half of all errors of 10 % lie among rows whose labels are kept.
    assert tasks.injected_error(0.1, 0.5, 2) == pytest.approx(0.05 + 0.25)


def test_orthogonal_trees_are_minimum_spanning_trees_without_each_others_edges(rng):
    X = rng.normal(size=(30, 3))
    graph = nx.from_numpy_array(cdist(X, X))
    used = np.zeros((30, 0), dtype=np.int64)
    for _ in range(3):
        edges = graphs._tree_without(X, used)
        expected = list(nx.minimum_spanning_edges(graph, data=False))
        assert {frozenset(e) for e in edges.tolist()} == set(map(frozenset, expected))
        used = graphs._with_edges(used, edges)
        graph.remove_edges_from(expected)


def test_estimators_by_hand():
    # On a line: a a b b a. Two of four edges cross. One of them is forced, and is
    # subtracted from both counts.
    X, y = np.array([[0.0], [1.0], [4.0], [5.0], [9.0]]), np.array([0, 0, 1, 1, 0])
    assert graphs.orthogonal_trees(1)(X, y, 2)[1] == pytest.approx(1.0 / 3.0)
    # Three labels around each: two of three pairs differ. But always predicting a has
    # an error of two in five.
    assert graphs.neighborhoods(2)(X, y, 2) == pytest.approx((0.4, 0.4))
    # Far groups a a a, a a b, b b b: two of three pairs differ in one of three groups.
    X = np.array([[0.0], [1.0], [3.0]])
    X, y = np.vstack([X, X + 50.0, X + 100.0]), np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])
    assert graphs.neighborhoods(2)(X, y, 2)[1] == pytest.approx(2.0 / 9.0)


@pytest.mark.parametrize("n_classes", [2, 5, 40])
def test_one_orthogonal_tree_is_the_librarys_estimate(rng, n_classes):
    y = np.arange(80) % n_classes
    X = rng.normal(size=(80, 3)) + 0.5 * y[:, np.newaxis]
    found = bayes_error_bounds(X, y, n_classes=n_classes)
    expected = pytest.approx((found.lower, found.upper), abs=1e-12)
    assert graphs.orthogonal_trees(1)(X, y, n_classes) == expected


def test_a_tree_of_one_row_a_class_has_no_edge_to_count():
    X, y = np.arange(4.0)[:, np.newaxis], np.arange(4)
    assert graphs.orthogonal_trees(1)(X, y, 4) == (0.0, 0.0)


def test_the_study_runs_and_is_read_by_its_table(toy_data, tmp_path):
    config = configs.load("estimators")
    config |= {"rows": [60], "features": [2], "n_seeds": 2, "bayes_errors": [0.15]}
    config |= {"n_train": 300, "n_clusters": 3, "real": ["digits"], "noise": [0.0]}
    results = tmp_path / "r.jsonl"
    run(config, results)
    before = results.read_text()
    run(config, results)
    assert results.read_text() == before
    assert len(read(results)[1]) == 6
    text = table(results)
    assert "| 2 | 60 |" in text
    assert "| digits | 0 | 0.0 to 1.5 |" in text
    assert "| spanning tree |" in text


# On a line: a a b b a.
FIVE = np.array([[0.0], [1.0], [4.0], [5.0], [9.0]])
OF_FIVE = np.array([0, 0, 1, 1, 0])


def test_pairs_of_neighbors_stand_in_for_edges():
    # Nearest neighbors: 1, 0, 3, 2, 3; only the last has another label.
    assert pairs_of_neighbors(1)(FIVE, OF_FIVE, 2)[1] == pytest.approx(0.2)
    # Two each: (1, 2) (0, 2) (3, 1) (2, 1 or 4) (3, 2), where 1, 1, 1, 1, 2 of ten
    # differ. (1 - sqrt(1 - 2 h)) / 2 saturates; two rows of five have the rarer class.
    assert pairs_of_neighbors(2)(FIVE, OF_FIVE, 2) == (0.4, 0.4)


def test_votes_are_the_error_of_a_classifier(rng):
    # One vote: the last point is outvoted.
    assert votes(1)(FIVE, OF_FIVE, 2)[1] == pytest.approx(0.2)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    model = KNeighborsClassifier(n_neighbors=15)
    error = np.mean(cross_val_predict(model, X, y, cv=LeaveOneOut()) != y)
    lower, upper = votes(15)(X, y, 2)
    assert upper == pytest.approx(error)
    assert lower == pytest.approx(error / (1.0 + 1.0 / np.sqrt(15.0)))
    # With three classes the bound of Cover and Hart, at the error of the votes.
    y3 = np.digitize(X[:, 0] + 0.7 * rng.normal(size=400), [-0.5, 0.5])
    lower, upper = votes(15)(X, y3, 3)
    assert lower == pytest.approx((2 / 3) * (1.0 - np.sqrt(1.0 - 1.5 * upper)))
