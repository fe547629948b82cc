"""Which fields of a corpus are its text, its labels and its ids, by their names and contents."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from ..errors import InvalidParameter
from .label_values import IN_BRACKETS, LISTS_AS_TEXT, LabelParser, clean, is_missing, is_names

__all__ = [
    "choose_fields",
    "first_known",
    "is_known",
    "known_names",
    "listed",
    "names_in",
    "normal",
    "plain",
    "rank",
]

# Items whose values are looked at to guess what a field is.
_SAMPLE = 5000
_MEASURE = re.compile(
    r"[-+]?\d*[.,]\d+(e[-+]?\d+)?|\d{4}-\d\d?-\d\d?.*|\d\d?[./]\d\d?[./]\d{2,4}", re.I
)
_ID_NAME = re.compile(
    r"(^|[_\W])(id|ids|key|code|no|nr|number|isbn|doi|uri|url)$|[a-z]I[dD]$", re.I
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W_]+", re.UNICODE)
_UNNAMED = re.compile(r"column \d+|Unnamed: \d+|Field\d+", re.I)


@cache
def known_names(kind: str) -> tuple[str, ...]:
    """Return the known names of a kind, as "texts" or "labels", the likelier first."""
    text = Path(__file__).with_name("names.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)[kind])


@lru_cache(1 << 12)
def normal(name: str) -> str:
    """Return a name in lower case with spaces between its words: "AbstractNote", "doc_id"."""
    return " ".join(word.lower() for word in _WORDS.findall(name[:200])) or name.lower()


@lru_cache(1 << 12)
def rank(name: str, kind: str) -> int | None:
    """Return the rank of a field for a role, by its name, 0 first; None if it is unknown.

    The whole name is known, or it ends in a known name ("Manual Tags", "fine_label"), or begins
    with one ("label_text").
    """
    known, own = known_names(kind), normal(name)
    if own in known:
        return known.index(own)
    words = own.split()
    if len(words) > 1 and words[-1] in known and kind != "ids":
        return len(known) + known.index(words[-1])
    if len(words) > 1 and words[0] in known and words[-1] in known_names("qualifiers"):
        return 2 * len(known) + known.index(words[0])
    return None


def is_known(name: str) -> bool:
    """Return whether a name is known for texts, headings, labels or ids."""
    kinds = ("texts", "headings", "labels", "ids")
    return len(name.split()) < 4 and any(normal(name) in known_names(kind) for kind in kinds)


def first_known(names: Iterable[str], kind: str) -> str | None:
    """Return the likeliest of some fields, by name; None if no name is known."""
    ranked = [(found, name) for name in names if (found := rank(name, kind)) is not None]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def listed(names: Sequence[str], last: str = ", ") -> str:
    """Return names in quotation marks, at most twenty of them."""
    quoted = [repr(name) for name in names[:20]] + (["..."] if len(names) > 20 else [])
    return last.join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted)


class _Profile:
    """What the values of a field look like."""

    def __init__(self, sample: Sequence[Any], name: str) -> None:
        values = [value for value in sample if not is_missing(value) and value not in ("", [])]
        self.strings = bool(values) and all(isinstance(value, str) for value in values)
        self.lists = bool(values) and all(is_names(value) for value in values)
        # Whether all values are whole numbers, or texts of them.
        self.whole = bool(values) and all(_is_whole(value) for value in values)
        counts: Counter[str] = Counter()
        if self.strings or self.lists or self.whole:
            parse = LabelParser(values, name, None)
            self.lists = self.lists or parse.how in (LISTS_AS_TEXT, IN_BRACKETS)
            try:
                counts.update(label for value in values for label in parse(value) or ())
            except ValueError:
                self.lists = False
        # Share of items that have a value, mean length, share of values that differ or have spaces.
        texts = [str(value) for value in values if not isinstance(value, list | tuple | dict)]
        some = max(1, len(texts))
        self.filled = len(values) / max(1, len(sample))
        self.length = sum(map(len, texts)) / some
        self.distinct = len(set(texts)) / some
        self.spaces = sum(" " in text for text in texts) / some
        # Of the labels that the values would be: number per value and in all, share of those that
        # come again, mean length, share with digits.
        total = max(1, sum(counts.values()))
        self.per_value, self.n_labels = total / max(1, len(values)), len(counts)
        self.repeats = sum(count for count in counts.values() if count > 1) / total
        self.label_length = sum(len(label) * count for label, count in counts.items()) / total
        self.digits = sum(n for one, n in counts.items() if any(map(str.isdigit, one))) / total

        self.is_prose = self.strings and self.spaces > 0.5 and not self.lists
        # A text may have the name of labels.
        self.may_be_labels = self.lists or not self.strings or self.label_length <= 60
        # Values that are short and come again, as labels do.
        self.repeats_short = (
            self.strings
            and self.n_labels > 1
            and self.repeats >= 0.8
            and self.label_length <= 40
            and self.digits < 0.5
            and self.filled >= 0.3
        )
        # Numbers of classes: few, each of them often.
        self.is_class = (
            self.whole and 1 < self.n_labels <= 100 and min(self.filled, self.repeats) > 0.95
        )


class _Guess:
    """Fields of some items, and what they look like."""

    def __init__(self, name: str, items: Sequence[dict[str, Any]]) -> None:
        self.name, self.items = name, items
        self.there = names_in(items)
        self.sample = items[:: -(-len(items) // _SAMPLE)]
        self.profiles = {
            one: _Profile([item.get(one) for item in self.sample], one) for one in self.there
        }
        # Of records with objects inside, one object has the text and the labels.
        self.part = _main_part(self.there)
        self.main = [one for one in self.there if one.startswith(self.part)]

    def short(self, name: str) -> str:
        return name.removeprefix(self.part)

    def first(self, names: Iterable[str], kind: str) -> str | None:
        """Return the likeliest field of a kind, by its name in the main part."""
        by_short = {self.short(one): one for one in names if one in self.main}
        return by_short.get(first_known(by_short, kind) or "")

    def is_named(self, name: str, *kinds: str) -> bool:
        return any(normal(self.short(name)) in known_names(kind) for kind in kinds)

    def existing(self, name: str, keys: Iterable[str] = ()) -> str:
        lower = {one.lower(): one for one in self.there}
        inner = (lower.get(f"{name}.{key}".lower()) for key in keys)
        found = name if name in self.there else next(filter(None, inner), None)
        if found is not None:
            return found
        near = get_close_matches(name, self.there, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InvalidParameter(
            f"{self.name}: there is no field {name!r}; {hint}there are {listed(self.there)}."
        )

    # --- labels ---

    def labels(self, taken: Container[str | None]) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        """Return the fields of labels, other candidates, and how they were recognised."""
        free = [one for one in self.there if one not in taken]
        named = self._named_labels(free)
        if named:
            chosen = self._family(named)
            return chosen, tuple(one for one in named if one not in chosen), "name"
        free = [one for one in free if not self.is_named(one, "texts", "headings", "judgements")]
        mild = [one for one in free if not self.is_named(one, "circumstances")]
        for names in (mild, free):
            guess = self._by_content([one for one in names if one in self.main])
            if guess:
                rest = self._by_content(free, every=True)
                return guess[:1], tuple(one for one in rest if one != guess[0]), "content"
        return (), (), "content"

    def _named_labels(self, free: Sequence[str]) -> list[str]:
        """Return the fields whose names are those of labels, the likeliest first."""
        keys = known_names("label_keys")
        ranked: list[tuple[bool, int, int, int, str]] = []
        for place, name in enumerate(free):
            if name not in self.main or not self.profiles[name].may_be_labels:
                continue
            outer, _, inner = self.short(name).rpartition(".")
            # [{"name": "bug"}] is one list of labels.
            inside = bool(outer) and inner in keys and "." not in outer
            found = rank(outer if inside else inner, "labels") if inside or not outer else None
            if found is not None:
                # A field without values in what was read may have some later.
                empty = not self.profiles[name].filled
                ranked.append((empty, found, keys.index(inner) if inside else 0, place, name))
        # Of [{"id": 1, "name": "bug"}], the first key only.
        names: dict[Any, str] = {}
        for _, found, _, _, name in sorted(ranked):
            names.setdefault(found if "." in self.short(name) else name, name)
        ordered = list(names.values())
        if ordered and self.profiles[ordered[0]].whole:
            # Names come before numbers, as in "label" and "label_text".
            word = normal(self.short(ordered[0])).split()[-1]
            ordered.sort(
                key=lambda one: (
                    self.profiles[one].whole or word not in normal(self.short(one)).split()
                )
            )
        return ordered

    def _family(self, named: list[str]) -> tuple[str, ...]:
        """Return the first field, or all like it: "Manual Tags" and "Automatic Tags"."""
        first = normal(self.short(named[0])).split()
        if len(first) == 1 or not first[-1].endswith("s"):
            return (named[0],)
        family = [one for one in named if normal(self.short(one)).split()[-1] == first[-1]]
        # In the order of the file: what people gave before what programs did.
        return tuple(sorted(family, key=lambda one: ("auto" in one.lower(), self.there.index(one))))

    def _by_content(self, names: Sequence[str], *, every: bool = False) -> tuple[str, ...]:
        """Return the fields that may be labels by their values, the likeliest first."""
        own = {name: self.profiles[name] for name in names}
        lists = [name for name, one in own.items() if one.lists]
        # Short values that come again: several in one string before one in each.
        short = [one for one in own if own[one].repeats_short]
        single = [one for one in short if own[one].filled >= 0.8]
        several = sorted(
            (one for one in short if own[one].per_value >= 1.3),
            key=lambda one: -own[one].per_value,
        )
        if every:
            return tuple(dict.fromkeys((*lists, *several, *single)))
        classes = [one for one in own if own[one].is_class]
        return tuple(lists or several or single or (classes if len(classes) == 1 else ()))

    # --- text ---

    def text(self, taken: Container[str | None]) -> tuple[tuple[str, ...], str]:
        """Return the fields of the text, headings first, and how they were recognised."""
        free = [one for one in self.there if one not in taken]
        strings = [
            one
            for one in free
            if self.profiles[one].strings
            or (self.profiles[one].lists and self.profiles[one].spaces > 0.5)
        ]
        main = self.first(strings, "texts") or self.first(free, "texts")
        headings = self._headings(free)
        if main is not None:
            return (*(one for one in headings if one != main), main), "name"
        lengths = {
            one: self.profiles[one].length * self.profiles[one].distinct
            for one in free
            if self.profiles[one].is_prose and one not in headings
        }
        longest = max(lengths, key=lambda one: lengths[one], default=None)
        # Shorter ones are names, dates or codes; with a heading, a text is longer than that.
        if longest is not None and lengths[longest] >= (40 if headings else 20):
            return (*headings, longest), "content"
        if headings:
            return tuple(headings), "name"
        # Without any text, short texts are better than none, as in "good service", "positive".
        if lengths and len(self.there) <= 3:
            return (max(lengths, key=lambda one: self.profiles[one].distinct),), "content"
        raise InvalidParameter(
            f"{self.name}: no field looks like a text; name it by text (--text); there are "
            f"{listed(self.there)}."
        )

    def _headings(self, free: Sequence[str]) -> list[str]:
        """Return the headings: those of a known name, or the one that ends in such a name."""
        exact = [one for one in free if one in self.main and self.is_named(one, "headings")]
        if exact:
            return exact
        varied = [
            one for one in free if self.profiles[one].strings and self.profiles[one].distinct > 0.5
        ]
        found = self.first(varied, "headings")
        return [] if found is None else [found]

    # --- ids ---

    def ids(self, taken: Container[str | None]) -> tuple[str | None, str]:
        """Return a field that is unique for all items, and how it was recognised."""
        free = [one for one in self.there if one not in taken]
        ranked = [(rank(self.short(one), "ids"), one) for one in free if one in self.main]
        named = [one for place, one in sorted(pair for pair in ranked if pair[0] is not None)]
        named += [one for one in free if _ID_NAME.search(one)]
        short = [
            one
            for one in free
            if self.profiles[one].strings
            and self.profiles[one].length <= 40
            and not self.profiles[one].spaces
            and not self._is_measure(one)
        ]
        # With one item every value is unique, and only a name tells.
        for name in dict.fromkeys((*named, *(short if len(self.items) > 1 else ()))):
            values = [item.get(name) for item in self.items]
            whole = all(
                isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip()
                for value in values
            )
            if whole and len(set(map(str, values))) == len(values):
                return name, "name" if name in named else "content"
        return None, "content"

    def _is_measure(self, name: str) -> bool:
        """Return whether the values are decimal numbers or dates, which differ but name nothing."""
        values = (str(item.get(name)) for item in self.sample[:100])
        return all(_MEASURE.fullmatch(value.strip()) for value in values)

    def is_metadata(self, name: str) -> bool:
        """Return whether the values can be stored; dates can, as text, and lists of names."""
        values = (item.get(name) for item in self.sample)
        return all(
            is_names(value) or not isinstance(value, dict | list | tuple | bytes)
            for value in values
        )


def choose_fields(
    name: str,
    items: Sequence[dict[str, Any]],
    *,
    text: tuple[str, ...],
    labels: tuple[str, ...],
    ids: str | None,
    labelled: bool,
    like: Mapping[str, Any],
) -> dict[str, Any]:
    """Check that the fields named exist, and guess the others; return those of a CorpusReading.

    ``like`` has fields of an earlier reading, which are taken where they are there.
    """
    guess = _Guess(name, items)
    there, why = set(guess.there), dict[str, str]()
    before = tuple(like.get("text") or ())
    text = text or (before if there.issuperset(before) else ())
    labels = labels or tuple(one for one in like.get("labels") or () if one in there and labelled)
    ids = like.get("ids") if ids is None and like.get("ids") in there else ids
    wanted = text = tuple(guess.existing(one) for one in text)
    labels = tuple(guess.existing(one, known_names("label_keys")) for one in labels)
    # An empty name numbers the items.
    numbered, ids = ids is not None, guess.existing(ids) if ids else None
    others: tuple[str, ...] = ()
    if not labels and labelled:
        labels, others, why["labels"] = guess.labels({*text, ids})
    if not text:
        text, why["text"] = guess.text({*labels, ids})
    if not numbered:
        ids, told = guess.ids({*labels, *text})
        if ids is not None:
            why["ids"] = told
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
    notes = []
    if len(named) < len(left):
        notes.append(f"{len(left) - len(named):,} column(s) without a name left out")
    judged = [one for one in left if guess.is_named(one, "judgements")]
    if judged and labelled and not labels:
        notes.append(f"{judged[0]!r} says which items are right for a query; these are not labels")
    return {
        "text": text,
        "labels": labels,
        "ids": ids,
        "title": title,
        "metadata": tuple(filter(guess.is_metadata, named)),
        "guessed": why,
        "other_labels": others,
        "notes": tuple(notes),
    }


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
        ends = [0, *(place + 1 for place, letter in enumerate(name) if letter == ".")]
        for end in ends:
            part, short = name[:end], name[end:]
            outer, _, inner = short.rpartition(".")
            for kind in ("texts", "headings", "labels"):
                own = outer if kind == "labels" and inner in known_names("label_keys") else short
                if "." not in own and normal(own) in known_names(kind):
                    kinds.setdefault(part, set()).add(kind)
    # The outermost of the best.
    best = max(kinds, key=lambda part: (len(kinds[part]), -part.count(".")))
    return best if len(kinds[best]) > len(kinds[""]) else ""


def _is_whole(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lstrip("-").isdecimal()
    return isinstance(value, int | float) and not is_missing(value) and value == int(value)


def plain(value: Any) -> Any:
    """Return a value as an index stores it."""
    if is_missing(value):
        return None
    if isinstance(value, list | tuple):
        return "; ".join(clean(str(one)) for one in value)
    if isinstance(value, bool | int | float):
        return value
    return clean(value if isinstance(value, str) else str(value))
