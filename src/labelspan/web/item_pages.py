"""The answers of the pages about items: one item, why it was found, axes, and two indexes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from typing_extensions import TypedDict

from .._axis_ends import Entry
from .._typing import Array
from ..answers import ItemData, item_data, rounded
from ..index import Hit, Item, Tag
from ..index.metadata_fields import FieldKind, metadata_text
from ..index.passages import SharedWords, passage
from ..index.results import WordShare
from .answer_parts import Asked, find_item, find_label
from .item_list import balance_of
from .requests import Refused
from .schema import Count, Unit
from .snapshot import Snapshot

__all__ = ["axis", "item", "why"]

_LONGEST_SHOWN = 20_000
# What a query is more than a text by.
_SYNTAX = re.compile(r'["*]|(?<!\w)-')
# On the page of an axis.
_WORDS, _LABELS, _ITEMS, _BARS = 8, 6, 5, 30
# Items of a large index whose coordinates are counted, evenly spaced.
_MOST_ITEMS = 50_000


class AxisShareData(TypedDict):
    """What one axis adds to the cosine."""

    axis: Count
    share: float
    end: Annotated[Literal["high", "low"], "where both query and item lie"]
    words: list[str]
    labels: list[str]


class WhyData(TypedDict):
    """The answer of ``/why``."""

    title: Annotated[str, "first line of the item"]
    score: Annotated[float, "as in the search"]
    from_words: Annotated[float, "part of it from words of the query"]
    from_space: Annotated[float, "part of it from closeness in the space"]
    exact: Annotated[
        Literal["id", "title"] | None, "whether the query is the id or the title of the item"
    ]
    matches: Annotated[list[WordShare], "words of the query in the item"]
    cosine: Annotated[float, "cosine similarity of query and item"]
    words: Annotated[list[WordShare], "words of the query, and what they add to the cosine"]
    axes: Annotated[list[AxisShareData], "the axes that add most to the cosine"]
    labels: Annotated[list[Tag], "labels of the item"]


def why(snapshot: Snapshot, asked: Asked) -> WhyData:
    """Explain why an item was found: the axes, words and labels it shares with a query."""
    found, q, near = find_item(snapshot, asked["id"]), asked["q"], asked["label"]
    for name in near:
        find_label(snapshot, name)
    if not q.strip() and not near:
        raise Refused(400, "q: it is empty; give the text that was searched for.")
    text = q if q.strip() else None
    explained = snapshot.index.explain(
        text, found.id, labels=() if text else near, balance=balance_of(asked)
    )
    return {
        "title": found.title,
        "score": rounded(explained.score),
        "from_words": rounded(explained.from_words),
        "from_space": rounded(explained.from_space),
        "exact": explained.exact,
        "matches": list(explained.matches),
        "cosine": rounded(explained.cosine),
        "words": list(explained.words),
        "axes": [
            {
                "axis": one.axis.number,
                "share": rounded(one.share),
                "end": one.end,
                "words": _telling(snapshot, one.words),
                "labels": [str(name) for name, _ in one.labels],
            }
            for one in explained.axes
        ],
        "labels": list(explained.labels),
    }


def _telling(snapshot: Snapshot, words: Sequence[Entry]) -> list[str]:
    """Return words without those that say nothing by themselves, such as articles."""
    names = [str(name) for name, _ in words]
    return [name for name in names if not snapshot.common & set(name.split())]


class NeighbourData(TypedDict):
    """A similar item, and what it shares with this one."""

    id: str
    score: Annotated[Unit, "cosine similarity"]
    title: Annotated[str, "first line of the text"]
    snippet: Annotated[str, "beginning of the rest"]
    labels: Annotated[list[str] | None, "null if they are not known"]
    shared_labels: list[str]
    shared_words: Annotated[list[str], "the rarest first"]


class ItemPageData(ItemData):
    """The answer of ``/item``."""

    text: Annotated[str, f"at most {_LONGEST_SHOWN:,} characters of it"]
    rest: Annotated[str, "the text after its title"]
    cut: Annotated[bool, "whether the text is longer"]
    fields: Annotated[dict[str, FieldKind], "what kind of values each key of the metadata has"]
    values: Annotated[dict[str, list[str]], "metadata that is shown; a list has several values"]
    predicted: Annotated[list[Tag], "the most probable labels"]
    neighbours: Annotated[list[NeighbourData], "other items, nearest in the space of labels first"]
    alike: Annotated[list[NeighbourData], "other items, nearest by the words of the text first"]


def item(snapshot: Snapshot, asked: Asked) -> ItemPageData:
    """Return an item with its text, labels, predicted labels and neighbours."""
    found = find_item(snapshot, asked["id"])
    shared = None if snapshot.words is None else SharedWords(snapshot.words, found.text)
    own = found.labels or ()

    def near(hits: Sequence[Hit]) -> list[NeighbourData]:
        return [
            {
                "id": hit.id,
                "score": rounded(hit.score),
                "title": part.title,
                "snippet": part.text,
                "labels": None if hit.labels is None else list(hit.labels),
                "shared_labels": [name for name in hit.labels or () if name in own],
                "shared_words": [] if shared is None else shared.of(hit.text),
            }
            for hit, part in ((hit, passage(hit)) for hit in hits)
        ]

    return {
        **item_data(found),
        "text": found.text[:_LONGEST_SHOWN],
        "rest": found.text[:_LONGEST_SHOWN].removeprefix(found.title).lstrip(),
        "cut": len(found.text) > _LONGEST_SHOWN,
        "fields": snapshot.index.fields(),
        "values": _values(snapshot, found),
        "predicted": snapshot.predicted([found.id])[0],
        "neighbours": near(snapshot.index.search(None, asked["k"], items=found.id)),
        "alike": near(_alike(snapshot, found, asked["k"])),
    }


def _alike(snapshot: Snapshot, found: Item, count: int) -> list[Hit]:
    """Return the items whose words are those of an item, without looking at labels."""
    # As a text, not as a query with phrases and words to leave out.
    text = _SYNTAX.sub(" ", found.text[:_LONGEST_SHOWN]).strip()
    if snapshot.words is None or not text:
        return []
    hits = snapshot.index.search(text, count + 1, balance=0)
    return [hit for hit in hits if hit.id != found.id][:count]


def _values(snapshot: Snapshot, found: Item) -> dict[str, list[str]]:
    """Return the values of the metadata by which the list can be filtered, one by one.

    Those that are missing, or that are the title again, are left out.
    """
    fields, shown = snapshot.index.store.fields(), {}
    for key, value in found.metadata.items():
        text, field = metadata_text(value), fields.get(key)
        if value in (None, "") or text == found.title:
            continue
        several = field is not None and field.parts is not None and value in field.values
        shown[key] = field.parts[field.values.index(value)] if several else [text]  # type: ignore[index, union-attr]
    return shown


class AxisItemData(TypedDict):
    """An item far out on an axis."""

    id: str
    title: Annotated[str, "first line of the text"]
    value: Annotated[float, "its coordinate, from -1 to 1"]


class EndData(TypedDict):
    """One end of an axis, the strongest entries first."""

    words: Annotated[list[str], "without those that say nothing, such as articles"]
    labels: list[str]
    items: list[AxisItemData]


class AxisData(TypedDict):
    """The answer of ``/axis``."""

    number: Annotated[Count, "from 0"]
    count: Annotated[Count, "number of axes"]
    eigenvalue: float
    low: EndData
    high: EndData
    bars: Annotated[list[Count], "number of items in equal steps from the least to the largest"]
    least: Annotated[float, "smallest coordinate of an item"]
    largest: Annotated[float, "largest coordinate of an item"]


def axis(snapshot: Snapshot, asked: Asked) -> AxisData:
    """Describe a dimension of the embedding by words, labels and items at its ends."""
    index, number = snapshot.index, asked["number"]
    count = index.n_dimensions
    if number >= count:
        raise Refused(404, f"number: there are axes 0 to {count - 1}.")
    (found,) = index.axes(4 * _WORDS, [number])
    ids = index.ids[:: max(1, -(-len(index) // _MOST_ITEMS))]
    values = np.asarray(index.vectors(ids))[:, number]
    order = np.argsort(values, kind="stable")

    def end(words: Sequence[Entry], labels: Sequence[Entry], rows: Array) -> EndData:
        value = {ids[row]: float(values[row]) for row in rows}
        # An item that a writer removes meanwhile is not there.
        there = index.items([name for name in value if name in index])
        return {
            "words": _telling(snapshot, words)[:_WORDS],
            "labels": [str(name) for name, _ in labels[:_LABELS]],
            "items": [
                {"id": one.id, "title": one.title, "value": rounded(value[one.id])} for one in there
            ],
        }

    return {
        "number": number,
        "count": count,
        "eigenvalue": float(f"{found.eigenvalue:.4g}"),
        "low": end(found.words.low, found.labels.low, order[:_ITEMS]),
        "high": end(found.words.high, found.labels.high, order[::-1][:_ITEMS]),
        "bars": np.histogram(values, _BARS)[0].tolist(),
        "least": rounded(values.min()),
        "largest": rounded(values.max()),
    }
