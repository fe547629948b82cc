"""What other programs change by version 1 of the API: store items, learn from feedback.

Addresses begin with ``/api/1/``. A later version of labelspan with the same addresses takes the
same requests and adds at most keys to answers. Every request needs the token of ``labelspan serve
--token-file``; those that change items or labels need no ``--read-only`` as well.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ..answers.change_list import ChangeData, change_data
from ..answers.tags import MOST_EXPLAINED_TEXTS as _MOST_EXPLAINED
from ..corpus.link_names import LINKS, link_values
from ..curation import Review
from ..index import Item
from .edit_routes import Create, Labels, Similar, known_items
from .editing import Name, Who
from .endpoint import Given
from .requests import LONGEST_TEXT, Refused
from .schema import WHOLE, Body, Count, MaxLen, body
from .snapshot import Served

__all__ = [
    "EmbedBody",
    "FeedbackBody",
    "ItemsBody",
    "TagBody",
    "feedback",
    "put_items",
    "remove_item",
]

MOST_TEXTS = 100
MOST_ITEMS = 1000
_MOST_TAGS = 100
_WIDEST = 1 << 16

_Text = Annotated[str, MaxLen(LONGEST_TEXT)]


@body(
    oneOf=[{"required": ["text"]}, {"required": ["texts"]}],
    anyOf=[
        {"properties": {"why": {"const": False}}},
        {"properties": {"texts": {"maxItems": _MOST_EXPLAINED}}},
    ],
)
class TagBody(Body):
    """One text, or several, for which labels are requested."""

    text: NotRequired[_Text]
    texts: NotRequired[Annotated[list[_Text], MaxLen(MOST_TEXTS)]]
    k: NotRequired[
        Annotated[int, Field(ge=1, le=_MOST_TAGS), WHOLE, "maximum number of labels; 10"]
    ]
    why: NotRequired[Annotated[bool, f"explain every label; for at most {_MOST_EXPLAINED} texts"]]


class ItemBody(Body):
    """An item. If its id exists, what is not given stays as it was."""

    id: Name
    text: _Text
    labels: NotRequired[Annotated[Labels | None, "null if they are not known"]]
    metadata: NotRequired[dict[str, str | int | float | bool | None]]
    links: NotRequired[Annotated[list[Name], MaxLen(1000), "what it links to: ids or titles"]]
    vector: NotRequired[Annotated[list[float], MaxLen(_WIDEST), "in an index of given vectors"]]


class ItemsBody(Body):
    """Items to add or to change: all of them, or none."""

    items: Annotated[list[ItemBody], MaxLen(MOST_ITEMS)]
    create: NotRequired[Create]
    similar: NotRequired[Similar]


class KeptData(TypedDict):
    """What was done."""

    added: Count
    changed: Count
    removed: Count
    items: Annotated[Count, "number of items in the index now"]


@body(
    anyOf=[
        {"required": [name], "properties": {name: {"minItems": 1}}}
        for name in ("accepted", "rejected")
    ]
)
class FeedbackBody(Body):
    """What a user said about suggested labels of an item."""

    item: Name
    accepted: NotRequired[Annotated[Labels, "the item has these labels"]]
    rejected: NotRequired[Annotated[Labels, "the item does not have these labels"]]
    create: NotRequired[Create]
    similar: NotRequired[Similar]
    who: NotRequired[Who]


class FeedbackData(TypedDict):
    """The decision that was made, and the labels of the item now."""

    decision: ChangeData
    labels: list[str]


class EmbedBody(Body):
    """Texts whose vectors are asked for."""

    texts: Annotated[list[_Text], MaxLen(MOST_TEXTS)]


def put_items(served: Served, given: Given) -> KeptData:
    """Add or change items."""
    items, index = given["items"], served.editor.review.index
    ids = [one["id"] for one in items]
    if len(set(ids)) < len(ids):
        (twice, _), *_ = Counter(ids).most_common(1)
        raise Refused(409, f"items: the id {twice!r:.60} occurs twice; give each item once.")
    with served.changing_items(), index.write_lock:
        before = {item.id: item for item in index.items([name for name in ids if name in index])}
        new = Item("", "", None, {})
        labels = [
            before.get(one["id"], new).labels
            if "labels" not in one
            else _named(served.editor.review, one["labels"])
            for one in items
        ]
        metadata = [one.get("metadata", before.get(one["id"], new).metadata) for one in items]
        _check_labels(served.editor.review, [name for own in labels for name in own or ()], given)
        texts = [one["text"] for one in items]
        links = None
        if any("links" in one for one in items):
            links = [
                dict.fromkeys(one["links"], 1.0)
                if "links" in one
                else link_values(table.get(LINKS))
                for one, table in zip(items, metadata, strict=True)
            ]
        vectors = [one["vector"] for one in items if "vector" in one] or None
        more = {"metadata": metadata, "links": links, "vectors": vectors}
        index.add(texts, labels, ids, **more, replace=True, who="api")
        added = len(items) - len(before)
        return {"added": added, "changed": len(before), "removed": 0, "items": len(index)}


def remove_item(served: Served, given: Given) -> KeptData:
    """Remove an item."""
    index = served.editor.review.index
    with served.changing_items(), index.write_lock:
        index.remove(known_items(index, [given["id"]]), who="api")
        return {"added": 0, "changed": 0, "removed": 1, "items": len(index)}


def feedback(served: Served, given: Given) -> FeedbackData:
    """Say which suggested labels of an item are right: a decision, learned at once."""
    review = served.editor.review
    accepted, rejected = (_named(review, given.get(name, [])) for name in ("accepted", "rejected"))
    if not accepted and not rejected:
        raise Refused(400, "Give labels that were accepted or rejected.")
    if set(accepted) & set(rejected):
        raise Refused(409, "feedback: a label cannot be both accepted and rejected.")
    with review.index.write_lock:
        (item,) = known_items(review.index, [given["item"]])
        _check_labels(review, [*accepted, *rejected], given)
        made = review.feedback(item, accepted, rejected, who=given.get("who") or "api")
        labels = review.index.store.labels_of(item) or ()
    assert made is not None
    return {"decision": change_data(made), "labels": list(labels)}


def _named(review: Review, labels: Any) -> Any:
    """Return labels by their names; what was given may be URIs of the vocabulary."""
    vocabulary = review.index.vocabulary
    if vocabulary is None or labels is None:
        return labels
    return [vocabulary.names.get(one, one) for one in labels]


def _check_labels(review: Review, labels: list[str], given: Given) -> None:
    create, similar = given.get("create", False), given.get("similar", False)
    review.check_new_labels(labels, create=create, similar=similar)
