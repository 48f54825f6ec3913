"""How long a comparison may take, and how long it will."""

from __future__ import annotations

import math
import re
import time
from typing import Any

from structsmooth.errors import InvalidParameterError

UNITS = {"s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}


class OutOfTimeError(Exception):
    """The budget is used up; what is finished counts."""


def seconds_of(budget: Any) -> float | None:
    """Return a budget in seconds, given as a number of them or as text like "5min"."""
    if budget is None:
        return None
    text = str(budget).strip().lower()
    found = re.fullmatch(r"([0-9.e+]+)\s*([a-z]*)", text)
    try:
        value = float(found[1]) * UNITS[found[2] or "s"] if found else math.nan
    except (ValueError, KeyError):
        value = math.nan
    if isinstance(budget, bool) or not 0.0 < value < math.inf:
        raise InvalidParameterError(
            "budget must be a time such as 90s, 5min or 2h, or a number of seconds, "
            f"got {budget!r}"
        )
    return value


class Clock:
    """The time of the runs so far, and an estimate of what is left."""

    def __init__(self, budget: float | None = None) -> None:
        self._budget, self._started = budget, time.monotonic()
        self._n_runs, self._spent = 0, 0.0

    def check(self) -> None:
        """Raise if another run, as long as those before, would exceed the budget."""
        if self._budget is None:
            return
        if time.monotonic() - self._started + self.each > self._budget:
            raise OutOfTimeError

    @property
    def each(self) -> float:
        """Mean seconds of a run."""
        return self._spent / self._n_runs if self._n_runs else 0.0

    def add(self, seconds: float) -> None:
        """Count one more run."""
        self._n_runs, self._spent = self._n_runs + 1, self._spent + seconds

    def left(self, n_runs: int) -> str:
        """Return in words how long this many more runs will take."""
        if not self._n_runs or n_runs <= 0:
            return ""
        seconds = n_runs * self.each
        if self._budget is not None:
            rest = self._budget - (time.monotonic() - self._started)
            seconds = min(seconds, max(rest, 0.0))
        return f"about {in_words(seconds)} left"


def in_words(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 90.0:
        return f"{max(seconds, 1.0):.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h"
