"""With joblib, trees are built by Ray's workers, and give the same bits."""

import joblib
import numpy as np
import pytest

from structsmooth import StructuralSmoother
from structsmooth.support.parallel import side_by_side

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Two workers on this machine that report nothing to anybody."""
    from ray.util.joblib import register_ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        register_ray()
        yield
        ray.shutdown()


def process_of(task):
    import os

    return task, os.getpid()


def test_ray_gives_the_same_bits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = (X[:, 0] + rng.normal(size=3000) > 0).astype(int)
    here = StructuralSmoother(random_state=0).fit(X, y)
    with joblib.parallel_config(backend="ray"):
        there = StructuralSmoother(random_state=0, n_jobs=-1).fit(X, y)
    assert np.array_equal(here.sample_strengths_, there.sample_strengths_)
    for mine, other in zip(here.cluster_bounds_, there.cluster_bounds_, strict=True):
        assert mine.interval == other.interval
        assert np.array_equal(mine.crossing, other.crossing)


def test_the_work_is_done_by_its_workers_and_comes_back_in_order():
    import os

    with joblib.parallel_config(backend="ray"):
        found = list(side_by_side(process_of, range(8), n_jobs=2))
    assert [task for task, _ in found] == list(range(8))
    assert all(process != os.getpid() for _, process in found)
