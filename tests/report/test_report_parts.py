"""Parts of a report: pictures, the view of the rows, checks and the verdict."""

import base64
import dataclasses
import io
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from structsmooth import StructuralSmoother, shrink_bounds
from structsmooth.bayes_error.suspects import Suspects
from structsmooth.errors import FileFormatError, InvalidInputError
from structsmooth.report import build_report, make_view
from structsmooth.report.checks import make_checks
from structsmooth.report.html import pair_rows
from structsmooth.report.pictures import (
    check_images,
    image_layout,
    make_pictures,
    png_uri,
)
from structsmooth.report.view import load_view, save_view
from structsmooth.report.words import (
    listed,
    number,
    percent,
    percents,
    plural,
    short,
)


def decoded(uri):
    head, body = uri.split(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(body))))


@pytest.mark.parametrize("channels", [1, 3])
def test_a_png_decodes_to_the_picture(rng, channels):
    picture = rng.integers(0, 256, (5, 7, channels)).astype(np.uint8)
    np.testing.assert_array_equal(decoded(png_uri(picture)), picture.squeeze())


def test_images_are_known_by_their_shape():
    assert image_layout((8, 8)) == (8, 8, 1)
    assert image_layout((32, 30, 3)) == (32, 30, 3)
    assert image_layout((3, 32, 30)) == (32, 30, 3)
    assert image_layout((5, 32, 30)) is None
    assert image_layout((64,)) is None


def test_pictures_keep_bytes_and_stretch_what_is_smaller():
    whole = np.array([[[0, 100], [200, 255]]], dtype=np.uint8)
    assert make_pictures(whole)[..., 0].tolist() == whole.tolist()
    share = np.array([[[0.0, 0.2], [0.4, 0.4]]])
    assert make_pictures(share)[..., 0].tolist() == [[[0, 51], [102, 102]]]
    sixteen = np.array([[[0.0, 8.0], [16.0, 16.0]]])
    assert make_pictures(sixteen)[..., 0].tolist() == [[[0, 128], [255, 255]]]
    signed = np.array([[[-1.0, 0.0], [1.0, 1.0]]])
    assert make_pictures(signed)[..., 0].tolist() == [[[0, 128], [255, 255]]]


def test_channels_may_come_first_and_what_is_clear_is_white():
    first = np.zeros((1, 3, 2, 5), dtype=np.uint8)
    first[0, 2] = 9
    assert make_pictures(first)[0, 0, 0].tolist() == [0, 0, 9]
    clear = np.zeros((1, 2, 2, 4), dtype=np.uint8)
    assert make_pictures(clear)[0, 0, 0].tolist() == [255, 255, 255]


def test_large_pictures_become_means_of_blocks():
    large = np.zeros((1, 96, 96), dtype=np.uint8)
    large[0, 0:2, 0:2] = [[0, 40], [80, 120]]
    small = make_pictures(large)
    assert small.shape == (1, 48, 48, 1)
    assert small[0, 0, 0, 0] == 60
    strip = np.full((1, 2, 97), 7, dtype=np.uint8)  # the last block is smaller
    strip[0, :, -1] = 9
    assert make_pictures(strip)[0, :, :, 0].tolist() == [[7] * 32 + [9]]


def test_images_that_are_none_or_too_few_are_refused():
    with pytest.raises(InvalidInputError, match=r"images must have shape .* \(5, 64\)"):
        check_images(np.zeros((5, 64)), 5)
    with pytest.raises(InvalidInputError, match="X has 6 rows, there are 5 images"):
        check_images(np.zeros((5, 8, 8)), 6)


@pytest.fixture
def seen(overlapping):
    X, y = overlapping
    smoother = StructuralSmoother(random_state=0).fit(X, y)
    return smoother, make_view(smoother, X, y, np.zeros((400, 4, 4))), X, y


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
    monkeypatch.setattr("structsmooth.report.view.MOST_ROWS", 100)
    monkeypatch.setattr("structsmooth.report.view.MOST_ON_MAP", 30)
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


def test_only_so_many_pictures_are_taken_those_of_the_most_ambiguous(seen, monkeypatch):
    smoother, _, X, y = seen
    monkeypatch.setattr("structsmooth.report.view.MOST_PICTURES", 3)
    images = np.broadcast_to(np.arange(400, dtype=np.uint8)[:, None, None], (400, 4, 4))
    few = make_view(smoother, X, y, images)
    assert len(few.ambiguous) > 3
    assert few.picture_of.tolist()[:4] == [0, 1, 2, -1]
    assert len(few.pictures) == 3
    for picture, row in zip(few.pictures, few.ambiguous, strict=False):
        assert (picture == row % 256).all()


