"""Numbers, counts and names as people read them."""

from __future__ import annotations

from collections.abc import Sequence

# A space that keeps a number and its unit on one line.
SPACE = "\u00a0"


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent; one too small for the digits reads "below"."""
    smallest = 0.5 * 10.0 ** -(digits + 2)
    if 0.0 < share < smallest:
        return f"below{SPACE}{10.0**-digits:g}{SPACE}%"
    return f"{100.0 * share:.{digits}f}{SPACE}%"


def percents(low: float, high: float) -> str:
    """Return a range in percent, or one number if both ends are the same."""
    if high < 0.0005:
        return percent(high) if high > 0.0 else f"0{SPACE}%"
    ends = [f"{100.0 * end:.1f}" for end in (low, high)]
    return " to ".join(dict.fromkeys(ends)) + f"{SPACE}%"


def points(share: float) -> str:
    """Return a difference of two shares in percentage points."""
    return f"{100.0 * share:.1f}{SPACE}points"


def number(count: float) -> str:
    """Return a count with spaces between thousands, with one decimal if not whole."""
    text = f"{count:,.0f}" if float(count).is_integer() else f"{count:,.1f}"
    return text.replace(",", "\u202f")


def strength(value: float) -> str:
    """Return a strength with three decimals."""
    return f"{value:.3f}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun."""
    noun = one if count == 1 else (many or one + "s")
    return f"{number(count)}{SPACE}{noun}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return names as they are listed in a sentence, at most so many of them."""
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)


def short(name: str, longest: int = 40) -> str:
    """Return a name on one line, cut so that a table fits on the screen of a phone."""
    name = "".join(c if c.isprintable() else "\ufffd" for c in name)
    return name if len(name) <= longest else name[: longest - 1] + "…"
