"""Numbers in ascending order, against Python's own sort."""

import numpy as np
import pytest

from structsmooth.support.order import ascending


@pytest.mark.parametrize("n", [1, 2, 999, 1000, 20_000])
@pytest.mark.parametrize(
    "kind",
    ["any", "many equal", "some zero", "all zero", "far apart", "close together"],
)
def test_numbers_come_by_size_then_by_what_breaks_ties_then_by_place(rng, n, kind):
    squared = {
        "any": lambda: rng.random(n),
        "many equal": lambda: rng.integers(0, 30, n) * 1.0,
        "some zero": lambda: np.where(rng.random(n) < 0.1, 0.0, rng.random(n)),
        "all zero": lambda: np.zeros(n),
        "far apart": lambda: np.exp(rng.uniform(-600.0, 600.0, n)),
        "close together": lambda: 1.0 + rng.integers(0, 5000, n) * 2.0**-52,
    }[kind]()
    low = rng.integers(0, 50, n)
    high = low + rng.integers(1, 50, n)
    order = ascending(squared, low, high)
    columns = [column[order] for column in (squared, low, high)]
    expected = sorted(zip(squared, low, high, strict=True))
    assert list(zip(*columns, strict=True)) == expected
    assert np.array_equal(np.sort(order), np.arange(n))
    by_place = sorted(range(n), key=lambda place: (squared[place], place))
    assert ascending(squared).tolist() == by_place
