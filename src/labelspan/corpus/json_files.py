"""JSON: objects one per line, in a list or one after the other, and fields inside objects."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from ..errors import InvalidFile, InvalidInput
from .known_objects import as_item, is_record, linked_items
from .names import is_known, known_names, normal, rank
from .tables import Row

__all__ = [
    "FOLDERS",
    "flat",
    "json_object",
    "json_parts",
    "json_spans",
    "json_values",
    "unwrapped",
]

# Characters that are read at a time, at least.
_BLOCK = 1 << 16
# Characters of one value, at most; a whole file can be one.
_LONGEST = 1 << 28
# Objects inside objects are read to this depth.
_DEPTH = 6
# The field of the folders around a link, and folders inside folders of bookmarks at most.
FOLDERS = "bookmark folders"
_DEEPEST = 100
_BINDING = {"type", "value"}
_INVERTED = "abstract_inverted_index"
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


def json_object(name: str, number: int, line: str) -> dict[str, Any]:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidFile(
            f"{name}, line {number}: this is not JSON ({error}); correct the line, or remove it."
        ) from error
    if not isinstance(item, dict):
        raise InvalidFile(f"{name}, line {number}: an object is needed, but this is {item!r:.60}.")
    return item


def json_values(name: str, text: io.TextIOBase, *, only_file: bool) -> Iterator[Row]:
    """Yield the objects of a list, of values one after the other, or in an object."""
    start = text.read(_BLOCK).lstrip("\ufeff \t\r\n")
    items = _decoded(name, start, text)
    if not start.startswith("["):
        # JSON lines under the name of JSON have several values.
        first, second = next(items, None), next(items, None)
        if second is not None:
            items = chain([first, second], items)
        elif isinstance(first, dict):
            items = iter(unwrapped(first, only_file=only_file))
        elif first is not None:
            raise InvalidFile(f"{name}: a list of objects is needed, but is {first!r:.60}.")
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict):
            raise InvalidFile(
                f"{name}, item {number}: an object is needed, but this is {item!r:.60}; write each "
                'item as {"text": ..., "labels": [...]}, or the rows of a table as csv.'
            )
        yield number, flat(as_item(item))


def _decoded(name: str, buffer: str, text: io.TextIOBase) -> Iterator[Any]:
    """Yield the elements of a list, or values one after the other; text is read in blocks."""
    decode = json.JSONDecoder().raw_decode
    is_list = buffer.startswith("[")
    at = int(is_list)
    while True:
        at, problem = _skip(buffer, at), ""
        if is_list and buffer[at : at + 1] == "]":
            return
        try:
            value, end = decode(buffer, at)
            end = _skip(buffer, end)
        except (ValueError, RecursionError) as error:
            end, problem = len(buffer), str(error)
        # A value may go on behind the end of a block. Twice as much is read each time, so that a
        # long one is not decoded again and again.
        held = len(buffer) - at
        if end == len(buffer) and held < _LONGEST and (more := text.read(max(_BLOCK, held))):
            buffer, at = buffer[at:] + more, 0
            continue
        if at == len(buffer) and not is_list:
            return
        if not problem and is_list and buffer[end : end + 1] not in (",", "]"):
            problem = "a list has no end"
        if problem:
            raise InvalidFile(f"{name} is not JSON ({problem}).")
        yield value
        at = end + (is_list and buffer[end] == ",")


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def unwrapped(item: dict[str, Any], *, only_file: bool) -> list[dict[str, Any]]:
    """Return the items in one object: those of a list in it, or the object itself.

    ``only_file`` says that the file is the whole corpus, as {"title": "Feed", "items": [...]}.
    """
    if is_record(item):
        return [item]
    if linked := linked_items(item):
        return linked
    if only_file:
        _refuse_columns(item)
        links = list(_links(item, ()))
        if len(links) > 1:
            return links
        lists = [one for one in _lists_in(item) if len(one) > 1]
        rows = _keyed(item)
        if rows is not None:
            return rows
    else:
        lists = [value for value in item.values() if _is_objects(value) and len(value) > 1]
    inside = any(isinstance(value, dict) and _has_text(value) for value in item.values())
    inside = inside and not (only_file and lists)
    if inside or (_has_text(item) and not only_file):
        return [item]
    with_text = [value for value in lists if _has_text(flat(value[0]))]
    if with_text:
        return max(with_text, key=lambda one: (_has_labels(one[0]), len(one)))
    return lists[0] if len(lists) == 1 and not _has_text(item) else [item]


def _links(item: dict[str, Any], folders: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the links in a tree of bookmarks (Firefox, Chrome), each with its folders."""
    inner = item.get("children", item.get("roots"))
    inner = list(inner.values()) if isinstance(inner, dict) else inner
    if len(folders) < _DEEPEST:
        for one in inner if inner and _is_objects(inner) else ():
            if "url" in one or "uri" in one:
                # The first level are menus and bars of the browser.
                yield {**one, FOLDERS: list(filter(None, folders[1:]))}
            else:
                yield from _links(one, (*folders, str(one.get("name", one.get("title", "")))))


def _lists_in(item: dict[str, Any], depth: int = 3) -> Iterator[list[dict[str, Any]]]:
    """Yield the lists of objects in an object, also in objects inside it."""
    for value in item.values():
        if _is_objects(value):
            yield value
        elif isinstance(value, dict) and depth:
            yield from _lists_in(value, depth - 1)


