"""Classes that are not numbers: ``labels`` names the class of each column."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from structsmooth import metrics
from structsmooth.errors import InvalidInputError

TABLE = np.array([[0.5, 0.2, 0.3], [0.1, 0.3, 0.6], [0.2, 0.7, 0.1], [0.4, 0.3, 0.3]])
CODES = np.array([0, 2, 0, 1])
NAMES = ["cat", "dog", "eel"]
TAKERS = [name for name in metrics.__all__ if name != "risk_at_coverage"]


def test_every_public_function_takes_labels():
    for name in metrics.__all__:
        parameter = inspect.signature(getattr(metrics, name)).parameters["labels"]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize(
    "labels",
    [
        NAMES,
        ["eel", "cat", "dog"],  # in the order of the columns, sorted or not
        np.array(NAMES, dtype=object),
        pd.Index(NAMES),
        [3, 5, 1],
        [b"x", b"y", b"z"],
        np.array(["2020-01-01", "2021-01-01", "2019-01-01"], dtype="datetime64[D]"),
    ],
    ids=["sorted", "unsorted", "objects", "pandas", "numbers", "bytes", "dates"],
)
@pytest.mark.parametrize("name", TAKERS)
def test_named_classes_score_as_their_numbers_do(name, labels):
    function = getattr(metrics, name)
    y = np.asarray(labels)[CODES]
    got, expected = function(y, TABLE, labels=labels), function(CODES, TABLE)
    if name == "risk_coverage_curve":
        np.testing.assert_array_equal(got, expected)
    else:
        assert got == expected
    assert metrics.risk_at_coverage(
        y, TABLE, 0.5, labels=labels
    ) == metrics.risk_at_coverage(CODES, TABLE, 0.5)


def test_one_column_of_probabilities_is_that_of_the_second_class():
    y, p1 = ["no", "yes", "no"], [0.2, 0.9, 0.6]
    expected = metrics.evaluate([0, 1, 0], p1)
    assert metrics.evaluate(y, p1, labels=["no", "yes"]) == expected
    flipped = [1 - p for p in p1]
    again = metrics.evaluate(y, flipped, labels=["yes", "no"])
    assert again == pytest.approx(expected)


def test_a_classifiers_classes_are_its_columns(rng):
    X = rng.normal(size=(90, 2))
    y = np.array(NAMES)[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = LogisticRegression().fit(X, y)
    table = model.predict_proba(X)
    scores = metrics.evaluate(y, table, labels=model.classes_)
    assert scores["error"] == pytest.approx(1 - model.score(X, y))
    assert scores["nll"] == pytest.approx(log_loss(y, table, labels=model.classes_))


@pytest.mark.parametrize(
    ("y", "labels", "message"),
    [
        (NAMES, None, "class numbers 0 to 2, got dtype <U3; .* named by labels="),
        ([1, 2, 3], None, "class numbers 0 to 2 .* got 3; .* named by labels="),
        (NAMES, NAMES[:2], r"class of each of the 3 columns .*, got shape \(2,\)"),
        (NAMES, [NAMES] * 2, r"each of the 3 columns .*, got shape \(2, 3\)"),
        (NAMES, "cat", r"each of the 3 columns .*, got shape \(\)"),
        (NAMES, [["a"], ["a", "b"], []], "each of the 3 columns"),
        (NAMES, ["cat", "dog", "cat"], "must be distinct, got 'cat' more than once"),
        (NAMES, [1, 2, 1], "labels must be distinct, got 1 more than once"),
        (NAMES, np.array(["a", "b", "b"], dtype=object), "got 'b' more than once"),
        (NAMES, ["cat", "dog", None], "labels has missing labels"),
        (NAMES, [0.0, 0.5, 1.0], "labels holds fractions such as 0.5"),
        (
            ["cat", "dog", "elk"],
            NAMES,
            r"label 'elk', which is not in labels; .* of \['cat', 'dog', 'eel'\]",
        ),
        ([0, 1, 2], NAMES, "y has the label 0, which is not in labels"),
        (["cat", "dog", None], NAMES, "y has missing labels"),
        (NAMES[:2], NAMES, "same length, got 2 labels and 3 rows"),
        ([NAMES] * 3, NAMES, "several labels for a row"),
    ],
)
@pytest.mark.parametrize("name", TAKERS)
def test_wrong_labels_are_refused_in_one_sentence(name, y, labels, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        getattr(metrics, name)(y, TABLE[:3], labels=labels)
    assert "\n" not in str(caught.value)
