"""Which fields of a corpus are its text, its labels and its ids, by their names and contents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ..errors import InvalidFile, InvalidParameter
from .evidence import PLURAL, Field
from .label_values import INLINE, clean, is_missing
from .names import MOST_FIELDS, known_names, listed, normal, rank, tables_of_names

__all__ = ["asked", "choose_fields", "names_in", "plain"]

# Items whose values are looked at to guess what a field is, and cells of all fields together.
_SAMPLE = 3000
_CELLS = 200_000
# Fields of a corpus whose class, or short text, needs no name: a text, a title, an id and a class.
_FEW = 4
# A field of fewer items is not the text.
_SELDOM = 0.01
# Neither is one of fewer items the only text, and nor is one label of fewer the labels.
_SOME = 0.3
_ID_NAME = re.compile(
    r"(^|[_\W])(id|ids|key|code|no|nr|number|isbn|doi|uri|url)\.?$|[a-z]I[dD]$", re.I
)
_UNNAMED = re.compile(r"column \d+|Unnamed: \d+|Field\d+", re.I)


def _likeliest(fields: Iterable[Field], kind: str) -> Field | None:
    """Return the field with the likeliest name; one with few or few different values comes last."""
    ranked = [(place, one) for one in fields if (place := one.rank(kind)) is not None]
    most = max((one.filled for _, one in ranked), default=0.0)
    varied = max((one.distinct for _, one in ranked), default=0.0)

    def order(pair: tuple[int, Field]) -> tuple[bool, bool, int, float]:
        place, one = pair
        longest = one.length if kind == "texts" else 0
        return one.filled < 0.1 * most, one.distinct < 0.1 * varied, place, -longest

    return min(ranked, key=order, default=(0, None))[1]


# --- labels ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Guess:
    """The fields of a role, other candidates, how they were recognised, whether that is sure."""

    fields: Sequence[Field] = ()
    others: Sequence[Field] = ()
    how: str = "content"
    sure: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.fields)

    @property
    def other_names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.others)


def _guess_labels(free: Sequence[Field], n_fields: int, *, by_name: bool) -> _Guess:
    """Return the fields of labels: by their names and contents, or by contents that are clear."""
    named = _named_labels(free)
    columns = [] if by_name else _indicators(free)
    rest = [] if by_name else [one for one in _contents(free) if one not in named]
    # A field in which every value is another one is better than nothing.
    better = len(columns) > 2 or bool(rest)
    poor = all(one.is_unique for one in named) or (len(columns) > 2 and named[0].indicates)
    if named and not (poor and better):
        inline = [one for one in named if one.name == INLINE]
        chosen = [one for one in _family(named) if one not in inline] + inline
        others = [one for one in named if one not in chosen]
        # Marks on a few items, next to fields that all items have.
        first = chosen[0]
        seldom = 0 < first.filled < 0.3 and first.per_value < 1.3 and first.n_labels <= 5
        full = [one for one in rest if one.filled >= 0.8]
        if seldom and full and len(chosen) == 1:
            return _Guess((*chosen, *full), sure=False)
        # Of few items, one label or labels that are never used again.
        single = sum(one.n_labels for one in chosen) == 1 or not any(one.repeats for one in chosen)
        sure = not (single and 0 < first.filled < _SOME)
        return _Guess(chosen, others, "name", sure=sure)
    decided = [one for one in free if one.indicates and one.is_named("decisions")]
    if decided and not named and len(columns) < 3 and not by_name:
        return _Guess(decided[:1], [*decided[1:], *rest])
    if len(columns) > 2 or (columns and n_fields < len(columns) + _FEW):
        return _Guess(columns)
    several = [one for one in rest if one.lists or one.per_value >= 1.3]
    if several:
        others = [one for one in (*rest, *_kinds(free)) if one is not several[0]]
        # Lists inside objects may be anything, as files or reactions.
        known = "." not in several[0].short or several[0].has_label_name
        # A list of one value in each item is as good as one value.
        sure = len(several) == 1 and known and several[0].per_value >= 1.1
        return _Guess(several[:1], others, sure=sure)
    # One short value that repeats may be a kind, a state or a place as well.
    candidates = [*rest, *(one for one in columns if one not in rest)]
    sure = len(candidates) == 1 and n_fields <= _FEW
    return _Guess(candidates[:1], [*candidates[1:], *(_kinds(free) if sure else ())], sure=sure)


def _kinds(free: Sequence[Field]) -> list[Field]:
    """Return fields that repeat as labels do, but say when, where or how."""
    return _labels_by_content([one for one in free if one.is_circumstance], every=True)


def _contents(free: Sequence[Field]) -> list[Field]:
    """Return the fields that may be labels by their values, the likeliest first."""
    free = [
        one
        for one in free
        if not (one.is_people or one.names_people or one.is_passage or one.is_circumstance)
        and not one.is_named("texts", "headings", "judgements")
    ]
    guess = _labels_by_content([one for one in free if one.is_main]) or _labels_by_content(
        [one for one in free if one.lists]
    )
    return list(dict.fromkeys((*guess, *_labels_by_content(free, every=True))))


def _indicators(free: Sequence[Field]) -> list[Field]:
    """Return the longest run of adjacent columns of 0 and 1, of at least two.

    Inside a run a column may be 0 or empty everywhere.
    """
    best: list[Field] = []
    run: list[Field] = []
    for field in free:
        # "is new" and "has cover" are about a row, not its subject.
        flag = field.words[:1] in (["is"], ["has"], ["can"], ["was"])
        goes_on = not flag and (field.indicates or (run and field.is_truth))
        run = [*run, field] if goes_on else []
        if goes_on and field.indicates and len(run) > max(1, len(best)):
            best = run
    return best


def _named_labels(free: Sequence[Field]) -> list[Field]:
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
        key = inner if inner in keys else normal(inner).rpartition(" ")[2]
        inside = bool(outer) and key in keys
        found = rank(outer if inside else inner, "labels") if inside or not outer else None
        if found is None and field.lists and field.is_named("headings"):
            # "subject" is the heading of a letter, or a list of labels.
            found = rank(f"{field.words[-1]}s", "labels")
        if found is not None and field.is_main and field.may_be_labels:
            if field.is_measure or field.is_passage or (field.whole and field.is_unique):
                continue
            # A field without values in what was read may have some later.
            few = field.filled < 0.1 * most
            same = field.n_labels < 2 and len(free) > 1 and bool(field.filled)
            order = keys.index(key) + (key != inner) if inside else 0
            ranked.append((few, same, found, len(between), order, place))
    # Of [{"id": 1, "name": "bug"}], the first key only.
    names: dict[Any, Field] = {}
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


def _family(named: list[Field]) -> list[Field]:
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


def _labels_by_content(fields: Sequence[Field], *, every: bool = False) -> list[Field]:
    """Return the fields that may be labels by their values, the likeliest first."""
    lists = [one for one in fields if one.lists and one.n_values > 1 and one.repeats >= 0.5]
    lists = [one for one in lists if not one.is_numbers]
    # Short values that repeat: several in one string before one in each.
    short = [one for one in fields if one.repeats_short and not one.indicates]
    single = [one for one in short if one.filled >= 0.8]
    several = sorted((one for one in short if one.per_value >= 1.3), key=lambda one: -one.per_value)
    if every:
        return list(dict.fromkeys((*lists, *several, *single)))
    classes = [one for one in fields if one.is_class]
    return lists or several or single or (classes if len(classes) == 1 else [])


# --- text and ids ---------------------------------------------------------------------------


def _guess_text(free: Sequence[Field], n_fields: int, *, by_name: bool) -> _Guess:
    """Return the fields of the text, headings first: named ones with words, or the only prose."""
    # A comment on the first item, for example, is the text of no other.
    free = [one for one in free if by_name or one.filled >= _SELDOM]
    # Of few fields, one that is called text is the text, whatever it holds.
    few = n_fields <= _FEW or by_name
    worded = [
        one
        for one in free
        if (one.has_words and not one.is_truth) or (few and one.is_named("texts"))
    ]
    strings = [one for one in worded if one.strings or (one.lists and one.spaces > 0.5)]
    # A short one that only ends in such a name is another thing, as "dateRange.text".
    # Marks such as x in some items are none either.
    strings = [one for one in strings if one.length >= 25 or one.is_named("texts")]
    strings = [one for one in strings if one.n_values > 1 or one.filled == 1]
    # A few answers that come again and again are a choice.
    strings = [one for one in strings if few or not one.is_choice]
    main = _likeliest(strings, "texts") or _likeliest(
        (one for one in worded if not one.strings), "texts"
    )
    main = _fuller(main, worded, by_name=by_name)
    # Headings have a known name, or one of them ends in such a name.
    headings = [one for one in free if one.is_main and one.is_named("headings") and one.filled]
    headings = [one for one in headings if (one.strings or one.lists) and not one.indicates]
    if headings and all(one.length > 200 for one in headings):
        # A summary may be a title or a text, below a title outside its part.
        main = main or headings[-1]
        headings = [*(one for one in free if one.is_outer_title), *headings]
    # Rows of one item repeat its title, and its text.
    least = 0.5 * (1.0 if main is None else main.distinct)
    varied = [one for one in free if one.strings and one.distinct > least and not one.is_people]
    varied = [one for one in varied if one.filled > 0.3 and not one.whole]
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
        more = [one for one in strings if main.is_title and one.is_named("texts") and one.is_prose]
        if not headings and more:
            # "content" may be the line of a task, above a description.
            headings, main = [main], max(more, key=lambda one: one.length)
        if not headings and not by_name and main.filled < _SOME:
            return _Guess((), [main], sure=False)
        chosen = [*(one for one in headings if one is not main), main]
        rest = [one for one in free if one not in chosen and one.is_main and not by_name]
        more = [one for one in rest if one.is_text and one.length > 1.5 * main.length]
        more = [one for one in more if one.filled >= max(0.9 * main.filled, 0.5)]
        return _Guess(chosen, more, "name", sure=not more)
    return _Guess(headings, how="name") if by_name else _guess_prose(free, headings, n_fields)


def _guess_prose(free: Sequence[Field], headings: list[Field], n_fields: int) -> _Guess:
    """Return the text by its words, behind its headings, or without text only these."""
    prose = [
        one
        for one in free
        if (one.strings or one.lists) and one.spaces > 0.5 and not one.is_measure
        if not (one in headings or one.is_people or one.has_people or one.is_named("judgements"))
    ]
    prose.sort(key=lambda one: -one.length * one.distinct)
    plain = [one for one in prose if not one.lists]
    # Shorter ones are names, dates or codes; with a heading, a text is longer than that.
    prose = [one for one in prose if one.length * one.distinct >= (40 if headings else 20)]
    read = [one for one in prose if one.is_prose and not one.is_circumstance]
    if read:
        first, *rest = read
        titles = [one for one in free if one.is_title and one.has_letters and one is not first]
        headings = headings or [one for one in titles if not one.is_circumstance][:1]
        rest = [one for one in rest if one not in headings]
        near = [
            one for one in rest if 2 * one.length * one.distinct > first.length * first.distinct
        ]
        if not near:
            return _Guess([*headings, first])
        return _Guess(headings, read[: len(near) + 1], sure=False)
    prose = [one for one in prose if one.has_words and not one.lists]
    if prose and n_fields <= _FEW:
        return _Guess([*headings, prose[0]])
    names = [one for one in headings if not one.is_named("headings")]
    if headings and all(one.has_people or one.n_words < 1.5 for one in names) and headings == names:
        return _Guess((), headings, sure=False)
    if headings:
        return _Guess(headings, how="name")
    if prose:
        return _Guess((), prose[:3], sure=False)
    # Without any text, short texts are better than none, as in "good service", "positive".
    plain = [one for one in plain if one.has_words]
    return _Guess(sorted(plain, key=lambda one: -one.distinct)[: n_fields <= 3])


def _fuller(main: Field | None, worded: Sequence[Field], *, by_name: bool) -> Field | None:
    """Return the text by its name, or the only prose of all items if that is of a few items."""
    if main is None or by_name or main.filled >= 0.5:
        return main
    prose = [one for one in worded if one.is_prose and one.strings and one.filled >= 0.9]
    prose = [one for one in prose if one.distinct > 0.5 and not one.is_circumstance]
    prose = [one for one in prose if not one.is_named("headings", "names")]
    return prose[0] if len(prose) == 1 else main


def _guess_ids(
    free: Sequence[Field], items: Sequence[dict[str, Any]], record_id: str | None
) -> tuple[str | None, str]:
    """Return a field that is unique for all items, and how it was recognised."""
    free = [one for one in free if record_id in (None, one.name)]
    known = [(place, one.name) for one in free if (place := one.rank("ids")) is not None]
    named = [name for _, name in sorted(known, key=lambda pair: pair[0])]
    # A zip code is no code of an item.
    free.sort(key=lambda one: one.is_circumstance)
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
    fields = {one: Field(one, part, [item.get(one) for item in sample]) for one in there}

    def free(*taken: str | None) -> list[Field]:
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
    unsure: dict[str, tuple[str, ...]] = {}
    others: tuple[str, ...] = ()
    if not labels and labelled and "labels" not in export:
        guess = _guess_labels(free(*text, ids), len(there), by_name=by_name)
        labels, others, why["labels"] = guess.names, guess.other_names, guess.how
        if not guess.sure:
            labels, unsure["labels"] = (), (*labels, *others)
    if not text:
        guess = _guess_text(free(*labels, ids), len(there), by_name=by_name)
        text, why["text"] = guess.names, guess.how
        if not guess.sure:
            unsure["text"] = guess.other_names
    if not text:
        raise _without_text(name, there, items, unsure.get("text", ()))
    # What is the text is not the labels.
    unsure = {key: tuple(one for one in own if one not in text) for key, own in unsure.items()}
    if not numbered:
        ids, told = _guess_ids(free(*labels, *text), items, record_id)
        why |= {"ids": told} if ids is not None else {}
    title = _title([fields[one] for one in text], free(*labels, ids), guessed="text" in why)
    # A heading is worth showing, even if it is part of the text.
    left = free(*labels, ids, *(one for one in text if one != title or len(text) == 1))
    kept = [one for one in left if not _UNNAMED.fullmatch(one.name)]
    notes = [f"an export of {export['name']}"] if export else []
    notes += _notes(fields.values(), left, kept)
    if record_id in fields and ids is None and not numbered:
        notes.append(f"items are numbered because {record_id!r} is missing or the same twice")
    if labelled and not labels:
        judged = [one.name for one in left if one.is_named("judgements")][:1]
        says = "says which items are right for a query; these are not labels"
        notes += [f"{one!r} {says}" for one in judged]
    return {
        "text": text,
        "labels": labels,
        "ids": ids,
        "title": title,
        "metadata": tuple(one.name for one in kept if one.is_metadata),
        "guessed": why,
        "other_labels": others,
        "unsure": {role: own for role, own in unsure.items() if own},
        "dates": tuple(one.name for one in left if one.is_date),
        "numbers": tuple(one.name for one in left if one.is_number),
        "notes": tuple(notes),
    }


def _notes(fields: Iterable[Field], left: Sequence[Field], kept: Sequence[Field]) -> Iterator[str]:
    """Say which values stand for none, and how many columns without a name are left out."""
    missing = set[str]().union(*(one.missing for one in fields))
    if missing:
        stand = "stand" if len(missing) > 1 else "stands"
        yield f"{listed(sorted(missing), ' and ')} {stand} for no value"
    if len(kept) < len(left):
        yield f"{len(left) - len(kept):,} column(s) without a name left out"


def _without_text(
    name: str, there: Sequence[str], items: Sequence[dict[str, Any]], unsure: Sequence[str]
) -> InvalidParameter:
    """Return the error for a corpus without a field that is surely the text."""
    if unsure:
        message = (
            f"{name}: not sure which field is the text: {asked(unsure)}? Name it by text "
            f"(--text {unsure[0]})."
        )
    else:
        fields = f"there are {listed(there)}" if there else "its items have no fields"
        message = f"{name}: no field looks like a text; name it by text (--text); {fields}."
    error = InvalidParameter(message)
    error.choices = {"text": {one: _example(items, one) for one in unsure or there[:100]}}
    return error


def asked(names: Sequence[str]) -> str:
    """Return candidates for a question: "title, notes or body"."""
    *first, last = names[:5]
    return f"{', '.join(first)} or {last}" if first else last


def _example(items: Sequence[dict[str, Any]], field: str) -> str:
    """Return the first value of a field, in short."""
    values = (item.get(field) for item in items)
    return next((str(one)[:60] for one in values if not is_missing(one) and one != ""), "")


def _title(text: Sequence[Field], free: Sequence[Field], *, guessed: bool) -> str | None:
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
    for name in (PLURAL.sub(r"\1", one) for one in there):
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
