"""JSON objects of known programs, as items: annotations, MARC records and outlines.

Annotation tools write who answered what about which part of a text. An item has the labels of the
accepted answers; one whose only answer is no is known to have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .label_values import NO_LABELS
from .xml_records import marc_row

__all__ = ["LINKED", "as_item", "is_record", "linked_items"]

# The field of tags that are objects of their own, which name the items, or are named by others.
LINKED = "linked tags"

Object = dict[str, Any]
# Parts of parts of an outline, at most.
_DEEPEST = 60


def as_item(item: Object) -> Object:
    """Return the fields of an object of a known program; another object as it is."""
    for fits, fields in _PROGRAMS:
        if fits(item):
            return fields(item)
    return item


def is_record(item: Object) -> bool:
    """Return whether an object is one item of a known program, whatever lists are in it."""
    return any(fits(item) for fits, _ in _PROGRAMS)


def linked_items(item: Object) -> list[Object]:
    """Return the notes of Standard Notes, or the posts of Ghost, with their tags; else nothing."""
    found = _objects(item.get("items"))
    if found and all(
        "content_type" in one and isinstance(one.get("content"), dict) for one in found
    ):
        return _noted(found)
    base = next(iter(_objects(item.get("db"))), {}).get("data", item.get("data"))
    if isinstance(base, dict) and {"posts", "tags", "posts_tags"} <= base.keys():
        return _posted(*(_objects(base[key]) for key in ("posts", "tags", "posts_tags")))
    return []


def _noted(found: Sequence[Object]) -> list[Object]:
    tags: dict[Any, list[str]] = {}
    for one in found:
        if one["content_type"] == "Tag":
            for other in _objects(one["content"].get("references")):
                tags.setdefault(other.get("uuid"), []).append(str(one["content"].get("title", "")))
    notes = [one for one in found if one["content_type"] == "Note"]
    keep = ("uuid", "created_at", "updated_at")
    return [
        {
            **{key: one[key] for key in keep if key in one},
            **{key: one["content"].get(key, "") for key in ("title", "text")},
            LINKED: tags.get(one.get("uuid"), []),
        }
        for one in notes
    ]


def _posted(posts: list[Object], tags: list[Object], links: list[Object]) -> list[Object]:
    names = {one.get("id"): str(one.get("name", "")) for one in tags}
    own: dict[Any, list[str]] = {}
    for link in links:
        if link.get("tag_id") in names:
            own.setdefault(link.get("post_id"), []).append(names[link["tag_id"]])
    return [{**one, LINKED: own.get(one.get("id"), [])} for one in posts]


def _labels(names: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(str(one) for one in names if one not in (None, "")))


# --- annotations ------------------------------------------------------------------------------


def _is_prodigy(item: Object) -> bool:
    return "answer" in item and ("_task_hash" in item or "_input_hash" in item)


_PRODIGY = {
    "tokens",
    "spans",
    "options",
    "accept",
    "label",
    "answer",
    "relations",
    "config",
    "_input_hash",
    "_task_hash",
    "_is_binary",
    "_view_id",
}


def _prodigy(item: Object) -> Object:
    """Return a task of Prodigy: choices, spans or one label, if they were accepted."""
    fields = {key: value for key, value in item.items() if key not in _PRODIGY}
    if item["answer"] == "ignore":
        return {**fields, "labels": None}
    if item.get("accept") is not None:
        accepted = item["accept"] if isinstance(item["accept"], list) else [item["accept"]]
        # Options that were not chosen are known not to fit.
        found: Sequence[str] | None = _labels(accepted) or NO_LABELS
    elif item.get("label") is not None:
        found = _labels([item["label"]])
    else:
        found = _labels(span.get("label") for span in _objects(item.get("spans"))) or NO_LABELS
    if item["answer"] != "accept":
        # That one label does not fit says nothing about a choice of several.
        found = NO_LABELS if item.get("label") is not None else None
    return {**fields, "labels": found}


def _is_label_studio(item: Object) -> bool:
    annotations = item.get("annotations", item.get("completions"))
    return isinstance(item.get("data"), dict) and isinstance(annotations, list)


def _label_studio(item: Object) -> Object:
    """Return a task of Label Studio: its data, and the labels of annotations not cancelled."""
    answers = _objects(item.get("annotations", item.get("completions")))
    answers = [one for one in answers if not (one.get("was_cancelled") or one.get("skipped"))]
    answers = [one for one in answers if one.get("ground_truth")] or answers
    found = _labels(
        label
        for one in answers
        for result in _objects(one.get("result"))
        for label in _values(result)
    )
    identity = {"id": item["id"]} if "id" in item else {}
    none = NO_LABELS if answers else None
    return {**identity, **item["data"], "labels": found or none}


def _values(result: Object) -> Iterator[str]:
    """Yield the labels of one result: choices, labels of regions, or paths of a taxonomy."""
    kind, value = result.get("type", ""), result.get("value")
    own = value.get(kind, value.get("labels")) if isinstance(value, dict) else None
    if kind in ("textarea", "rating", "number", "datetime") or not isinstance(own, list):
        return
    for one in own:
        yield "/".join(map(str, one)) if isinstance(one, list) else str(one)


def _spans(value: Any) -> bool:
    """Return whether a value is a list of [start, end, label], as doccano and spaCy have them."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(one, list)
            and len(one) >= 3
            and all(type(n) is int for n in one[:2])
            and isinstance(one[2], str)
            for one in value
        )
    )