def test_a_view_of_an_earlier_version_counts_as_none(seen, tmp_path):
    save_view(seen[1], tmp_path / "view.npz")
    with np.load(tmp_path / "view.npz") as bundle:
        arrays = dict(bundle)
    del arrays["n_unranked"], arrays["ambiguity_around"]
    np.savez(tmp_path / "view.npz", **arrays)
    assert load_view(tmp_path / "view.npz", 2, len(seen[0].strengths_)) is None


def test_a_view_comes_back_from_its_file(seen, tmp_path):
    _, view, _, _ = seen
    save_view(view, tmp_path / "view.npz")
    loaded = load_view(tmp_path / "view.npz", 2, len(seen[0].strengths_))
    for field in dataclasses.fields(view):
        np.testing.assert_allclose(
            getattr(loaded, field.name), getattr(view, field.name), rtol=1e-6
        )
    assert load_view(tmp_path / "none.npz", 2, 2) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classes", 7),
        ("clusters", -1),
        ("rows", 400),
        ("ambiguous_neighbors", 2),
        ("picture_of", 10_000),
        ("positions", np.nan),
    ],
)
def test_a_view_with_numbers_out_of_range_is_refused(seen, tmp_path, name, value):
    smoother, view, _, _ = seen
    array = getattr(view, name).copy()
    array.flat[0] = value
    save_view(dataclasses.replace(view, **{name: array}), tmp_path / "view.npz")
    with pytest.raises(FileFormatError, match=r"view\.npz is damaged"):
        load_view(tmp_path / "view.npz", 2, len(smoother.strengths_))


def test_a_view_that_is_no_npz_file_is_refused(tmp_path):
    for content in (b"", b"nothing", b"PK\x03\x04nothing"):
        (tmp_path / "view.npz").write_bytes(content)
        with pytest.raises(FileFormatError, match="damaged"):
            load_view(tmp_path / "view.npz", 2, 2)


def bounds(
    n_samples=100,
    counts=(50, 50),
    crossing_fraction=0.1,
    tied=0.0,
    lower=0.1,
    interval=(0.05, 0.2),
):
    return SimpleNamespace(
        lower=lower,
        interval=interval,
        n_samples=n_samples,
        class_counts=np.array(counts),
        crossing_fraction=crossing_fraction,
        tied_fraction=tied,
    )


def smoother_of(*clusters, **values):
    clusters = clusters or (bounds(),)
    sizes = np.array([c.n_samples for c in clusters], dtype=float)
    centers = np.zeros((len(clusters), values.pop("n_dimensions", 2)))
    regions = SimpleNamespace(centers=centers, n_merged=0)
    overlap = values.pop("sample_errors", np.ones(2))
    facts = {
        "cluster_bounds_": list(clusters),
        "cluster_weights_": sizes / sizes.sum(),
        "classes_": np.array(["a", "b"]),
        "structure_": SimpleNamespace(regions=regions, points=None),
        "decision_": SimpleNamespace(bayes_error_of_samples=lambda _: overlap),
        "shrink": False,
        "ties": "index",
        "alpha_": 0.1,
        "sample_strengths_": np.array([0.05, 0.15]),
        "bayes_error_bounds_": clusters[0],
        "suspects_": None,
    }
    return SimpleNamespace(**(facts | values))


def check(key, smoother, view=None, shrinkage=None):
    """Return the answer to one of the questions."""
    if shrinkage is None:
        factors = np.ones(len(smoother.cluster_bounds_))
        shrinkage = SimpleNamespace(spread=0.1, p_value=0.01, factors=factors)
    checks = make_checks(smoother, view, shrinkage)
    return next(found for found in checks if found.key == key)


def test_the_mean_check_fails_for_another_mean():
    assert check("mean", smoother_of()).status == "pass"
    assert check("mean", smoother_of(alpha_=0.11)).status == "fail"


def test_the_box_check_fails_outside_and_warns_when_most_rows_get_nothing():
    def status(*values, overlap=1):
        strengths = np.array(values)
        errors = np.full(len(values), 0.1 * overlap)
        return check(
            "box", smoother_of(sample_strengths_=strengths, sample_errors=errors)
        ).status

    assert status(0.0, 0.1, 0.2) == "pass"
    assert status(0.0, 0.0, 0.3) == "warn"
    assert status(0.0, 0.0, 0.3, overlap=0) == "pass"  # where nothing overlaps
    assert status(-0.01, 0.2) == "fail"
    assert status(0.1, 0.5) == "fail"


