"""How kernels are compiled: by numba, without the interpreter's lock, and cached.

numba itself is loaded when the first kernel is called, because that takes a quarter as
long as loading scikit-learn. It keeps the compiled code in ``NUMBA_CACHE_DIR`` if that
is set, else in ``__pycache__`` beside the source, else in the user's cache directory.
Where none of these is writable, kernels are compiled anew in every process.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, overload

Function = TypeVar("Function", bound=Callable[..., Any])

_loading = threading.RLock()
# Who is told when a compilation begins (True) and when it has ended (False).
_watchers: list[Callable[[bool], None]] = []


class Kernel:
    """A function that becomes numba's when it is needed, for Python or a kernel."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        self._loaded: Any = None

    def load(self) -> Any:
        """Return what numba makes of the function; the same object every time."""
        if self._loaded is None:
            with _loading:
                if self._loaded is None:
                    self._loaded = _compiled_by_numba(self._function, self._options)
        return self._loaded

    def __call__(self, *arguments: Any) -> Any:
        """Compile the function if there is need, and call it."""
        return self.load()(*arguments)

    @property
    def _numba_type_(self) -> Any:
        """What numba asks for when one kernel calls another."""
        return self.load()._numba_type_


@overload
def kernel(function: Function) -> Function: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, **options: Any) -> Any:
    """Compile a function of arrays and numbers, as ``numba.njit`` does, when called."""
    if function is None:
        return lambda function: Kernel(function, options)
    return Kernel(function, options)


def _compiled_by_numba(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    from numba import njit

    _tell_watchers()
    # Nobody calls a kernel from C, for which numba would compile another wrapper.
    options = {"nogil": True, "no_cfunc_wrapper": True, **options}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no place for a cache
        return njit(**options)(function)


@functools.cache
def _tell_watchers() -> None:
    """Pass on when numba begins and ends to compile; one compilation starts others.

    Meanwhile Python looks for no garbage: with the many objects that the compiler
    makes, that would take an eighth of its time.
    """
    from numba.core import event

    class Listener(event.Listener):
        depth = 0  # numba compiles in one thread at a time
        collects = True

        def on_start(self, _event: Any) -> None:
            self.depth += 1
            if self.depth == 1:
                self.collects = gc.isenabled()
                gc.disable()
                self.tell(True)

        def on_end(self, _event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                if self.collects:
                    gc.enable()
                self.tell(False)

        def tell(self, begins: bool) -> None:
            for watcher in list(_watchers):
                watcher(begins)

    register: Any = event.register
    register("numba:compile", Listener())


@contextlib.contextmanager
def watch_compilation(watcher: Callable[[bool], None]) -> Iterator[None]:
    """Call the watcher whenever a compilation begins or ends inside the block."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def is_compiled(function: Any) -> bool:
    """Whether a kernel is compiled or cached for some type of array.

    Another type, or a newer source, may still need a compilation.
    """
    return bool(function.load().overloads) or _is_cached(function)


@functools.cache
def _is_cached(function: Any) -> bool:
    """Look into the cache once: that takes as long as a tree of 500 rows."""
    path = function.load().stats.cache_path
    if path is None:
        return False
    code = function.__wrapped__.__code__
    module = Path(code.co_filename).stem
    return any(Path(path).glob(f"{module}.{function.__qualname__}-*.nbi"))
