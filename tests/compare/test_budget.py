"""A comparison that is short of time, or of patience for all rows."""

import json
import time

import numpy as np
import pytest

from structsmooth.compare import compare
from structsmooth.compare.budget import Clock, OutOfTimeError, in_words, seconds_of
from structsmooth.compare.checks import sample_rows
from structsmooth.errors import InvalidParameterError

pytestmark = pytest.mark.filterwarnings(
    "ignore::structsmooth.errors.StructsmoothWarning"
)
FAST = {"alpha": 0.1, "beta": "auto"}
N_RUNS = 6  # of a seed


@pytest.mark.parametrize(
    ("given", "expected"),
    [(90, 90), ("90", 90), ("90s", 90), ("5min", 300), ("1.5 h", 5400), (0.5, 0.5)],
)
def test_times_as_people_write_them(given, expected):
    assert seconds_of(given) == expected


@pytest.mark.parametrize(
    "given", ["soon", "5 parsecs", 0, -3, "", True, "nan", "1e999"]
)
def test_what_is_no_time_is_refused(given):
    with pytest.raises(InvalidParameterError, match="such as 90s, 5min or 2h"):
        seconds_of(given)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.2, "1 s"), (61, "61 s"), (600, "10 min"), (9e3, "2.5 h")],
)
def test_times_in_words(seconds, expected):
    assert in_words(seconds) == expected


def test_what_is_left_is_the_mean_of_the_runs_times_their_number():
    clock = Clock()
    assert clock.left(10) == ""
    clock.add(2.0)
    clock.add(4.0)
    assert clock.left(10) == "about 30 s left"
    assert clock.left(0) == ""


class Dial:
    """A clock that tests can turn."""

    now = 0.0

    def monotonic(self):
        return self.now

    perf_counter = time.perf_counter


@pytest.fixture
def dial(monkeypatch):
    from structsmooth.compare import budget

    found = Dial()
    monkeypatch.setattr(budget, "time", found)
    monkeypatch.setattr("structsmooth.compare.time", found)
    return found


def test_a_run_that_would_end_too_late_is_not_started(dial):
    clock = Clock(10.0)
    dial.now = 4.0
    clock.add(4.0)
    clock.check()
    dial.now = 6.5
    with pytest.raises(OutOfTimeError):
        clock.check()


class Slow:
    """A trainer that takes a minute by the dial."""

    def __init__(self, dial):
        self.dial, self.n_calls = dial, 0

    def __call__(self, *_rows, n_classes, **_):
        self.dial.now += 60.0
        self.n_calls += 1
        return lambda rows: np.full((len(rows), n_classes), 1.0 / n_classes)

    def __repr__(self):
        return "Slow()"


def test_it_stops_with_what_is_finished_and_can_go_on(overlapping, dial, tmp_path):
    path, slow = tmp_path / "runs.jsonl", Slow(dial)
    minutes = 4 * N_RUNS + 2  # into the fifth seed
    result = compare(
        *overlapping, slow, n_seeds=7, budget=f"{minutes}min", results=path, **FAST
    )
    assert result.n_seeds == 4
    assert slow.n_calls == minutes
    assert "The budget was enough for 4 of 7 seeds." in result.verdict
    json.dumps(result.to_dict(), allow_nan=False)
    whole = compare(*overlapping, slow, n_seeds=7, results=path, **FAST)
    assert slow.n_calls == 7 * N_RUNS
    assert whole.n_seeds == 7
    assert "budget" not in whole.verdict


@pytest.mark.parametrize("n_seeds", [1, 2])
def test_fewer_than_three_seeds_are_shown_and_judge_nothing(overlapping, dial, n_seeds):
    budget = 60.0 * (n_seeds * N_RUNS + 1)
    result = compare(*overlapping, Slow(dial), budget=budget, **FAST)
    assert result.n_seeds == n_seeds
    assert "too few to judge" in result.verdict
    assert result.best is None
    assert "Do not smooth yet." in str(result)
    json.dumps(result.to_dict(), allow_nan=False)


def test_not_even_one_seed_is_an_error_that_says_what_a_run_takes(overlapping, dial):
    with pytest.raises(InvalidParameterError, match="one of 6 runs takes 60 s"):
        compare(*overlapping, Slow(dial), budget="3min", **FAST)


# ------------------------------------------------------------------ a sample of rows


def test_a_sample_has_the_share_of_each_class():
    y = np.repeat([0, 1, 2], [600, 300, 100])
    rows = sample_rows(y, 100, seed=0)
    assert np.bincount(y[rows]).tolist() == [60, 30, 10]
    assert len(set(rows)) == 100
    assert (np.diff(rows) > 0).all()
    assert not np.array_equal(rows, sample_rows(y, 100, seed=1))
    assert sample_rows(y, 1000, seed=0) is None
    assert sample_rows(y, None, seed=0) is None


def test_rare_classes_keep_a_few_rows():
    y = np.repeat([0, 1], [990, 10])
    found = np.bincount(y[sample_rows(y, 100, seed=0)])
    assert found.sum() == 100
    assert found[1] >= 7


def test_a_comparison_on_a_sample(overlapping):
    X, y = overlapping
    seen = []

    def train(rows, _y, _strengths, n_classes, **_):
        seen.append(len(rows))
        return lambda others: np.full((len(others), n_classes), 1.0 / n_classes)

    options = FAST | {"n_seeds": 3, "groups": np.arange(400) // 4}
    result = compare(X, y, train, max_rows=100, **options)
    assert result.description["n_rows"] == 100
    assert max(seen) < 70  # of the 100 three quarters, and of these four fifths
    with pytest.raises(InvalidParameterError, match="max_rows"):
        compare(X, y, train, max_rows=3, **options)
