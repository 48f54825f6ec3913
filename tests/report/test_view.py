"""What is kept of the rows: which ones, their values and pictures, and the file."""

import dataclasses
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from structsmooth import StructuralSmoother
from structsmooth.encode.table import as_table
from structsmooth.errors import FileFormatError
from structsmooth.report import build_report, make_view
from structsmooth.report.rows import (
    Duplicates,
    Rows,
    _keys,
    _readable,
    _take_pictures,
    count_duplicates,
    rows_to_look_at,
    view_of_rows,
)
from structsmooth.report.view import load_view, save_view
from structsmooth.support.rowkeys import row_keys


def readable_data():
    """Two columns with names, and one wrong label among many others."""
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], 200)
    is_mixed = np.arange(400) % 8 == 0
    X = rng.normal(size=(400, 2)) + np.where(is_mixed, 0.0, 12.0 + 12.0 * y)[:, None]
    X[7], y[7] = 12.0, 1
    return pd.DataFrame(X, columns=["width", "height"]), y


@pytest.fixture
def readable():
    frame, y = readable_data()
    smoother = StructuralSmoother(ignore_suspects=True, n_clusters=6, random_state=0)
    smoother.fit(frame, y)
    return smoother, make_view(smoother, frame, y)


def test_the_view_holds_all_rows_of_small_data(seen):
    smoother, view, X, y = seen
    assert (view.n_rows, view.n_looked_at, len(view.rows)) == (400, 400, 400)
    np.testing.assert_array_equal(view.positions, X)
    np.testing.assert_array_equal(view.classes, y)
    np.testing.assert_array_equal(view.clusters, smoother.cluster_labels_)
    assert (view.duplicate_share, view.conflict_share) == (0.0, 0.0)


def test_ambiguous_rows_lie_where_the_classes_overlap(seen):
    smoother, view, X, y = seen
    assert len(view.ambiguous)
    for place, row in enumerate(view.ambiguous):
        assert np.linalg.norm(X[row]) < 8.0  # the one group that mixes the classes
        inside = np.flatnonzero(
            smoother.cluster_labels_ == smoother.cluster_labels_[row]
        )
        gaps = np.linalg.norm(X[inside] - X[row], axis=1)
        nearest = inside[np.argsort(gaps)][1:11]
        assert view.ambiguous_neighbors[place].tolist() == y[nearest].tolist()
        ones = y[np.append(nearest, row)].sum()
        assert view.ambiguity[place] == pytest.approx(ones * (11 - ones) / 55)


def test_the_most_ambiguous_rows_of_each_cluster_are_kept(seen):
    smoother, view, X, y = seen
    for cluster in range(len(smoother.strengths_)):
        inside = np.flatnonzero(smoother.cluster_labels_ == cluster)
        gaps = np.linalg.norm(X[inside][:, np.newaxis] - X[inside], axis=2)
        near = np.argsort(gaps, axis=1)[:, :11]  # each row and its neighbors
        ones = y[inside][near].sum(axis=1)
        own = ones * (11 - ones) / 55
        around = own[near].mean(axis=1)[own > 0]
        kept = view.ambiguous_clusters == cluster
        most = np.sort(around)[::-1][:8]
        np.testing.assert_allclose(view.ambiguity_around[kept], most)
    assert (np.diff(view.ambiguity_around) <= 1e-9).all()


def test_large_data_are_sampled_and_the_view_says_so(overlapping, monkeypatch):
    X, y = overlapping
    smoother = StructuralSmoother(random_state=0).fit(X, y)
    monkeypatch.setattr("structsmooth.report.rows.MOST_ROWS", 100)
    monkeypatch.setattr("structsmooth.report.rows.MOST_ON_MAP", 30)
    view = make_view(smoother, X, y)
    assert (view.n_rows, view.n_looked_at, len(view.rows)) == (400, 100, 30)
    np.testing.assert_array_equal(view.positions, X[view.rows])
    np.testing.assert_array_equal(view.classes, y[view.rows])


