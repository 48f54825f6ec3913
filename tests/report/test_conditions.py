"""What distinguishes clusters, by hand and against SciPy."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from structsmooth.encode.table import as_table
from structsmooth.report.conditions import NOISE, distinguish


def sentences(table, clusters, n_clusters=None, used=None):
    """Return for each cluster its conditions as (feature, words, share, elsewhere)."""
    clusters = np.asarray(clusters)
    n_clusters = int(clusters.max()) + 1 if n_clusters is None else n_clusters
    found = distinguish(as_table(table), clusters, n_clusters, used)
    return [
        [
            (table.columns[j], str(words), *map(float, shares))
            for j, words, shares in zip(*of_cluster, strict=True)
            if j >= 0
        ]
        for of_cluster in zip(found.features, found.words, found.shares, strict=True)
    ]


def test_thresholds_levels_and_gaps_by_hand():
    # Cluster 0: ages 1 to 50, cluster 1: ages 41 to 90. Up to 40, all of the 40 rows
    # are in cluster 0 (80 % against 0), and one year more brings cluster 1 in too.
    age = np.concatenate([np.arange(1, 51), np.arange(41, 91)])
    work = np.array(["a"] * 45 + ["b"] * 5 + ["b"] * 20 + ["a"] * 30)
    gap = np.where(np.arange(100) < 35, np.nan, 3.0)
    frame = pd.DataFrame({"age": age, "work": work, "gap": gap})
    first, second = sentences(frame, np.repeat([0, 1], 50))
    assert first == [
        ("age", "up to 40", 0.8, 0.0),
        ("gap", "is missing", 0.7, 0.0),
        # Too little, 0.9 - 0.6, for 50 rows each: 1.95 * sqrt(2 / 50) is 0.39.
    ]
    assert second == [
        ("age", "at least 41", 1.0, 0.2),
        ("gap", "is missing", 0.0, 0.7),  # "up to 3" differs as much
    ]
    assert pytest.approx(1.949, abs=1e-3) == NOISE


def test_a_level_that_a_cluster_lacks_can_distinguish_it():
    levels = np.array(["x"] * 60 + ["y"] * 50 + ["z"] * 50 + ["y"] * 40)
    clusters = np.repeat([0, 1], [60, 140])
    clusters[:60] = 1
    clusters[60:160] = 0  # 50 y and 50 z; the others are 60 x and 40 y
    first, _ = sentences(pd.DataFrame({"kind": levels}), clusters)
    assert first == [("kind", "is x", 0.0, 0.6)]


def test_of_two_levels_the_one_that_a_cluster_has_is_named():
    sizes = [(61, 0), (0, 83), (47, 0), (23, 92)]
    levels = [level for pair in sizes for level in ["f"] * pair[0] + ["m"] * pair[1]]
    clusters = np.repeat(np.arange(4), [sum(pair) for pair in sizes])
    found = sentences(pd.DataFrame({"sex": levels}), clusters)
    assert [some[0][1] for some in found[:3]] == ["is f", "is m", "is f"]


def test_dates_and_fractions_are_written_as_people_read_them():
    days = pd.date_range("2024-01-01", periods=200)
    share = np.arange(200) / 7.0
    frame = pd.DataFrame({"day": days, "share": share})
    first, second = sentences(frame, np.repeat([0, 1], 100))
    assert first[0] == ("day", "until 2024-04-09", 1.0, 0.0)  # the hundredth day
    assert second[0] == ("day", "from 2024-04-10", 1.0, 0.0)
    assert first[1][1] == "up to 14.15"  # 99 / 7 is 14.142857...
    assert second[1][1] == "at least 14.28"  # and 100 / 7 is 14.285714...
    tiny = pd.DataFrame({"x": np.linspace(-1e-310, 1e-310, 200)})
    (first,), (second,) = sentences(tiny, np.repeat([0, 1], 100))
    assert first[1].startswith("up to -")
    assert second[1].startswith("at least 5.0")  # denormal numbers have few digits


@pytest.mark.parametrize("whole", [False, True])
def test_the_difference_is_the_distance_of_kolmogorov_and_smirnov(rng, whole):
    clusters = rng.integers(0, 4, 900)
    values = rng.normal(size=900) + 0.8 * clusters
    values = np.round(3 * values) if whole else values  # with many ties
    found = sentences(pd.DataFrame({"x": values}), clusters)
    for cluster, ((_, words, here, elsewhere),) in enumerate(found):
        inside, outside = values[clusters == cluster], values[clusters != cluster]
        assert here - elsewhere == pytest.approx(ks_2samp(inside, outside).statistic)
        threshold = float(words.rsplit(" ", 1)[1])
        is_up_to = words.startswith("up to")
        for some, share in ((inside, here), (outside, elsewhere)):
            near = some <= threshold if is_up_to else some >= threshold
            # A threshold with four digits leaves no row out, but may let one in.
            assert share <= near.mean() + 1e-9 <= share + (0 if whole else 0.01) + 2e-9


def test_gaps_lie_beyond_every_threshold(rng):
    clusters = rng.integers(0, 2, 400)
    values = rng.normal(size=400) + clusters
    values[rng.random(400) < np.where(clusters, 0.05, 0.3)] = np.nan
    for cluster, found in enumerate(sentences(pd.DataFrame({"x": values}), clusters)):
        groups = [values[clusters == cluster], values[clusters != cluster]]
        high, low = ([np.nan_to_num(g, nan=v) for g in groups] for v in (9e9, -9e9))
        gaps = [np.isnan(group).mean() for group in groups]
        largest = max(
            ks_2samp(*high, alternative="greater").statistic,  # more rows up to t
            ks_2samp(*low, alternative="less").statistic,  # more rows from t on
            abs(gaps[0] - gaps[1]),
        )
        assert abs(found[0][2] - found[0][3]) == pytest.approx(largest)


def test_levels_are_counted_as_one_by_one(rng):
    clusters = rng.integers(0, 5, 3000)
    codes = np.where(rng.random(3000) < 0.4, clusters, rng.integers(0, 9, 3000))
    names = np.array(list("abcdefghi"), dtype=object)[codes]
    names[rng.random(3000) < 0.1] = None
    found = sentences(pd.DataFrame({"x": names}), clusters)
    for cluster, ((_, words, here, elsewhere),) in enumerate(found):
        differences = {}
        for level in [*"abcdefghi", "missing"]:
            has = pd.isna(names) if level == "missing" else names == level
            inside, outside = has[clusters == cluster], has[clusters != cluster]
            differences[f"is {level}"] = inside.mean() - outside.mean()
        most = max(differences, key=lambda level: abs(differences[level]))
        assert words == most
        assert here - elsewhere == pytest.approx(differences[most])


def test_three_features_are_named_the_largest_difference_first(rng):
    clusters = np.repeat([0, 1], 500)
    shifts = {"much": 3.0, "none": 0.0, "some": 1.0, "more": 2.0, "little": 0.5}
    columns = {k: rng.normal(size=1000) + s * clusters for k, s in shifts.items()}
    for found in sentences(pd.DataFrame(columns), clusters):
        assert [feature for feature, *_ in found] == ["much", "more", "some"]
    used = np.array([False, True, True, True, True])
    for found in sentences(pd.DataFrame(columns), clusters, used=used):
        assert [feature for feature, *_ in found] == ["more", "some", "little"]


def test_noise_small_differences_and_one_cluster_are_not_named(rng):
    frame = pd.DataFrame({"x": rng.normal(size=2000), "y": ["a"] * 2000})
    assert sentences(frame, rng.integers(0, 20, 2000)) == [[]] * 20
    assert sentences(frame, np.zeros(2000, dtype=int)) == [[]]
    # Seven points are more than chance among so many rows, but less than a reader
    # cares about.
    many = pd.DataFrame({"x": np.tile(np.arange(100), 1000)})
    clusters = np.repeat([0, 1], 50_000)
    many.iloc[:50_000] += 7
    assert sentences(many, clusters) == [[], []]
    # A cluster may have no row among those looked at.
    frame = pd.DataFrame({"x": np.arange(200)})
    found = sentences(frame, np.repeat([0, 2], 100), 3)
    assert found == [
        [("x", "up to 99", 1.0, 0.0)],
        [],
        [("x", "at least 100", 1.0, 0.0)],
    ]
