"""Names that go away: they work, and warn, for two minor versions."""

from __future__ import annotations

import warnings
from typing import Any

from structsmooth.errors import StructsmoothDeprecationWarning


def take_renamed(
    new: str, value: Any, old: str, old_value: Any, *, removed_in: str
) -> Any:
    """Return what a renamed parameter was given, under its new name or the old one.

    None means that nothing was given. The warning points at the caller of the function
    that calls this one.
    """
    if old_value is None:
        return value
    if value is not None:
        raise TypeError(f"{old} is the former name of {new}; expected {new} only")
    warnings.warn(
        f"{old} is now called {new}, and will be removed in version {removed_in}",
        StructsmoothDeprecationWarning,
        stacklevel=3,
    )
    return old_value
