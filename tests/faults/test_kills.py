"""Kills at every step and at random, races, and full disks.

Seeded; ``make faults`` runs the full number and prints the counts.
"""

import os
import signal
import subprocess
import time
import warnings
from collections import Counter

import numpy as np
import pytest

from faultcounts import FULL, how_many, killed_at, start
from structsmooth import StructuralSmoother, fit_out_of_core
from structsmooth.io.atomic import OutputError
from structsmooth.io.results import read_result

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 400)
X = RNG.normal(size=(400, 2)) + Y[:, np.newaxis]


def fit(folder, alpha=0.1):
    settings = StructuralSmoother(alpha, n_clusters=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit_out_of_core(
            folder / "t.csv", folder / "o", label="y", smoother=settings
        )


@pytest.fixture
def folder(tmp_path):
    rows = {"fmt": "%.17g", "delimiter": ",", "header": "a,b,y", "comments": ""}
    np.savetxt(tmp_path / "t.csv", np.c_[X, Y], **rows)
    return tmp_path


def is_whole(folder, alphas):
    """Check that there is one whole result, of one of these means."""
    smoother, _, summary = read_result(folder / "o")
    mean = float(np.load(folder / "o" / "strengths.npy").mean())
    assert summary["alpha"] == smoother.alpha_ in alphas
    assert abs(mean - smoother.alpha_) < 1e-12
    return smoother.alpha_


def nothing_beside(folder):
    return sorted(path.name for path in folder.iterdir()) == ["o", "t.csv"]


def test_kills_at_the_steps_of_a_fit_out_of_core(folder, capsys):
    expected = np.array(fit(folder, 0.2).sample_strengths_)
    steps = range(1, 400)
    if not FULL:
        steps = sorted(np.random.default_rng(0).choice(60, 8, replace=False) + 1)
    counts = Counter()
    for step in steps:
        fit(folder, 0.1)
        was_killed = killed_at(step, lambda: fit(folder, 0.2))
        counts[f"left {is_whole(folder, (0.1, 0.2))}"] += was_killed
        found = fit(folder, 0.2)
        assert np.array_equal(found.sample_strengths_, expected), step
        assert nothing_beside(folder), step
        if not was_killed:
            break
    report(capsys, "kills at steps", counts)
    assert counts


def test_kills_at_random(folder, capsys):
    expected = np.array(fit(folder, 0.2).sample_strengths_)
    fit(folder, 0.1)
    begin = time.monotonic()
    os.waitpid(start(lambda: fit(folder, 0.2)), 0)
    usual = time.monotonic() - begin
    rng, counts = np.random.default_rng(1), Counter()
    for _ in range(how_many(100, 4)):
        fit(folder, 0.1)
        child = start(lambda: fit(folder, 0.2))
        time.sleep(float(rng.random()) * usual)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        counts[f"left {is_whole(folder, (0.1, 0.2))}"] += 1
        assert np.array_equal(fit(folder, 0.2).sample_strengths_, expected)
        assert nothing_beside(folder)
    report(capsys, "kills at random", counts)


def test_races_of_two_fits(folder, capsys):
    counts = Counter()
    for _ in range(how_many(24, 2)):
        children = [
            start(lambda alpha=alpha: fit(folder, alpha)) for alpha in (0.1, 0.2)
        ]
        ends = [os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children]
        assert 0 in ends
        assert set(ends) <= {0, 1}  # the other one says that somebody is at work
        counts[f"{ends.count(0)} finished"] += 1
        assert is_whole(folder, (0.1, 0.2))
        assert nothing_beside(folder)
    report(capsys, "races", counts)


def test_a_full_disk(folder):
    small = folder / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)]
    try:
        mounted = (
            subprocess.run(mount, capture_output=True, check=False).returncode == 0
        )
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a small disk needs root")
    try:
        settings = StructuralSmoother(n_clusters=4, random_state=0)
        for place in (
            {"output": small / "o", "spill": folder / "s"},
            {"output": folder / "o", "spill": small / "s"},
        ):
            with pytest.raises(OutputError, match="no space left"):
                fit_out_of_core(
                    np.tile(X, (60, 1)),
                    labels=np.tile(Y, 60),
                    smoother=settings,
                    **place,
                )
            assert not place["output"].exists()
    finally:
        subprocess.run(["umount", str(small)], check=True)


def report(capsys, what, counts):
    """Print what was left how often, past pytest."""
    if FULL:
        with capsys.disabled():
            ends = ", ".join(f"{count} {end}" for end, count in sorted(counts.items()))
            print(f"\n{what}: {sum(counts.values())}, {ends}")
