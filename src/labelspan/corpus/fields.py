"""Which fields of a corpus are its text, its labels and its ids, by their names and contents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from ..errors import InvalidFile, InvalidParameter
from .label_values import (
    ANGLED,
    IN_ANGLES,
    best_separator,
    clean,
    is_bracketed,
    is_missing,
    is_names,
)
from .names import first_known, known_names, normal, rank

__all__ = [
    "Asked",
    "Fields",
    "choose_fields",
    "has_field",
    "listed",
    "missing_field",
    "names_in",
    "plain",
]

# Items whose values are looked at to guess what a field is.
_SAMPLE = 5000
BY_NAME, BY_CONTENT = "name", "content"
_MEASURE = re.compile(
    r"[-+]?\d*[.,]\d+(e[-+]?\d+)?|\d{4}-\d\d?-\d\d?.*|\d\d?[./]\d\d?[./]\d{2,4}", re.I
)
_ID_NAME = re.compile(
    r"(^|[_\W])(id|ids|key|code|no|nr|number|isbn|doi|uri|url)$|[a-z]I[dD]$", re.I
)
_UNNAMED = re.compile(r"column \d+|Unnamed: \d+|Field\d+", re.I)


@dataclass(frozen=True)
class Asked:
    """The fields that the user named; empty where they are to be guessed."""

    text: tuple[str, ...]
    labels: tuple[str, ...]
    ids: str | None
    labelled: bool
    # Fields of an earlier reading, which are taken where they are.
    like: Mapping[str, Any] = field(default_factory=dict)

    def as_before(self, there: Container[str]) -> Asked:
        """Return what is asked, with fields of the earlier reading."""
        text, labels = (tuple(self.like.get(key) or ()) for key in ("text", "labels"))
        ids = self.like.get("ids")
        return replace(
            self,
            text=self.text or (text if all(one in there for one in text) else ()),
            labels=self.labels or tuple(one for one in labels if one in there and self.labelled),
            ids=ids if self.ids is None and ids in there else self.ids,
        )


@dataclass(frozen=True)
class Fields:
    """The fields that were named or guessed, and those left as metadata."""

    text: tuple[str, ...]
    labels: tuple[str, ...]
    ids: str | None
    title: str | None
    metadata: tuple[str, ...]
    # Further fields that could hold labels, columns without a name, and what told each guess.
    others: tuple[str, ...] = ()
    unnamed: int = 0
    why: dict[str, str] = field(default_factory=dict)

    @property
    def needed(self) -> tuple[str, ...]:
        """The fields of text, labels and ids, which each of several files must have."""
        return tuple(name for name in (*self.text, *self.labels, self.ids) if name is not None)


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
    # Whether all values are whole numbers, or texts of them.
    whole: bool

    @property
    def is_prose(self) -> bool:
        return self.spaces > 0.5 and not self.lists

    @property
    def may_be_labels(self) -> bool:
        """Tell whether a field of a fitting name holds labels; a text may have such a name."""
        return self.lists or not self.strings or self.label_length <= 60


class _Guess:
    """Fields of some items, and what they look like."""

    def __init__(self, name: str, items: Sequence[dict[str, Any]]) -> None:
        self.name, self.items = name, items
        self.there = names_in(items)
        self.profiles = {one: _profile(items, one) for one in self.there}
        # Of records with objects inside, one object has the text and the labels.
        self.part = _main_part(self.there)
        self.main = [one for one in self.there if one.startswith(self.part)]

    def short(self, name: str) -> str:
        return name.removeprefix(self.part)

    def first(self, names: Iterable[str], kind: str) -> str | None:
        """Return the likeliest field of a kind, by its name in the main part."""
        by_short = {self.short(one): one for one in names if one in self.main}
        found = first_known(by_short, kind)
        return None if found is None else by_short[found]

    def existing(self, name: str, keys: Iterable[str] = ()) -> str:
        if name in self.there:
            return name
        lower = {one.lower(): one for one in self.there}
        for key in keys:
            if f"{name}.{key}".lower() in lower:
                return lower[f"{name}.{key}".lower()]
        near = get_close_matches(name, self.there, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InvalidParameter(
            f"{self.name}: there is no field {name!r}; {hint}there are {listed(self.there)}."
        )

    # --- labels ---

    def labels(self, taken: Container[str | None]) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        """Return the fields of labels, others that could be it, and what told."""
        free = {one: self.profiles[one] for one in self.there if one not in taken}
        named = self._named_labels(free)
        if named:
            return self._joined(named)
        free = {one: free[one] for one in free if not self._is_named(one, ("texts", "headings"))}
        mild = [one for one in free if not self._is_named(one, ("circumstances",))]
        for names in (mild, list(free)):
            guess = _labels_by_content({one: free[one] for one in names if one in self.main})
            if guess is not None:
                rest = _labels_by_content(free, every=True) or ()
                return (guess[0],), tuple(one for one in rest if one != guess[0]), BY_CONTENT
        return (), (), BY_CONTENT

    def _is_named(self, name: str, kinds: Sequence[str]) -> bool:
        return any(normal(self.short(name)) in known_names(kind) for kind in kinds)

    def _named_labels(self, free: dict[str, _Profile]) -> list[str]:
        """Return the fields whose names are those of labels, the likeliest first."""
        ranked: list[tuple[int, int, str]] = []
        for name, profile in free.items():
            if name not in self.main or not profile.may_be_labels:
                continue
            short = self.short(name)
            own = rank(short, "labels")
            outer, _, inner = short.rpartition(".")
            if outer and inner in known_names("label_keys") and "." not in outer:
                # [{"name": "bug"}] is one list of labels.
                found = rank(outer, "labels")
                if found is not None:
                    ranked.append((found, known_names("label_keys").index(inner), name))
            elif own is not None and not outer:
                ranked.append((own, 0, name))
        # A field without values in what was read may have some later.
        ranked.sort(key=lambda one: (not free[one[2]].filled, *one[:2], self.there.index(one[2])))
        # Of [{"id": 1, "name": "bug"}], the first key only.
        seen: dict[int, str] = {}
        for found, _, name in ranked:
            seen.setdefault(found if "." in self.short(name) else -len(seen) - 1, name)
        # Names come before numbers, as in "label" and "label_text".
        names = list(seen.values())
        worded = [one for one in names if not self.profiles[one].whole]
        if worded and self.profiles[names[0]].whole:
            word = normal(self.short(names[0])).split()[-1]
            same = [one for one in worded if word in normal(self.short(one)).split()]
            names = [*same, *(one for one in names if one not in same)]
        return names

    def _joined(self, named: list[str]) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        """Join "Manual Tags" and "Automatic Tags"; offer the others."""
        first = normal(self.short(named[0])).split()
        family = [
            one
            for one in named
            if len(first) > 1
            and first[-1].endswith("s")
            and normal(self.short(one)).split()[-1] == first[-1]
        ]
        chosen = tuple(family or named[:1])
        # In the order of the file: what people gave before what programs did.
        chosen = tuple(
            sorted(chosen, key=lambda one: ("auto" in one.lower(), self.there.index(one)))
        )
        return chosen, tuple(one for one in named if one not in chosen), BY_NAME

    # --- text ---

    def text(self, taken: Container[str | None]) -> tuple[tuple[str, ...], str]:
        """Return the fields of the text, headings first, and what told."""
        free = [one for one in self.there if one not in taken]
        strings = [one for one in free if self.profiles[one].strings or self._is_parts(one)]
        main = self.first(strings, "texts") or self.first(free, "texts")
        headings = self._headings(free)
        why = BY_NAME
        if main is None:
            lengths = {
                one: self.profiles[one].length * self.profiles[one].distinct
                for one in free
                if one not in headings
                and self.profiles[one].strings
                and self.profiles[one].is_prose
            }
            main = max(lengths, key=lambda one: lengths[one], default=None)
            # Shorter ones are names, dates or codes; with a heading, a text is longer than that.
            if main is not None and lengths[main] < (40 if headings else 20):
                main = None
            why = BY_NAME if main is None else BY_CONTENT
        if main is not None:
            return (*(one for one in headings if one != main), main), why
        if headings:
            return tuple(headings), why
        # Without any text, short texts are better than none, as in "good service", "positive".
        short = [one for one in free if self.profiles[one].strings and self.profiles[one].is_prose]
        if short and len(self.there) <= 3:
            return (max(short, key=lambda one: self.profiles[one].distinct),), BY_CONTENT
        raise InvalidParameter(
            f"{self.name}: no field looks like a text; name it by text (--text); there are "
            f"{listed(self.there)}."
        )

    def _is_parts(self, name: str) -> bool:
        return self.profiles[name].lists and self.profiles[name].spaces > 0.5

    def _headings(self, free: Sequence[str]) -> list[str]:
        """Return the headings: those of a known name, or the one that ends in such a name."""
        exact = [
            one
            for one in free
            if one in self.main and normal(self.short(one)) in known_names("headings")
        ]
        if exact:
            return exact
        found = self.first(
            [
                one
                for one in free
                if self.profiles[one].strings and self.profiles[one].distinct > 0.5
            ],
            "headings",
        )
        return [] if found is None else [found]

    # --- ids ---

    def ids(self, taken: Container[str | None]) -> tuple[str | None, str]:
        """Return a field that is different in all items, and what told."""
        free = [one for one in self.there if one not in taken]
        ranked = sorted(
            (one for one in free if rank(self.short(one), "ids") is not None and one in self.main),
            key=lambda one: rank(self.short(one), "ids") or 0,
        )
        named = [one for one in free if _ID_NAME.search(one)]
        short = [
            one
            for one in free
            if self.profiles[one].strings
            and self.profiles[one].length <= 40
            and not self.profiles[one].spaces
            and not self._is_measure(one)
        ]
        for name in dict.fromkeys((*ranked, *named, *short)):
            if self.profiles[name].distinct < 1 or self.profiles[name].filled < 1:
                continue
            values = [item.get(name) for item in self.items]
            whole = all(
                isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip()
                for value in values
            )
            known = name in ranked or name in named
            # With one item every value is unique, and only a name tells.
            if whole and len(set(map(str, values))) == len(values) and (len(values) > 1 or known):
                return name, BY_NAME if known else BY_CONTENT
        return None, BY_CONTENT

    def _is_measure(self, name: str) -> bool:
        """Tell whether the values are decimal numbers or dates, which differ but name nothing."""
        values = (str(item.get(name)) for item in self.items[:100])
        return all(_MEASURE.fullmatch(value.strip()) for value in values)


def choose_fields(name: str, items: Sequence[dict[str, Any]], asked: Asked) -> Fields:
    """Check that the fields named exist, and guess the others."""
    guess = _Guess(name, items)
    asked = asked.as_before(guess.there)
    why: dict[str, str] = {}
    wanted = tuple(guess.existing(one) for one in asked.text)
    keys = known_names("label_keys")
    labels = tuple(guess.existing(one, keys) for one in asked.labels)
    # An empty name numbers the items.
    ids = guess.existing(asked.ids) if asked.ids else None
    others: tuple[str, ...] = ()
    if not labels and asked.labelled:
        labels, others, why["labels"] = guess.labels({*wanted, ids})
    text = wanted
    if not text:
        text, why["text"] = guess.text({*labels, ids})
    if asked.ids is None:
        ids, why["ids"] = guess.ids({*labels, *text})
        if ids is None:
            # A title that differs everywhere is better than a number, but is no id.
            why.pop("ids")
    title = next((one for one in text if rank(guess.short(one), "headings") is not None), None)
    if not wanted and title is None and "name" in guess.there and ids != "name":
        # A name is the title of what has no other.
        profile = guess.profiles["name"]
        if profile.strings and profile.distinct > 0.5 and "name" not in labels:
            text, title = ("name", *(one for one in text if one != "name")), "name"
    if title is None:
        title = guess.first([one for one in guess.there if one not in (*labels, ids)], "headings")
    # A heading is worth showing, even if it is part of the text.
    taken = {*labels, ids, *text} - ({title} if len(text) > 1 else set())
    left = [one for one in guess.there if one not in taken]
    named = [one for one in left if not _UNNAMED.fullmatch(one)]
    metadata = tuple(one for one in named if _is_metadata(items, one))
    return Fields(text, labels, ids, title, metadata, others, len(left) - len(named), why)


def names_in(items: Sequence[dict[str, Any]]) -> list[str]:
    """Return all keys, in the order in which they first come."""
    found = list(dict.fromkeys(key for item in items for key in item))
    # A list of objects is empty in some items, and fields with dotted names in others.
    outer = {key.rpartition(".")[0] for key in found}
    return [
        key
        for key in found
        if key not in outer or any(item.get(key) not in (None, [], {}) for item in items)
    ]


def _main_part(there: Sequence[str]) -> str:
    """Return the beginning of the names of the fields in the part that has text and labels."""
    kinds: dict[str, set[str]] = {"": set()}
    for name in there:
        for part in _parts(name):
            short = name.removeprefix(part)
            kinds.setdefault(part, set())
            for kind in ("texts", "headings", "labels"):
                inner = short.rpartition(".")
                own = (
                    inner[0]
                    if kind == "labels" and inner[2] in known_names("label_keys")
                    else short
                )
                if "." not in own and normal(own) in known_names(kind):
                    kinds[part].add(kind)
    # The outermost of the best.
    best = max(kinds, key=lambda part: (len(kinds[part]), -part.count(".")))
    return best if len(kinds[best]) > len(kinds[""]) else ""


def _parts(name: str) -> list[str]:
    ends = [place + 1 for place, letter in enumerate(name) if letter == "."]
    return ["", *(name[:end] for end in ends)]


def _labels_by_content(
    profiles: dict[str, _Profile], every: bool = False
) -> tuple[str, ...] | None:
    """Return the fields that may be labels by their values, the likeliest first."""
    lists = [name for name, one in profiles.items() if one.lists]
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
    single = [name for name in short if short[name].filled >= 0.8 and name not in several]
    # A class that is a number: few values, each of them often.
    whole = [
        name
        for name, one in profiles.items()
        if one.whole and 1 < one.n_labels <= 100 and one.filled > 0.95 and one.repeats > 0.95
    ]
    if every:
        return tuple(dict.fromkeys((*lists, *several, *single)))
    found = lists or several or single or (whole if len(whole) == 1 else [])
    return tuple(found) or None


def _profile(items: Sequence[dict[str, Any]], name: str) -> _Profile:
    step = max(1, len(items) // _SAMPLE)
    sample = [item.get(name) for item in items[::step]]
    values: list[Any] = [
        value for value in sample if not is_missing(value) and value not in ("", [])
    ]
    strings = [value.strip() for value in values if isinstance(value, str)]
    only_strings = bool(values) and len(strings) == len(values)
    only_lists = bool(values) and all(is_names(value) for value in values)
    bracketed = only_strings and all(map(is_bracketed, strings))
    angled = only_strings and all(ANGLED.fullmatch(value) for value in strings)
    whole = bool(values) and all(_is_whole(value) for value in values)
    labels: list[str] = []
    if only_lists:
        labels = [str(one) for value in values for one in value]
    elif angled:
        labels = [word for value in strings for word in IN_ANGLES.findall(value)]
    elif only_strings:
        mark = "," if bracketed else best_separator(strings)
        split = [value.split(mark) if mark else [value] for value in strings]
        labels = [one.strip(" []'\"(){}") for parts in split for one in parts]
    elif whole:
        labels = [str(value) for value in values]
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
        whole=whole,
    )


def _is_whole(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lstrip("-").isdecimal()
    return isinstance(value, int | float) and not is_missing(value) and value == int(value)


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


def plain(value: Any) -> Any:
    """Return a value as an index stores it."""
    if is_missing(value):
        return None
    if isinstance(value, list | tuple):
        return "; ".join(clean(str(one)) for one in value)
    if isinstance(value, bool | int | float):
        return value
    return clean(value if isinstance(value, str) else str(value))


def _is_metadata(items: Sequence[dict[str, Any]], name: str) -> bool:
    """Tell whether all values can be stored; dates can, as text, and lists of names."""
    return all(
        is_names(value) or not isinstance(value, dict | list | tuple | bytes)
        for value in (item.get(name) for item in items)
    )


def listed(names: Sequence[str], last: str = ", ") -> str:
    """Return names in quotation marks, at most twenty of them."""
    quoted = [repr(name) for name in names]
    if len(quoted) > 20:
        quoted = [*quoted[:20], "..."]
    return last.join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted)
