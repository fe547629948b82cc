"""What each page says, as plain data: its twin sends that as JSON, its template shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..index import AxisShare, Hit, Item, Tag
from .http_errors import Refused
from .snapshot import Snapshot

__all__ = [
    "axes",
    "find_item",
    "find_label",
    "home",
    "item",
    "label",
    "labels",
    "map_page",
    "search",
    "tag",
    "why",
]

Answer = dict[str, Any]
Asked = Mapping[str, Any]

LABELS_A_PAGE = 200
AXES_A_PAGE = 20
_PREDICTED = 5
_COMMON = 40
_MOST_COLOURS = 400
_LONGEST_SHOWN = 20_000


def home(snapshot: Snapshot, asked: Asked) -> Answer:
    """What is in the index."""
    index = snapshot.index
    return {
        "items": len(index),
        "labels": len(snapshot.labels),
        "dimensions": index.n_dimensions,
        "tags": snapshot.tags,
        "common": _counted(_by_count(snapshot)[:_COMMON]),
    }


def search(snapshot: Snapshot, asked: Asked) -> Answer:
    """Items for a text, among those with some labels and without others."""
    q, k, wanted, unwanted = asked["q"], asked["k"], asked["label"], asked["without"]
    for name in (*wanted, *unwanted):
        find_label(snapshot, name)
    hits: list[Hit] = []
    if q.strip() and not wanted and not unwanted:
        hits = snapshot.search(q, k)
    elif q.strip() or wanted:
        allowed = {"labels": wanted, "without": unwanted}
        # Labels alone say what is looked for, and what may be found.
        near = () if q.strip() else wanted
        hits = snapshot.index.search(q if q.strip() else None, k, allowed, labels=near)
    among = Counter(name for hit in hits for name in hit.labels or ())
    facets = [(name, count) for name, count in among.most_common() if name not in wanted]
    return {
        "q": q,
        "label": list(wanted),
        "without": list(unwanted),
        "k": k,
        "hits": _hits(snapshot, hits),
        "facets": _counted(facets[:8]),
    }


def item(snapshot: Snapshot, asked: Asked) -> Answer:
    """An item with its text, labels, predicted labels and neighbours."""
    found = find_item(snapshot, asked["id"])
    return {
        "id": found.id,
        "title": found.title,
        "text": found.text[:_LONGEST_SHOWN],
        "cut": len(found.text) > _LONGEST_SHOWN,
        "labels": None if found.labels is None else list(found.labels),
        "metadata": found.metadata,
        "predicted": _tags(_predicted(snapshot, [found.id], 10)[0]),
        "neighbours": _hits(snapshot, snapshot.index.search(None, asked["k"], items=found.id)),
    }


def why(snapshot: Snapshot, asked: Asked) -> Answer:
    """Why an item was found: the axes, words and labels it shares with a search."""
    found, q, near = find_item(snapshot, asked["id"]), asked["q"], asked["label"]
    for name in near:
        find_label(snapshot, name)
    if not q.strip() and not near:
        raise Refused(400, "q: it is empty; give the text that was searched for.")
    text = q if q.strip() else None
    told = snapshot.index.explain(text, found.id, labels=() if text else near)
    return {
        "q": q,
        "label": list(near),
        "id": found.id,
        "title": found.title,
        "score": _round(told.score),
        "words": [
            {"word": one.word, "share": _round(one.share), "shared": one.shared}
            for one in told.words
        ],
        "axes": [_share(one) for one in told.axes],
        "labels": [
            {"label": one.label, "probability": _round(one.probability)} for one in told.labels
        ],
    }


def labels(snapshot: Snapshot, asked: Asked) -> Answer:
    """All labels with how many items carry them, the commonest first."""
    part = asked["q"].strip().casefold()
    matching = [(name, n) for name, n in _by_count(snapshot) if part in name.casefold()]
    page, pages = _page(asked["page"], len(matching), LABELS_A_PAGE)
    start = (page - 1) * LABELS_A_PAGE
    return {
        "q": asked["q"],
        "count": len(matching),
        "page": page,
        "pages": pages,
        "labels": _counted(matching[start : start + LABELS_A_PAGE]),
    }


def label(snapshot: Snapshot, asked: Asked) -> Answer:
    """A label with its neighbours, its items, and items that may lack it."""
    name = asked["name"]
    count = find_label(snapshot, name)
    index = snapshot.index
    own = index.search(None, 10, {"labels": [name]}, labels=name)
    others = index.search(None, 5, {"without": [name]}, labels=name)
    return {
        "label": name,
        "count": count,
        "neighbours": [
            {"label": other, "score": _round(score), "count": snapshot.labels[other]}
            for other, score in index.similar_labels(name, 12)
        ],
        "items": _hits(snapshot, own),
        "others": _hits(snapshot, others),
    }


def axes(snapshot: Snapshot, asked: Asked) -> Answer:
    """The dimensions of the space, with words and labels at both ends."""
    count = snapshot.index.n_dimensions
    page, pages = _page(asked["page"], count, AXES_A_PAGE)
    numbers = range((page - 1) * AXES_A_PAGE, min(count, page * AXES_A_PAGE))
    return {
        "count": count,
        "page": page,
        "pages": pages,
        "axes": [
            {
                "number": axis.number,
                "eigenvalue": float(f"{axis.eigenvalue:.4g}"),
                "high": {"words": _names(axis.words.high), "labels": _names(axis.labels.high)},
                "low": {"words": _names(axis.words.low), "labels": _names(axis.labels.low)},
            }
            for axis in snapshot.index.axes(6, numbers)
        ],
    }


def tag(snapshot: Snapshot, asked: Asked) -> Answer:
    """Labels for a text, the most probable first."""
    text = asked["text"]
    found = snapshot.index.tag(text, asked["k"]) if text.strip() else []
    return {"text": text, "k": asked["k"], "tags": _tags(found)}


def map_page(snapshot: Snapshot, asked: Asked) -> Answer:
    """What the map shows, and whether it is drawn yet; the points come on their own."""
    if asked["item"]:
        find_item(snapshot, asked["item"])
    if asked["label"]:
        find_label(snapshot, asked["label"])
    drawn = snapshot.map
    return {
        "state": snapshot.map_state,
        "items": len(snapshot.index),
        "item": asked["item"],
        "label": asked["label"],
        "regions": [] if drawn is None else list(drawn.regions),
        "labels": _counted(_colours(snapshot, asked["label"])),
    }


# --- parts of answers -----------------------------------------------------------------------


def find_item(snapshot: Snapshot, name: str) -> Item:
    """An item, or a refusal that does not search the whole index for names alike."""
    gone = Refused(404, f"There is no item {_brief(name)} in this index.")
    if name not in snapshot.index:
        raise gone
    found = snapshot.index.items([name])
    if not found:
        # A writer has removed it since the index was read.
        raise gone
    return found[0]


def find_label(snapshot: Snapshot, name: str) -> int:
    """How many items carry a label, or a refusal."""
    if name not in snapshot.labels:
        raise Refused(404, f"No item of this index has the label {_brief(name)}.")
    return snapshot.labels[name]


def _brief(name: str) -> str:
    """A name in a sentence, which is not to be as long as a name may be."""
    return repr(name if len(name) <= 60 else f"{name[:60]}…")


def _hits(snapshot: Snapshot, hits: Sequence[Hit]) -> list[Answer]:
    predicted = _predicted(snapshot, [hit.id for hit in hits], _PREDICTED)
    return [
        {
            "id": hit.id,
            "score": _round(hit.score),
            "snippet": hit.snippet,
            "labels": None if hit.labels is None else list(hit.labels),
            "predicted": _tags(tags),
        }
        for hit, tags in zip(hits, predicted, strict=True)
    ]


def _predicted(snapshot: Snapshot, ids: list[str], k: int) -> list[list[Tag]]:
    if not snapshot.tags or not ids:
        return [[] for _ in ids]
    found: list[list[Tag]] = snapshot.index.tag(items=ids, k=k)
    return found


def _tags(tags: Sequence[Tag]) -> list[Answer]:
    return [
        {
            "label": one.label,
            "probability": _round(one.probability),
            "threshold": _round(one.threshold),
            "chosen": one.chosen,
        }
        for one in tags
    ]


def _share(one: AxisShare) -> Answer:
    return {
        "axis": one.axis.number,
        "share": _round(one.share),
        "end": one.end,
        "words": _names(one.words),
        "labels": _names(one.labels),
    }


def _names(entries: Sequence[tuple[Any, float]]) -> list[str]:
    return [str(name) for name, _ in entries]


def _by_count(snapshot: Snapshot) -> list[tuple[str, int]]:
    return sorted(snapshot.labels.items(), key=lambda pair: (-pair[1], pair[0]))


def _colours(snapshot: Snapshot, asked: str) -> list[tuple[str, int]]:
    """The labels to colour a map by: the commonest, and the one that was asked for."""
    found = _by_count(snapshot)
    common = found[:_MOST_COLOURS]
    return common + [pair for pair in found[_MOST_COLOURS:] if pair[0] == asked]


def _counted(pairs: Sequence[tuple[str, int]]) -> list[Answer]:
    return [{"label": name, "count": count} for name, count in pairs]


def _page(asked: int, count: int, each: int) -> tuple[int, int]:
    pages = max(1, -(-count // each))
    if asked > pages:
        raise Refused(404, f"page: there are pages 1 to {pages}.")
    return asked, pages


def _round(value: float) -> float:
    return round(float(value), 4)
