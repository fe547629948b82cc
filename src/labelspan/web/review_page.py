"""The review: labels to check, the clearest cases first, with the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from ..answers import NearItemData, near_items, rounded
from ..curation import Finding, LabelDecision
from ..curation.audit_results import KINDS, PAIRS
from ..index.results import WordShare
from .answer_parts import Asked, PageData, find_item, page_of
from .requests import Refused
from .schema import Count, Unit
from .snapshot import Snapshot

__all__ = ["KEY", "finding", "review"]

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
    sure: Annotated[Count, "number of those that are not unsure"]


class ReviewData(PageData):
    """The answer of ``/review``."""

    state: Annotated[Literal["computing", "ready", "failed", "none"], "of the audit"]
    kinds: Annotated[list[KindData], "kinds with findings"]
    labels: Annotated[dict[str, Count], "numbers of findings that match by label"]
    rows: Annotated[list[Finding], "findings of this page"]
    progress: Annotated[
        dict[str, Count] | None,
        "accepted, rejected, skipped, waiting and total; null if nothing can be decided",
    ]
    enough: Annotated[str, "a sentence when what is left is as good as noise"]


def review(snapshot: Snapshot, asked: Asked) -> ReviewData:
    """Return a page of the findings that wait; the first request starts the computation."""
    snapshot.start_audit()
    every: Sequence[Finding] = snapshot.findings
    if asked["show"] == "skipped":
        every = snapshot.review.waiting(skipped=True) if snapshot.audit_state == "ready" else []
    found = _matching(every, asked["kind"], asked["label"])
    shown, page = page_of(asked, found, _ROWS_PER_PAGE)
    kinds = Counter(one.kind for one in every)
    sure = Counter(one.kind for one in every if one.sure)
    progress = None
    if snapshot.audit_state == "ready" and snapshot.index.writable:
        kind: Any = asked["kind"] if asked["kind"] in PAIRS else ""
        progress = snapshot.review.progress(label=asked["label"], kind=kind)
    return {
        "state": snapshot.audit_state,
        **page,
        "kinds": [
            {"kind": kind, "name": name, "count": kinds[kind], "sure": sure[kind]}
            for kind, name in KINDS.items()
            if kinds[kind]
        ],
        "labels": dict(
            Counter(name for one in found for name in one.labels).most_common(_MOST_LABELS)
        ),
        "rows": _rows(snapshot, shown),
        "progress": progress,
        "enough": _enough(snapshot.review.decisions()) if progress else "",
    }


def _matching(found: Sequence[Finding], kind: str, label: str) -> list[Finding]:
    if kind and kind not in (*KINDS, "pairs"):
        raise Refused(404, f"kind: choose one of {', '.join(KINDS)}.")
    wanted = PAIRS if kind == "pairs" else (kind,)
    return [
        one
        for one in found
        if (not kind or one.kind in wanted) and (not label or label in one.labels)
    ]


def _rows(snapshot: Snapshot, found: Sequence[Finding]) -> list[Finding]:
    names = dict.fromkeys(name for one in found for name in one.items)
    there = snapshot.index.items([name for name in names if name in snapshot.index])
    titles = {item.id: item.title for item in there}
    return [replace(one, titles=tuple(titles.get(id, id) for id in one.items)) for one in found]


def _enough(made: Sequence[LabelDecision]) -> str:
    """Say when what is left is as good as noise, by the last decisions."""
    last = [one.changed for one in made if one.answer in ("yes", "no")][-_LAST:]
    accepted = sum(last)
    if len(last) < _LAST or accepted > _FEW_ACCEPTED:
        return ""
    return (
        f"Enough: of the last {_LAST} findings only {accepted} were right, and what follows is "
        "less clear."
    )


# --- the evidence of one finding ------------------------------------------------------------


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
    base_rate: Annotated[Unit, "share of the labelled items that have the label"]
    words: list[WordShare]
    neighbours: list[NearItemData]
    implied_by: Annotated[str | None, "narrower label that gives it its probability, if one does"]


def finding(snapshot: Snapshot, asked: Asked) -> EvidenceData:
    """Return the evidence for a label that looks wrong or missing."""
    found = snapshot.review.find([asked["key"]]) if snapshot.audit_state == "ready" else []
    if not found:
        raise Refused(404, "key: there is no such finding now.")
    (one,) = found
    item, label = find_item(snapshot, one.items[0]), one.labels[0]
    why = snapshot.review.explain(one)
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
        "base_rate": rounded(one.evidence["base_rate"]),
        "words": list(why.words) if why else [],
        "neighbours": near_items(snapshot.index, why.votes if why else ()),
        "implied_by": why.implied_by if why else None,
    }
