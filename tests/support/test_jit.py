"""Kernels: functions of Python that numba compiles when they are called."""

import gc

import numpy as np
import pytest

from structsmooth.support.jit import is_compiled, kernel, watch_compilation


def new(source):
    """Return a kernel without a file, so that it is never found in the cache."""
    return kernel(eval(source))  # noqa: S307


@pytest.mark.parametrize("collects", [True, False])
def test_python_collects_garbage_after_a_compilation_if_it_did_before(collects):
    seen = []
    (gc.enable if collects else gc.disable)()
    try:
        with watch_compilation(lambda begins: seen.append((begins, gc.isenabled()))):
            assert new("lambda a: a + 1")(2) == 3
        assert gc.isenabled() is collects
    finally:
        gc.enable()
    assert seen == [(True, False), (False, collects)]


def test_a_kernel_keeps_its_name_and_is_compiled_once_for_each_type():
    double = new("lambda a: 2 * a")
    assert not is_compiled(double)
    seen = []
    with watch_compilation(seen.append):
        assert (double(2), double(4), double(np.float64(0.5))) == (4, 8, 1.0)
    assert seen == [True, False] * 2
    assert is_compiled(double)
    assert double.__name__ == "<lambda>"
