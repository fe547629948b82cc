"""What the values of a field say about it: words, numbers, dates, people, labels that repeat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from .label_values import (
    IN_BRACKETS,
    LISTS_AS_TEXT,
    LITTLE_WORDS,
    LabelParser,
    is_missing,
    is_names,
    truths_of,
)
from .names import known_names, normal, rank

__all__ = ["PLURAL", "Field", "is_whole"]

# Characters of long texts, of which one in a few is looked at for labels.
_LONG, _STEP = 200, 8
# Characters of the name of a person, at most.
_LONGEST_NAME = 60
# Values in which words are looked at, and characters of each.
_READ, _BEGINNING = 200, 1000
_DATE = re.compile(
    r"\d{4}[-/.]\d\d?[-/.]\d\d?.*|\d\d?[./]\d\d?[./]\d{2,4}( \d.*)?"
    r"|(?:\d\d? )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (?:\d\d?, )?\d{4}",
    re.I,
)
_MEASURE = re.compile(
    rf"[-+]?\d*[.,]\d+(e[-+]?\d+)?|\d{{1,3}}(,\d{{3}})+|{_DATE.pattern}"
    r"|[$€£]\s*\d[\d.,]*|\d[\d.,]*\s*[%$€£]",
    re.I,
)
_WORD = re.compile(r"[^\W\d_]+")
# Scripts without blanks between words.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
# Addresses, paths and names of files are not words.
_FILE = re.compile(r"\W*[\w-]{1,80}\.[a-z][a-z0-9]{1,4}\W*", re.I)
_PARTICLES = {"van", "von", "de", "der", "da", "di", "la", "le", "al", "el", "bin", "den", "ten"}
# A list of objects with one field, as titles.title.
PLURAL = re.compile(r"\b(\w+)s\.\1$")


class Field:
    """A field: its name, and statistics of its values in some items."""

    def __init__(self, name: str, part: str, sample: Sequence[Any]) -> None:
        # In the part of the records that has the text and the labels, the rest of the name counts.
        self.name, self.is_main = name, name.startswith(part)
        self.short = PLURAL.sub(r"\1", name.removeprefix(part))
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
        cells = [str(value).strip() for value in values[:100]]
        self._read_kinds(values, cells, len(sample))
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
        self.repeats = repeats
        self.per_value = total / max(1, len(some))
        self.n_labels = len(counts)
        self.n_values = len({str(value) for value in values[:1000]})
        # Ten answers or fewer, in many items.
        self.is_choice = self.strings and count >= 20 and self.n_values <= min(10, count / 4)
        # Values that name one item each.
        self.is_unique = total >= 20 and repeats < 0.02
        # Short and of several words, as titles are.
        phrases = self.distinct > 0.9 and self.spaces > 0.5 and 8 <= self.length <= 100
        named = self.is_main and rank(self.short, "ids") is None
        self.is_title = self.strings and named and self.filled > 0.9 and phrases
        self._read_words(texts[:: max(1, len(texts) // _READ)])
        self._read_labels(counts, total)
        # Outside the part that has the text: {"title": ..., "info": {"summary": ...}}.
        self.is_outer_title = not self.is_main and self.strings and rank(name, "headings") == 0
        # A text may have the name of labels.
        self.may_be_labels = self.lists or not self.strings or length <= 60
        # Values that are short and repeat, as labels do.
        short = len(counts) > 1 < len(set(texts)) and length <= 40 and digits < 0.5
        self.repeats_short = self.strings and short and repeats >= 0.8 and self.filled >= 0.3
        # Numbers of classes: few, each of them often.
        self.is_class = self.whole and 1 < len(counts) <= 30 and min(self.filled, repeats) > 0.95

    def _read_kinds(self, values: Sequence[Any], cells: Sequence[str], n_items: int) -> None:
        """Look at the kinds of the values: numbers, dates, or whether something is so."""
        # Whether all values are whole numbers, or texts of them.
        self.whole = bool(values) and all(is_whole(value) for value in values)
        # Decimal numbers and dates differ, but name nothing.
        self.is_measure = _are_measures(cells)
        self.is_date = bool(cells) and _matching(cells, _DATE) >= 0.9
        self.is_number = self.whole or (self.is_measure and not self.is_date)
        # Dates can be stored as text, and lists of names, too.
        self.is_metadata = self.lists or all(
            is_names(value) or not isinstance(value, dict | list | tuple | bytes)
            for value in values
        )
        # A column that says of each item whether it has a label.
        truths = truths_of(values)
        # Marks such as x in some items, and nothing in the others.
        plain = not any(isinstance(one, bool) for one in values)
        marks = plain and truths == {True} and len(values) < n_items
        # An answer that was chosen, in the column of that answer.
        chosen = {str(one) for one in values} == {self.short.strip()} and len(values) < n_items
        truths, marks = ({True}, True) if chosen else (truths, marks)
        self.indicates = truths == {True, False} or marks
        self.is_truth = bool(truths) or not values

    def _read_labels(self, counts: Counter[str], total: int) -> None:
        """Look at the labels that the values would be: whether they may be words, or people."""
        names = [one for one, _ in counts.most_common(_READ)]
        self.is_numbers = bool(names) and all(map(is_whole, names))
        # A list of the words or the sentences of a text.
        little = sum(n for one, n in counts.items() if one.lower() in LITTLE_WORDS)
        self.is_passage = self.lists and (
            (little > 0.03 * total and len(counts) > 20)
            or sum(len(one.split()) for one in names) > 6 * len(names)
        )
        self.names_people = len(names) > 2 and all(map(_is_person, names))

    def _read_words(self, texts: Sequence[str]) -> None:
        """Look at the words of some values: how many, and whether they are those of sentences."""
        texts = [one[:_BEGINNING] for one in texts]
        whole = sum(map(len, texts))
        plain = [" ".join(p for p in one.split() if not _is_address(p)) for one in texts]
        found = [word for one in plain for word in _WORD.findall(one)]
        letters = sum(map(len, found))
        unspaced = sum(len(_UNSPACED.findall(one)) for one in plain)
        self.n_words = (len(found) + unspaced / 2) / max(1, len(texts))
        # A word of one letter or two is often a mark, or a part of a number.
        blanks = sum(one.count(" ") for one in plain)
        self.has_words = letters > 0 and letters + blanks >= 0.5 * whole
        # Times have words such as GMT, but more digits and signs.
        self.has_letters = letters >= 0.6 * (whole - blanks)
        cased = [one for one in found if one.lower() != one.upper()]
        lower = sum(one[0].islower() for one in cased)
        # Addresses, affiliations and lists of names have mostly capitals.
        sentences = not cased or lower >= 0.4 * len(cased) or unspaced > letters / 2
        # Mostly names of people.
        self.has_people = sum(map(_is_person, texts)) >= 0.8 * max(1, len(texts))
        self.is_prose = self.has_words and sentences and self.n_words >= 4

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
        """Whether it says when, where or how: "year", "release_country", "country.name"."""
        known = known_names("circumstances")
        ends = (end for one in self.path for end in {one, *one.split()[:1], *one.split()[-1:]})
        return " ".join(self.words) in known or any(one in known for one in ends)

    @property
    def is_text(self) -> bool:
        """Whether its values are sentences that differ, about the subject of the item."""
        differs = self.strings and self.is_prose and self.distinct > 0.9
        about = not (self.is_circumstance or self.is_people or self.is_named("judgements"))
        return differs and about

    @property
    def is_people(self) -> bool:
        """Whether it has names of people: "authors", "First Author", "modified by"."""
        known = known_names("people")
        paths = (one.removesuffix(" name").split() for one in self.path if one)
        return any(" ".join(own) in known or own[-1] in (*known, "by") for own in paths)


def _are_measures(cells: Sequence[str]) -> bool:
    measures = sum(map(bool, map(_MEASURE.fullmatch, cells)))
    return 0 < measures >= 0.9 * sum(not is_whole(one) for one in cells)


def _matching(cells: Sequence[str], pattern: re.Pattern[str]) -> float:
    """Return the share of cells that a pattern matches as a whole."""
    return sum(map(bool, map(pattern.fullmatch, cells))) / len(cells)


def _is_person(text: str) -> bool:
    """Return whether a text may be the name of a person, as "Ann van der Lee" or "Lee, A. B."."""
    if len(text) > _LONGEST_NAME:
        return False
    words = [one for one in text.replace(",", " ").split() if one.lower() not in _PARTICLES]
    letters = all(one.strip(".").replace("-", "").replace("'", "").isalpha() for one in words)
    return 2 <= len(words) <= 4 and letters and all(one[0].isupper() for one in words)


def _is_address(piece: str) -> bool:
    """Return whether a piece of a text is an address, a path or the name of a file."""
    marks = "://" in piece or "@" in piece or "\\" in piece or piece.count("/") > 1
    return marks or ("." in piece and bool(_FILE.fullmatch(piece)))


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number, or the text of one."""
    if isinstance(value, str):
        return value.strip().lstrip("-").isdecimal()
    return isinstance(value, int | float) and not is_missing(value) and value == int(value)
