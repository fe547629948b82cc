"""Which fields of a corpus are its text, its labels and its ids, by their names and contents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ..errors import InvalidFile, InvalidParameter
from .corpus_labels import ANGLED, best_separator, clean, is_bracketed, is_missing, is_names
from .corpus_names import HEADINGS, IDS, LABEL_KEYS, LABELS, TEXTS
from .corpus_rows import CorpusRows

__all__ = ["Asked", "Fields", "choose_fields", "has_field", "listed", "missing_field", "plain"]

# Items whose values are looked at to guess what a field is.
_SAMPLE = 5000
_MEASURE = re.compile(
    r"[-+]?\d*[.,]\d+(e[-+]?\d+)?|\d{4}-\d\d?-\d\d?.*|\d\d?[./]\d\d?[./]\d{2,4}", re.I
)
_ID_NAME = re.compile(
    r"(^|[_\W])(id|ids|key|code|no|nr|number|isbn|doi|uri|url)$|[a-z]I[dD]$", re.I
)


@dataclass(frozen=True)
class Asked:
    """The fields that the user named; empty where they are to be guessed."""

    text: tuple[str, ...]
    labels: str | None
    ids: str | None
    labelled: bool


@dataclass(frozen=True)
class Fields:
    """The fields that were named or guessed, and those left as metadata."""

    text: tuple[str, ...]
    labels: str | None
    ids: str | None
    title: str | None
    metadata: tuple[str, ...]
    # Further fields that could hold labels.
    others: tuple[str, ...] = ()

    @property
    def needed(self) -> tuple[str, ...]:
        """The fields of text, labels and ids, which each of several files must have."""
        return tuple(name for name in (*self.text, self.labels, self.ids) if name is not None)


@dataclass(frozen=True)
class _Profile:
    """What the values of a field look like."""

    strings: bool
    lists: bool
    # Share of items that have a value, mean length, and share of values that differ.
    filled: float
    length: float
    distinct: float
    # Of the labels that the values would be: per value, in all, mean length, share with digits.
    per_value: float
    n_labels: int
    repeats: float
    label_length: float
    digits: float
    spaces: float


def choose_fields(rows: CorpusRows, asked: Asked) -> Fields:
    """Check that the fields named exist, and guess the others."""
    there = rows.fields()
    wanted = [_existing(rows, there, name) for name in asked.text]
    labels = None if asked.labels is None else _existing(rows, there, asked.labels, LABEL_KEYS)
    # An empty name numbers the items.
    ids = _existing(rows, there, asked.ids) if asked.ids else None
    profiles = {name: _profile(rows, name) for name in there}
    others: tuple[str, ...] = ()
    if labels is None and asked.labelled:
        labels, others = _guess_labels({k: v for k, v in profiles.items() if k not in wanted})
    text = tuple(wanted) or _guess_text(rows, profiles, {labels, ids})
    if asked.ids is None:
        ids = _guess_ids(rows, profiles, {labels, *text})
    title = _first(there, HEADINGS)
    if title in (labels, ids):
        title = None
    # A heading is worth showing, even if it is part of the text.
    taken = {labels, ids, *text} - ({title} if len(text) > 1 else set())
    metadata = tuple(name for name in there if name not in taken and _is_metadata(rows, name))
    found = Fields(text, labels, ids, title, metadata, others)
    _check_files(rows, found.needed)
    return found


def _check_files(rows: CorpusRows, needed: Sequence[str]) -> None:
    """Raise an error if a field is in none of the items of a file."""
    start, keys = 0, {}
    for file, count in rows.files:
        own = rows.items[start : start + count]
        keys[file] = dict.fromkeys(key for item in own for key in item)
        start += count
    for file, there in keys.items():
        for name in needed if there else ():
            if not has_field(there, name):
                having = (other for other, found in keys.items() if name in found)
                raise missing_field(file, name, list(there), next(having, None))


def has_field(item: Container[str], name: str) -> bool:
    """Tell whether an item has a field, or an empty list or object around it."""
    if name in item:
        return True
    outer = name.rpartition(".")[0]
    return bool(outer) and has_field(item, outer)


def missing_field(
    file: str, name: str, there: Sequence[str], having: str | None = None
) -> InvalidFile:
    """Return the error for a file that lacks a field which another file has."""
    return InvalidFile(
        f"{file} has no field {name!r}, which is in {having or 'other files'}, but "
        f"{listed(there)}; give all files the same fields, or name fields that all have "
        "(--text, --labels, --ids)."
    )


def _existing(rows: CorpusRows, there: Sequence[str], name: str, keys: Iterable[str] = ()) -> str:
    if name in there:
        return name
    inner = _first(there, (f"{name}.{key}".lower() for key in keys))
    if inner is not None:
        return inner
    near = get_close_matches(name, there, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InvalidParameter(
        f"{rows.name}: there is no field {name!r}; {hint}there are {listed(there)}."
    )


def _profile(rows: CorpusRows, name: str) -> _Profile:
    step = max(1, len(rows.items) // _SAMPLE)
    sample = [item.get(name) for item in rows.items[::step]]
    values: list[Any] = [
        value for value in sample if not is_missing(value) and value not in ("", [])
    ]
    strings = [value.strip() for value in values if isinstance(value, str)]
    only_strings = bool(values) and len(strings) == len(values)
    only_lists = bool(values) and all(is_names(value) for value in values)
    bracketed = only_strings and all(map(is_bracketed, strings))
    angled = only_strings and all(ANGLED.fullmatch(value) for value in strings)
    labels: list[str] = []
    if only_lists:
        labels = [str(one) for value in values for one in value]
    elif angled:
        labels = [word for value in strings for word in re.findall(r"<([^<>]+)>", value)]
    elif only_strings:
        mark = "," if bracketed else best_separator(strings)
        split = [value.split(mark) if mark else [value] for value in strings]
        labels = [one.strip(" []'\"(){}") for parts in split for one in parts]
    counts = Counter(label for label in labels if label)
    total = max(1, sum(counts.values()))
    texts = [str(value) for value in values if not isinstance(value, list | tuple | dict)]
    return _Profile(
        strings=only_strings,
        lists=only_lists or bracketed or angled,
        filled=len(values) / max(1, len(sample)),
        length=sum(map(len, texts)) / max(1, len(texts)),
        distinct=len(set(texts)) / max(1, len(texts)),
        per_value=total / max(1, len(values)),
        n_labels=len(counts),
        repeats=sum(count for count in counts.values() if count > 1) / total,
        label_length=sum(len(label) * count for label, count in counts.items()) / total,
        digits=sum(n for label, n in counts.items() if any(map(str.isdigit, label))) / total,
        spaces=sum(" " in text for text in texts) / max(1, len(texts)),
    )


def _guess_labels(profiles: dict[str, _Profile]) -> tuple[str | None, tuple[str, ...]]:
    """Return the field of labels, if one is found, and others that could be it."""
    lower = {name.lower(): name for name in profiles}
    for known in LABELS:
        for name in (known, *(f"{known}.{key}" for key in LABEL_KEYS)):
            field = lower.get(name)
            # A text may have a name like these: a "subject", a "topic".
            if field is not None and _may_be_labels(profiles[field]):
                return field, ()
    lists = [name for name, one in profiles.items() if one.lists]
    if lists:
        return lists[0], tuple(lists[1:])
    # Short values that come again: several in one string before one in each.
    short = {
        name: one
        for name, one in profiles.items()
        if one.strings
        and one.n_labels > 1
        and one.repeats >= 0.8
        and one.label_length <= 40
        and one.digits < 0.5
        and one.filled >= 0.3
    }
    ranked = sorted(short, key=lambda name: -short[name].per_value)
    several = [name for name in ranked if short[name].per_value >= 1.3]
    if several:
        return several[0], tuple(name for name in ranked if name != several[0])
    single = [name for name in short if short[name].filled >= 0.8]
    return (single[0], tuple(single[1:])) if single else (None, ())


def _may_be_labels(one: _Profile) -> bool:
    return one.lists or not one.strings or one.label_length <= 60


def _guess_text(
    rows: CorpusRows, profiles: dict[str, _Profile], taken: set[str | None]
) -> tuple[str, ...]:
    there = [name for name in profiles if name not in taken]
    main = _first(there, TEXTS)
    headings = [name for name in there if name.lower() in HEADINGS]
    if main is None:
        lengths = {
            name: one.length * one.distinct
            for name, one in profiles.items()
            if name in there and name not in headings and one.strings and _is_prose(one)
        }
        main = max(lengths, key=lambda name: lengths[name], default=None)
        # Shorter ones are names, dates or codes; with a heading, a text is longer than that.
        if main is not None and lengths[main] < (40 if headings else 20):
            main = None
    if main is not None:
        return (*(name for name in headings if name != main), main)
    if headings:
        return tuple(headings)
    raise InvalidParameter(
        f"{rows.name}: no field looks like a text; name it by text (--text); there are "
        f"{listed(list(profiles))}."
    )


def _is_prose(one: _Profile) -> bool:
    return one.spaces > 0.5 and not one.lists


def _guess_ids(
    rows: CorpusRows, profiles: dict[str, _Profile], taken: set[str | None]
) -> str | None:
    there = [name for name in profiles if name not in taken]
    known = [_first(there, (name,)) for name in IDS]
    named = [name for name in there if _ID_NAME.search(name)]
    short = [
        name
        for name in there
        if profiles[name].strings
        and profiles[name].length <= 40
        and not profiles[name].spaces
        and not _is_measure(rows, name)
    ]
    for name in dict.fromkeys((*known, *named, *short)):
        if name is None or profiles[name].distinct < 1 or profiles[name].filled < 1:
            continue
        values = [item.get(name) for item in rows.items]
        whole = all(
            isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip()
            for value in values
        )
        # With one item every value is unique, and only a name tells.
        unique = whole and len(set(map(str, values))) == len(values)
        if unique and (len(values) > 1 or name in known or name in named):
            return name
    return None


def _is_measure(rows: CorpusRows, name: str) -> bool:
    """Tell whether the values are decimal numbers or dates, which differ but name nothing."""
    values = (str(item.get(name)) for item in rows.items[:100])
    return all(_MEASURE.fullmatch(value.strip()) for value in values)


def plain(value: Any) -> Any:
    """Return a value as an index stores it."""
    if is_missing(value):
        return None
    if isinstance(value, list | tuple):
        return "; ".join(clean(str(one)) for one in value)
    if isinstance(value, bool | int | float):
        return value
    return clean(value if isinstance(value, str) else str(value))


def _is_metadata(rows: CorpusRows, name: str) -> bool:
    """Tell whether all values can be stored; dates can, as text, and lists of names."""
    return all(
        is_names(value) or not isinstance(value, dict | list | tuple | bytes)
        for value in (item.get(name) for item in rows.items)
    )


def _first(there: Iterable[str], names: Iterable[str]) -> str | None:
    """Return the first known name among the fields, ignoring case."""
    lower = {name.lower(): name for name in there}
    return next((lower[name] for name in names if name in lower), None)


def listed(names: Sequence[str], last: str = ", ") -> str:
    """Return names in quotation marks, at most twenty of them."""
    quoted = [repr(name) for name in names]
    if len(quoted) > 20:
        quoted = [*quoted[:20], "..."]
    return last.join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted)
