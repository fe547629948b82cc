"""Links between items: fields whose values name other items, links in texts, and files of links.

An item has several names: its id, its title, the name of its file, its address. Which fields hold
names of other items is found by what they hold: a known name of a field lowers what is asked for.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from ..errors import InvalidFile
from .names import known_names, normal
from .notes import CODE
from .tagged_texts import Item

__all__ = [
    "LINKS",
    "LINK_MARK",
    "FoundLinks",
    "LinkReader",
    "find_links",
    "item_names",
    "link_text",
    "link_values",
    "name_key",
    "read_link_file",
]

# The field of links that are given, come from a file of links, or stand in the texts.
LINKS = "links"
LINK_MARK = ";"
# What may stand between the names in a value, and the values that are looked at: of a field with a
# known name, and of another one.
_MARKS = (";", ",", "|", "\n", " ", "")
_SOME, _FEW = 5000, 400
# Share of the names in a field without a known name that must be those of other items, and how
# many. Of numbers, which any count may be, only a field with a known name has links.
_SHARE, _FEWEST = 0.5, 3
# Share of values that are addresses.
_ADDRESSES = 0.8
_ADDRESS = re.compile(r"(?:https?://|doi:|10\.\d{4,9}/)\S+", re.I)
# [[a page|as it is called]], [text](a/file.md), an element of HTML, a bare address.
_IN_TEXT = re.compile(
    r"!?\[\[([^\[\]|#\n]{1,200})(?:#[^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]"
    r"|\]\(<?([^()<>\s]{1,500})>?(?:\s+\"[^\"\n]*\")?\)"
    r"|href\s*=\s*[\"']([^\"'\n]{1,500})[\"']"
    r"|(https?://[^\s<>\"'\])]{3,500})",
    re.I,
)
_ENDING = re.compile(r"\.(?:md|markdown|txt|html?)$")


def name_key(name: str) -> str:
    """Return a name as it is compared: without case, blanks, the ending of a file or a slash."""
    found = " ".join(name.split()).casefold()
    if "://" in found:
        found = re.sub(r"^https?://(?:www\.)?", "//", found)
    if found.startswith("//"):
        found = found.partition("#")[0]
    found = found.rstrip("/")
    return _ENDING.sub("", found) if "." in found[-9:] else found


def link_values(value: Any, mark: str = LINK_MARK) -> dict[str, float]:
    """Return the names in a value with their weights.

    A text has names with a mark between them, or is JSON: a list of names, or an object with the
    weight of each.

    Examples
    --------
    >>> from labelspan.corpus.link_names import link_values
    >>> link_values("a; b"), link_values('{"a": 0.5}')
    ({'a': 1.0, 'b': 1.0}, {'a': 0.5})
    """
    if value is None or isinstance(value, bool):
        return {}
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    if text[:1] in ("{", "["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list) and all(isinstance(one, str) for one in found):
            return dict.fromkeys(found, 1.0)
        if isinstance(found, dict) and all(map(_is_weight, found.values())):
            return {name: float(weight) for name, weight in found.items()}
    parts = (text.split() if mark == " " else text.split(mark)) if mark else [text]
    return {name: 1.0 for one in parts if (name := one.strip())}


def _is_weight(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0


def link_text(weights: Mapping[str, float], mark: str = LINK_MARK) -> str | None:
    """Return links as a value of the metadata, which :func:`link_values` reads; None without any.

    Examples
    --------
    >>> from labelspan.corpus.link_names import link_text
    >>> link_text({"a": 1, "b": 1}), link_text({"a": 0.5}), link_text({"x; y": 1})
    ('a; b', '{"a": 0.5}', '["x; y"]')
    """
    if not weights:
        return None
    plain = all(weight == 1 for weight in weights.values())
    text = (f"{mark} " if mark in (";", ",") else mark).join(weights)
    if plain and [*link_values(text, mark)] == [*weights]:
        return text
    return json.dumps([*weights] if plain else dict(weights), ensure_ascii=False)


# --- in a corpus ----------------------------------------------------------------------------


def item_names(name: str, text: str) -> set[str]:
    """Return the names of an item apart from its address: id, name of its file, title."""
    title = text.lstrip().partition("\n")[0].lstrip("# ")
    return {name_key(name), name_key(name.rpartition("/")[2]), name_key(title)} - {""}


@dataclass
class FoundLinks:
    """Links between items that have numbers: starts, ends, weights, and names of no item."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    nothing: dict[int, list[str]] = field(default_factory=dict)


