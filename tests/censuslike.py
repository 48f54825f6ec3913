"""A table with rare categories, for tests of small clusters."""

import numpy as np


def census():
    """A table like a census: one-hot columns, some rare, and three numbers.

    The rows of the 15 rare countries, 10 to 30 each, become separate clusters. They are
    no harder than others, but have the largest estimates.
    """
    rng = np.random.default_rng(6)
    n_rows = 5000
    shares = np.append(0.94, np.linspace(0.002, 0.006, 15))
    country = rng.choice(16, n_rows, p=shares / shares.sum())
    work, home = rng.integers(5, size=n_rows), rng.integers(5, size=n_rows)
    school = rng.integers(4, size=n_rows)
    columns = ((16, country), (5, work), (5, home), (4, school))
    hot = np.hstack([np.eye(k)[levels] for k, levels in columns])
    numbers = rng.normal(size=(n_rows, 3))
    score = work + 0.8 * school + numbers[:, 0] - 4.9
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-score))).astype(int)
    return np.hstack([(hot - hot.mean(axis=0)) / hot.std(axis=0), numbers]), y
