"""Tasks in parallel: in order, in threads by default, stopped by errors."""

import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest

from structsmooth import StructuralSmoother
from structsmooth.support.parallel import in_threads, side_by_side


def where(_):
    time.sleep(0.05)  # so that no worker takes all tasks
    return os.getpid(), threading.get_ident()


def test_results_come_in_the_order_of_the_tasks():
    def late(task):
        time.sleep(0.02 * (3 - task))
        return 10 * task

    assert list(side_by_side(late, range(4), 4)) == [0, 10, 20, 30]


def test_two_jobs_are_two_threads_of_this_process():
    found = set(side_by_side(where, range(6), 2))
    assert {process for process, _ in found} == {os.getpid()}
    assert len(found) == 2
    assert threading.get_ident() not in {thread for _, thread in found}


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_one_job_needs_no_thread(n_jobs):
    found = set(side_by_side(where, range(3), n_jobs))
    assert found == {(os.getpid(), threading.get_ident())}


def test_a_backend_that_was_asked_for_is_used():
    with joblib.parallel_config(backend="loky"):
        found = {process for process, _ in side_by_side(where, range(4), 2)}
    assert os.getpid() not in found


def test_shared_memory_stays_in_this_process_whatever_was_asked_for():
    with joblib.parallel_config(backend="loky"):
        found = set(side_by_side(where, range(4), 2, share_memory=True))
    assert {process for process, _ in found} == {os.getpid()}


def test_after_an_error_nothing_new_is_begun():
    begun = []

    def work(task):
        begun.append(task)
        time.sleep(0.02)
        if task == 0:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        list(side_by_side(work, range(100), 2))
    assert len(begun) < 50


def test_points_are_the_same_under_a_backend_of_processes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
    options = {"regions": "point", "n_clusters": 4, "random_state": 0}
    here = StructuralSmoother(**options).fit(X, y)
    with joblib.parallel_config(backend="loky"):
        there = StructuralSmoother(n_jobs=2, **options).fit(X, y)
    assert np.ptp(here.sample_strengths_) > 0
    assert np.array_equal(here.sample_strengths_, there.sample_strengths_)


def test_no_more_tasks_are_taken_ahead_than_allowed():
    taken = []

    def tasks():
        for task in range(20):
            taken.append(task)
            yield task

    results = side_by_side(lambda task: task, tasks(), 2, ahead=2)
    for done in range(1, 21):
        assert next(results) == done - 1
        assert len(taken) <= done + 4  # two for each of two threads
    assert next(results, None) is None


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_every_part_is_done_once_and_the_first_by_this_thread(n_threads):
    done = {}

    def part(number):
        assert number not in done
        done[number] = threading.get_ident()

    in_threads(n_threads, part)
    assert sorted(done) == list(range(n_threads))
    assert done[0] == threading.get_ident()
    assert n_threads == 1 or done[1] != threading.get_ident()


@pytest.mark.parametrize("failing", [0, 2])
def test_an_error_in_any_part_is_raised(failing):
    def part(number):
        if number == failing:
            raise RuntimeError(f"part {number}")

    with pytest.raises(RuntimeError, match=f"part {failing}"):
        in_threads(3, part)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    in_threads(2, lambda _: None)  # these the child would wait for in vain
    child = os.fork()
    if child == 0:
        done = []
        in_threads(2, done.append)
        os._exit(0 if sorted(done) == [0, 1] else 1)
    for _ in range(100):
        process, status = os.waitpid(child, os.WNOHANG)
        if process:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child waits for threads that it does not have")
    assert os.waitstatus_to_exitcode(status) == 0


def test_all_parts_have_ended_when_one_has_failed():
    ended = []

    def part(number):
        if number == 0:
            raise RuntimeError("the first")
        time.sleep(0.1)
        ended.append(number)

    with pytest.raises(RuntimeError, match="the first"):
        in_threads(2, part)
    assert ended == [1]