def find_links(
    tables: Iterable[tuple[int, Mapping[str, Any]]],
    ids: Mapping[str, int],
    texts: Iterable[tuple[int, str, str]],
    marks: Mapping[str, str],
    addresses: Sequence[str] = (),
) -> FoundLinks:
    """Return the links in the metadata of numbered items.

    ``texts`` has number, id and text of all items, which are read only if a name is not an id. A
    name of several items is that of none.
    """
    wanted: list[tuple[int, dict[str, float]]] = []
    others: dict[str, set[int]] = {}
    for row, table in tables:
        own: dict[str, float] = {}
        for one, mark in marks.items():
            for name, weight in link_values(table.get(one), mark).items():
                own[name] = max(weight, own.get(name, 0.0))
        if own:
            wanted.append((row, own))
        for one in addresses:
            if isinstance(address := table.get(one), str) and address:
                others.setdefault(name_key(address), set()).add(row)
    missing = {name_key(name) for _, own in wanted for name in own if name not in ids}
    found_in: dict[str, set[int]] = {}
    for row, name, text in texts if missing - others.keys() else ():
        for key in item_names(name, text) & missing:
            found_in.setdefault(key, set()).add(row)
    others = found_in | others
    found = FoundLinks()
    for row, own in wanted:
        for name, weight in own.items():
            end = ids.get(name)
            if end is None:
                rows = others.get(name_key(name), ())
                end = next(iter(rows)) if len(rows) == 1 else None
            if end is None:
                found.nothing.setdefault(row, []).append(name)
                continue
            found.starts.append(row)
            found.ends.append(end)
            found.weights.append(weight)
    return found


class LinkReader:
    """Which fields of a corpus have links, and the links that stand in its texts or in a file.

    Parameters
    ----------
    rows : list of dict
        The first items as they were read.
    items : list of Item
        The same as items.
    texts, fields : tuple of str
        Fields of texts, and those that may have links.
    given : mapping or None
        Names and weights by id, from a file of links.
    notes : bool
        Whether the items are notes, whose links point to files and titles.
    like : mapping or None
        What an earlier reading has told.
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        items: Sequence[Item],
        texts: Sequence[str],
        fields: Sequence[str],
        given: Mapping[str, Mapping[str, float]] | None = None,
        *,
        notes: bool = False,
        like: Mapping[str, Any] | None = None,
    ) -> None:
        self._given, self._notes, self._texts = given or {}, notes, texts
        tables = [item.metadata for item in items]
        self.addresses = tuple(one for one in fields if _has_addresses(tables, one))
        self._names = {key for item in items for key in item_names(item.id, item.text)}
        self._names |= {
            name_key(address)
            for one in self.addresses
            for table in tables
            if isinstance(address := table.get(one), str)
        }
        self._hosts = {host for key in self._names if (host := _host(key))}
        self.marks: dict[str, str] = {}
        before = dict((like or {}).get("marks", {}))
        self._added = bool(before)
        if before:
            # Items that are added link to those of the index, which are not here.
            self.marks = {one: mark for one, mark in before.items() if one in (LINKS, *fields)}
        elif given is None:
            for one in fields:
                mark = None if one in self.addresses else self._mark(items, one)
                if mark is not None:
                    self.marks[one] = mark
        some = ((row, item) for row, item in zip(rows[:_SOME], items, strict=False))
        self._in_texts = given is None and (
            LINKS in before or any(self._of_text(row, item) for row, item in some)
        )
        if self._given or self._in_texts:
            self.marks[LINKS] = LINK_MARK

    @property
    def told(self) -> dict[str, Any]:
        """What an index needs to know."""
        if not self.marks:
            return {}
        # Of items that are added, the others are in an index.
        added = {"added": True} if self._added else {}
        return {"marks": self.marks, "addresses": list(self.addresses), **added}

    def _mark(self, items: Sequence[Item], name: str) -> str | None:
        """Return what separates the names of other items in a field; None if it has none."""
        known = normal(name.rpartition(".")[2]) in known_names("links")
        best, most = None, (0.0, 0)
        values = [(item, item.metadata.get(name)) for item in items if name in item.metadata]
        values = values[:: max(1, len(values) // (_SOME if known else _FEW))]
        pairs = [(item_names(item.id, item.text), value) for item, value in values]
        for mark in _MARKS:
            hits = total = 0
            for own, value in pairs:
                for one in link_values(value, mark):
                    key = name_key(one)
                    plain = known or not one.replace(".", "").isdigit()
                    hits += plain and key in self._names and key not in own
                    total += key not in own
            share = hits / max(1, total)
            if (share, hits) > most and hits:
                best, most = mark, (share, hits)
        sure = most[1] >= 1 if known else most[0] >= _SHARE and most[1] >= _FEWEST
        return best if sure else None

    def links_of(self, row: Mapping[str, Any], item: Item) -> str | None:
        """Return the links of an item that are not in a field, as a value of the metadata."""
        own = dict(self._given.get(item.id, {}))
        if self._in_texts:
            own |= dict.fromkeys(self._of_text(row, item), 1.0)
        return link_text(own)

    def _of_text(self, row: Mapping[str, Any], item: Item) -> list[str]:
        """Return the links in the texts of an item: of notes all, of others those to items."""
        found: dict[str, None] = {}
        for value in map(row.get, self._texts):
            if not isinstance(value, str) or not ("[[" in value or "](" in value or "://" in value):
                continue
            text = CODE.sub(" ", value) if self._notes else value
            for page, file, address, bare in _IN_TEXT.findall(text):
                target = html.unescape(page or file or address or bare).strip().rstrip(".,;:")
                there = urlsplit(target) if "://" in target else None
                if there is None and not page:
                    target = unquote(target.partition("#")[0])
                    near = posixpath.join(posixpath.dirname(item.id), target)
                    target = posixpath.normpath(near) if target else ""
                key = name_key(target)
                known = key in self._names or _host(key) in self._hosts
                page_or_note = self._notes and there is None and _is_note(target, page)
                if target and (known or page_or_note) and key not in item_names(item.id, item.text):
                    found[target] = None
        return [*found]


def _is_note(target: str, page: str) -> bool:
    """Return whether a link in a note points to a note, and not to a picture or a mail address."""
    ending = posixpath.splitext(target)[1].lower()
    return (bool(page) and ending in ("", ".md")) or ending in (".md", ".markdown")


def _host(key: str) -> str:
    return key[2:].partition("/")[0] if key.startswith("//") else ""


def _has_addresses(tables: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Return whether the values of a field are addresses, each of one item."""
    values = [own for table in tables[:_SOME] if (own := table.get(name))]
    texts = [one for one in values if isinstance(one, str) and _ADDRESS.fullmatch(one.strip())]
    return len(texts) >= _ADDRESSES * max(1, len(values)) and len(set(texts)) == len(texts)