def test_tiny_clusters_are_warned_of():
    assert check("tiny-clusters", smoother_of(bounds(30), bounds(100))).status == "pass"
    found = check("tiny-clusters", smoother_of(bounds(29), bounds(71)))
    assert found.status == "warn"
    assert "29.0\u00a0%" in found.finding
    assert "Of these, 1 may be like the others" in found.finding
    several = smoother_of(bounds(9), bounds(9), bounds(9, lower=0.9), bounds(100))
    found = check("tiny-clusters", several).finding
    assert "Of these, 3 may be like the others" in found
    harder = bounds(9, lower=0.9, interval=(0.8, 0.95))
    found = check("tiny-clusters", smoother_of(bounds(9), harder, bounds(100))).finding
    assert "Of these, 1 may be like the others" in found
    # None is told apart if all are tiny, so nothing is said of some.
    found = check("tiny-clusters", smoother_of(bounds(9), bounds(9))).finding
    assert "like the others" not in found


def test_clusters_of_one_class_are_fine_until_they_are_most():
    single, mixed = bounds(counts=(100, 0)), bounds()
    assert check("one-class-clusters", smoother_of(single, mixed)).status == "pass"
    whole = {"bayes_error_bounds_": bounds(lower=0.02)}
    found = check("one-class-clusters", smoother_of(single, single, mixed, **whole))
    assert found.status == "warn"
    # Not if the mean is at most the estimated Bayes error.
    cautious = smoother_of(single, single, mixed, alpha_=0.02, **whole)
    assert check("one-class-clusters", cautious).status == "pass"
    assert "66.7\u00a0%" in found.finding


def test_labels_that_look_like_mistakes_are_named():
    def check_of(*rows):
        suspects = Suspects(np.array(rows, dtype=int), np.array([]), np.array([]), 15)
        return check("suspects", smoother_of(bounds(), suspects_=suspects))

    assert check_of().status == "pass"
    one, many = check_of(7), check_of(*range(30, 60))
    assert one.status == many.status == "warn"
    assert "1\u00a0label of 100 (1.0\u00a0%) looks like a mistake" in one.finding
    assert "30\u00a0labels of 100 (30.0\u00a0%) look like mistakes" in many.finding
    assert many.finding.endswith(
        "first: 30, 31, 32, 33, 34, 35, 36, 37, 38, 39 and 20 more."
    )


def test_saturated_bounds_warn_and_fail_when_they_are_most():
    full, free = bounds(crossing_fraction=0.5), bounds(crossing_fraction=0.49)
    assert check("saturation", smoother_of(free, free)).status == "pass"
    assert check("saturation", smoother_of(full, free)).status == "warn"
    assert check("saturation", smoother_of(full, full, free)).status == "fail"
    by_chance = bounds(12, crossing_fraction=0.6)
    assert check("saturation", smoother_of(by_chance, free)).status == "pass"


def test_ties_are_warned_of_unless_they_are_averaged():
    assert check("ties", smoother_of(bounds(tied=0.04))).status == "pass"
    assert check("ties", smoother_of(bounds(tied=0.2))).status == "warn"
    assert check("ties", smoother_of(bounds(tied=0.2), ties="average")).status == "pass"


def test_rare_classes_are_named():
    found = check("rare-classes", smoother_of(bounds(counts=(91, 9))))
    assert found.status == "warn"
    assert "rows: b." in found.finding
    assert check("rare-classes", smoother_of(bounds(counts=(90, 10)))).status == "pass"


def test_equal_rows_are_warned_of_if_many_or_of_different_labels(seen):
    view = seen[1]

    def status(duplicates, conflicts):
        changed = {"duplicate_share": duplicates, "conflict_share": conflicts}
        return check("duplicates", seen[0], dataclasses.replace(view, **changed)).status

    assert status(0.0, 0.0) == "pass"
    assert status(0.005, 0.0) == "pass"
    assert status(0.02, 0.0) == "warn"
    assert status(0.005, 0.001) == "warn"


def test_many_dimensions_are_warned_of():
    def status(d):
        return check("dimensions", smoother_of(bounds(), n_dimensions=d)).status

    assert (status(10), status(11)) == ("pass", "warn")


def noise_check(smoother):
    return check("noise", smoother, None, shrink_bounds(smoother.cluster_bounds_))


def test_the_noise_check_follows_shrinkage(rng, overlapping):
    X, y = overlapping
    clear = StructuralSmoother(random_state=0, n_clusters=4).fit(X, y)
    assert noise_check(clear).status == "pass"
    noise = StructuralSmoother(random_state=0, n_clusters=8).fit(
        rng.normal(size=(800, 3)), rng.integers(0, 2, 800)
    )
    found = noise_check(noise)
    assert found.status == "fail"
    assert "uniform smoothing would do as well" in found.finding
    noise.set_params(shrink=True).fit(
        rng.normal(size=(800, 3)), rng.integers(0, 2, 800)
    )
    assert noise_check(noise).status == "warn"
    one = StructuralSmoother(random_state=0, n_clusters=1).fit(X, y)
    assert "one cluster" in noise_check(one).finding


