"""Parts of a report: pictures, the view of the rows, checks and the verdict."""

import base64
import dataclasses
import io
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from structsmooth import StructuralSmoother, shrink_bounds
from structsmooth.bayes_error.suspects import Suspects
from structsmooth.errors import InvalidInputError
from structsmooth.report import build_report, make_view
from structsmooth.report.checks import make_checks
from structsmooth.report.html import pair_rows, render_html
from structsmooth.report.pictures import (
    check_images,
    image_layout,
    make_pictures,
    png_uri,
)
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
    names = [str(label) for label in smoother.classes_]
    checks = make_checks(smoother, view, shrinkage, names)
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
    assert "It may be like the others" in found.finding
    several = smoother_of(bounds(9), bounds(9), bounds(9, lower=0.9), bounds(100))
    found = check("tiny-clusters", several).finding
    assert "They may be like the others" in found
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
    assert "It is that of row 7; row numbers start at 0." in one.finding
    assert "first: 30, 31, 32, 33, 34, 35, 36, 37, 38, 39 and 20 more;" in many.finding


def test_the_bayes_error_is_given_with_and_without_suspects():
    none = np.array([])
    suspects = Suspects(
        np.array([7]), none, none, 15, bounds_as_given=np.array([0.071, 0.129])
    )
    whole = bounds(lower=0.021)
    whole.upper = 0.034
    smoother = smoother_of(suspects_=suspects, bayes_error_bounds_=whole)
    found = check("suspects", smoother).finding
    assert "would be 7.1 to 12.9\u00a0%; with the likely labels it is 2.1 to" in found


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


def test_without_structure_the_verdict_is_not_structural_smoothing(rng):
    X, y = rng.normal(size=(800, 20)), rng.integers(0, 2, 800)
    smoother = StructuralSmoother(random_state=0, n_clusters=8).fit(X, y)
    verdict = build_report(smoother, None).verdict
    assert not verdict.has_structure
    assert (verdict.level, verdict.answer) == ("mixed", "none")
    assert "uniform smoothing would do as well" in verdict.smoothing
    assert verdict.advice[0].startswith("Do not smooth yet")
    assert "HIGGS" in verdict.reach  # in many dimensions the estimate is too high
    # If the classes overlap everywhere alike, but not fully, uniform smoothing may do.
    y = np.where(rng.random(800) < 0.15, 1 - (X[:, 0] > 0), X[:, 0] > 0)
    far = 9.0 * np.sign(X[:, :1]) + rng.normal(size=(800, 1))
    smoother.set_params(n_clusters=4).fit(far, y)
    verdict = build_report(smoother, None).verdict
    assert (verdict.has_structure, verdict.answer) == (False, "uniform")
    assert verdict.advice[0].startswith("Start from your framework's label_smoothing=")


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
    uniform = build_report(smoother.fit(X, y), None).verdict
    assert "this is uniform smoothing" in uniform.smoothing
    for found in (verdict, uniform):
        assert found.answer == "none"
        assert found.advice[0].startswith("Do not smooth: the classes hardly overlap")
        assert not any("uniform" in sentence for sentence in found.advice)


def test_what_to_smooth_with_follows_one_rule(seen):
    smoother, view, X, y = seen
    report = build_report(smoother, view)
    assert (report.verdict.level, report.verdict.answer) == ("clear", "structural")
    none = StructuralSmoother(alpha=0.0, random_state=0).fit(X, y)
    found = build_report(none, view).verdict
    assert (found.answer, found.advice[0]) == (
        "none",
        "Do not smooth: alpha is 0, so the labels stay as they are. Train as usual.",
    )


def test_the_cluster_that_is_certainly_hard_is_described(seen):
    smoother, _, X, y = seen
    view = make_view(smoother, X, y)
    report = build_report(smoother, view)
    first = report.clusters[0]
    assert first.differs
    assert len(first.distinctions) == 2
    assert f"is cluster {first.cluster}, with" in report.verdict.hardest
    for distinction in first.distinctions:
        assert str(distinction) in report.verdict.hardest
    assert "What distinguishes it" not in build_report(smoother, None).verdict.hardest
    noise = StructuralSmoother(n_clusters=1, random_state=0).fit(X, y)
    assert build_report(noise, view).verdict.hardest == ""


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


WRONG_NUMBER = re.compile(
    r"\b1[ \u00a0](rows|clusters|classes|labels|neighbors|edges|dimensions|features)\b"
    r"|(?<![.,\d\u202f])\b1 of [\d\u202f]+ \w+ (have|were|are)\b"
)


@pytest.mark.parametrize("n_rows", [4, 12, 40, 400])
@pytest.mark.parametrize("settings", [{}, {"n_clusters": 1}, {"min_cluster_size": 1}])
@pytest.mark.parametrize("ignore_suspects", [False, True])
def test_one_is_not_many(overlapping, n_rows, settings, ignore_suspects):
    X, y = (values[:: 400 // n_rows] for values in overlapping)
    X, y = X.copy(), y.copy()
    X[0] = X[-1]
    if n_rows == 400:
        y[1] = 1  # one label that looks wrong, in the group of the other class
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        smoother = StructuralSmoother(
            random_state=0, ignore_suspects=ignore_suspects, **settings
        ).fit(X, y)
    notes = [str(warning.message) for warning in caught]
    report = build_report(smoother, make_view(smoother, X, y), notes=notes)
    page = render_html(report).split("<script")[0]
    texts = [*notes, page, *report.to_dict()["verdict"]["advice"], report.unranked]
    texts += [check.finding for check in report.checks]
    for text in texts:
        assert not WRONG_NUMBER.search(text), WRONG_NUMBER.search(text)


def test_a_row_that_is_not_ranked_is_one(seen):
    smoother, view, _, _ = seen

    def sentence(n_unranked):
        return build_report(
            smoother, dataclasses.replace(view, n_unranked=n_unranked)
        ).unranked

    assert sentence(0) == ""
    assert sentence(1).startswith("1 row is not ranked, because it has fewer than 10")
    assert sentence(7).startswith("7 rows are not ranked, because they have fewer")
    assert sentence(400).startswith("No row is ranked: all have fewer than 10")


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
