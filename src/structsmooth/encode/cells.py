"""One column of any table library, as numbers or as numbered texts.

Text that is written like numbers or dates counts as such, so that a csv file and a
DataFrame with the same content are read alike.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import numbers
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBER, DATE, CATEGORY, EMPTY = KINDS = ("number", "date", "category", "empty")
# What people write into a cell that has no value, in lower case.
MISSING = frozenset(
    ("", "?", "na", "n/a", "nan", "-nan", "null", "none", "<na>", "nat")
    + ("#n/a", "#na", "#n/a n/a", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan")
    + ("n.a.", "-", "--", ".", "unknown", "missing")
)
# Larger whole numbers cannot be told apart as floating-point numbers.
LARGEST_EXACT = 2**53
# Squares of larger numbers leave the range of floating-point numbers.
LARGEST = 1e150
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?"
)
_TRUTH = {"true": "True", "false": "False"}


class UnusableColumnError(Exception):
    """A column that holds what is neither numbers, dates nor text."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a column.

    Numbers, and dates as seconds since 1970, are in ``numbers``, with NaN where a cell
    has no value. Of categories, ``numbers`` are positions in ``levels``.
    """

    kind: str
    numbers: NDArray[np.float64]
    levels: tuple[str, ...] = ()


def read_cells(column: Any, *, as_text: bool = False) -> Cells:
    """Read a column of pandas, polars, Arrow or NumPy, or a list.

    With ``as_text``, text stays text even if it is written like numbers or dates.
    """
    module = type(column).__module__.partition(".")[0]
    read: Callable[[Any, bool], Cells] = _READERS.get(module, _from_array)
    return read(column, as_text)


def _from_array(column: Any, as_text: bool) -> Cells:
    if isinstance(column, list):
        return _from_objects(column, as_text)
    if np.ma.is_masked(column):
        return _from_objects(column.tolist(), as_text)  # masked values are None there
    array = np.asarray(column)
    kind = array.dtype.kind
    if kind == "f":
        return _from_numbers(array.astype(np.float64))
    if kind in "iu":
        extreme = max(abs(int(array.min())), int(array.max())) if array.size else 0
        if as_text or extreme > LARGEST_EXACT:
            return _from_texts([str(value) for value in array.tolist()], True)
        return _from_numbers(array.astype(np.float64))
    if kind == "b":
        return Cells(CATEGORY, array.astype(np.float64), ("False", "True"))
    if kind == "M":
        whole = array.astype("datetime64[s]")  # finer units leave their range earlier
        seconds = whole.astype(np.int64) + (array - whole) / np.timedelta64(1, "s")
        return _dates(np.where(np.isnat(array), np.nan, seconds))
    if kind == "m":
        seconds = array / np.timedelta64(1, "s")
        return _from_numbers(np.asarray(seconds, dtype=np.float64))
    if kind in "UO":
        return _from_objects(array.tolist(), as_text)
    raise UnusableColumnError(f"holds values of type {array.dtype}")


def _from_pandas(column: Any, as_text: bool) -> Cells:
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return _from_array(column.to_numpy(), as_text)
    name = type(dtype).__name__
    if name == "CategoricalDtype":
        levels = column.cat.categories.to_numpy(dtype=object).tolist()
        return _from_codes(column.cat.codes.to_numpy(), levels)
    if name == "DatetimeTZDtype":
        moments = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return _from_array(moments.to_numpy(), False)
    if name == "PeriodDtype":
        return _from_array(column.dt.to_timestamp().to_numpy(), False)
    if name == "SparseDtype":
        return _from_array(np.asarray(column), as_text)
    if name == "ArrowDtype":
        return _from_arrow(column.array.__arrow_array__(), as_text)
    if getattr(dtype, "kind", "O") == "f":
        return _from_numbers(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if getattr(dtype, "kind", "O") in "iu" and not column.hasnans:
        return _from_array(column.to_numpy(dtype=np.dtype(dtype.type)), as_text)
    return _from_objects(column.to_numpy(dtype=object).tolist(), as_text)


def _from_polars(column: Any, as_text: bool) -> Cells:
    import polars as pl

    dtype = column.dtype
    if dtype.is_float():
        return _from_numbers(column.cast(pl.Float64).to_numpy())
    if dtype in (pl.Categorical, pl.Enum):
        return _from_texts(column.cast(pl.String).to_list(), True)
    is_wide = dtype in (pl.Int128, getattr(pl, "UInt128", pl.Int128))
    if dtype.is_integer() and not is_wide and not column.null_count():
        return _from_array(column.to_numpy(), as_text)
    if dtype in (pl.Date, pl.Datetime):
        return _dates(column.dt.epoch("us").cast(pl.Float64).to_numpy() / 1e6)
    if dtype == pl.Duration:
        spans = column.dt.total_microseconds().cast(pl.Float64)
        return _from_numbers(spans.to_numpy() / 1e6)
    if dtype.is_nested() or dtype == pl.Binary:
        raise UnusableColumnError(f"holds values of type {dtype}")
    return _from_objects(column.to_list(), as_text)


def _from_arrow(column: Any, as_text: bool) -> Cells:
    import pyarrow as pa
    from pyarrow import compute, types

    kind = column.type
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
        if hasattr(column, "chunks"):  # some versions keep a single chunk
            column = pa.concat_arrays(column.chunks)
    if types.is_floating(kind) or types.is_decimal(kind):
        numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return _from_numbers(np.array(numbers))
    if types.is_integer(kind) and not column.null_count:
        return _from_array(column.to_numpy(zero_copy_only=False), as_text)
    if types.is_date(kind) or types.is_timestamp(kind):
        zone = getattr(kind, "tz", None)
        whole = compute.cast(column, pa.timestamp("us", zone), safe=False)
        whole = whole.cast(pa.int64()).cast(pa.float64())
        return _dates(whole.to_numpy(zero_copy_only=False) / 1e6)
    if types.is_duration(kind):
        whole = compute.cast(column, pa.duration("us"), safe=False).cast(pa.int64())
        numbers = whole.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return _from_numbers(numbers / 1e6)
    if types.is_string(kind) or types.is_large_string(kind):
        coded = column.dictionary_encode()
        return _number_texts(
            coded.indices.to_numpy(zero_copy_only=False),
            coded.dictionary.to_pylist(),
            as_text,
        )
    if types.is_dictionary(kind):
        codes = column.indices.to_numpy(zero_copy_only=False)
        return _from_codes(codes, column.dictionary.to_pylist())
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        raise UnusableColumnError(f"holds values of type {kind}")
    return _from_objects(column.to_pylist(), as_text)


_READERS = {"pandas": _from_pandas, "polars": _from_polars, "pyarrow": _from_arrow}


def _from_numbers(values: NDArray[np.float64]) -> Cells:
    with np.errstate(invalid="ignore"):
        too_large = int(np.count_nonzero(np.abs(values) > LARGEST))
    if too_large:
        rows = "row" if too_large == 1 else "rows"
        raise UnusableColumnError(
            f"is infinite, or larger than {LARGEST:g}, in {too_large} {rows}"
        )
    return Cells(EMPTY if np.isnan(values).all() else NUMBER, values)


def _dates(seconds: NDArray[np.float64]) -> Cells:
    return Cells(EMPTY if np.isnan(seconds).all() else DATE, seconds)


def _from_objects(values: list[Any], as_text: bool) -> Cells:
    """Read Python objects: text, numbers, truth values, dates or times."""
    kinds = set(map(type, values))
    if kinds == {str}:
        return _from_texts(values, as_text)
    present = {type(value) for value in values if not _is_missing(value)}
    if all(issubclass(kind, bool | np.bool_) for kind in present) and present:
        texts = [None if _is_missing(value) else str(value) for value in values]
        return _from_texts(texts, True)
    are_numbers = all(issubclass(k, numbers.Real | decimal.Decimal) for k in present)
    if are_numbers and not any(
        isinstance(v, int | np.integer) and abs(int(v)) > LARGEST_EXACT for v in values
    ):
        known = [math.nan if _is_missing(value) else float(value) for value in values]
        return _from_numbers(np.array(known, dtype=np.float64))
    if all(issubclass(kind, dt.date) for kind in present):
        return _dates(
            np.array([math.nan if _is_missing(v) else _seconds(v) for v in values])
        )
    if all(issubclass(kind, dt.timedelta) for kind in present):
        spans = [math.nan if _is_missing(v) else v.total_seconds() for v in values]
        return _from_numbers(np.array(spans))
    for kind in present:
        allowed = str | numbers.Real | decimal.Decimal | np.bool_ | dt.date
        if not issubclass(kind, allowed):
            raise UnusableColumnError(f"holds values of type {kind.__name__}")
    texts = [
        v if type(v) is str else None if _is_missing(v) else str(v) for v in values
    ]
    return _from_texts(texts, as_text)


def _is_empty_kind(kind: type) -> bool:
    return kind is type(None) or kind.__name__ in ("NAType", "NaTType")


def _is_missing(value: Any) -> bool:
    return _is_empty_kind(type(value)) or (
        isinstance(value, float | np.floating) and math.isnan(value)
    )


def _seconds(moment: dt.date) -> float:
    """Return seconds since 1970; a moment without a time zone is taken as UTC."""
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return moment.timestamp()


def _from_texts(texts: Sequence[str | None], as_text: bool) -> Cells:
    if not as_text:
        try:
            values = np.array(texts, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            pass  # not all of them are numbers
        else:
            exact = (np.abs(values) < LARGEST_EXACT) | np.isnan(values)
            # NumPy takes 1_1 for 11, which nobody means in a table.
            if exact.all() and "_" not in "".join(filter(None, texts)):
                return _from_numbers(values)
    place: dict[str | None, int] = {}
    codes = [place.setdefault(text, len(place)) for text in texts]
    return _number_texts(np.array(codes, dtype=np.int64), list(place), as_text)


def _number_texts(
    codes: NDArray[Any], distinct: list[str | None], as_text: bool
) -> Cells:
    """Read texts that are numbered already; a code of NaN has no value."""
    cells = [None if text is None else text.strip() for text in distinct]
    cells = [None if c is None or c.lower() in MISSING else c for c in cells]
    present = [cell for cell in cells if cell is not None]
    if not as_text:
        for kind, parse in ((NUMBER, parse_number), (DATE, _parse_date)):
            values = [None if cell is None else parse(cell) for cell in cells]
            if present and all(
                value is not None or cell is None
                for value, cell in zip(values, cells, strict=True)
            ):
                table = np.array([math.nan if v is None else v for v in values])
                found = _take(table, codes)
                return _from_numbers(found) if kind == NUMBER else _dates(found)
    return _from_codes(codes, cells)


def _from_codes(codes: NDArray[Any], levels: Sequence[Any]) -> Cells:
    """Return categories from positions in levels; negative or NaN has no value."""
    place: dict[str, int] = {}
    table = np.full(len(levels), np.nan)
    for position, level in enumerate(levels):
        text = "" if _is_missing(level) else level_of(level)
        if text.lower() not in MISSING:
            table[position] = place.setdefault(text, len(place))
    found = _take(table, codes)
    return Cells(CATEGORY if place else EMPTY, found, tuple(place))


def level_of(value: Any) -> str:
    """Return the name of a level; equal numbers of any type have the same name."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = str(value).strip()
    return _TRUTH.get(text.lower(), text)


def _take(table: NDArray[np.float64], codes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the entry of the table for each code; NaN for negative or NaN codes."""
    if codes.dtype.kind == "f":
        codes = np.where(np.isnan(codes), -1, codes).astype(np.int64)
    return np.asarray(np.append(table, np.nan)[codes])


def parse_number(cell: str) -> float | None:
    """Return the number that a text stands for, None if it is none."""
    if len(cell) > 15 and _WHOLE.fullmatch(cell):
        digits = cell.lstrip("+-0")
        if len(digits) > 16 or int(digits or 0) > LARGEST_EXACT:
            return None  # an identifier, which must not be rounded
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _parse_date(cell: str) -> float | None:
    if not _DATE.fullmatch(cell):
        return None
    try:
        return _seconds(dt.datetime.fromisoformat(cell))
    except ValueError:
        return None
