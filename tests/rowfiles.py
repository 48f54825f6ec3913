"""Helpers that make rows, write files of rows, and compare two fits."""

import errno
import os

import numpy as np

FITTED = (
    "strengths_",
    "sample_strengths_",
    "cluster_labels_",
    "cluster_weights_",
    "bayes_error_lower_",
    "bayes_error_upper_",
    "alpha_",
    "beta_",
    "bias_",
    "uniform_bias_",
)


def blobs(n, d, seed=0, dtype=np.float64):
    """Four groups of points, in which two classes mix to different degrees."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n)
    X = rng.normal(size=(n, d)) + 4.0 * np.eye(4, d)[group]
    y = rng.random(n) < np.array([0.05, 0.2, 0.5, 0.9])[group]
    return X.astype(dtype), y.astype(np.int64)


def assert_same(first, second):
    for name in FITTED:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    assert np.array_equal(first.classes_, second.classes_)
    for mine, other in zip(first.cluster_bounds_, second.cluster_bounds_, strict=True):
        assert mine.interval == other.interval
        assert mine.n_effective == other.n_effective
        assert np.array_equal(mine.crossing, other.crossing)


def write_tables(folder, X, names):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"f{i}": X[:, i] for i in range(X.shape[1])}
    table = pa.table({**columns, "id": np.arange(len(X)), "y": names})
    (folder / "parts").mkdir()
    for part, start in enumerate(range(0, len(X), 300)):
        pq.write_table(
            table.slice(start, 300), folder / "parts" / f"part-{part:05}.parquet"
        )
    (folder / "parts" / "_SUCCESS").touch()
    (folder / "parts" / "_metadata.parquet").write_bytes(b"not rows")
    pq.write_table(table, folder / "t.parquet")
    with (folder / "t.csv").open("w") as stream:
        stream.write("f0,f1,f2,id,y\n")
        for i, (row, name) in enumerate(zip(X.tolist(), names.tolist(), strict=True)):
            stream.write(",".join(map(repr, row)) + f",{i},{name}\n")


def no_space(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
