"""How kernels are compiled: by numba, without the interpreter's lock, and cached.

numba keeps the compiled code in ``NUMBA_CACHE_DIR`` if that is set, else in
``__pycache__`` beside the source, else in the user's cache directory. Where none of
these is writable, kernels are compiled anew in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, overload

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def kernel(function: Function) -> Function: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, **options: Any) -> Any:
    """Compile a function of arrays and numbers, as ``numba.njit`` does."""
    if function is None:
        return lambda function: kernel(function, **options)
    try:
        return njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # numba found no place for a cache
        return njit(nogil=True, **options)(function)


def is_compiled(function: Any) -> bool:
    """Whether a kernel is compiled or cached for some type of array.

    Another type, or a newer source, may still need a compilation.
    """
    if function.signatures:
        return True
    path = function.stats.cache_path
    if path is None:
        return False
    name = function.py_func.__qualname__
    module = Path(function.py_func.__code__.co_filename).stem
    return any(Path(path).glob(f"{module}.{name}-*.nbi"))
