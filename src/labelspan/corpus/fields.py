"""Which fields of a corpus are its text, its labels and its ids, by their names and contents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ..errors import InvalidFile, InvalidParameter
from .label_values import (
    IN_BRACKETS,
    INLINE,
    LISTS_AS_TEXT,
    LabelParser,
    clean,
    is_missing,
    is_names,
    truths_of,
)
from .names import MOST_FIELDS, known_names, listed, normal, rank, tables_of_names

__all__ = ["choose_fields", "names_in", "plain"]

# Items whose values are looked at to guess what a field is, and cells of all fields together.
_SAMPLE = 3000
_CELLS = 200_000
# Characters of long texts, of which one in a few is looked at for labels.
_LONG, _STEP = 200, 8
# A field of fewer items is not the text.
_SELDOM = 0.01
_MEASURE = re.compile(
    r"[-+]?\d*[.,]\d+(e[-+]?\d+)?|\d{1,3}(,\d{3})+|\d{4}[-/.]\d\d?[-/.]\d\d?.*"
    r"|\d\d?[./]\d\d?[./]\d{2,4}( \d.*)?|[$€£]\s*\d[\d.,]*|\d[\d.,]*\s*[%$€£]",
    re.I,
)
_ID_NAME = re.compile(
    r"(^|[_\W])(id|ids|key|code|no|nr|number|isbn|doi|uri|url)\.?$|[a-z]I[dD]$", re.I
)
# A list of objects with one field, as titles.title.
_PLURAL = re.compile(r"\b(\w+)s\.\1$")
_UNNAMED = re.compile(r"column \d+|Unnamed: \d+|Field\d+", re.I)


class _Field:
    """A field: its name, and statistics of its values in some items."""

    def __init__(self, name: str, part: str, sample: Sequence[Any]) -> None:
        # In the part of the records that has the text and the labels, the rest of the name counts.
        self.name, self.is_main = name, name.startswith(part)
        self.short = _PLURAL.sub(r"\1", name.removeprefix(part))
        self.words = normal(self.short).split()
        # The names on the way to a field inside objects, as in author.family.
        self.path = [normal(one) for one in self.short.split(".")]
        values = [value for value in sample if not is_missing(value) and value not in ("", [])]
        # A title may be a number, as 1776.
        self.strings = 0 < 0.9 * len(values) <= sum(isinstance(one, str) for one in values) and all(
            isinstance(one, str | int | float) and not isinstance(one, bool) for one in values
        )
        self.missing = {one for one in sample if isinstance(one, str) and is_missing(one)}
        names = all(isinstance(value, str) or is_names(value) for value in values)
        self.lists = bool(values) and names and not any(isinstance(one, str) for one in values)
        # Whether all values are whole numbers, or texts of them.
        self.whole = bool(values) and all(_is_whole(value) for value in values)
        # Decimal numbers and dates differ, but name nothing.
        cells = [str(value).strip() for value in values[:100]]
        self.is_measure = _are_measures(cells)
        # Dates can be stored as text, and lists of names, too.
        self.is_metadata = self.lists or all(
            is_names(value) or not isinstance(value, dict | list | tuple | bytes)
            for value in values
        )
        # A column that says of each item whether it has a label.
        truths = truths_of(values)
        # Marks such as x in some items, and nothing in the others.
        plain = not any(isinstance(one, bool) for one in values)
        marks = plain and truths == {True} and len(values) < len(sample)
        self.indicates = truths == {True, False} or marks
        self.is_truth = bool(truths) or not values
        counts: Counter[str] = Counter()
        # Of long texts some are enough.
        some = values if sum(map(len, cells)) < _LONG * len(cells) else values[::_STEP]
        if self.whole or names:
            parse = LabelParser(some, name, None, blanks=self.has_label_name)
            self.lists = self.lists or parse.how in (LISTS_AS_TEXT, IN_BRACKETS)
            try:
                counts.update(label for value in some for label in parse(value) or ())
            except ValueError:
                self.lists = False
        # Share of items that have a value, mean length, share of values that differ or have spaces.
        parts = (value if isinstance(value, list | tuple) else [value] for value in values)
        texts = [str(one) for own in parts for one in own if not isinstance(one, list | dict)]
        count = max(1, len(texts))
        self.filled = len(values) / max(1, len(sample))
        self.length = sum(map(len, texts)) / count
        self.distinct = 1.0 if self.lists else len(set(texts)) / count
        self.spaces = sum(" " in text for text in texts) / count
        # Of the labels that the values would be: number per value, share of those that repeat,
        # mean length.
        total = max(1, sum(counts.values()))
        repeats = sum(count for count in counts.values() if count > 1) / total
        length = sum(len(label) * count for label, count in counts.items()) / total
        digits = sum(n for one, n in counts.items() if any(map(str.isdigit, one))) / total
        self.per_value = total / max(1, len(some))
        self.n_labels = len(counts)
        self.n_values = len({str(value) for value in values[:1000]})
        # Values that name one item each.
        self.is_unique = total >= 20 and repeats < 0.02
        # Short and of several words, as titles are.
        phrases = self.distinct > 0.9 and self.spaces > 0.5 and 8 <= self.length <= 100
        named = self.is_main and rank(self.short, "ids") is None
        self.is_title = self.strings and named and self.filled > 0.9 and phrases
        # Outside the part that has the text: {"title": ..., "info": {"summary": ...}}.
        self.is_outer_title = not self.is_main and self.strings and rank(name, "headings") == 0
        # A text may have the name of labels.
        self.may_be_labels = self.lists or not self.strings or length <= 60
        # Values that are short and repeat, as labels do.
        short = len(counts) > 1 < len(set(texts)) and length <= 40 and digits < 0.5
        self.repeats_short = self.strings and short and repeats >= 0.8 and self.filled >= 0.3
        # Numbers of classes: few, each of them often.
        self.is_class = self.whole and 1 < len(counts) <= 30 and min(self.filled, repeats) > 0.95

    @property
    def has_label_name(self) -> bool:
        """Whether a part of its name is one of labels."""
        return any(rank(one, "labels") is not None for one in self.short.split("."))

    def rank(self, kind: str) -> int | None:
        """Return the rank for a role by the name, 0 first; None if it is unknown."""
        return rank(self.short, kind) if self.is_main else None

    def is_named(self, *kinds: str) -> bool:
        return any(" ".join(self.words) in known_names(kind) for kind in kinds)

    @property
    def is_circumstance(self) -> bool:
        """Whether it says when, where or how: "year", "release_country"."""
        known = known_names("circumstances")
        return " ".join(self.words) in known or any(one in known for one in self.words)

    @property
    def is_people(self) -> bool:
        """Whether it has names of people: "authors", "First Author", "author.family"."""
        known = known_names("people")
        paths = (one.removesuffix(" name").split() for one in self.path if one)
        return any(" ".join(words) in known or words[-1] in known for words in paths)


def _are_measures(cells: Sequence[str]) -> bool:
    measures = sum(map(bool, map(_MEASURE.fullmatch, cells)))
    return 0 < measures >= 0.9 * sum(not _is_whole(one) for one in cells)


def _likeliest(fields: Iterable[_Field], kind: str) -> _Field | None:
    """Return the field with the likeliest name; one with few or few different values comes last."""
    ranked = [(place, one) for one in fields if (place := one.rank(kind)) is not None]
    most = max((one.filled for _, one in ranked), default=0.0)
    varied = max((one.distinct for _, one in ranked), default=0.0)

    def order(pair: tuple[int, _Field]) -> tuple[bool, bool, int]:
        place, one = pair
        return one.filled < 0.1 * most, one.distinct < 0.1 * varied, place

    return min(ranked, key=order, default=(0, None))[1]


# --- labels ---------------------------------------------------------------------------------


def _guess_labels(
    free: Sequence[_Field], *, by_name: bool
) -> tuple[list[_Field], list[_Field], str]:
    """Return the fields of labels, other candidates, and how they were recognised."""
    named = _named_labels(free)
    columns = [] if by_name else _indicators(free)
    rest = [] if by_name else [one for one in _contents(free) if one not in named]
    # A field in which every value is another one is better than nothing.
    better = len(columns) > 2 or bool(rest)
    poor = all(one.is_unique for one in named) or (len(columns) > 2 and named[0].indicates)
    if named and not (poor and better):
        inline = [one for one in named if one.name == INLINE]
        chosen = [one for one in _family(named) if one not in inline] + inline
        return chosen, [one for one in named if one not in chosen], "name"
    if len(columns) > 2:
        return columns, [], "content"
    return (rest[:1], rest[1:], "content") if rest else (columns, [], "content")


def _contents(free: Sequence[_Field]) -> list[_Field]:
    """Return the fields that may be labels by their values, the likeliest first."""
    free = [
        one
        for one in free
        if not one.is_people and not one.is_named("texts", "headings", "judgements")
    ]
    mild = [one for one in free if not one.is_circumstance]
    main = [one for one in free if one.is_main]
    for some in (
        [one for one in main if one in mild],
        [one for one in mild if one.lists],
        [one for one in main if not one.whole],
    ):
        guess = _labels_by_content(some)
        if guess:
            return list(dict.fromkeys((guess[0], *_labels_by_content(free, every=True))))
    return []


def _indicators(free: Sequence[_Field]) -> list[_Field]:
    """Return the longest run of adjacent columns of 0 and 1, of at least two.

    Inside a run a column may be 0 or empty everywhere.
    """
    best: list[_Field] = []
    run: list[_Field] = []
    for field in free:
        goes_on = field.indicates or (run and field.is_truth)
        run = [*run, field] if goes_on else []
        if field.indicates and len(run) > max(1, len(best)):
            best = run
    return best


def _named_labels(free: Sequence[_Field]) -> list[_Field]:
    """Return the fields whose names are those of labels, the likeliest first.

    A field that few items have, or that has the same value everywhere, comes after the others.
    """
    keys = known_names("label_keys")
    ranked: list[tuple[bool, bool, int, int, int, int]] = []
    most = max((one.filled for one in free if one.has_label_name), default=0.0)
    # Wikidata has the name of an item in "itemLabel".
    titles = {" ".join([*one.words, "label"]) for one in free}
    for place, field in enumerate(free):
        if " ".join(field.words) in titles:
            continue
        outer, *between, inner = field.short.split(".") if "." in field.short else ("", field.short)
        # [{"name": "bug"}] is one list of labels, also below others: subjects.children.name.
        inside = bool(outer) and inner in keys
        found = rank(outer if inside else inner, "labels") if inside or not outer else None
        if found is None and field.lists and field.is_named("headings"):
            # "subject" is the heading of a letter, or a list of labels.
            found = rank(f"{field.words[-1]}s", "labels")
        if found is not None and field.is_main and field.may_be_labels:
            # A field without values in what was read may have some later.
            few = field.filled < 0.1 * most
            same = field.n_labels < 2 and len(free) > 1 and bool(field.filled)
            order = keys.index(inner) if inside else 0
            ranked.append((few, same, found, len(between), order, place))
    # Of [{"id": 1, "name": "bug"}], the first key only.
    names: dict[Any, _Field] = {}
    for _, _, found, depth, _, place in sorted(ranked):
        names.setdefault(
            (found, depth) if "." in free[place].short else free[place].name, free[place]
        )
    ordered = list(names.values())
    if ordered and ordered[0].whole:
        # Names come before numbers, as in "label" and "label_text".
        word = ordered[0].words[-1]
        ordered.sort(key=lambda one: one.whole or word not in one.words)
    return ordered


def _family(named: list[_Field]) -> list[_Field]:
    """Return the first field, or all fields of its kind: "Manual Tags" and "Automatic Tags"."""
    first = named[0].words
    siblings = [
        one for one in named if one.words[0] == first[0] and (one.words[1:] or ["0"])[0].isdigit()
    ]
    if len(siblings) > 1:
        # tag1 and tag2, or columns of the same name.
        return siblings
    if len(first) == 1 or not first[-1].endswith("s"):
        return named[:1]
    family = [one for one in named if one.words[-1] == first[-1]]
    # What people gave comes before what programs did.
    return sorted(family, key=lambda one: "auto" in one.name.lower())


def _labels_by_content(fields: Sequence[_Field], *, every: bool = False) -> list[_Field]:
    """Return the fields that may be labels by their values, the likeliest first."""
    lists = [one for one in fields if one.lists and one.n_values > 1]
    # Short values that repeat: several in one string before one in each.
    short = [one for one in fields if one.repeats_short and not one.indicates]
    single = [one for one in short if one.filled >= 0.8]
    several = sorted((one for one in short if one.per_value >= 1.3), key=lambda one: -one.per_value)
    if every:
        return list(dict.fromkeys((*lists, *several, *single)))
    classes = [one for one in fields if one.is_class]
    return lists or several or single or (classes if len(classes) == 1 else [])


# --- text and ids ---------------------------------------------------------------------------


def _guess_text(
    free: Sequence[_Field], n_fields: int, *, by_name: bool
) -> tuple[list[_Field], str]:
    """Return the fields of the text, headings first, and how they were recognised."""
    # A comment on the first item, say, is the text of no other.
    free = [one for one in free if by_name or one.filled >= _SELDOM]
    strings = [one for one in free if one.strings or (one.lists and one.spaces > 0.5)]
    # A short one that only ends in such a name is another thing, as "dateRange.text".
    # Marks such as x in some items are none either.
    strings = [one for one in strings if one.length >= 25 or one.is_named("texts")]
    strings = [one for one in strings if one.n_values > 1 or one.filled == 1]
    main = _likeliest(strings, "texts") or _likeliest(
        (one for one in free if not one.strings), "texts"
    )
    # Headings have a known name, or one of them ends in such a name.
    headings = [one for one in free if one.is_main and one.is_named("headings") and one.filled]
    headings = [one for one in headings if one.strings or one.lists]
    if headings and all(one.length > 200 for one in headings):
        # A summary may be a title or a text, below a title outside its part.
        main = main or headings[-1]
        headings = [*(one for one in free if one.is_outer_title), *headings]
    # Rows of one item repeat its title, and its text.
    least = 0.5 * (1.0 if main is None else main.distinct)
    varied = [one for one in free if one.strings and one.distinct > least and not one.is_people]
    varied = [one for one in varied if one.filled > 0.3]
    for kind in ("headings", "names"):
        if not headings:
            headings = [one for one in [_likeliest(varied, kind)] if one is not None]
        # A show may be a date: no name of a thing.
        varied = [one for one in varied if not one.is_measure]
    if main is not None:
        if not headings and not by_name:
            # A name of each item, in any language.
            headings = [
                one
                for one in varied
                if one.is_title and not one.is_circumstance and one.length < main.length
            ][:1]
        return [*(one for one in headings if one is not main), main], "name"
    if by_name:
        return headings, "name"
    prose = [
        one
        for one in free
        if one.strings and one.spaces > 0.5 and not (one.lists or one.is_measure)
        if one not in headings
    ]
    longest = max(prose, key=lambda one: one.length * one.distinct, default=None)
    # Shorter ones are names, dates or codes; with a heading, a text is longer than that.
    if longest and longest.length * longest.distinct >= (40 if headings else 20):
        return [*headings, longest], "content"
    if headings:
        return headings, "name"
    # Without any text, short texts are better than none, as in "good service", "positive".
    return sorted(prose, key=lambda one: -one.distinct)[: n_fields <= 3], "content"


def _guess_ids(
    free: Sequence[_Field], items: Sequence[dict[str, Any]], record_id: str | None
) -> tuple[str | None, str]:
    """Return a field that is unique for all items, and how it was recognised."""
    free = [one for one in free if record_id in (None, one.name)]
    known = [(place, one.name) for one in free if (place := one.rank("ids")) is not None]
    named = [name for _, name in sorted(known, key=lambda pair: pair[0])]
    named += [one.name for one in free if _ID_NAME.search(one.name) or one.name == record_id]
    short = [
        one.name
        for one in free
        if one.strings and one.length <= 40 and not one.spaces
        if not one.is_measure and not one.is_circumstance
    ]
    # With one item every value is unique, and only a name tells.
    for name in dict.fromkeys((*named, *(short if len(items) > 1 else ()))):
        values = [item.get(name) for item in items]
        whole = all(
            isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip()
            for value in values
        )
        if whole and len(set(map(str, values))) == len(values):
            return name, "name" if name in named else "content"
    return None, "content"


# --- all fields -----------------------------------------------------------------------------


def choose_fields(
    name: str,
    items: Sequence[dict[str, Any]],
    *,
    text: tuple[str, ...],
    labels: tuple[str, ...],
    ids: str | None,
    labelled: bool,
    like: Mapping[str, Any],
    record_id: str | None = None,
) -> dict[str, Any]:
    """Check that the fields named exist, and guess the others; return how the corpus is read.

    ``like`` has fields of an earlier reading, which are used if they exist. ``record_id`` is the
    name of the ids of a format whose fields have fixed names: nothing else is guessed from content.
    """
    there = names_in(items)
    by_name = record_id is not None
    if len(there) > MOST_FIELDS:
        raise InvalidFile(
            f"{name} has {len(there):,} different fields, for example {listed(there[:3])}; at most "
            f"{MOST_FIELDS:,} are read. Are the keys of its objects values?"
        )
    size = min(_SAMPLE, max(50, _CELLS // max(1, len(there))))
    part, sample = _main_part(there), items[:: -(-len(items) // size)]
    export: dict[str, Any] = next(
        (one for one in tables_of_names()["exports"] if {*one["fields"]} <= {*there}), {}
    )
    fields = {one: _Field(one, part, [item.get(one) for item in sample]) for one in there}

    def free(*taken: str | None) -> list[_Field]:
        return [one for one in fields.values() if one.name not in taken]

    why = {key: "name" for key in ("text", "labels", "ids") if key in export and key not in like}
    like = {**{key: export[key] for key in ("text", "labels", "ids") if key in export}, **like}
    before = tuple(like.get("text") or ())
    text = text or (before if fields.keys() >= set(before) else ())
    labels = labels or tuple(one for one in like.get("labels") or () if one in fields and labelled)
    ids = like.get("ids") if ids is None and like.get("ids") in fields else ids
    text = tuple(_existing(name, there, one) for one in text)
    labels = tuple(_existing(name, there, one, known_names("label_keys")) for one in labels)
    # An empty name numbers the items.
    numbered, ids = ids is not None, _existing(name, there, ids) if ids else None
    others: list[_Field] = []
    if not labels and labelled:
        found, others, why["labels"] = _guess_labels(free(*text, ids), by_name=by_name)
        labels = tuple(one.name for one in found)
    if not text:
        found, why["text"] = _guess_text(free(*labels, ids), len(there), by_name=by_name)
        text = tuple(one.name for one in found)
    if not text:
        fields_there = f"there are {listed(there)}" if there else "its items have no fields"
        error = InvalidParameter(
            f"{name}: no field looks like a text; name it by text (--text); {fields_there}."
        )
        error.choices = {"text": {one: _example(items, one) for one in there[:100]}}
        raise error
    if not numbered:
        ids, told = _guess_ids(free(*labels, *text), items, record_id)
        why |= {"ids": told} if ids is not None else {}
    title = _title([fields[one] for one in text], free(*labels, ids), guessed="text" in why)
    # A heading is worth showing, even if it is part of the text.
    left = free(*labels, ids, *(one for one in text if one != title or len(text) == 1))
    kept = [one for one in left if not _UNNAMED.fullmatch(one.name)]
    notes = [f"an export of {export['name']}"] if export else []
    missing = set[str]().union(*(one.missing for one in fields.values()))
    if missing:
        stand = "stand" if len(missing) > 1 else "stands"
        notes.append(f"{listed(sorted(missing), ' and ')} {stand} for no value")
    if record_id in fields and ids is None and not numbered:
        notes.append(f"items are numbered because {record_id!r} is missing or the same twice")
    if len(kept) < len(left):
        notes.append(f"{len(left) - len(kept):,} column(s) without a name left out")
    judged = [one.name for one in left if one.is_named("judgements")]
    if judged and labelled and not labels:
        notes.append(f"{judged[0]!r} says which items are right for a query; these are not labels")
    return {
        "text": text,
        "labels": labels,
        "ids": ids,
        "title": title,
        "metadata": tuple(one.name for one in kept if one.is_metadata),
        "guessed": why,
        "other_labels": tuple(one.name for one in others),
        "notes": tuple(notes),
    }


def _example(items: Sequence[dict[str, Any]], field: str) -> str:
    """Return the first value of a field, in short."""
    values = (item.get(field) for item in items)
    return next((str(one)[:60] for one in values if not is_missing(one) and one != ""), "")


def _title(text: Sequence[_Field], free: Sequence[_Field], *, guessed: bool) -> str | None:
    """Return the field of titles: part of the text, or another one with the name of headings."""
    for kind in ("headings", "names"):
        named = [one.name for one in text if rank(one.short, kind) is not None]
        if named:
            return named[0]
    if guessed and len(text) > 1:
        return text[0].name
    heading = _likeliest(free, "headings")
    return None if heading is None else heading.name


def _existing(corpus: str, there: Sequence[str], name: str, keys: Iterable[str] = ()) -> str:
    """Return a field by its name, or the key of names in its objects."""
    lower = {one.lower(): one for one in there}
    inner = (lower.get(f"{name}.{key}".lower()) for key in keys)
    found = name if name in there else next(filter(None, inner), None)
    if found is None:
        near = get_close_matches(name, there, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InvalidParameter(
            f"{corpus}: there is no field {name!r}; {hint}there are {listed(there)}."
        )
    return found


def names_in(items: Sequence[dict[str, Any]]) -> list[str]:
    """Return all keys, in order of first appearance."""
    found = list(dict.fromkeys(key for item in items for key in item))
    # A list of objects is empty in some items, and fields with dotted names in others.
    outer = {key.rpartition(".")[0] for key in found}
    return [
        key
        for key in found
        if key not in outer or any(item.get(key) not in (None, [], {}) for item in items)
    ]


def _main_part(there: Sequence[str]) -> str:
    """Return the common prefix of the field names in the part that has text and labels."""
    kinds: dict[str, set[str]] = {"": set()}
    for name in (_PLURAL.sub(r"\1", one) for one in there):
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
    value = value if isinstance(value, str) else str(value)
    # Text that a spreadsheet should not take for a number.
    return clean(value[2:-1] if value[:2] == '="' and value[-1] == '"' else value)
