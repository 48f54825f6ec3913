"""Sums of products in one order, against NumPy and exact sums of fractions."""

from fractions import Fraction

import numpy as np
import pytest

from structsmooth.support.products import project, scatter_of

# Around the sizes of tiles (8 rows, 16 columns) and of parts (128).
SHAPES = [(1, 1), (7, 3), (8, 16), (129, 17), (128, 40), (300, 130), (257, 300)]


def few_bits(random, shape):
    """Return numbers whose products and sums are exact in float64."""
    return random.integers(-999, 1000, shape) / 8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_scatter_of_is_the_product_of_the_deviations(shape, dtype):
    random = np.random.default_rng(sum(shape))
    rows, shift = few_bits(random, shape).astype(dtype), few_bits(random, shape[1])

    total, scatter = scatter_of(rows, shift)

    deviations = rows.astype(np.float64) - shift
    np.testing.assert_array_equal(total, deviations.sum(axis=0))
    np.testing.assert_array_equal(scatter, deviations.T @ deviations)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [1, 16, 33])
@pytest.mark.parametrize("shape", SHAPES)
def test_project_is_the_product_with_the_components(shape, n_components, dtype):
    random = np.random.default_rng(sum(shape) + n_components)
    rows, center = few_bits(random, shape).astype(dtype), few_bits(random, shape[1])
    scale = 2.0 ** random.integers(-3, 4, shape[1])  # so that quotients are exact
    components = random.integers(-9, 10, (n_components, shape[1])).astype(np.float64)

    centered = rows.astype(np.float64) - center
    np.testing.assert_array_equal(
        project(rows, center, None, components), centered @ components.T
    )
    np.testing.assert_array_equal(
        project(rows, center, scale, components), (centered / scale) @ components.T
    )


def test_a_row_is_projected_alike_alone_and_among_others():
    random = np.random.default_rng(0)
    rows, center = random.normal(size=(300, 500)), random.normal(size=500)
    components, scale = random.normal(size=(20, 500)), random.uniform(1, 2, 500)

    together = project(rows, center, scale, components)

    for first, last in ((0, 1), (3, 4), (127, 129), (5, 300), (299, 300)):
        part = project(rows[first:last], center, scale, components)
        np.testing.assert_array_equal(part, together[first:last])


def test_the_sums_are_taken_as_the_module_says():
    # From left to right in parts of 128; each product is rounded once it is added.
    random = np.random.default_rng(1)
    rows, component = random.normal(size=(20, 300)), random.normal(size=300)

    def sum_of_products(row):
        total = 0.0
        for first in range(0, 300, 128):
            part = 0.0
            for i in range(first, min(first + 128, 300)):
                part = float(Fraction(part) + Fraction(row[i]) * Fraction(component[i]))
            total += part
        return total

    found = project(rows, np.zeros(300), None, component[np.newaxis])
    assert found[:, 0].tolist() == [sum_of_products(row) for row in rows]
