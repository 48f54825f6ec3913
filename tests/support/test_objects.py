"""Values that would be rounded or turned into text in silence are refused by name."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from structsmooth import StructuralSmoother, fit_out_of_core, smooth_labels
from structsmooth.errors import InvalidInputError

Y = np.arange(60) % 2
X = np.random.default_rng(0).normal(size=(60, 2)) + Y[:, np.newaxis]
DAYS = [dt.datetime(2020, 1, 1 + int(k)) for k in Y]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a" if k else 1 for k in Y], r"mixes labels of different types \(int, str\)"),
        ([True if k else "b" for k in Y], r"different types \(bool, str\)"),
        (["b" if k else np.nan for k in Y], "missing labels"),
        ([2**53 + 1 if k else 2.0**53 for k in Y], r"beyond 2\*\*53"),
        ([2**63 + 1 if k else -1 for k in Y], r"beyond 2\*\*53"),
        ([2**64 + 1 if k else 2**64 for k in Y], r"beyond 2\*\*53"),
        (DAYS, "values of type datetime"),
        (pl.Series(DAYS), "values of type datetime"),
        (pd.Series(pd.to_datetime(DAYS)).dt.tz_localize("UTC"), "of type Timestamp"),
        (pd.Series(pd.to_datetime(DAYS)).dt.to_period("D"), "of type Period"),
    ],
)
def test_labels_that_numpy_would_change_are_refused(labels, message):
    with pytest.raises(InvalidInputError, match=message):
        StructuralSmoother(n_clusters=2).fit(X, labels)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "labels",
    [
        [2**53 + int(k) for k in Y],
        [1 if k else 2.0 for k in Y],
        [np.str_("a") if k else "b" for k in Y],
        ["a" if k else "b" for k in Y],
        [bool(k) for k in Y],
    ],
)
def test_labels_that_stay_what_they_are_are_taken(labels):
    classes = StructuralSmoother(n_clusters=2).fit(X, labels).classes_
    assert classes.tolist() == sorted(set(labels))


LARGE = np.column_stack([Y, 2**53 + np.arange(60)])


@pytest.mark.parametrize(
    "features",
    [
        LARGE,
        LARGE.tolist(),
        LARGE.astype(np.uint64),
        LARGE.astype(object),
        sp.csr_matrix(LARGE),
        [[1.5, 10**400]] * 60,
    ],
)
def test_whole_numbers_that_floats_cannot_tell_apart_are_refused(features):
    with pytest.raises(InvalidInputError, match=r"X has whole numbers beyond 2\*\*53"):
        StructuralSmoother(n_clusters=2).fit(features, Y)


def test_out_of_core_too(tmp_path):
    np.save(tmp_path / "x.npy", LARGE)
    with pytest.raises(InvalidInputError, match=r"X has whole numbers beyond 2\*\*53"):
        fit_out_of_core(tmp_path / "x.npy", tmp_path / "out", labels=Y)


def test_class_numbers_may_be_a_list_of_any_numbers():
    np.testing.assert_array_equal(
        smooth_labels([0, 1.0, True], 0.0, 2), [[1, 0], [0, 1], [0, 1]]
    )
