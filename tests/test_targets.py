"""Targets that are not classes: one sentence of their own wherever y is taken."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from structsmooth import (
    SmoothedClassifier,
    StructuralSmoother,
    bayes_error_bounds,
    compare,
    expand_rows,
    find_suspects,
    fit_out_of_core,
    flip_labels,
    henze_penrose_divergence,
    metrics,
    smooth_labels,
)
from structsmooth.boosting import fit_smoothed, lightgbm_arguments
from structsmooth.errors import InvalidInputError

N = 60
X = np.random.default_rng(0).normal(size=(N, 2))
TABLE = np.full((N, 3), 1 / 3)
SEVERAL = np.tile([[1, 0, 1], [0, 1, 0], [1, 1, 0]], (N // 3, 1))
FRACTIONS = X[:, 0] + 0.5


def out_of_core(y):
    fit_out_of_core(X, labels=y, output="nowhere")


def boost(y, *n_classes):
    lightgbm = pytest.importorskip("lightgbm")
    fit_smoothed(lightgbm.LGBMClassifier(), X, y, 0.1, *n_classes)


def out_of_fold(y):
    pytest.importorskip("torch")
    from structsmooth.torch import out_of_fold_outputs

    out_of_fold_outputs(lambda: None, X, y)


def predict_rows(fit):
    """Take y of other rows than those of the fit."""
    smoother = StructuralSmoother().fit(X, np.arange(N) % 3)
    return lambda y: fit(smoother, y)


TAKERS = {
    "fit": lambda y: StructuralSmoother().fit(X, y),
    "fit_smooth": lambda y: StructuralSmoother().fit_smooth(X, y),
    "soft_labels": predict_rows(lambda smoother, y: smoother.soft_labels(X, y)),
    "classifier": lambda y: SmoothedClassifier(LogisticRegression()).fit(X, y),
    "compare": lambda y: compare(X, y, LogisticRegression()),
    "bounds": lambda y: bayes_error_bounds(X, y),
    "bounds of coded": lambda y: bayes_error_bounds(X, y, n_classes=3),
    "divergence": lambda y: henze_penrose_divergence(X, y),
    "suspects": lambda y: find_suspects(X, y),
    "boosting": boost,
    "boosting of coded": lambda y: boost(y, 3),
    "boosting arguments": lambda y: lightgbm_arguments(y, 0.1, 3),
    "outputs": out_of_fold,
    "smooth_labels": lambda y: smooth_labels(y, 0.1, 3),
    "flip_labels": lambda y: flip_labels(y, 0.1, 3),
    "expand_rows": lambda y: expand_rows(y, 0.1, 3),
    "evaluate": lambda y: metrics.evaluate(y, TABLE),
    "out of core": out_of_core,
}


@pytest.mark.parametrize("name", TAKERS)
def test_several_labels_of_a_row_are_named(name):
    with pytest.raises(InvalidInputError) as caught:
        TAKERS[name](SEVERAL)
    assert str(caught.value) == (
        "y has shape (60, 3), several labels for a row (multi-label); expected one "
        "class for each row, such as y.argmax(axis=1) of one-hot labels"
    )


@pytest.mark.parametrize("name", TAKERS)
def test_a_regression_target_is_named(name):
    with pytest.raises(InvalidInputError) as caught:
        TAKERS[name](FRACTIONS)
    first = re.escape(f"{FRACTIONS[0]:g}")
    expected = f"Unknown label type: y holds fractions such as {first}, expected "
    classes = r"(classes|class numbers 0 to 2) \(is it a regression target\?\)"
    assert re.fullmatch(expected + classes, str(caught.value))


@pytest.mark.parametrize("name", TAKERS)
def test_complex_numbers_are_no_classes(name):
    with pytest.raises(InvalidInputError) as caught:
        TAKERS[name](np.arange(N) % 3 + 0j)
    assert "complex" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "y",
    [
        SEVERAL.tolist(),
        pd.DataFrame(SEVERAL),
        sp.csr_matrix(SEVERAL),
        [["a", "b"], ["c"]] * 30,
        pd.Series([["a", "b"], ["c"]] * 30),
        np.array([{"a"}, {"a", "b"}] * 30),
    ],
    ids=["list", "frame", "sparse", "ragged", "series", "sets"],
)
@pytest.mark.parametrize("name", ["fit", "suspects", "evaluate", "smooth_labels"])
def test_several_labels_come_in_many_forms(name, y):
    with pytest.raises(InvalidInputError, match="several labels for a row"):
        TAKERS[name](y)


def test_a_single_column_is_labels_still():
    with pytest.warns(UserWarning, match="column-vector y"):
        StructuralSmoother().fit(X, (np.arange(N) % 3)[:, None])
