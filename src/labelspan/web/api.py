"""Version 1 of the API for other programs: search, tag, store items, learn from feedback.

Addresses begin with ``/api/1/``. A later version of labelspan with the same addresses takes the
same requests and adds at most keys to answers. Every request needs the token of ``labelspan serve
--token-file``; those that change items or labels need ``--edit`` as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from .._texts import shortened
from ..answers import HitData, TagData, TagReasonData, hit_data, tag_data, tag_reason
from ..curation import Review
from ..index import Hit, Item, Tag
from .answer_parts import PageData, find_item, labels_by_count, page_of
from .edit_routes import Create, DecisionData, Labels, Similar, decision_data, known_items
from .editing import Name, Who
from .endpoint import Given
from .item_list import browse
from .requests import LONGEST_TEXT, Refused
from .schema import WHOLE, Body, Count, MaxLen, body
from .snapshot import Served, Snapshot

__all__ = [
    "EmbedBody",
    "FeedbackBody",
    "ItemsBody",
    "TagBody",
    "embed",
    "feedback",
    "item",
    "labels",
    "put_items",
    "remove_item",
    "search",
    "similar",
    "tag",
]

MOST_TEXTS = 100
MOST_ITEMS = 1000
_MOST_EXPLAINED = 10
_MOST_TAGS = 100
# Characters of a value of the metadata in a list.
_CUT = 200
# What only the pages of the explorer ask for.
_NOT_SELECTED = {"finding": "", "lasso": "", "match": ""}

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


class SuggestedData(TagData):
    """A suggested label."""

    why: TagReasonData | None


class SuggestionsData(TypedDict):
    """Labels of each text, the most probable first; of one text a list of one entry."""

    results: list[list[SuggestedData]]


class ItemBody(Body):
    """An item. If its id exists, what is not given stays as it was."""

    id: Name
    text: _Text
    labels: NotRequired[Annotated[Labels | None, "null if they are not known"]]
    metadata: NotRequired[dict[str, str | int | float | bool | None]]


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

    decision: DecisionData
    labels: list[str]


class EmbedBody(Body):
    """Texts whose vectors are asked for."""

    texts: Annotated[list[_Text], MaxLen(MOST_TEXTS)]


class EmbeddedData(TypedDict):
    """Vectors of length one, or of zeros for a text of which no word is known."""

    dimensions: Count
    vectors: list[list[float]]


class StoredLabelData(TypedDict):
    """A label, and the number of items that have it."""

    label: str
    uri: Annotated[str | None, "of the label in the vocabulary of the index"]
    items: Count


class LabelListData(PageData):
    """Labels, the most frequent first."""

    labels: list[StoredLabelData]


class ItemListData(PageData):
    """Items of a list."""

    items: Annotated[list[HitData], f"values of their metadata have {_CUT} characters"]


class WholeItemData(TypedDict):
    """An item, with a part of its text."""

    id: str
    title: Annotated[str, "first line or sentence of the text"]
    text: Annotated[str, "characters of the text from ``start`` on"]
    start: Count
    length: Annotated[Count, "characters of the whole text"]
    labels: Annotated[list[StoredLabelData] | None, "null if they are not known"]
    metadata: dict[str, Any]


def _uris(snapshot: Snapshot) -> Callable[[str], str | None]:
    vocabulary = snapshot.index.vocabulary
    return (lambda name: None) if vocabulary is None else vocabulary.code


def _stored(snapshot: Snapshot, names: Iterable[str]) -> list[StoredLabelData]:
    uri_of = _uris(snapshot)
    return [
        {"label": name, "uri": uri_of(name), "items": snapshot.labels.get(name, 0)}
        for name in names
    ]


def _found(hits: Iterable[Hit], *, scored: bool = True) -> list[HitData]:
    def short(value: Any) -> Any:
        return shortened(value, _CUT) if isinstance(value, str) else value

    found = [hit_data(hit, scored=scored) for hit in hits]
    for one in found:
        one["metadata"] = {key: short(value) for key, value in one["metadata"].items()}
    return found


def labels(snapshot: Snapshot, given: Given) -> LabelListData:
    """List labels with their numbers of items, the most frequent first."""
    every = [name for name, _ in labels_by_count(snapshot)]
    if part := given["q"].strip():
        # Also by alternative names, if there is a vocabulary.
        known = {one.label for one in snapshot.index.find_labels(part, max(1, len(every)))}
        every = [name for name in every if name in known]
    shown, page = page_of(given, every, given["k"])
    return {**page, "labels": _stored(snapshot, shown)}


def search(snapshot: Snapshot, given: Given) -> ItemListData:
    """Find items by a text, labels and metadata; without a text, list them."""
    found = browse(snapshot, {**_NOT_SELECTED, **given})
    close = found.close
    if not len(found) and close is not None and len(close):
        # Nothing has the words: what is close in meaning is better than nothing.
        found = close
    numbers, page = page_of(given, range(len(found)), given["k"])
    hits = found.page(page["page"], given["k"]) if numbers else []
    return {**page, "items": _found(hits, scored=found.scored)}


def similar(snapshot: Snapshot, given: Given) -> ItemListData:
    """Find items that are similar to a given one."""
    item = find_item(snapshot, given["id"])
    found = snapshot.index.search(None, given["k"] * given["page"], items=item.id)
    count = len(snapshot.index) - 1
    if len(found) < given["k"] * given["page"]:
        count = len(found)
    numbers, page = page_of(given, range(count), given["k"])
    return {**page, "items": _found([found[n] for n in numbers])}


def item(snapshot: Snapshot, given: Given) -> WholeItemData:
    """Return an item with its text, labels and metadata."""
    found, start = find_item(snapshot, given["id"]), given["start"]
    return {
        "id": found.id,
        "title": found.title,
        "text": found.text[start : start + given["n"]],
        "start": start,
        "length": len(found.text),
        "labels": None if found.labels is None else _stored(snapshot, found.labels),
        "metadata": found.metadata,
    }


def tag(snapshot: Snapshot, given: Given) -> SuggestionsData:
    """Suggest labels for texts."""
    if ("text" in given) == ("texts" in given):
        raise Refused(400, "Give either 'text' or 'texts'.")
    texts = [given["text"]] if "text" in given else given["texts"]
    explained = given.get("why", False)
    if explained and len(texts) > _MOST_EXPLAINED:
        raise Refused(400, f"why: at most {_MOST_EXPLAINED} texts can be explained at once.")
    index = snapshot.index
    tags = index.tag(texts, given.get("k", 10)) if texts else []

    def suggested(tag: Tag, text: str) -> SuggestedData:
        why = tag_reason(index, index.explain_tag(tag.label, text)) if explained else None
        return {**tag_data(index, tag), "why": why}

    pairs = zip(texts, tags, strict=True)
    return {"results": [[suggested(tag, text) for tag in own] for text, own in pairs]}


def embed(snapshot: Snapshot, given: Given) -> EmbeddedData:
    """Compute vectors of texts."""
    vectors: Any = snapshot.index.embed(given["texts"]) if given["texts"] else []
    return {
        "dimensions": snapshot.index.n_dimensions,
        "vectors": [[round(float(value), 7) for value in row] for row in vectors],
    }


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
        index.add(texts, labels, ids, metadata=metadata, replace=True, who="api")
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
    served.renew()
    return {"decision": decision_data(made), "labels": list(labels)}


def _named(review: Review, labels: Any) -> Any:
    """Return labels by their names; what was given may be URIs of the vocabulary."""
    vocabulary = review.index.vocabulary
    if vocabulary is None or labels is None:
        return labels
    return [vocabulary.names.get(one, one) for one in labels]


def _check_labels(review: Review, labels: list[str], given: Given) -> None:
    create, similar = given.get("create", False), given.get("similar", False)
    review.check_new_labels(labels, create=create, similar=similar)