def test_the_verdict_says_estimated_and_promises_nothing(seen):
    verdict = build_report(seen[0], seen[1]).verdict
    assert "estimated Bayes error" in verdict.headline
    assert "an estimate, not a limit" in verdict.reach
    assert "held-out rows can tell" in verdict.smoothing
    whole = seen[0].bayes_error_bounds_
    assert (verdict.lower, verdict.interval) == (whole.lower, whole.interval)
    assert verdict.largest_class_share == 0.5
    assert verdict.saved == pytest.approx(1 - seen[0].bias_ / seen[0].uniform_bias_)
    assert verdict.has_structure


def test_without_structure_the_verdict_is_uniform_smoothing(rng):
    X, y = rng.normal(size=(800, 20)), rng.integers(0, 2, 800)
    smoother = StructuralSmoother(random_state=0, n_clusters=8).fit(X, y)
    verdict = build_report(smoother, None).verdict
    assert not verdict.has_structure
    assert verdict.level == "mixed"
    assert "uniform smoothing would do as well" in verdict.smoothing
    assert verdict.advice[0].startswith("Start from your framework's label_smoothing=")
    assert "HIGGS" in verdict.reach  # in many dimensions the estimate is too high


def test_classes_that_lie_apart_put_nothing_out_of_reach(rng):
    y = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 2)) + 100.0 * y[:, np.newaxis]
    smoother = StructuralSmoother(random_state=0)
    verdict = build_report(smoother.fit(X, y), None).verdict
    assert verdict.level == "apart"
    assert verdict.headline.endswith("estimated Bayes error 0\u00a0%.")
    assert "no accuracy is out of reach" in verdict.reach
    assert "not smoothed at all" in verdict.smoothing
    smoother.set_params(alpha=0.1)
    verdict = build_report(smoother.fit(X, y), None).verdict
    assert "this is uniform smoothing" in verdict.smoothing


def test_around_points_halves_of_the_labels_decide_what_is_noise(overlapping):
    X, y = overlapping
    smoother = StructuralSmoother(
        random_state=0, regions="point", shrink=True, n_clusters=1
    ).fit(X, y)
    share = smoother.structure_.points.reliability
    assert share > 0.5
    report = build_report(smoother, None)
    found = next(check for check in report.checks if check.key == "noise")
    assert found.status == "pass"
    assert f"About {100 * share:.0f}" in found.finding
    assert report.verdict.has_structure


def test_pairs_name_the_cluster_with_most_of_their_edges(seen):
    smoother, view, _, _ = seen
    ((first, second, count, cluster),) = pair_rows(build_report(smoother, view))
    counts = [bounds.crossing[0, 1] for bounds in smoother.cluster_bounds_]
    assert (first, second, count) == ("0", "1", sum(counts))
    assert counts[cluster] == max(counts)


def test_of_few_rows_the_verdict_does_not_judge(overlapping):
    X, y = overlapping
    rows = np.flatnonzero(np.linalg.norm(X, axis=1) < 4)[::8]
    smoother = StructuralSmoother(random_state=0).fit(X[rows], y[rows])
    verdict = build_report(smoother, None).verdict
    assert verdict.level == "unsure"
    assert verdict.headline.startswith("Too few rows to say")


def test_advice_of_checks_is_passed_on_once(seen):
    report = build_report(seen[0], seen[1])
    for check in report.checks:
        expected = bool(check.advice) and check.status != "pass"
        assert (check.advice in report.verdict.advice) == expected
    assert len(set(report.verdict.advice)) == len(report.verdict.advice)


def test_numbers_are_written_as_people_read_them():
    assert percent(0.1234) == "12.3\u00a0%"
    assert percent(0.0001) == "below\u00a00.1\u00a0%"
    assert percent(0.0) == "0.0\u00a0%"
    assert number(1234567) == "1\u202f234\u202f567"
    assert number(2.5) == "2.5"
    assert plural(1, "row") == "1\u00a0row"
    assert plural(2, "class", "classes") == "2\u00a0classes"
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert percents(0.1, 0.2) == "10.0 to 20.0\u00a0%"
    assert percents(0.25, 0.2501) == "25.0\u00a0%"
    assert listed(list("abcdefg"), 2) == "a, b and 5 more"
    assert short("a\nb") == "a\ufffdb"
    assert len(short("a" * 100)) == 40