def read_link_file(data: bytes, name: str) -> dict[str, dict[str, float]]:
    """Read a file of links: two ids in a line, perhaps with a weight; return names by id.

    Several lines of the same two ids are one link, of the largest weight.
    """
    text = data.decode("utf-8-sig", "replace")
    first = text.partition("\n")[0]
    mark = max("\t;,", key=first.count)
    lines = [one for one in csv.reader(io.StringIO(text), delimiter=mark) if any(one)]
    counts = Counter(cell.strip() for line in lines for cell in line[:2])
    if lines and len(lines) > 1 and _is_header(lines[0], lines[1:], counts):
        lines = [[], *lines[1:]]
    found: dict[str, dict[str, float]] = {}
    for number, cells in enumerate(lines, 1):
        if not cells:
            continue
        start, end, *more = (cell.strip() for cell in (*cells, "", ""))
        try:
            weight = float(more[0]) if more and more[0] else 1.0
        except ValueError:
            weight = math.nan
        if len(cells) > 3 or not start or not end or not (math.isfinite(weight) and weight >= 0):
            raise InvalidFile(
                f"{name}, line {number}: two ids are needed, and perhaps a weight of at least 0, "
                f"but it has {mark.join(cells)[:80]!r}."
            )
        own = found.setdefault(start, {})
        own[end] = max(weight, own.get(end, 0.0))
    return found


def _is_header(line: Sequence[str], others: Sequence[Sequence[str]], counts: Counter[str]) -> bool:
    """Return whether a line has names of columns: they occur nowhere else, and are words."""
    words = [cell.strip() for cell in line]
    if len(words) > 2 and not _is_number(words[2]):
        return all(_is_number(one[2]) for one in others if len(one) > 2)
    named = {*map(normal, words[:2])} & {*known_names("links"), *known_names("ids"), "from", "to"}
    return bool(named) and all(counts[one] == 1 for one in words[:2])


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
