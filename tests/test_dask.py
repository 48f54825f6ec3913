"""With joblib, trees are built on Dask's workers, and give the same bits."""

import joblib
import numpy as np
import pytest

from structsmooth import StructuralSmoother

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_dask_gives_the_same_bits(client):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = (X[:, 0] + rng.normal(size=3000) > 0).astype(int)
    here = StructuralSmoother(random_state=0).fit(X, y)
    before = client.run(lambda dask_worker: len(dask_worker.state.log))
    with joblib.parallel_config(backend="dask"):
        there = StructuralSmoother(random_state=0, n_jobs=-1).fit(X, y)
    after = client.run(lambda dask_worker: len(dask_worker.state.log))
    assert all(after[worker] > before[worker] for worker in before)  # they did the work
    assert np.array_equal(here.sample_strengths_, there.sample_strengths_)
    for mine, other in zip(here.cluster_bounds_, there.cluster_bounds_, strict=True):
        assert mine.interval == other.interval
        assert np.array_equal(mine.crossing, other.crossing)
