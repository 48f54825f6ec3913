"""Clusters and samples are ranked by what is certain, wherever they are listed."""

import csv
import json
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from censuslike import census
from structsmooth import StructuralSmoother
from structsmooth.bayes_error.ranking import order_of_regions, says_little
from structsmooth.bayes_error.shrinkage import FEW_ROWS
from structsmooth.cli.console import print_summary
from structsmooth.io.results import cluster_table, summarize, write_cluster_table
from structsmooth.report import build_report, make_view
from structsmooth.report.html import page_data, render_html


@pytest.fixture(scope="module", params=["cluster", "point"])
def seen(request):
    X, y = census()
    smoother = StructuralSmoother(
        n_clusters=46, reducer="none", random_state=0, regions=request.param
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one cluster is so small that it is merged
        smoother.fit(X, y)
    return smoother, make_view(smoother, X, y)


def region(lower, low, high, size):
    return SimpleNamespace(
        lower=lower, lower_interval=(low, lower), interval=(low, high), n_samples=size
    )


def test_the_largest_estimates_of_the_table_are_those_of_tiny_clusters(seen):
    smoother, _ = seen
    sizes = np.array([bounds.n_samples for bounds in smoother.cluster_bounds_])
    first = np.argsort(-smoother.bayes_error_lower_)[:10]
    assert np.count_nonzero(sizes[first] < FEW_ROWS) >= 5
    assert 10 <= np.count_nonzero(sizes < FEW_ROWS) <= 15


def test_no_tiny_cluster_is_among_the_first_ten(seen):
    smoother, view = seen
    report = build_report(smoother, view)
    assert min(row.size for row in report.clusters[:10]) >= FEW_ROWS
    assert min(row["size"] for row in cluster_table(smoother)[:10]) >= FEW_ROWS
    assert min(row["size"] for row in page_data(report)["clusters"][:10]) >= FEW_ROWS


def test_clusters_that_say_little_come_last_and_the_rest_by_the_low_end(seen):
    smoother, view = seen
    report = build_report(smoother, view)
    marks = [row.says_little for row in report.clusters]
    assert marks == sorted(marks)
    assert sum(marks) == says_little(smoother.cluster_bounds_).sum() >= 10
    for wanted in (False, True):
        ends = [r.interval[0] for r in report.clusters if r.says_little == wanted]
        assert ends == sorted(ends, reverse=True)
    assert not any(row.differs and row.says_little for row in report.clusters)


def test_no_sample_comes_from_a_cluster_that_says_little(seen):
    smoother, view = seen
    report = build_report(smoother, view)
    sizes = np.array([bounds.n_samples for bounds in smoother.cluster_bounds_])
    clusters = np.array([sample["cluster"] for sample in report.samples])
    assert len(clusters) > 100
    assert sizes[clusters[:20]].min() >= FEW_ROWS
    assert not says_little(smoother.cluster_bounds_)[clusters].any()
    shown = [sample["row"] for sample in page_data(report)["samples"]]
    assert shown == [sample["row"] for sample in report.samples]


def test_samples_are_in_the_order_of_the_mean_around_them(seen):
    report = build_report(*seen)
    keys = [(s["ambiguity_around"], s["ambiguity"], -s["row"]) for s in report.samples]
    assert keys == sorted(keys, reverse=True)
    assert all(sum(count for _, count in s["neighbors"]) == 10 for s in report.samples)


def test_the_report_says_which_rows_are_not_ranked_and_why(seen):
    smoother, view = seen
    report = build_report(smoother, view)
    labels = smoother.cluster_labels_
    few = says_little(smoother.cluster_bounds_)[labels]
    few |= np.bincount(labels)[labels] <= 10
    assert view.n_unranked == few.sum()
    assert report.unranked.startswith(f"{few.sum()} rows are not ranked, because they")
    assert report.unranked in render_html(report)
    assert json.loads(report.to_json())["unranked"] == report.unranked


def test_without_neighbors_enough_no_sample_is_listed_and_no_advice_points_to_one():
    X = np.array([[0.0], [1.0], [1.5], [4.0], [4.2], [5.0]])
    y = np.array([0, 0, 1, 1, 1, 0])
    smoother = StructuralSmoother(random_state=0).fit(X, y)
    report = build_report(smoother, make_view(smoother, X, y))
    assert report.samples == ()
    assert report.unranked.startswith("No row is ranked: all have fewer than 10")
    assert report.unranked in render_html(report)
    assert not any("ambiguous" in advice for advice in report.verdict.advice)


def test_advice_points_to_the_samples_that_are_listed(seen):
    smoother, view = seen
    advice = " ".join(build_report(smoother, view).verdict.advice)
    assert "Look through the most ambiguous samples" in advice
    assert "ambiguous" not in " ".join(build_report(smoother, None).verdict.advice)


def test_tables_mark_clusters_that_say_little(seen, tmp_path, capsys):
    smoother, view = seen
    little = says_little(smoother.cluster_bounds_)
    write_cluster_table(tmp_path, smoother)
    with (tmp_path / "clusters.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["says_little"] == "True" for row in rows] == [
        little[int(row["cluster"])] for row in rows
    ]
    page = render_html(build_report(smoother, view))
    assert page.count(">says little<") == little.sum()
    assert [int(mark) for mark in re.findall(r'" data-little="(\d)"', page)] == sorted(
        little.astype(int)
    )
    summary = {"data": "census", "files": [], **summarize(smoother, [])}
    print_summary(summary, cluster_table(smoother), tmp_path)
    text = capsys.readouterr().out
    marked = [line for line in text.splitlines() if line.endswith("few rows  ")]
    assert len(marked) == 5  # the last ones of a long table
    assert f"{little.sum()} clusters with few rows (fewer than 30) may be like" in text
    table = text[: text.index(f"{little.sum()} clusters with")].splitlines()
    assert max(len(line) for line in table) <= 80


def test_the_tiny_clusters_check_says_what_becomes_of_them(seen):
    smoother, view = seen
    checks = {check.key: check for check in build_report(smoother, view).checks}
    finding = checks["tiny-clusters"].finding
    assert "may be like the others: such clusters say little" in finding
    assert "their strengths follow the mean of the others" in finding


def test_the_figure_of_clusters_has_those_that_say_little_at_the_bottom(seen):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    from structsmooth.plot import plot_clusters

    smoother, _ = seen
    ax = plot_clusters(smoother)
    names = [int(text.get_text()) for text in ax.get_yticklabels()]
    assert names[::-1] == order_of_regions(smoother.cluster_bounds_).tolist()
    little = says_little(smoother.cluster_bounds_)[names]
    colors = ax.collections[1].get_colors()
    assert len(np.unique(colors[little], axis=0)) == 1
    assert len(np.unique(colors, axis=0)) == 2
    plt.close("all")


def test_ties_go_to_the_larger_bound_and_then_to_the_larger_region():
    regions = [
        region(0.10, 0.0, 0.2, 100),
        region(0.20, 0.0, 0.3, 100),
        region(0.20, 0.0, 0.3, 200),
        region(0.15, 0.1, 0.2, 100),
        region(0.90, 0.05, 0.95, 29),  # may be like the others
        region(0.90, 0.40, 0.95, 29),  # clearly harder
    ]
    assert order_of_regions(regions).tolist() == [5, 3, 2, 1, 0, 4]


def test_if_most_rows_are_in_small_regions_none_says_little():
    small = [region(0.1, 0.05, 0.3, 20), region(0.2, 0.1, 0.4, 20)]
    assert not says_little([*small, region(0.1, 0.0, 0.2, 35)]).any()
    assert says_little([*small, region(0.1, 0.0, 0.2, 45)]).tolist() == [1, 1, 0]