def test_equal_rows_are_found_with_and_without_equal_labels(overlapping):
    X, y = overlapping
    X[0] = 0.0
    X[1], X[200] = -X[0], X[3]  # one pair of equal label, one of different
    smoother = StructuralSmoother(random_state=0).fit(X, y)
    view = make_view(smoother, X, y)
    assert view.duplicate_share == pytest.approx(4 / 400)
    assert view.conflict_share == pytest.approx(2 / 400)


def test_equal_rows_are_looked_for_among_all_rows(overlapping, monkeypatch):
    X, y = overlapping
    X[0], X[399] = X[1], X[398]
    smoother = StructuralSmoother(random_state=0).fit(X, y)
    monkeypatch.setattr("structsmooth.report.rows.MOST_ROWS", 20)
    for given in (X, pd.DataFrame(X), sp.csr_matrix(X), X.tolist()):
        view = make_view(smoother, given, y)
        assert (view.n_looked_at, view.n_compared) == (20, 400)
        assert view.duplicate_share == pytest.approx(4 / 400)


def test_equal_gaps_and_levels_are_equal():
    gap = np.float64("nan")
    frame = pd.DataFrame({"a": [gap, -gap, 1.0], "b": ["x", "x", "y"]})
    assert np.signbit(frame["a"]).tolist() == [False, True, False]
    keys = row_keys(as_table(frame).values)
    assert keys[0] == keys[1] != keys[2]
    assert count_duplicates(keys, np.array([0, 1, 0])) == Duplicates(3, 2 / 3, 2 / 3)


@pytest.mark.parametrize("n_keys", [1, 5, 40, 10**6])
def test_equal_rows_are_counted_as_by_hand(rng, n_keys):
    keys = rng.integers(0, n_keys, 60).astype(np.uint64)
    classes = rng.integers(0, 2, 60)
    among = [classes[keys == key].tolist() for key in keys]  # all that equal each row
    equal = sum(len(group) > 1 for group in among) / 60
    conflicts = sum(len(set(group)) > 1 for group in among) / 60
    assert count_duplicates(keys, classes) == Duplicates(60, equal, conflicts)


def test_rows_that_cannot_be_read_as_a_table_are_not_compared(readable):
    smoother, _ = readable
    frame = pd.DataFrame({"a": [[1], [2]], "b": [1, 2]})
    assert _readable(frame) is None
    assert _keys(smoother, frame, None) is None


def test_a_view_can_be_made_of_the_chosen_rows_alone(overlapping, monkeypatch):
    X, y = overlapping
    smoother = StructuralSmoother(random_state=0).fit(X, y)
    monkeypatch.setattr("structsmooth.report.rows.MOST_ROWS", 150)
    rows = rows_to_look_at(400)
    assert (len(rows), len(np.unique(rows))) == (150, 150)
    looked_at = Rows(rows, X[rows], y[rows])
    found = view_of_rows(
        smoother, looked_at, n_rows=400, duplicates=Duplicates(400, 0.0, 0.0)
    )
    assert_same_parts(found, make_view(smoother, X, y))
    checks = build_report(smoother, view_of_rows(smoother, looked_at, n_rows=400))
    assert "duplicates" not in [check.key for check in checks.checks]


def test_values_are_those_of_the_rows_and_conditions_those_of_the_clusters(readable):
    smoother, view = readable
    frame, _ = readable_data()
    values = view.values
    assert values.names.tolist() == ["width", "height"]
    shown = [*view.ambiguous, *view.suspects]
    assert len(shown) > len(view.ambiguous) > 0
    for place, row in enumerate(shown):
        cluster = smoother.cluster_labels_[row]
        inside = frame[smoother.cluster_labels_ == cluster]
        for j, value, middle in zip(
            values.columns[place],
            values.values[place],
            values.middles[place],
            strict=True,
        ):
            name = values.names[j]
            assert values.texts[value] == f"{frame[name][row]:.6g}"
            middles = np.sort(inside[name])
            assert values.texts[middle] == f"{middles[(len(middles) - 1) // 2]:.6g}"
    assert len(view.conditions.features) == len(smoother.strengths_)
    report = build_report(smoother, view)
    for row in report.clusters:
        for found in row.distinctions:
            words, number = found.condition.rsplit(" ", 1)
            beyond = frame[found.feature] - float(number)
            holds = beyond <= 0 if words == "up to" else beyond >= 0
            is_here = smoother.cluster_labels_ == row.cluster
            assert found.share == pytest.approx(holds[is_here].mean(), abs=0.02)
            assert found.elsewhere == pytest.approx(holds[~is_here].mean(), abs=0.02)


