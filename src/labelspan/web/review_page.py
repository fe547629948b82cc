"""The review: what in the labels to look at, the clearest first, with the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypedDict

from ..curation import Finding, LabelDecision
from ..curation.audit_results import KINDS
from ..curation.review_queue import Progress, finding_key
from ..index import WordShare
from .answer_parts import (
    Asked,
    CountedData,
    counted,
    find_item,
    page_of,
    rounded,
)
from .http_errors import Refused
from .schema import Count, Unit
from .snapshot import PAIRS, Snapshot

__all__ = ["KEY", "finding", "finding_cells", "review"]

KEY = "[0-9a-f]{24}"
_ROWS_PER_PAGE = 50
_MOST_LABELS = 500
_LONGEST_TEXT = 5000
# When at most this number of the last decisions accepted what was proposed, the rest is noise.
_LAST, _FEW_ACCEPTED = 20, 3


class KindData(TypedDict):
    """A kind of finding."""

    kind: str
    name: str
    count: Annotated[Count, "number of findings of this kind that wait, before other filters"]


class FindingData(TypedDict):
    """Something to look at."""

    key: Annotated[str, "short name; empty if there is nothing to decide"]
    kind: str
    score: Annotated[Unit, "how clear it is"]
    items: Annotated[list[str], "ids of the items concerned"]
    titles: list[str]
    labels: list[str]
    reason: Annotated[str, "the evidence in a sentence"]


class ReviewData(TypedDict):
    """The answer of ``/review``."""

    state: Annotated[Literal["computing", "ready", "failed", "none"], "of the audit"]
    count: Annotated[Count, "number of findings that match"]
    page: Annotated[Count, "number of this page"]
    pages: Annotated[Count, "number of pages"]
    kinds: Annotated[list[KindData], "kinds with findings"]
    labels: Annotated[list[CountedData], "labels of the findings that match"]
    rows: Annotated[list[FindingData], "findings of this page"]
    progress: Annotated[Progress | None, "null if nothing can be decided"]
    enough: Annotated[str, "a sentence when what is left is as good as noise"]


def review(snapshot: Snapshot, asked: Asked) -> ReviewData:
    """Return a page of the findings that wait; the first request starts the computation."""
    snapshot.start_audit()
    found = _found(snapshot, asked)
    page, pages = page_of(asked["page"], len(found), _ROWS_PER_PAGE)
    start = (page - 1) * _ROWS_PER_PAGE
    kinds = Counter(one.kind for one in _waiting(snapshot, asked))
    progress = _progress(snapshot, asked)
    return {
        "state": snapshot.audit_state,
        "count": len(found),
        "page": page,
        "pages": pages,
        "kinds": [
            {"kind": kind, "name": name, "count": kinds[kind]}
            for kind, name in KINDS.items()
            if kinds[kind]
        ],
        "labels": counted(
            Counter(name for one in found for name in one.labels).most_common(_MOST_LABELS)
        ),
        "rows": _rows(snapshot, found[start : start + _ROWS_PER_PAGE]),
        "progress": progress,
        "enough": _enough(snapshot) if progress else "",
    }


def finding_cells(snapshot: Snapshot, asked: Asked) -> list[list[Any]]:
    """Return all findings that match as cells of a table, with a line of names."""
    if snapshot.audit_state != "ready":
        raise Refused(503, "The audit is being computed; try again.", {"retry-after": "2"})
    return [
        ["kind", "score", "items", "titles", "labels", "reason"],
        *(
            [
                row["kind"],
                row["score"],
                *("|".join(part) for part in (row["items"], row["titles"], row["labels"])),
                row["reason"],
            ]
            for row in _rows(snapshot, _found(snapshot, asked))
        ),
    ]


def _waiting(snapshot: Snapshot, asked: Asked) -> Sequence[Finding]:
    if asked["show"] == "skipped" and snapshot.review is not None:
        return snapshot.review.waiting(skipped=True) if snapshot.audit_state == "ready" else []
    return snapshot.findings


def _found(snapshot: Snapshot, asked: Asked) -> list[Finding]:
    kind, label = asked["kind"], asked["label"]
    if kind and kind not in (*KINDS, "pairs"):
        raise Refused(404, f"kind: choose one of {', '.join(KINDS)}.")
    wanted = PAIRS if kind == "pairs" else (kind,)
    return [
        one
        for one in _waiting(snapshot, asked)
        if (not kind or one.kind in wanted) and (not label or label in one.labels)
    ]


def _rows(snapshot: Snapshot, found: Sequence[Finding]) -> list[FindingData]:
    names = dict.fromkeys(name for one in found for name in one.items)
    there = snapshot.index.items([name for name in names if name in snapshot.index])
    titles = {item.id: item.title for item in there}
    return [
        {
            "key": finding_key(one) if one.kind in PAIRS else "",
            "kind": one.kind,
            "score": rounded(min(max(one.score, 0.0), 1.0)),
            "items": list(one.items),
            "titles": [titles.get(name, name) for name in one.items],
            "labels": list(one.labels),
            "reason": one.reason,
        }
        for one in found
    ]


def _progress(snapshot: Snapshot, asked: Asked) -> Progress | None:
    if snapshot.review is None or snapshot.audit_state != "ready":
        return None
    kind: str = asked["kind"] if asked["kind"] in PAIRS else ""
    return snapshot.review.progress(label=asked["label"], kind=kind)  # type: ignore[arg-type]


def _enough(snapshot: Snapshot) -> str:
    """Say when what is left is as good as noise, by the last decisions."""
    assert snapshot.review is not None
    made: list[LabelDecision] = [
        one for one in snapshot.review.decisions() if one.decision != "skip"
    ]
    accepted = sum(one.decision == "accept" for one in made[-_LAST:])
    if len(made) < _LAST or accepted > _FEW_ACCEPTED:
        return ""
    return (
        f"Enough: of the last {_LAST} findings only {accepted} were right, and what follows is "
        "less clear."
    )


# --- the evidence of one finding ------------------------------------------------------------


class NearItemData(TypedDict):
    """A labelled item near the item."""

    id: str
    title: str
    similarity: float
    has_label: bool


class EvidenceData(TypedDict):
    """The answer of ``/finding``."""

    key: str
    kind: Literal["wrong", "missing"]
    item: str
    title: str
    text: str
    cut: Annotated[bool, "whether the text is longer"]
    metadata: dict[str, Any]
    label: str
    others: Annotated[list[str], "other labels of the item"]
    reason: str
    probability: Annotated[Unit, "of the label, from a model without the item"]
    words: list[WordShare]
    neighbours: list[NearItemData]


def finding(snapshot: Snapshot, asked: Asked) -> EvidenceData:
    """Return the evidence for a label that looks wrong or missing."""
    one = snapshot.finding(asked["key"])
    if one is None:
        raise Refused(404, "key: there is no such finding now.")
    item, label = find_item(snapshot, one.items[0]), one.labels[0]
    why = snapshot.explain_finding(one)
    votes = () if why is None else why.votes
    near = snapshot.index.items([vote.id for vote in votes if vote.id in snapshot.index])
    titles = {other.id: other.title for other in near}
    return {
        "key": asked["key"],
        "kind": "wrong" if one.kind == "wrong" else "missing",
        "item": item.id,
        "title": item.title,
        "text": item.text[:_LONGEST_TEXT],
        "cut": len(item.text) > _LONGEST_TEXT,
        "metadata": item.metadata,
        "label": label,
        "others": [name for name in item.labels or () if name != label],
        "reason": one.reason,
        "probability": rounded(one.evidence["probability"]),
        "words": list(why.words) if why else [],
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
