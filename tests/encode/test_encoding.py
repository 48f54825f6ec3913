"""Numbers, categories and gaps count alike; expected values are worked out by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from structsmooth import TableEncoder
from structsmooth.encode.fitting import encode_rows, fit_encoding
from structsmooth.encode.table import Table, as_table
from structsmooth.errors import (
    InvalidInputError,
    LeftOutColumnsWarning,
    NewLevelsWarning,
    TextNumbersWarning,
)


def encode(**columns):
    """The features of a table, and its encoding."""
    table = as_table(pd.DataFrame(columns))
    encoding = fit_encoding(table)
    return encoding.transform(table), encoding


def test_numbers_are_standardized():
    features, _ = encode(a=[1, 3] * 10, b=[10.0, 20.0, 30.0, 20.0] * 5)
    expected = [[-1.0, -np.sqrt(2.0)], [1.0, 0.0]]
    assert np.allclose(features[:2], expected, rtol=1e-15)


def test_a_number_a_category_and_a_date_count_alike():
    rng = np.random.default_rng(0)
    for values in (
        rng.normal(5.0, 7.0, size=600),
        rng.choice(["a", "b"], 600, p=[0.9, 0.1]),
        rng.choice(list("abcdef"), 600, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05]),
        np.datetime64("2020-01-01") + rng.integers(0, 500, 600),
    ):
        features, _ = encode(x=values)
        # Two rows are on average 2 apart, squared, whatever the kind of the column.
        squared = pdist(features, "sqeuclidean")
        assert squared.sum() / (600 * 600 / 2) == pytest.approx(2.0)


def test_the_features_are_those_of_scikit_learns_own_encoders():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "n": rng.normal(size=300),
            "gaps": np.where(rng.random(300) < 0.3, np.nan, rng.normal(size=300)),
            "kind": rng.choice(
                [*"abc", "rare 1", "rare 2"], 300, p=[0.5, 0.3, 0.18, 0.01, 0.01]
            ),
        }
    )
    shares = frame.kind.where(~frame.kind.str.startswith("rare"), "other")
    shares = shares.value_counts(normalize=True)
    oracle = make_column_transformer(
        (StandardScaler(), ["n"]),
        (make_pipeline(StandardScaler(), SimpleImputer(add_indicator=True)), ["gaps"]),
        (OneHotEncoder(min_frequency=10, sparse_output=False), ["kind"]),
    )
    expected = oracle.fit_transform(frame)
    expected[:, 3:] /= np.sqrt(1.0 - (shares**2).sum())
    found = TableEncoder().fit_transform(frame)
    assert found.shape == (300, 7)
    assert np.allclose(found, expected, atol=1e-12)


def test_a_gap_is_as_far_from_a_value_as_two_values_are_from_each_other():
    rng = np.random.default_rng(0)
    values = rng.normal(size=1000)
    values[:200] = np.nan
    features, encoding = encode(x=values)
    assert encoding.columns[0].n_missing == 200
    between = ((features[:200, np.newaxis] - features[200:]) ** 2).sum(axis=2)
    assert between.mean() == pytest.approx(2.0)


def test_few_gaps_count_as_the_mean_and_are_not_marked():
    features, encoding = encode(x=[1.0, 3.0] * 20 + [np.nan])
    assert features.shape == (41, 1)
    assert features[-1] == 0.0
    assert not encoding.columns[0].has_gaps


def test_rare_levels_are_one_level_together_and_gaps_another():
    levels = ["a"] * 60 + ["b"] * 20 + ["c"] * 6 + ["d"] * 4 + [None] * 10
    features, encoding = encode(x=levels)
    (column,) = encoding.columns
    assert (column.levels, column.n_rare, column.has_gaps) == (("a", "b"), 2, True)
    # Shares .6, .2, .1 and .1: 1 - .36 - .04 - .01 - .01 = .58.
    scale = np.sqrt(0.58)
    expected = np.repeat(np.eye(4), [60, 20, 10, 10], axis=0) / scale
    assert np.allclose(features, expected, atol=1e-15)


def test_the_least_frequent_of_many_levels_are_rare():
    # 40 levels of 50 to 89 rows: the 28 most frequent are kept.
    levels = np.repeat([f"k{k}" for k in range(10, 50)], np.arange(50, 90))
    _, encoding = encode(x=levels)
    assert encoding.columns[0].levels == tuple(f"k{k}" for k in range(22, 50))
    assert encoding.columns[0].n_rare == 12
    # 100 columns of them share 512 levels, so that each may keep 3.
    table = as_table(pd.DataFrame({f"x{j}": levels for j in range(100)}))
    assert fit_encoding(table).n_features == 100 * 4


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([f"name {k}" for k in range(100)], "has 100 different values, each of them"),
        (np.arange(100) + 7, "looks like an identifier"),
        (np.random.default_rng(0).permutation(10**4)[:900], "looks like an identifier"),
        (np.full(100, np.nan), "has no values"),
        (["?"] * 100, "has no values"),
        ([3.0] * 100, "has the same value in every row"),
        (["a"] * 100, "has the same value in every row"),
    ],
)
def test_columns_that_tell_nothing_are_left_out_with_the_reason(values, reason):
    frame = pd.DataFrame({"x": values})
    frame["ok"] = np.random.default_rng(1).normal(size=len(frame))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encoding = fit_encoding(as_table(frame))
    assert encoding.columns[0].left_out.startswith(reason)
    assert encoding.n_features == 1
    # Nobody misses a column that never changes.
    expected = [] if "same value" in reason else [LeftOutColumnsWarning]
    assert [w.category for w in caught] == expected


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).integers(0, 10**6, 100),  # a coincidence is unlikely
        np.append(np.arange(99), 5),
        np.arange(100) + 0.5,
        np.datetime64("2020-01-01") + np.arange(100),
    ],
)
def test_numbers_that_may_be_measured_are_used(values):
    features, _ = encode(x=values)
    assert features.shape == (100, 1)


def test_a_column_of_rare_values_still_says_whether_there_is_one():
    features, encoding = encode(x=[f"C{k}" for k in range(20)] + [None] * 80)
    assert encoding.columns[0].left_out == ""
    # A share of .2 and .8: (0 - .8) / sqrt(.16) = -2, and (1 - .8) / .4 = .5.
    assert np.allclose(features.ravel(), [-2.0] * 20 + [0.5] * 80, atol=1e-12)


def test_a_table_without_a_usable_column_says_why():
    frame = pd.DataFrame({"a": [1.0] * 30, "b": [f"{k} Road" for k in range(30)]})
    with pytest.raises(InvalidInputError, match=r"no column.*'a' has the.*'b' has 30"):
        fit_encoding(as_table(frame))


def test_neither_blocks_nor_the_order_of_levels_change_a_bit():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=9000) * 1e5,
            "gaps": np.where(rng.random(9000) < 0.2, np.nan, rng.normal(size=9000)),
            "kind": rng.choice(list("abcdefg"), 9000),
        }
    )
    for columns in (["x"], ["x", "gaps"], list(frame)):
        table = as_table(frame[columns])
        whole = fit_encoding(table)
        empty = Table(table.names, table.kinds, table.levels, table.values[:0])
        for size in (1, 7, 8192):
            pieces = fit_encoding(
                empty,
                blocks=lambda size=size, table=table: (
                    table.values[i : i + size] for i in range(0, 9000, size)
                ),
            )
            assert pieces.columns == whole.columns


def test_weights_count_like_repeated_rows():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "x": np.where(rng.random(500) < 0.1, np.nan, rng.normal(size=500)),
            "kind": rng.choice([*"abc", "rare"], 500, p=[0.5, 0.3, 0.19, 0.01]),
        }
    )
    weights = rng.integers(1, 5, 500)
    table = as_table(frame)
    weighted = fit_encoding(table, weights)
    repeated = fit_encoding(table[np.repeat(np.arange(500), weights)])
    for one, other in zip(weighted.columns, repeated.columns, strict=True):
        assert one.center == pytest.approx(other.center)
        assert one.scale == pytest.approx(other.scale)
        assert one.levels == other.levels
        assert one.n_missing == other.n_missing


def new_rows():
    """An encoder, and the table that it was fitted to."""
    frame = pd.DataFrame(
        {"size": np.tile([1.0, 2.0, 4.0], 20), "code": np.tile(["1", "2", "x"], 20)}
    )
    return TableEncoder().fit(frame), frame


def test_new_rows_may_have_other_columns_in_another_order():
    encoder, frame = new_rows()
    other = frame[["code", "size"]].assign(extra=[[]] * 60)
    expected = encoder.transform(frame)
    assert np.array_equal(encoder.transform(other), expected)
    assert np.array_equal(encoder.transform(frame.to_numpy()), expected)


def test_levels_that_look_like_numbers_stay_levels():
    encoder, frame = new_rows()
    rows = frame[frame.code != "x"]
    expected = encoder.transform(frame)[(frame.code != "x").to_numpy()]
    assert np.array_equal(encoder.transform(rows), expected)
    assert np.array_equal(encoder.transform(rows.astype({"code": int})), expected)


def test_new_levels_and_new_gaps_count_as_none_of_those_seen():
    encoder, frame = new_rows()
    rows = frame[:2].assign(size=[None, 2.0], code=["new", None])
    with pytest.warns(NewLevelsWarning, match="column 'code' of X.*not see: 'new'"):
        features = encoder.transform(rows)
    assert features[0].tolist() == [0.0, 0.0, 0.0, 0.0]
    assert features[1, 1:].tolist() == [0.0, 0.0, 0.0]


def test_new_levels_join_the_rare_ones_if_there_are_any():
    levels = ["a"] * 50 + ["b"] * 40 + ["rare"] * 9 + ["seldom"]
    table = pd.DataFrame({"x": levels})
    encoder = TableEncoder().fit(table)
    found = encoder.transform(pd.DataFrame({"x": ["seldom", "new"]}))
    assert np.array_equal(found[0], found[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="size"), "lacks the column 'size'; expected all"),
        (lambda f: f[[]].assign(z=1), "lacks the columns 'size', 'code'"),
        (lambda f: f.assign(size="abc"), "'size' of X holds categories such as 'abc'"),
        (lambda f: f.assign(size="2020-01-01"), "holds dates, expected numbers"),
        (lambda f: f.to_numpy()[:, :1], "2 columns as in fit, got an array of shape"),
        (lambda f: f.assign(size=np.inf), "'size' is infinite"),
        (lambda f: f[:0], r"has shape \(0, 2\), expected at least one row"),
    ],
)
def test_new_rows_that_do_not_fit_say_so(change, message):
    encoder, frame = new_rows()
    with pytest.raises(InvalidInputError, match=message):
        encoder.transform(change(frame))


def test_all_columns_at_fault_are_named_at_once():
    frame = pd.DataFrame({"a": [[1], [2]], "b": [1, 2], "c": [1j, 2j]})
    with pytest.raises(
        InvalidInputError,
        match=r"2 columns that cannot be used: 'a' holds.*list, 'c' holds.*complex128",
    ):
        as_table(frame)
    with pytest.raises(InvalidInputError, match="two columns named 'a'"):
        as_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_one_line_says_what_was_done():
    _, encoding = encode(
        age=[1.5, 2.5] * 50,
        born=pd.to_datetime(["2000-01-01", "2001-01-01"] * 50),
        town=["x"] * 80 + ["y"] * 11 + ["z"] * 5 + ["?"] * 4,
        same=[1] * 100,
    )
    assert encoding.summary() == (
        "4 columns: 1 number standardized, 1 date standardized, 1 category one-hot "
        "encoded, 1 rare level taken together, missing values in town, left out same"
    )


def test_more_names_than_are_kept_apart_are_rare_together(monkeypatch):
    monkeypatch.setattr("structsmooth.encode.table.MOST_LEVELS", 100)
    names = [f"n{k}" for k in range(300)]
    with pytest.warns(LeftOutColumnsWarning, match="each of them rare"):
        _, encoding = encode(x=np.arange(300) / 7, name=names)
    assert encoding.n_features == 1


def test_a_few_rows_never_make_a_level():
    _, encoding = encode(x=np.arange(300) / 7, kind=["a"] * 299 + [None])
    assert encoding.columns[1].left_out == "has the same value in every row"
    features, encoding = encode(kind=["a"] * 150 + ["b"] * 147 + ["c"] * 2 + [None])
    assert (encoding.columns[0].n_codes, encoding.columns[0].n_rare) == (2, 1)
    assert features[-3:].tolist() == [[0.0], [0.0], [0.0]]


def test_levels_that_are_numbers_are_found_again_whatever_their_type():
    frame = pd.DataFrame(
        {"c": pd.Categorical([1.0, 2.0, np.nan] + [1.0, 2.0, 3.0] * 99)}
    )
    encoder = TableEncoder().fit(frame)
    expected = encoder.transform(frame)
    assert np.array_equal(encoder.transform(frame.astype({"c": float})), expected)
    assert np.array_equal(encoder.transform(frame.to_numpy()), expected)


def test_an_identifier_repeats_only_with_its_row():
    ids = np.arange(300)
    for weights in (None, ids % 2 + 1):
        table = as_table(pd.DataFrame({"id": ids, "x": ids / 7}))
        numbers = None if weights is None else np.repeat(ids, weights)
        with pytest.warns(LeftOutColumnsWarning, match="identifier"):
            encoding, features = encode_rows(table, None, numbers)
        assert encoding.columns[0].left_out
        assert features.shape == (300 if weights is None else 450, 1)


def test_numbers_that_repeat_late_are_no_identifiers():
    ids = np.tile(np.arange(20_000.0), 2)
    _, encoding = encode(id=ids)
    assert encoding.n_features == 1


def test_large_numbers_have_their_own_scale():
    rng = np.random.default_rng(0)
    values = 1e15 + np.round(rng.normal(0, 8, size=5000))
    features, _ = encode(x=values)
    assert features.std() == pytest.approx(1.0)
    assert features.mean() == pytest.approx(0.0, abs=0.02)  # of 0.125 apart


@pytest.mark.parametrize(
    "values",
    [
        [*np.arange(99).astype(str), "no idea"],
        [f"{k},5" for k in range(100)],
        [f"{k} %" for k in range(100)],
    ],
)
def test_numbers_that_count_as_text_are_pointed_out(values):
    with pytest.warns() as caught:
        encode(price=values, x=np.arange(100) / 7)
    said = [str(w.message) for w in caught if w.category is TextNumbersWarning]
    assert len(said) == 1
    assert said[0].startswith("the column 'price' counts as text, because not all")


def test_unused_categories_of_the_fit_are_not_new():
    kind = pd.Categorical(["a", "b"] * 150, categories=["a", "b", "z"])
    frame = pd.DataFrame({"c": kind})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableEncoder().fit(frame).transform(frame)


def test_features_have_names():
    frame = pd.DataFrame(
        {
            "age": [1.0, 2.0, np.nan] * 20,
            "work": ["a", "b", "c"] * 20,
            "owner": [True, False, True] * 20,
            "id": range(60),
        }
    )
    with pytest.warns(LeftOutColumnsWarning):
        names = TableEncoder().fit(frame).get_feature_names_out()
    assert names.tolist() == [
        "age",
        "age is missing",
        "work=a",
        "work=b",
        "work=c",
        "owner=True",
    ]


def test_what_is_no_table_is_named():
    for rows in (np.zeros((3, 2)), [[1, 2]], pd.Series([1, 2])):
        with pytest.raises(InvalidInputError, match=r"must be a DataFrame.*got"):
            TableEncoder().fit(rows)


def test_a_subclass_of_a_data_frame_is_a_table():
    class Frame(pd.DataFrame):
        pass

    frame = Frame({"a": [1.0, 3.0] * 10})
    assert TableEncoder().fit_transform(frame)[:2].tolist() == [[-1.0], [1.0]]
