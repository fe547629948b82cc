"""The answer of the review: a finding with its evidence, those that follow, and progress."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from ..curation import Finding, LabelDecision, Review
from ..curation.review_queue import finding_key
from ..index import Item
from .answer_parts import Asked, AskedText, CountedData, counted, rounded
from .editing import Editing
from .http_errors import Refused
from .pages import Page
from .parameters import Parameter
from .schema import Count, Unit

__all__ = ["FORM", "REVIEW", "answer"]

ROWS_PER_PAGE = 20
_MOST_LABELS = 500
_LAST = 5
_LONGEST_TEXT = 5000
_LONGEST_SNIPPET = 160

_KIND = Parameter(
    "kind", "text", "Only labels that look wrong, or missing.", "", pattern="(wrong|missing)?"
)
_SHOW = Parameter(
    "show", "text", "Which findings: waiting, or skipped.", "waiting", pattern="waiting|skipped"
)
_LABEL = Parameter("label", "text", "Only findings about this label.", "")
_PAGE = Parameter("page", "whole", "Number of the page, from 1.", 1, 100_000, 1)
_KEY = "[0-9a-f]{24}"
# What a form that decides sends; the first four lead back to where it was.
FORM = (
    _LABEL,
    _KIND,
    _SHOW,
    _PAGE,
    Parameter("secret", "text", "The secret of the form.", None, 100),
    Parameter("decision", "text", "accept, reject or skip.", "", pattern="(accept|reject|skip)?"),
    Parameter("pair", "texts", "Keys of findings.", (), 24, most=ROWS_PER_PAGE + 1, pattern=_KEY),
)


class WaitingData(TypedDict):
    """A finding in the list."""

    key: str
    kind: Literal["wrong", "missing"]
    item: str
    title: str
    snippet: str
    label: str
    probability: Annotated[Unit | None, "of the label, from a model without the item"]


class ReviewNeighbour(TypedDict):
    """A labelled item near the item."""

    id: str
    title: str
    similarity: float
    has_label: bool


class ShareData(TypedDict):
    """A word of the item."""

    word: str
    share: Annotated[float, "what it adds to the score of the label"]


class CurrentData(TypedDict):
    """The finding that is asked about, with its evidence."""

    key: str
    kind: Literal["wrong", "missing"]
    item: str
    title: str
    text: str
    cut: bool
    label: str
    others: Annotated[list[str], "other labels of the item"]
    reason: str
    probability: Annotated[Unit | None, "of the label, from a model without the item"]
    votes: Annotated[Unit | None, "share of the votes of neighbours"]
    words: list[ShareData]
    neighbours: list[ReviewNeighbour]


class MadeData(TypedDict):
    """A decision."""

    time: str
    item: str
    label: str
    kind: Literal["wrong", "missing"]
    decision: Literal["accept", "reject", "skip"]
    said: Annotated[str, "the decision in words"]


class ProgressData(TypedDict):
    """How far the review is, under these filters."""

    accepted: Count
    rejected: Count
    skipped: Count
    waiting: Count
    total: Count


class ReviewData(TypedDict):
    """The answer of ``/review``."""

    state: Literal["none", "computing", "ready", "failed"]
    label: AskedText
    kind: AskedText
    show: AskedText
    count: Annotated[Count, "number of findings that match"]
    page: Count
    pages: Count
    progress: ProgressData
    labels: Annotated[list[CountedData], "labels with findings that wait"]
    current: CurrentData | None
    rows: Annotated[list[WaitingData], "findings of this page"]
    last: Annotated[list[MadeData], "the last decisions, the newest first"]
    together: Annotated[Count, "number of decisions that were made last, together"]


def answer(editing: Editing, asked: Asked) -> ReviewData:
    """Return a page of the queue; the first request starts making it."""
    editing.start()
    review = editing.review
    made = review.decisions()
    empty: ProgressData = {"accepted": 0, "rejected": 0, "skipped": 0, "waiting": 0, "total": 0}
    found: ReviewData = {
        "state": editing.state,
        "label": asked["label"],
        "kind": asked["kind"],
        "show": asked["show"],
        "count": 0,
        "page": 1,
        "pages": 1,
        "progress": empty,
        "labels": [],
        "current": None,
        "rows": [],
        "last": [_made(one) for one in made[: -_LAST - 1 : -1]],
        "together": sum(one.number == made[-1].number for one in made),
    }
    if editing.state != "ready":
        return found
    label, kind = asked["label"], asked["kind"]
    queue = review.waiting(label=label, kind=kind, skipped=asked["show"] == "skipped")
    progress = review.progress(label=label, kind=kind)
    pages = max(1, -(-len(queue) // ROWS_PER_PAGE))
    # A decision may have emptied the last page.
    page = min(asked["page"], pages)
    rows = queue[(page - 1) * ROWS_PER_PAGE : page * ROWS_PER_PAGE]
    items = {one.id: one for one in review.index.items([row.items[0] for row in rows])}
    rows = [row for row in rows if row.items[0] in items]
    chosen = [row for row in rows if finding_key(row) == asked["at"]] or rows[:1]
    found |= {
        "count": len(queue),
        "page": page,
        "pages": pages,
        "progress": {
            "accepted": progress.accepted,
            "rejected": progress.rejected,
            "skipped": progress.skipped,
            "waiting": progress.waiting,
            "total": progress.total,
        },
        "labels": counted(review.labels()[:_MOST_LABELS]),
        "current": _current(review, chosen[0], items[chosen[0].items[0]]) if chosen else None,
        "rows": [_row(row, items[row.items[0]]) for row in rows],
    }
    return found


def _row(one: Finding, item: Item) -> WaitingData:
    text = " ".join(item.text.split())
    return {
        "key": finding_key(one),
        "kind": _kind(one),
        "item": item.id,
        "title": item.title,
        "snippet": text[:_LONGEST_SNIPPET] + ("…" if len(text) > _LONGEST_SNIPPET else ""),
        "label": one.labels[0],
        "probability": _unit(one, "probability"),
    }


def _current(review: Review, one: Finding, item: Item) -> CurrentData:
    label = one.labels[0]
    why = review.explain(one)
    votes = () if why is None else why.votes
    titles = {near.id: near.title for near in review.index.items([vote.id for vote in votes])}
    return {
        "key": finding_key(one),
        "kind": _kind(one),
        "item": item.id,
        "title": item.title,
        "text": item.text[:_LONGEST_TEXT],
        "cut": len(item.text) > _LONGEST_TEXT,
        "label": label,
        "others": [name for name in item.labels or () if name != label],
        "reason": one.reason,
        "probability": _unit(one, "probability"),
        "votes": _unit(one, "votes"),
        "words": []
        if why is None
        else [{"word": word.word, "share": rounded(word.share)} for word in why.words],
        "neighbours": [
            {
                "id": vote.id,
                "title": titles.get(vote.id, vote.id),
                "similarity": rounded(vote.similarity),
                "has_label": vote.has_label,
            }
            for vote in votes
        ],
    }


def _made(one: LabelDecision) -> MadeData:
    words = {
        ("accept", "wrong"): "Removed",
        ("accept", "missing"): "Added",
        ("reject", "wrong"): "Kept",
        ("reject", "missing"): "Not added",
    }
    said = words.get((one.decision, one.kind), "Skipped")
    return {
        "time": one.time,
        "item": one.item,
        "label": one.label,
        "kind": one.kind,
        "decision": one.decision,
        "said": said,
    }


def _kind(one: Finding) -> Literal["wrong", "missing"]:
    return "wrong" if one.kind == "wrong" else "missing"


def _unit(one: Finding, name: str) -> float | None:
    value: Any = one.evidence.get(name)
    return None if value is None else rounded(min(max(float(value), 0.0), 1.0))


def _unused(snapshot: Any, asked: Asked) -> ReviewData:
    raise Refused(404, "There is no such page.")


REVIEW = Page(
    "review",
    "/review",
    "Review",
    "Labels that look wrong or missing, to be decided one by one.",
    _unused,
    (
        _LABEL,
        _KIND,
        _SHOW,
        Parameter("at", "text", "Key of the finding to ask about.", "", pattern=f"({_KEY})?"),
        Parameter("did", "text", "What was done last.", "", pattern="[a-z]*", largest=20),
        _PAGE,
    ),
)
