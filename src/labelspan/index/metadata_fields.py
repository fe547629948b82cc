"""Metadata by fields: the value of each row as a number, with kinds, ranges, counts and bins.

The values of a field are sorted, and each row has the number of its value. So a condition is a
condition on the different values, and an order, a count or a histogram is one of these numbers.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._typing import Array
from ..errors import InvalidInput

__all__ = ["FieldKind", "MetadataField", "metadata_text", "read_fields"]

FieldKind = Literal["category", "number", "date", "text"]
# Both ends are included; numbers, or dates as texts.
Bin = tuple[Any, Any, int]

_BINS = 20
# Shown by errors about a filter.
_EXAMPLE = "filter={'metadata': {'year': {'from': 2005}, 'kind': ['book', 'article']}}"
# A field is one of dates or numbers if this share of its values is.
_MOST = 0.95
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*|[1-9][0-9]{0,2}(,[0-9]{3})+)(\.[0-9]+)?")
# A number with a unit, as "106 min", "$12.50" or "40%".
_MEASURE = re.compile(r"([$€£]?)\s*(-?[0-9][0-9,]*(?:\.[0-9]+)?)\s*([^\W\d_]{1,12}|[%°$€£])?\.?")
# A number with a decimal comma.
_COMMA = re.compile(r"[^,\d]*\d[\d.]*,(\d{1,2}|\d{4,})[^,\d]*")
# What may stand between several values in one text.
_SEPARATORS = ("; ", "|", ", ")
_ISO = re.compile(r"[12][0-9]{3}(-[01][0-9](-[0-3][0-9]([T ].*)?)?)?")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_LONG = re.compile(
    r"(?:(?P<month>[A-Za-z]{3,9})\.? (?P<day>[0-9]{1,2}),?|(?P<first>[0-9]{1,2})\.? "
    r"(?P<second>[A-Za-z]{3,9})) (?P<year>[12][0-9]{3})"
)
# 2020/1/2 and 2.1.2020; 1/2/2020 is a day in January or in February.
_OTHER = re.compile(
    r"(?P<y>[12][0-9]{3})/(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})"
    r"|(?P<d2>[0-9]{1,2})\.(?P<m2>[0-9]{1,2})\.(?P<y2>[12][0-9]{3})"
)
_AROUND = re.compile(
    r"^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +|(?<=[0-9]) +[0-9]{1,2}:[0-9]{2}.*$", re.I
)
_DAY = "M8[D]"
# Months from the year 0 to 1970.
_YEAR_0 = 12 * 1970
_STEPS_IN_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)


def metadata_text(value: Any) -> str:
    """Return a value of metadata as text.

    Examples
    --------
    >>> from labelspan.index.metadata_fields import metadata_text
    >>> metadata_text(True), metadata_text("sound"), metadata_text(2.0)
    ('true', 'sound', '2.0')
    """
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True)
class MetadataField:
    """A key of the metadata: its different values, sorted, and the number of the value of each row.

    ``codes`` has these numbers, -1 for a row without a value. ``keys`` are the values of a field of
    numbers, and the days of one of dates; NaN where a value is neither. The kind is "text" if the
    values hardly repeat, and are neither numbers nor dates.
    """

    kind: FieldKind
    values: list[Any]
    keys: Array
    codes: Array
    # For each value the values in it, as "Canada, India" has two, and what is between them; None
    # if each is one.
    parts: list[list[str]] | None = None
    separator: str = ""

    def chosen(self, choice: Any) -> Array:
        """Mark the different values that a condition accepts.

        A condition is a value, a list of values, a range as a dict with "from" or "to", or a
        function. A value is accepted itself or as a text.
        """
        if callable(choice):
            return np.array([bool(choice(value)) for value in self.values], dtype=bool)
        if isinstance(choice, Mapping):
            return self._between(choice)
        several = choice if isinstance(choice, list | tuple | set | frozenset) else [choice]
        if not all(one is None or isinstance(one, str | int | float) for one in several):
            raise InvalidInput(
                "filter: metadata must be strings, numbers, booleans or None, a list of these, a "
                f"range or a function, but {choice!r} was given; for example "
                f"{_EXAMPLE}."
            )
        accepted = {(type(one) is bool, one) for one in several}
        marks = [
            (type(value) is bool, value) in accepted or (False, metadata_text(value)) in accepted
            for value in self.values
        ]
        for code, parts in enumerate(self.parts or ()):
            marks[code] = marks[code] or any((False, part) in accepted for part in parts)
        return np.array(marks, dtype=bool)

    def _between(self, choice: Mapping[str, Any]) -> Array:
        if not choice or not choice.keys() <= {"from", "to"}:
            raise InvalidInput(
                f"filter: a range is a dict with 'from', 'to' or both, but {choice!r} was given; "
                f"for example {_EXAMPLE}."
            )
        marks = np.ones(len(self.values), dtype=bool)
        for end, value in choice.items():
            if self.kind in ("number", "date"):
                bound = _bound(value, self.kind, last=end == "to")
                marks &= self.keys >= bound if end == "from" else self.keys <= bound
            else:
                limit, texts = metadata_text(value), map(metadata_text, self.values)
                marks &= np.array(
                    [limit <= one if end == "from" else one <= limit for one in texts]
                )
        return marks

    def counts(self, rows: Array) -> Array:
        """Count each value in some rows."""
        own = self.codes[rows]
        return np.bincount(own[own >= 0], minlength=len(self.values))

    def most_common(self, counts: Array) -> list[tuple[str, int]]:
        """Return values as texts with their counts, the most frequent first.

        Of values with several in them, each is counted on its own.
        """
        found: dict[str, int] = {}
        for code in np.flatnonzero(counts).tolist():
            own = [metadata_text(self.values[code])] if self.parts is None else self.parts[code]
            for text in own:
                found[text] = found.get(text, 0) + int(counts[code])
        return sorted(found.items(), key=lambda pair: -pair[1])

    def bins(self, counts: Array) -> tuple[Bin, ...]:
        """Make a histogram of numbers or dates of counts of each value, with round limits."""
        usable = np.isfinite(self.keys)
        if self.kind not in ("number", "date") or not usable.any():
            return ()
        keys = self.keys[usable]
        sums = np.concatenate([[0], np.cumsum(counts[usable])])
        ends = _dates(keys) if self.kind == "date" else _numbers(keys)
        found = []
        for low, high, shown in ends:
            first, last = np.searchsorted(keys, low, "left"), np.searchsorted(keys, high, "right")
            found.append((*shown, int(sums[last] - sums[first])))
        return tuple(found)


def read_fields(
    tables: Iterable[tuple[int, Mapping[str, Any]]], size: int
) -> dict[str, MetadataField]:
    """Make the fields of the metadata of some of ``size`` rows, sorted by name."""
    found: dict[str, dict[tuple[bool, Any], list[int]]] = {}
    for row, table in tables:
        for key, value in table.items():
            # True is not 1.
            found.setdefault(key, {}).setdefault((type(value) is bool, value), []).append(row)
    return {key: _field(found[key], size) for key in sorted(found)}


def _field(rows: Mapping[tuple[bool, Any], Sequence[int]], size: int) -> MetadataField:
    """Make a field of the rows of each value."""
    plain, every = [value for _, value in rows], list(rows.values())
    kind, keys = _kind(plain, sum(map(len, every)))
    order = sorted(range(len(plain)), key=lambda n: _sort_key(plain[n], keys[n]))
    codes = np.full(size, -1, dtype=np.int32)
    for code, n in enumerate(order):
        codes[every[n]] = code
    values = [plain[n] for n in order]
    parts, separator = _parts(values) if kind in ("category", "text") else (None, "")
    if parts is not None:
        distinct = len({one for own in parts for one in own})
        kind = "category" if distinct <= max(_BINS, sum(map(len, every)) / 2) else kind
    return MetadataField(kind, values, np.array(keys)[order], codes, parts, separator)


def _parts(values: Sequence[Any]) -> tuple[list[list[str]] | None, str]:
    """Split texts with several values in them, by which separator; None if each is one value.

    Parts of lists repeat in other lists; those of sentences, titles and addresses do not.
    """
    texts = [value for value in values if isinstance(value, str)]
    for mark in _SEPARATORS:
        lists = [text.split(mark) for text in texts if mark in text]
        if len(lists) < max(3, 0.1 * len(texts)):
            continue
        every = Counter(part.strip() for text in texts for part in set(text.split(mark)))
        inner = [part.strip() for own in lists for part in own]
        again = sum(every[part] > 1 for part in inner)
        if again >= 0.5 * len(inner) and sum(map(len, inner)) <= 40 * len(inner):
            return [
                list(dict.fromkeys(filter(None, map(str.strip, metadata_text(one).split(mark)))))
                for one in values
            ], mark
    return None, ""


def _kind(values: Sequence[Any], total: int) -> tuple[FieldKind, list[float]]:
    """Return the kind of a field, and the key of each value; ``total`` is the number of rows."""
    values = _with_points(values)
    given = sum(value is not None and value != "" for value in values)
    least = max(1, _MOST * given)
    readers: list[tuple[FieldKind, Callable[[Any], tuple[float, str]]]] = [
        ("number", lambda value: (_number(value), "")),
        ("date", lambda value: (_day(value), "")),
        ("number", _measure),
    ]
    for kind, read in readers:
        found = _read_most(values, read, least)
        units = Counter(unit for number, unit in found if math.isfinite(number))
        unit, most = units.most_common(1)[0] if units else ("", 0)
        # Minutes and seasons in one field are not one measure.
        if most >= least and (unit or read is not _measure):
            return kind, [number if own == unit else math.nan for number, own in found]
    repeats = len(values) <= max(_BINS, total / 2)
    return "category" if repeats else "text", [math.nan] * len(values)


def _read_most(
    values: Sequence[Any], read: Callable[[Any], tuple[float, str]], least: float
) -> list[tuple[float, str]]:
    """Read values as numbers; return none as soon as fewer than ``least`` can be numbers."""
    found, possible = [], len(values)
    for value in values:
        found.append(read(value))
        possible -= not math.isfinite(found[-1][0])
        if possible < least:
            return []
    return found


def _with_points(values: Sequence[Any]) -> Sequence[Any]:
    """Return values with points for decimal commas, as in 1,92 or 1.250,00 EUR."""
    commas = [one for one in values if isinstance(one, str) and "," in one]
    if not commas or not all(len(one) < 300 and _COMMA.fullmatch(one) for one in commas):
        return values
    swap = str.maketrans({".": None, ",": "."})
    return [one.translate(swap) if isinstance(one, str) and "," in one else one for one in values]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    if isinstance(value, str) and not (len(value) < 300 and _NUMBER.fullmatch(value)):
        return math.nan
    try:
        return float(value.replace(",", "") if isinstance(value, str) else value)
    except OverflowError:
        return math.nan


def _measure(value: Any) -> tuple[float, str]:
    """Return a number and its unit, in the singular; NaN if a text is not one."""
    text = value.strip() if isinstance(value, str) and len(value) < 300 else ""
    match = _MEASURE.fullmatch(text)
    if match is None:
        return math.nan, ""
    unit = match[1] or (match[3] or "").lower()
    return float(match[2].replace(",", "")), unit.removesuffix("s") if len(unit) > 2 else unit


def _day(value: Any, *, last: bool = False) -> float:
    """Return the number of the day of a date; ``last`` the last one of a month or year."""
    text = value.strip() if isinstance(value, str) and len(value) < 100 else ""
    # A day of the week before it and a time after it are not needed.
    text = _AROUND.sub("", text)
    if other := _OTHER.fullmatch(text):
        year, month, day = (
            other["y"] or other["y2"],
            other["m"] or other["m2"],
            other["d"] or other["d2"],
        )
        text = f"{year}-{int(month):02}-{int(day):02}"
    if long := _LONG.fullmatch(text):
        name = (long["month"] or long["second"])[:3].lower()
        month = _MONTHS.index(name) + 1 if name in _MONTHS else 0
        text = f"{long['year']}-{month:02}-{int(long['day'] or long['first']):02}"
    if not _ISO.fullmatch(text):
        return math.nan
    try:
        # A year, a month or a day, which is its unit.
        found = np.datetime64(text[:10])
    except ValueError:
        return math.nan
    if last:
        unit: Any = np.datetime_data(found)[0]
        found = (found + np.timedelta64(1, unit)).astype(_DAY) - np.timedelta64(1, "D")
    day = found.astype(_DAY)
    return float(day.astype(int))


def _bound(value: Any, kind: FieldKind, *, last: bool) -> float:
    # A year is a date as well.
    text = str(value) if kind == "date" and isinstance(value, int) else value
    found = _day(text, last=last) if kind == "date" else _number(value)
    if kind == "number" and math.isnan(found):
        found = _measure(value)[0]
    if math.isnan(found):
        raise InvalidInput(
            f"filter: {value!r} is not a {kind}, as the values of this field are; for example "
            f"{_EXAMPLE}."
        )
    return found


def _sort_key(value: Any, key: float) -> tuple[int, float, str]:
    """Sort numbers and dates first, then texts, then missing values."""
    if value is None:
        return 2, 0.0, ""
    if math.isfinite(key):
        return 0, key, metadata_text(value)
    if isinstance(value, str):
        return 1, 0.0, value.casefold()
    # A whole number may be too large for float.
    return 0, max(-1e308, min(value, 1e308)), ""


def _numbers(keys: Array) -> list[tuple[float, float, tuple[Any, Any]]]:
    """Return limits of bins of numbers, and how they are shown; both limits are included."""
    low, high = float(keys[0]), float(keys[-1])
    whole = bool(np.all(keys == np.floor(keys))) and max(-low, high) < 2**53
    span = high - low
    if not (math.isfinite(span) and span > 1e-300):
        return [(low, high, (int(low), int(high)) if whole else (low, high))]
    step = 10.0 ** math.floor(math.log10(span / _BINS))
    step *= next(factor for factor in (1, 2, 5, 10, 20) if span / (factor * step) <= _BINS)
    step = max(step, 1.0) if whole else step
    starts = np.arange(math.floor(low / step), math.floor(high / step) + 1) * step
    ends = starts + step - (1.0 if whole else 0.0)
    limits = [
        [int(n) if whole else float(f"{n:.12g}") for n in pair]
        for pair in zip(starts, ends, strict=True)
    ]
    return [(start, end, (start, end)) for start, end in limits]


def _dates(keys: Array) -> list[tuple[float, float, tuple[Any, Any]]]:
    """Return limits of bins of days: days, months or years."""
    low, high = int(keys[0]), int(keys[-1])
    edges = np.arange(low, high + 2).astype(_DAY)
    if high - low >= _BINS:
        first, end = edges[[0, -2]].astype("M8[M]").astype(int) + _YEAR_0
        step = next(one for one in _STEPS_IN_MONTHS if (end - first) / one < _BINS)
        months = np.arange(first // step * step, end + step + 1, step) - _YEAR_0
        edges = months.astype("M8[M]").astype(_DAY)
    return [
        (float(start.astype(int)), float(last.astype(int)), (str(start), str(last)))
        for start, last in zip(edges[:-1], edges[1:] - np.timedelta64(1, "D"), strict=True)
    ]
