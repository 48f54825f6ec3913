import warnings

import numpy as np
import pytest

from structsmooth import flip_labels, shuffled_strengths
from structsmooth.errors import StructsmoothDeprecationWarning

DRAW = {
    "flip_labels": lambda **given: flip_labels(np.arange(60) % 3, 0.5, 3, **given),
    "shuffled_strengths": lambda **given: shuffled_strengths(
        np.linspace(0.05, 0.15, 11), np.full(11, 1 / 11), n_classes=2, **given
    ),
}


@pytest.mark.parametrize("name", DRAW)
def test_the_former_name_of_rng_draws_the_same_and_warns(name):
    said = "random_state is now called rng, and will be removed in version 0.4"
    with pytest.warns(StructsmoothDeprecationWarning, match=said) as caught:
        former = DRAW[name](random_state=7)
    assert caught[0].filename == __file__  # the caller's line, which is to be changed
    np.testing.assert_array_equal(former, DRAW[name](rng=7))
    assert not np.array_equal(former, DRAW[name](rng=8))


@pytest.mark.parametrize("name", DRAW)
def test_both_names_at_once_are_refused(name):
    with pytest.raises(TypeError, match="former name of rng; expected rng only"):
        DRAW[name](rng=7, random_state=7)


@pytest.mark.parametrize("name", DRAW)
def test_a_generator_is_drawn_from_and_not_copied(name):
    generator = np.random.default_rng(7)
    first, second = DRAW[name](rng=generator), DRAW[name](rng=generator)
    np.testing.assert_array_equal(first, DRAW[name](rng=7))
    assert not np.array_equal(first, second)


def test_deprecations_are_shown_by_default():
    # Python hides a DeprecationWarning outside __main__, where most calls are.
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        warnings.simplefilter("ignore", DeprecationWarning)
        DRAW["flip_labels"](random_state=7)
    assert len(caught) == 1
