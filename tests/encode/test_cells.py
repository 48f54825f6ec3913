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


def test_truth_values_with_gaps_are_levels_too():
    for gap in (None, NAN, pd.NA):
        cells = read_cells(pd.Series([True, False, gap], dtype=object))
        assert texts(cells) == ["True", "False", None]


def test_categories_of_digits_stay_categories_in_every_library():
    for column in (
        pd.Series(["1", "2", "1"], dtype="category"),
        pd.Series([1, 2, 1], dtype="category"),
        pd.Series([1.0, 2.0, 1.0], dtype="category"),
        pl.Series(["1", "2", "1"], dtype=pl.Categorical),
        pl.Series(["1", "2", "1"], dtype=pl.Enum(["1", "2"])),
        pa.array(["1", "2", "1"]).dictionary_encode(),
    ):
        cells = read_cells(column)
        assert (cells.kind, texts(cells)) == ("category", ["1", "2", "1"])


def test_underscores_are_no_part_of_a_number():
    cells = read_cells(["1_1", "11"])
    assert (cells.kind, texts(cells)) == ("category", ["1_1", "11"])


def test_moments_far_from_now_keep_their_order():
    far = np.array(["-9999-01-01", "400000-01-01"], dtype="datetime64[D]")
    first, last = read_cells(far).numbers
    assert first < 0.0 < last
    fine = np.array(["2020-01-31T00:00:00.250"], dtype="datetime64[ns]")
    assert read_cells(fine).numbers.tolist() == [DAY + 0.25]
    assert read_cells(["2020-01-31 00:00:00.250000000"]).kind == "date"


def test_wide_whole_numbers_of_polars():
    cells = read_cells(pl.Series([1, 2], dtype=pl.Int128))
    assert (cells.kind, cells.numbers.tolist()) == ("number", [1.0, 2.0])
    assert read_cells(pl.Series([1, 2**100], dtype=pl.Int128)).kind == "category"
    assert read_cells([np.int64(2**53 + 1), np.int64(2**53)]).kind == "category"


def test_complex_objects_cannot_be_used():
    with pytest.raises(UnusableColumnError, match="complex"):
        read_cells([1j, 2j])
