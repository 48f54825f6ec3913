"""Columns of every library are read alike, as numbers, dates or levels."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from structsmooth.encode.cells import UnusableColumnError, read_cells

NAN = float("nan")
# 2020-01-31 is day 18 292 since 1970.
DAY = 18_292 * 86_400.0


def texts(cells):
    """The levels of each cell, None where there is no value."""
    return [None if np.isnan(v) else cells.levels[int(v)] for v in cells.numbers]


@pytest.mark.parametrize(
    "column",
    [
        ["1", " 2.5 ", "", "NA"],
        ["1.0", "2.5", "?", "nan"],
        [1, 2.5, None, NAN],
        [decimal.Decimal("1"), 2.5, None, None],
        np.array([1.0, 2.5, NAN, NAN]),
        np.array([1.0, 2.5, NAN, NAN], dtype=np.float32),
        np.array(["1", "2.5", "NULL", "n/a"]),
        np.ma.array([1.0, 2.5, 7.0, 7.0], mask=[0, 0, 1, 1]),
        pd.Series([1, 2.5, None, None]),
        pd.Series([1, 2.5, None, None], dtype="Float64"),
        pd.Series(["1", "2.5", None, "<NA>"]),
        pd.Series(["1", 2.5, None, pd.NA], dtype=object),
        pd.Series([1, 2.5, NAN, NAN], dtype=pd.SparseDtype(float)),
        pl.Series([1.0, 2.5, None, None]),
        pl.Series(["1", "2.5", None, "None"]),
        pa.array([1, 2.5, None, None]),
        pa.array(["1", "2.5", None, ""]),
        pa.chunked_array([["1", "2.5"], [None, "?"]]),
        pa.array([decimal.Decimal("1.0"), decimal.Decimal("2.5"), None, None]),
    ],
)
def test_numbers_and_gaps(column):
    cells = read_cells(column)
    assert cells.kind == "number"
    assert np.array_equal(cells.numbers, [1.0, 2.5, NAN, NAN], equal_nan=True)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2, None], dtype="Int64"),
        pl.Series([1, 2, None]),
        pa.array([1, 2, None]),
        pd.Series([1, 2, None], dtype=pd.ArrowDtype(pa.int32())),
    ],
)
def test_whole_numbers_with_gaps(column):
    cells = read_cells(column)
    assert cells.kind == "number"
    assert np.array_equal(cells.numbers, [1, 2, NAN], equal_nan=True)


@pytest.mark.parametrize(
    "column",
    [
        ["red", " blue", "red ", "?"],
        np.array(["red", "blue", "red", ""]),
        pd.Series(["red", "blue", "red", None]),
        pd.Series(["red", "blue", "red", NAN], dtype=object),
        pd.Series(["red", "blue", "red", None], dtype="category"),
        pd.Series(["red", "blue", "red", None], dtype=pd.ArrowDtype(pa.string())),
        pl.Series(["red", "blue", "red", None]),
        pl.Series(["red", "blue", "red", None], dtype=pl.Categorical),
        pl.Series(["red", "blue", "red", None], dtype=pl.Enum(["blue", "red"])),
        pa.array(["red", "blue", "red", None]),
        pa.array(["red", "blue", "red", None], pa.large_string()),
        pa.array(["red", "blue", "red", None]).dictionary_encode(),
    ],
)
def test_text_and_gaps(column):
    cells = read_cells(column)
    assert cells.kind == "category"
    assert texts(cells) == ["red", "blue", "red", None]


@pytest.mark.parametrize(
    "column",
    [
        ["true", "FALSE", "True"],
        np.array([True, False, True]),
        [True, False, True],
        pd.Series([True, False, True]),
        pd.Series([True, False, True], dtype="boolean"),
        pl.Series([True, False, True]),
        pa.array([True, False, True]),
    ],
)
def test_truth_values_are_levels_of_the_same_names(column):
    cells = read_cells(column)
    assert cells.kind == "category"
    assert texts(cells) == ["True", "False", "True"]


@pytest.mark.parametrize(
    "column",
    [
        ["2020-01-31", "2020-01-31T12:00", ""],
        ["2020-01-31T00:00:00Z", "2020-01-31 14:00:00+02:00", None],
        [dt.date(2020, 1, 31), dt.datetime(2020, 1, 31, 12), None],
        np.array(["2020-01-31", "2020-01-31T12", "NaT"], dtype="datetime64[h]"),
        pd.Series(pd.to_datetime(["2020-01-31 00:00", "2020-01-31 12:00", None])),
        pd.Series(
            pd.to_datetime(["2020-01-31 01:00", "2020-01-31 13:00", None])
        ).dt.tz_localize("Europe/Berlin"),
        pd.Series(pd.PeriodIndex(["2020-01-31 00", "2020-01-31 12", None], freq="h")),
        pl.Series([dt.datetime(2020, 1, 31), dt.datetime(2020, 1, 31, 12), None]),
        pl.Series(
            [dt.datetime(2020, 1, 31), dt.datetime(2020, 1, 31, 12), None]
        ).dt.replace_time_zone("UTC"),
        pa.array([dt.datetime(2020, 1, 31), dt.datetime(2020, 1, 31, 12), None]),
    ],
)
def test_dates_and_times_are_seconds(column):
    cells = read_cells(column)
    assert cells.kind == "date"
    assert np.array_equal(cells.numbers, [DAY, DAY + 43_200, NAN], equal_nan=True)


@pytest.mark.parametrize(
    "column",
    [
        np.array([60, 90], dtype="timedelta64[s]"),
        pd.Series(pd.to_timedelta(["1min", "90s"])),
        pl.Series([dt.timedelta(seconds=60), dt.timedelta(seconds=90)]),
        pa.array([dt.timedelta(seconds=60), dt.timedelta(seconds=90)]),
        [dt.timedelta(seconds=60), dt.timedelta(seconds=90)],
    ],
)
def test_spans_of_time_are_numbers_of_seconds(column):
    cells = read_cells(column)
    assert (cells.kind, cells.numbers.tolist()) == ("number", [60.0, 90.0])


@pytest.mark.parametrize(
    "column",
    [
        ["9007199254740993", "9007199254740992", "1" + 400 * "0"],
        np.array([9007199254740993, 9007199254740992, 2**62]),
        [9007199254740993, 9007199254740992, 10**400],
        pl.Series([9007199254740993, 9007199254740992, 2**62]),
    ],
)
def test_numbers_that_would_be_rounded_are_levels(column):
    cells = read_cells(column)
    assert cells.kind == "category"
    assert texts(cells)[:2] == ["9007199254740993", "9007199254740992"]


def test_text_stays_text_if_it_must():
    cells = read_cells(["1", "02", "2020-01-31"], as_text=True)
    assert texts(cells) == ["1", "02", "2020-01-31"]
    assert read_cells(["1", "02", "x"]).kind == "category"
    assert read_cells(["2020-01-31", "2020-02-30"]).kind == "category"  # no such day


@pytest.mark.parametrize(
    "column", [["", "NA", "?"], [None, NAN, pd.NaT], np.full(3, NAN), pa.nulls(3)]
)
def test_a_column_without_values_is_empty(column):
    cells = read_cells(column)
    assert cells.kind == "empty"
    assert np.isnan(cells.numbers).all()


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ([[1], [2]], "type list"),
        ([{"a": 1}, None], "type dict"),
        (np.array([1j]), "complex"),
        ([b"raw"], "type bytes"),
        (pl.Series([[1], [2]]), "List"),
        (pa.array([[1], [2]]), "list"),
        (pa.array([b"raw"]), "binary"),
        (["inf", "1"], "is infinite, or larger than 1e[+]150, in 1 row"),
        (np.array([1e200, -np.inf]), "in 2 rows"),
    ],
)
def test_what_cannot_be_used_says_what_it_holds(column, reason):
    with pytest.raises(UnusableColumnError, match=reason):
        read_cells(column)