def _keyed(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the items of an object that has one by the key of each; None for another object."""
    values = list(item.values())
    if len(values) < 3 or not all(isinstance(one, dict) and _has_text(one) for one in values):
        return None
    return [{"key": key, **one} for key, one in item.items()]


def _refuse_columns(item: dict[str, Any]) -> None:
    """Raise an error for a table that is written column by column, as pandas does by default."""
    values = list(item.values())
    sizes = {len(one) for one in values if isinstance(one, list | dict)}
    several = len(values) > 1 and len(sizes) == 1 and min(sizes) > 1
    kinds = {type(one) for one in values}
    cells = [one.values() if isinstance(one, dict) else one for one in values if several]
    plain = kinds in ({list}, {dict}) and not any(type(x) is dict for one in cells for x in one)
    if several and plain and any(map(is_known, item)):
        raise InvalidInput(
            "The JSON has a list for each column; write an object for each item, as "
            "to_json(orient='records') of pandas does."
        )


def _has_text(item: dict[str, Any]) -> bool:
    return any(
        isinstance(value, str)
        and any(rank(key.rpartition(".")[2], kind) is not None for kind in ("texts", "headings"))
        for key, value in item.items()
    )


def _has_labels(item: dict[str, Any]) -> bool:
    return any(rank(part, "labels") is not None for key in flat(item) for part in key.split("."))


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def flat(item: dict[str, Any], depth: int = _DEPTH) -> dict[str, Any]:
    """Replace objects, and lists of objects, by fields with dotted names.

    Lists inside lists of objects are joined: ``subjects.children.name`` is one list.
    """
    for value in item.values():
        if type(value) is not str and (isinstance(value, dict) or _is_objects(value)):
            break
    else:
        return item
    found: dict[str, Any] = {}
    for key, value in item.items():
        if key == _INVERTED and isinstance(value, dict):
            found["abstract"] = _in_order(value)
        elif isinstance(value, dict) and value.keys() >= _BINDING and depth:
            # As answers of SPARQL have them.
            found[key] = value["value"]
        elif isinstance(value, dict) and value and _has_scores(key, value):
            found[key] = list(value)
        elif isinstance(value, dict) and value and depth:
            found.update({f"{key}.{sub}": one for sub, one in flat(value, depth - 1).items()})
        elif _is_objects(value) and depth:
            parts = [flat(one, depth - 1) for one in value]
            for sub in dict.fromkeys(sub for part in parts for sub in part):
                inner = [part[sub] for part in parts if part.get(sub) is not None]
                if any(isinstance(one, list) for one in inner):
                    each = (one if isinstance(one, list) else [one] for one in inner)
                    inner = [one for several in each for one in several]
                found[f"{key}.{sub}"] = inner
        else:
            found[key] = value
    return found


def _has_scores(key: str, value: dict[str, Any]) -> bool:
    """Return whether an object has labels as keys: {"tags": {"game": 3, "board": 1}}."""
    numbers = all(type(one) in (int, float) for one in value.values())
    known = {*known_names("label_keys"), *known_names("ids"), "count", "total"}
    return numbers and rank(key, "labels") is not None and not known.issuperset(map(normal, value))


def _in_order(places: dict[str, Any]) -> str:
    """Return the text of an abstract of OpenAlex, which has the places of each word."""
    pairs = [
        (place, word)
        for word, own in places.items()
        if isinstance(own, list)
        for place in own
        if isinstance(place, int)
    ]
    return " ".join(word for _, word in sorted(pairs))


def json_parts(text: str, place: int = 0) -> Iterator[tuple[str, int, int, Any]]:
    """Yield key, start, end and value of each field of an object or, without keys, of a list."""
    place = _skip(text, place)
    is_list = text[place] == "["
    place = _skip(text, place + 1)
    while text[place] not in "}]":
        key = ""
        if not is_list:
            key, place = _DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        value, stop = _DECODER.raw_decode(text, place)
        yield key, place, stop, value
        place = _skip(text, stop)
        place = _skip(text, place + 1) if text[place] == "," else place


def json_spans(text: str) -> list[tuple[int, int]]:
    """Return where each item of a JSON file begins and ends."""
    place = _skip(text, len(text) - len(text.lstrip("\ufeff")))
    if text[place] == "[":
        return [(start, stop) for _, start, stop, _ in json_parts(text, place)]
    spans = []
    while place < len(text):
        first, stop = _DECODER.raw_decode(text, place)
        spans.append((place, stop))
        place = _skip(text, stop)
    if len(spans) > 1:
        return spans
    # Items inside an object come in its order, some with one more field: a key, or folders.
    items = unwrapped(first, only_file=True)
    return list(_spans_of(text, *spans[0], first, items[::-1]))


def _spans_of(
    text: str, start: int, stop: int, value: Any, items: list[Any]
) -> Iterator[tuple[int, int]]:
    own = isinstance(value, dict) and items and len(items[-1]) - len(value) <= 1
    if own and value.items() <= items[-1].items():
        items.pop()
        yield start, stop
    elif isinstance(value, dict | list):
        for _, first, last, one in json_parts(text, start):
            yield from _spans_of(text, first, last, one, items)