_SPAN_FIELDS = ("label", "labels", "entities", "annotations")


def _has_spans(item: Object) -> bool:
    if any(_spans(item.get(key)) for key in _SPAN_FIELDS):
        return True
    found = _objects(item.get("entities"))
    return bool(found) and all("start_offset" in one and "label" in one for one in found)


def _without_spans(item: Object) -> Object:
    fields = {key: value for key, value in item.items() if key not in ("relations", "Comments")}
    for key in _SPAN_FIELDS:
        if _spans(item.get(key)):
            return {**fields, key: _labels(one[2] for one in item[key])}
    names = _labels(one["label"] for one in item["entities"])
    return {**{key: one for key, one in fields.items() if key != "entities"}, "labels": names}


def _objects(value: Any) -> list[Object]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


# --- libraries and outlines -------------------------------------------------------------------


def _is_marc(item: Object) -> bool:
    fields = item.get("fields")
    return (
        "leader" in item
        and isinstance(fields, list)
        and all(isinstance(one, dict) and len(one) == 1 for one in fields)
    )


def _marc(item: Object) -> Object:
    """Return a record of MARC-in-JSON."""
    found = []
    for field in item["fields"]:
        ((tag, value),) = field.items()
        if isinstance(value, Mapping):
            parts = _objects(value.get("subfields"))
            pairs = [(str(code), str(text)) for one in parts for code, text in one.items()]
        else:
            pairs = [("", str(value))]
        found.append((str(tag), pairs))
    return marc_row(found)


def _is_outline(item: Object) -> bool:
    parts = _objects(item.get("children"))
    return "title" in item and bool(parts) and all("string" in one for one in parts)


def _outline(item: Object) -> Object:
    """Return a page of Roam, whose lines are in a tree."""
    fields = {key: one for key, one in item.items() if key not in ("children", "edit-time")}
    return {**fields, "text": "\n".join(_lines(item, 0))}


def _lines(item: Object, depth: int) -> Iterator[str]:
    for one in _objects(item.get("children")) if depth < _DEEPEST else ():
        yield str(one.get("string", ""))
        yield from _lines(one, depth + 1)


# How the objects of a program are known, and what reads one.
_PROGRAMS: list[tuple[Callable[[Object], bool], Callable[[Object], Object]]] = [
    (_is_prodigy, _prodigy),
    (_is_label_studio, _label_studio),
    (_has_spans, _without_spans),
    (_is_marc, _marc),
    (_is_outline, _outline),
]
