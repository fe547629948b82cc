"""How labels are written: lists, strings with separators, URIs, and names for them."""

from __future__ import annotations

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from .names import known_names

__all__ = [
    "ANGLED",
    "COLUMNS",
    "INLINE",
    "IN_BRACKETS",
    "LISTS_AS_TEXT",
    "LITTLE_WORDS",
    "NO_LABELS",
    "ONE_LABEL",
    "WIKI",
    "WIKI_TAG",
    "LabelParser",
    "best_separator",
    "clean",
    "is_bracketed",
    "is_missing",
    "is_names",
    "name_key",
    "name_of",
    "truth_of",
    "truths_of",
    "unique_names",
    "words_of_truth",
]

Labels = list[str] | None

# What stands in a field of labels of an item that is known to have none of them.
NO_LABELS = ()
ONE_LABEL = "one label per item"
LISTS_AS_TEXT = "lists written as text"
IN_BRACKETS = "words in angle brackets"
# The field of tags in the text of a note.
INLINE = "inline tags"
COLUMNS = "columns of 0 and 1, by their names"

# URIs or words in angle brackets, as <http://example.org/1> <http://example.org/2>.
ANGLED = re.compile(r"\s*(?:<[^<>]+>[\s,;]*)+")
IN_ANGLES = re.compile(r"<([^<>]+)>")
# How columns say that a label fits or not; each column is written in one way.
_TRUTHS = [("1", "0"), ("1.0", "0.0"), ("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n")]
_TRUTHS += [("x", ""), ("✓", ""), ("✔", ""), ("checked", "unchecked")]
_TRUTH = {word: (word == pair[0], pair) for pair in _TRUTHS for word in pair if word}
# What R, spreadsheets and databases write into a cell without a value.
_NOTHING = frozenset(("NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "\\N"))
# What other programs write: "(no genres listed)", "[none]".
_NONE_LISTED = re.compile(r"[(\[]no(ne)?( [a-z]{1,12}){0,2}[)\]]")
# Words that are in phrases, and not in lists of labels.
LITTLE_WORDS = {
    "of",
    "the",
    "and",
    "in",
    "for",
    "to",
    "a",
    "on",
    "with",
    "de",
    "la",
    "und",
    "der",
    "et",
}
# Tags such as #game, with blanks between them.
_HASHED = re.compile(r"#[^\s,;|#]+( +#[^\s,;|#]+)*")
# Lines of a cell come before other marks, which are then part of a label.
_SEPARATORS = ("\n", ";", "|", ",")
_SLASH = " / "
# TiddlyWiki's tags: one [[two words]].
WIKI_TAG = re.compile(r"\[\[([^\[\]]+)\]\]|([^\s\[\]]+)")
_WIKI_TAGS = re.compile(rf"(?:{WIKI_TAG.pattern})(?:\s+(?:{WIKI_TAG.pattern}))*")
WIKI = "separated by blanks, as one [[two words]]"
# As numpy prints an array: quoted words without commas between them.
_ARRAY = re.compile(r"""\[\s*(?:(?:'[^']*'|"[^"]*")\s*)+\]""")
# "&amp;" has a semicolon.
_ENTITY = re.compile(r"&#?\w+;")
_NAME_TYPES = frozenset((str, int, bool, type(None)))
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")


class LabelParser:
    """Read the labels of a field, in the style of some of its values.

    ``blanks`` allows blanks between labels. ``column`` is the label if the values are 0 and 1, and
    ``words`` says how these are written.
    """

    def __init__(
        self,
        values: Sequence[Any],
        field: str,
        separator: str | None,
        *,
        blanks: bool = False,
        column: str = "",
        words: tuple[Any, Any] = ("1", "0"),
    ) -> None:
        texts = [one.strip() for one in values if isinstance(one, str) and not is_missing(one)]
        texts = [one for one in texts if one]
        self.field, self.how, self.mark, self.column = field, "lists", "", column
        self.spaced, self.words, self.lead = False, words, ""
        # Within the elements of lists, and whether a full stop ends them or the strings.
        self.inner, self.stops = "", False
        self._split: Callable[[str], Any] = lambda text: [text]
        if column:
            self.how = COLUMNS
        elif texts and any("[[" in one for one in texts) and all(map(_WIKI_TAGS.fullmatch, texts)):
            self.how = WIKI
            self._split = lambda text: [one[1] or one[0] for one in WIKI_TAG.finditer(text)]
        elif texts and all(map(is_bracketed, texts)):
            self.how, self._split = LISTS_AS_TEXT, _parsed
        elif texts and separator is None and all(ANGLED.fullmatch(text) for text in texts):
            self.how, self._split = IN_BRACKETS, lambda text: IN_ANGLES.findall(text) or [text]
        elif texts:
            self.mark = best_separator(texts, blanks=blanks) if separator is None else separator
            if separator is None and all(map(_HASHED.fullmatch, texts)):
                self.mark = " "
            guessed = " (guessed)" if separator is None else ""
            self.how = f"separated by {self.mark!r}{guessed}" if self.mark else ONE_LABEL
            # Whether a blank follows the separator, where a second label is written.
            self.spaced = 2 * sum(f"{self.mark} " in one for one in texts) > sum(
                self.mark in one for one in texts
            )
            if self.mark:
                self._split = lambda text: text.split(self.mark)
        # Where all are tags such as #game, the # is not part of the labels.
        parts = [str(one) for own in values if is_names(own) for one in own]
        self.has_lists = bool(parts)
        self.inner = _inner_mark(parts) if separator is None else separator if parts else ""
        if any(one.endswith(".") for one in (*parts, *texts)):
            split = [one.split(self.inner) if self.inner else [one] for one in parts]
            split += [one.split(self.mark) for one in texts] if self.mark.strip() else []
            self.stops = _end_in_stops(split)
        if all(text[0] == "#" for text in texts):
            parts += [one.strip() for text in texts for one in text.split(self.mark or None)]
            self.lead = "#" if parts and all(one[:1] in ("", "#") for one in parts) else ""

    @property
    def separator(self) -> str | None:
        """What separates labels in a string, "" if each has one; None if some are lists."""
        if self.has_lists or not (self.mark or self.how == ONE_LABEL):
            return None
        return self.mark

    def __call__(self, value: Any) -> Labels:
        """Return the labels in a value; raise ValueError if it is not a list of names."""
        if self.column:
            truth = value == self.words[0] or truth_of(value)
            return None if truth is None else [self.column] * truth
        if is_missing(value):
            return None
        if isinstance(value, str):
            if self.mark:
                # The most frequent case, in which nothing can be wrong.
                value = value.rstrip().removesuffix(".") if self.stops else value
                found = dict.fromkeys(map(self.name_of, value.split(self.mark)))
                found.pop("", None)
                return list(found) if found else None
            value = self._split(value) if value.strip() else None
        elif isinstance(value, int | float):
            # A column with gaps has its integers as floats.
            value = [int(value) if value == int(value) else str(value)]
        if value is None:
            return None
        if not is_names(value):
            raise ValueError(
                f"{self.field!r} must be a list of labels or a string, but is {value!r:.60}; "
                "choose another field for labels (--labels)."
            )
        given: Iterable[str] = [str(name) for name in value if name is not None]
        if self.stops:
            given = [name.rstrip().removesuffix(".") for name in given]
        if self.inner:
            given = [part for name in given for part in name.split(self.inner)]
        return [name for name in dict.fromkeys(map(self.name_of, given)) if name]

    def name_of(self, text: str) -> str:
        """Return the label that is written so."""
        return name_of(text).removeprefix(self.lead) if self.lead else name_of(text)


def best_separator(texts: Sequence[str], *, blanks: bool = False) -> str:
    """Return the separator that most strings contain; "" if none of them contains one."""
    counts = {mark: sum(mark in text for text in texts) for mark in _SEPARATORS}
    best = max(counts, key=lambda mark: counts[mark])
    best = "\n" if counts["\n"] >= 0.1 * len(texts) else best
    if counts[best] < 0.05 * len(texts):
        for mark in (_SLASH, " ") if blanks else (_SLASH,):
            if _parts_repeat(texts, mark):
                return mark
    return "" if not counts[best] or (best == "," and _are_names(texts)) else best


def _are_names(texts: Sequence[str]) -> bool:
    """Return whether the few strings with a comma are names, as "Crosby, Stills & Nash".

    Of lists, most parts are in other strings, too.
    """
    several = {text for text in texts if "," in text}
    if len(several) < 3 or sum(text in several for text in texts) >= 0.2 * len(texts):
        return False
    parts = [{part.strip() for part in text.split(",")} for text in {*texts}]
    counts = Counter(part for own in parts for part in own)
    inner = [part for own in parts if len(own) > 1 for part in own]
    return sum(counts[part] > 1 for part in inner) < 0.5 * len(inner)


def _inner_mark(parts: Sequence[str]) -> str:
    """Return what separates labels inside the elements of lists; a label may have a bar."""
    if any(";" in one and not _ENTITY.search(one) for one in parts):
        return ";"
    return "|" if sum("|" in one for one in parts) > 0.2 * len(parts) else ""


def _end_in_stops(wholes: Sequence[Sequence[str]]) -> bool:
    """Return whether a full stop ends lists, as in "one, two.", or most of single labels.

    Abbreviations are in other places, too.
    """
    several = [own for own in wholes if len(own) > 1]
    ended = sum(own[-1].rstrip().endswith(".") for own in several or wholes)
    others = sum(part.rstrip().endswith(".") for own in several for part in own[:-1])
    return ended > (4 * others if several else len(wholes) / 2)


def _parts_repeat(texts: Sequence[str], mark: str) -> bool:
    """Return whether blanks or " / " separate labels: parts repeat far more often than wholes.

    Names of several words repeat as a whole, or their words do not; phrases have words such as
    "of". Lists of a few labels repeat too, but with fewer parts than there are lists, and some
    of the parts are the only label of an item.
    """
    parts = [text.split(mark) if mark.strip() else text.split() for text in texts]
    several = Counter(tuple(own) for own in parts if len(own) > 1)
    total = several.total()
    if total < 3 or total < 0.05 * len(texts):
        return False
    inner = [part for own in several for part in own]
    little = sum(
        part.lower() in LITTLE_WORDS or part[-1] in ".!?" or not any(map(str.isalnum, part))
        for part in inner
    )
    if little > 0.03 * len(inner):
        return False
    counts = Counter(part for own in parts for part in set(own))
    again = sum(counts[part] > 1 for part in inner) / len(inner)
    whole = sum(count for count in several.values() if count > 1) / total
    single = sum(own[0] in set(inner) for own in parts if len(own) == 1)
    few = len(set(inner)) <= 0.8 * len(several) and single >= 0.05 * len(texts)
    # "Arts / Culture" has parts of its own.
    few = few or (mark == _SLASH and len(set(inner)) <= 1.3 * len(several))
    # No name of several words is made of codes, as "cs.LG hep-ph".
    few = few or (mark == " " and again >= 0.5 and not any(map(str.isalpha, inner)))
    return (again >= 0.5 and again > 1.5 * whole) or few


def truth_of(value: Any) -> bool | None:
    """Return whether a cell says 1 or 0; None if it says neither."""
    if isinstance(value, str):
        return _TRUTH.get(value.strip().lower(), (None, None))[0]
    return bool(value) if value in (0, 1) and value is not None else None


def words_of_truth(values: Iterable[Any]) -> tuple[Any, Any]:
    """Return how cells say 1 and 0; nothing stands for 0 next to marks such as x."""
    cells = Counter(one.strip() if isinstance(one, str) else one for one in values)
    found: dict[bool, Any] = {}
    for word, _ in cells.most_common():
        if (truth := truth_of(word)) is not None:
            found.setdefault(truth, word)
    for empty in ("", None):
        if found.keys() == {True} and empty in cells:
            found[False] = empty
    for truth, word in list(found.items()) if len(found) == 1 else ():
        other: Any = not truth if isinstance(word, bool) else 1 - truth
        if isinstance(word, str):
            other = _TRUTH[word.lower()][1][truth]
            other = other.upper() if word.isupper() else other
            other = other.capitalize() if word[:1].isupper() else other
        found.setdefault(not truth, other)
    return found.get(True, "1"), found.get(False, "0")


def truths_of(values: Iterable[Any]) -> set[bool]:
    """Return which of 1 and 0 some cells say; nothing if one says neither, or in another way."""
    truths: set[bool] = set()
    way = None
    for one in values:
        truth, own = None, way
        if isinstance(one, str):
            truth, own = _TRUTH.get(one[:12].strip().lower(), (None, None))
        elif isinstance(one, int | float):
            truth = truth_of(one)
        if truth is None or (way is not None and own != way):
            return set()
        truths.add(truth)
        way = own
    return truths


def is_bracketed(text: str) -> bool:
    """Return whether a string looks like a list, a tuple or a set; a remark has no quotes."""
    if text[:1] == "(" and "'" not in text and '"' not in text:
        return False
    return len(text) > 1 and (text[0], text[-1]) in (("[", "]"), ("(", ")"), ("{", "}"))


@lru_cache(1 << 14)
def _parsed(text: str) -> Any:
    """Parse a list that was written as JSON, by Python or by numpy, or without quotes."""
    text = text.strip()
    if _ARRAY.fullmatch(text):
        return [one or other for one, other in _QUOTED.findall(text)]
    for parse in (json.loads, ast.literal_eval):
        try:
            found = parse(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(found, set | frozenset):
            return sorted(map(str, found))
        if isinstance(found, list) and found and all(isinstance(one, dict) for one in found):
            # As in [{"id": 18, "name": "Drama"}].
            return [one.get(name_key(found)) for one in found]
        return [found] if isinstance(found, str | int) else found
    inner = text[1:-1] if is_bracketed(text) else text
    return [word.strip().strip("'\"") for word in inner.split(",")]


def name_key(items: Sequence[Any]) -> str:
    """Return the key of the names in a list of objects; "" for a list of names."""
    first = items[0] if isinstance(items[0], dict) else {}
    return next((one for one in known_names("label_keys") if one in first), "")


@lru_cache(1 << 14)
def name_of(text: str) -> str:
    """Return a label without spaces and quotation marks around it; a URI without < and >."""
    text = text.strip()
    if text[:1] == "<" and text[-1:] == ">" and ":" in text:
        text = text[1:-1].strip()
    if text[:1] == '"' == text[-1:] and len(text) > 2 and text.count('"') == 2:
        text = text[1:-1].strip()
    return clean(text)


def clean(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON can hold but no file can."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_missing(value: Any) -> bool:
    """Return whether a value is null, a number that is not finite, or text that says so."""
    if isinstance(value, str):
        if len(value) < 5:
            return value in _NOTHING
        return value[0] in "([" and value[1:3] == "no" and bool(_NONE_LISTED.fullmatch(value))
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def is_names(value: Any) -> bool:
    """Return whether a value is a list of names."""
    return isinstance(value, list | tuple) and _NAME_TYPES.issuperset(map(type, value))


def unique_names(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return a name for each URI; a name of several URIs gets the URI appended."""
    names: dict[str, str] = {}
    for uri, name in pairs:
        names.setdefault(uri, clean(name) or uri)
    counts = Counter(names.values())
    return {
        uri: name if counts[name] == 1 or name == uri else f"{name} <{uri}>"
        for uri, name in names.items()
    }
