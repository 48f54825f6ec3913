"""The values of single rows, and which of them are unusual, by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from structsmooth.encode.table import as_table
from structsmooth.report.values import values_of


def described(frame, clusters, rows, used=None, **changes):
    """Return the (column, value, middle, distance) of some rows, in their order."""
    table, clusters = as_table(frame), np.asarray(clusters)
    n_clusters = changes.get("n_clusters", int(clusters.max()) + 1)
    of_rows = np.asarray(changes.get("of_rows", clusters[rows]))
    found = values_of(table[rows], of_rows, table, clusters, n_clusters, used)
    texts = [*found.texts.tolist(), None]
    return [
        [
            (str(found.names[j]), texts[v], texts[m], float(d))
            for j, v, m, d in zip(*row, strict=True)
        ]
        for row in zip(
            found.columns, found.values, found.middles, found.distances, strict=True
        )
    ]


def test_numbers_are_far_from_the_median_of_their_cluster():
    # Quartiles of all: 2 and 98; medians of the clusters: 2 and 98.
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 96.0, 97.0, 98.0, 99.0, 100.0])
    frame = pd.DataFrame({"x": x})
    low, high = np.percentile(x, [25, 75])
    (first,), (last,) = described(frame, np.repeat([0, 1], 5), [0, 9])
    assert first[:3] == ("x", "0", "2")
    assert last[:3] == ("x", "100", "98")
    assert first[3] == last[3] == pytest.approx(2.0 / ((high - low) / 1.349))


def test_levels_and_gaps_are_unusual_if_they_are_rare_in_the_cluster():
    level = ["a"] * 19 + ["b"] + ["b"] * 20
    number = [1.0] * 18 + [np.nan] * 2 + [2.0] * 20
    frame = pd.DataFrame({"level": level, "number": number})
    usual, rare = described(frame, np.repeat([0, 1], 20), [0, 19])
    # One of twenty has b, two have no number: 5 and 10 % of a normal distribution lie
    # beyond 1.96 and 1.64 standard deviations.
    assert rare[0] == ("level", "b", "a", pytest.approx(norm.isf(0.025)))
    assert rare[1] == ("number", "missing", "1", pytest.approx(norm.isf(0.05)))
    assert usual[0] == ("level", "a", "a", pytest.approx(0.0, abs=1e-9))
    assert usual[1] == ("number", "1", "1", 0.0)


def test_a_level_is_as_unusual_as_all_levels_that_are_as_rare_together():
    # Of cluster 0, half have a, a quarter b, and one of eight each c and d; cluster 1
    # has ten levels of which none is unusual.
    levels = ["a"] * 8 + ["b"] * 4 + ["c"] * 2 + ["d"] * 2 + [*"efghijklmn"] * 2
    frame = pd.DataFrame({"x": levels})
    rows = [0, 8, 12, 15, 20]
    found = described(frame, np.repeat([0, 1], [16, 20]), rows)
    expected = [1.0, 0.5, 0.25, 0.25, 1.0]
    for ((*_, distance),), share in zip(found, expected, strict=True):
        assert distance == pytest.approx(norm.isf(share / 2), abs=1e-9)


def test_the_most_unusual_values_come_first_and_unused_columns_last(rng):
    frame = pd.DataFrame(rng.normal(size=(300, 40)), columns=[*map(str, range(40))])
    frame.loc[7, ["5", "33", "2"]] = [40.0, -50.0, 30.0]
    ((*found,),) = described(frame, np.zeros(300, dtype=int), [7])
    assert [name for name, *_ in found[:3]] == ["33", "5", "2"]
    distances = [distance for *_, distance in found]
    assert distances == sorted(distances, reverse=True)
    assert len(found) == 30
    used = np.arange(40) > 5
    ((*found,),) = described(frame[[*map(str, range(8))]], [0] * 300, [7], used[:8])
    assert {name for name, *_ in found[:2]} == {"6", "7"}
    assert [name for name, *_ in found[2:]] == ["0", "1", "2", "3", "4", "5"]


def test_columns_of_one_value_and_without_values_are_no_trouble():
    frame = pd.DataFrame(
        {
            "same": [1.0] * 8,
            "mostly": [0.0] * 7 + [8.0],
            "gaps": [np.nan] * 8,
            "half": [np.nan] * 4 + [1.0, 2.0, 3.0, 4.0],
            "day": pd.to_datetime(["2020-01-01"] * 7 + ["2021-01-01"]),
        }
    )
    _, last = described(frame, np.repeat([0, 1], 4), [0, 7])
    found = {name: rest for name, *rest in last}
    assert found["same"] == ["1", "1", 0.0]
    # The quartiles are equal: 8 of 8 rows have a standard deviation of 8 sqrt(7) / 8.
    assert found["mostly"] == ["8", "0", pytest.approx(8.0 / np.sqrt(7.0))]
    assert found["gaps"] == ["missing", "missing", pytest.approx(0.0)]
    assert found["half"][:2] == ["4", "2"]
    assert found["day"][:2] == ["2021-01-01", "2020-01-01"]


def test_where_most_rows_have_no_value_it_is_unusual_to_have_one():
    frame = pd.DataFrame({"x": [np.nan] * 11 + list(range(9)) + list(range(20))})
    ((found,),) = described(frame, np.repeat([0, 1], 20), [15])
    # Nine of twenty have one.
    assert found == ("x", "4", "missing", pytest.approx(norm.isf(0.225)))


def test_a_row_may_be_of_a_cluster_with_other_values_or_without_rows():
    frame = pd.DataFrame({"level": ["a", "a", "b"], "half": [np.nan, np.nan, 1.0]})
    options = {"of_rows": [0, 2], "n_clusters": 3}
    other, empty = described(frame, [0, 0, 1], [2, 2], **options)
    # Half of a normal distribution lies beyond 0.674 standard deviations: one of two.
    assert other == [
        ("level", "b", "a", pytest.approx(norm.isf(0.25))),
        ("half", "1", "missing", pytest.approx(norm.isf(0.25))),
    ]
    assert [distance for *_, distance in empty] == pytest.approx([0.0, 0.0])
    assert [usual for _, _, usual, _ in empty] == [None, None]


def test_a_level_is_usual_if_half_of_the_rows_have_it():
    for n_rows, usual in ((3, "a"), (2, None)):
        levels = ["a"] * n_rows + ["b", "c", "d"]
        ((found,),) = described(pd.DataFrame({"x": levels}), [0] * len(levels), [0])
        assert found[:3] == ("x", "a", usual)