def test_arrays_have_values_too_unless_they_are_wide_or_pictures(rng, seen):
    assert seen[1].values is None  # there are pictures
    for n_columns in (50, 51):
        X, y = rng.normal(size=(60, n_columns)), np.arange(60) % 2
        smoother = StructuralSmoother(n_clusters=1, random_state=0).fit(X, y)
        values = make_view(smoother, X, y).values
        assert (values is None) == (n_columns == 51)
    named = StructuralSmoother(n_clusters=1).fit(X[:, :2], y)
    assert make_view(named, X[:, :2], y).values.names.tolist() == [
        "feature 0",
        "feature 1",
    ]
    for sparse in (sp.csr_matrix, sp.csc_matrix):
        found = make_view(named, sparse(X[:, :2]), y).values
        assert found.names.tolist() == ["feature 0", "feature 1"]


def test_suspects_are_kept_with_label_picture_and_values(readable):
    smoother, view = readable
    _, y = readable_data()
    assert view.suspects.tolist() == smoother.suspects_.rows.tolist()
    assert 7 in view.suspects
    np.testing.assert_array_equal(view.suspect_classes, y[view.suspects])
    report = build_report(smoother, view)
    assert report.n_suspects == len(report.suspects) == len(smoother.suspects_)
    for found, likely in zip(report.suspects, smoother.suspects_.likely, strict=True):
        assert (found["label"], found["likely"]) == (y[found["row"]], likely)
        assert found["label"] != found["likely"]
        assert {value["feature"] for value in found["values"]} == {"width", "height"}


def test_suspects_of_other_rows_than_those_of_the_view_are_not_shown(readable):
    smoother, _ = readable
    frame, y = readable_data()
    view = make_view(smoother, frame[:300], y[:300])
    assert len(view.suspects) == 0
    assert build_report(smoother, view).suspects == ()


def test_a_third_of_the_pictures_may_be_of_suspects_or_what_is_left(monkeypatch):
    images = np.broadcast_to(np.arange(200, dtype=np.uint8)[:, None, None], (200, 4, 4))
    monkeypatch.setattr("structsmooth.report.rows.MOST_PICTURES", 9)
    for n_ambiguous, n_suspects, n_first, n_second in (
        (20, 20, 6, 3),
        (20, 2, 7, 2),
        (4, 20, 4, 5),
        (0, 1, 0, 1),
        (2, 2, 2, 2),
    ):
        ambiguous, suspects = 50 + np.arange(n_ambiguous), 150 - np.arange(n_suspects)
        first, second, pictures = _take_pictures(images, ambiguous, suspects)
        assert (first >= 0).tolist() == (np.arange(n_ambiguous) < n_first).tolist()
        assert (second >= 0).tolist() == (np.arange(n_suspects) < n_second).tolist()
        assert len(pictures) == n_first + n_second
        assert (
            pictures[first[:n_first]] == ambiguous[:n_first, None, None, None]
        ).all()
        assert (
            pictures[second[:n_second]] == suspects[:n_second, None, None, None]
        ).all()


def test_only_so_many_pictures_are_taken_those_of_the_most_ambiguous(seen, monkeypatch):
    smoother, _, X, y = seen
    monkeypatch.setattr("structsmooth.report.rows.MOST_PICTURES", 3)
    images = np.broadcast_to(np.arange(400, dtype=np.uint8)[:, None, None], (400, 4, 4))
    few = make_view(smoother, X, y, images)
    assert len(few.ambiguous) > 3
    assert few.picture_of.tolist()[:4] == [0, 1, 2, -1]
    assert len(few.pictures) == 3
    for picture, row in zip(few.pictures, few.ambiguous, strict=False):
        assert (picture == row % 256).all()


def saved_without(view, path, *names):
    """Save a view as versions did that knew nothing of these arrays."""
    save_view(view, path)
    with np.load(path) as bundle:
        arrays = {k: v for k, v in bundle.items() if not k.startswith(names)}
    np.savez(path, **arrays)


def test_a_view_that_ranks_rows_in_another_way_counts_as_none(seen, tmp_path):
    saved_without(seen[1], tmp_path / "view.npz", "n_unranked", "ambiguity_around")
    assert load_view(tmp_path / "view.npz", 2, len(seen[0].strengths_)) is None


def test_a_view_without_values_and_suspects_is_read(readable, tmp_path):
    smoother, view = readable
    newer = ("values_", "conditions_", "suspect", "picture_of_suspect", "n_compared")
    saved_without(view, tmp_path / "view.npz", *newer)
    loaded = load_view(tmp_path / "view.npz", 2, len(smoother.strengths_))
    assert (loaded.values, loaded.conditions) == (None, None)
    assert len(loaded.suspects) == len(loaded.suspect_classes) == 0
    assert loaded.n_compared == loaded.n_looked_at  # equal rows among these
    assert build_report(smoother, loaded).suspects == ()


def test_a_view_comes_back_from_its_file(seen, readable, tmp_path):
    for smoother, view in (seen[:2], readable):
        save_view(view, tmp_path / "view.npz")
        with zipfile.ZipFile(tmp_path / "view.npz") as bundle:
            for name in bundle.namelist():
                assert b"'descr': '|O'" not in bundle.read(name)[:200]
        loaded = load_view(tmp_path / "view.npz", 2, len(smoother.strengths_))
        assert_same_parts(loaded, view)
    assert load_view(tmp_path / "none.npz", 2, 2) is None


def assert_same_parts(found, expected):
    assert type(found) is type(expected)
    for field in dataclasses.fields(expected):
        value, other = getattr(expected, field.name), getattr(found, field.name)
        if dataclasses.is_dataclass(value):
            assert_same_parts(other, value)
        elif np.asarray(value).dtype.kind in "UO":
            np.testing.assert_array_equal(other, value)
        else:
            np.testing.assert_allclose(other, value, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classes", 7),
        ("clusters", -1),
        ("rows", 400),
        ("ambiguous_neighbors", 2),
        ("picture_of", 10_000),
        ("suspects", 400),
        ("suspect_classes", 2),
        ("positions", np.nan),
    ],
)
def test_a_view_with_numbers_out_of_range_is_refused(readable, tmp_path, name, value):
    smoother, view = readable
    array = getattr(view, name).copy()
    array.flat[0] = value
    save_view(dataclasses.replace(view, **{name: array}), tmp_path / "view.npz")
    with pytest.raises(FileFormatError, match=r"view\.npz is damaged"):
        load_view(tmp_path / "view.npz", 2, len(smoother.strengths_))


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("values", "columns", 2),
        ("values", "values", 100_000),
        ("values", "middles", -2),
        ("conditions", "features", 2),
        ("values", "columns", None),
        ("values", "distances", None),
        ("conditions", "words", None),
        ("conditions", "shares", None),
    ],
)
def test_parts_of_a_view_that_do_not_fit_are_refused(
    readable, tmp_path, part, name, value
):
    smoother, view = readable
    found = getattr(view, part)
    array = getattr(found, name).copy()
    if value is None:
        array = array[1:]
    else:
        array.flat[0] = value
    changed = dataclasses.replace(found, **{name: array})
    save_view(dataclasses.replace(view, **{part: changed}), tmp_path / "view.npz")
    with pytest.raises(FileFormatError, match=r"view\.npz is damaged"):
        load_view(tmp_path / "view.npz", 2, len(smoother.strengths_))


def test_a_view_that_is_no_npz_file_is_refused(tmp_path):
    for content in (b"", b"nothing", b"PK\x03\x04nothing"):
        (tmp_path / "view.npz").write_bytes(content)
        with pytest.raises(FileFormatError, match="damaged"):
            load_view(tmp_path / "view.npz", 2, 2)
