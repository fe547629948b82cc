"""The answer of the audit: what in the labels of the collection to look at."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal, TypedDict

from ..curation import Finding
from ..curation.audit_results import KINDS
from .answer_parts import Asked, AskedText, CountedData, counted, page_of, rounded
from .http_errors import Refused
from .schema import Count, Unit
from .snapshot import Snapshot

__all__ = ["audit", "finding_cells"]

_ROWS_PER_PAGE = 50
_MOST_LABELS = 20


class KindData(TypedDict):
    """A kind of finding."""

    kind: str
    name: str
    count: Annotated[Count, "number of findings of this kind, before other filters"]


class FindingData(TypedDict):
    """Something to look at."""

    kind: str
    score: Annotated[Unit, "how clear it is"]
    items: Annotated[list[str], "ids of the items concerned"]
    labels: list[str]
    reason: Annotated[str, "the evidence in a sentence"]


class AuditData(TypedDict):
    """The answer of ``/audit``."""

    state: Annotated[Literal["computing", "ready", "failed", "none"], "of the audit"]
    kind: AskedText
    label: AskedText
    sort: AskedText
    count: Annotated[Count, "number of findings that match"]
    page: Annotated[Count, "number of this page"]
    pages: Annotated[Count, "number of pages"]
    kinds: Annotated[list[KindData], "kinds with findings"]
    labels: Annotated[list[CountedData], "most frequent labels of the findings that match"]
    rows: Annotated[list[FindingData], "findings of this page"]


def audit(snapshot: Snapshot, asked: Asked) -> AuditData:
    """Return a page of the findings; the first request starts the computation."""
    snapshot.start_audit()
    found = _found(snapshot, asked)
    every = () if snapshot.audit is None else snapshot.audit.findings
    kinds = Counter(one.kind for one in every)
    labels = Counter(name for one in found for name in one.labels)
    page, pages = page_of(asked["page"], len(found), _ROWS_PER_PAGE)
    start = (page - 1) * _ROWS_PER_PAGE
    return {
        "state": snapshot.audit_state,
        "kind": asked["kind"],
        "label": asked["label"],
        "sort": asked["sort"],
        "count": len(found),
        "page": page,
        "pages": pages,
        "kinds": [
            {"kind": kind, "name": name, "count": kinds[kind]}
            for kind, name in KINDS.items()
            if kinds[kind]
        ],
        "labels": counted(labels.most_common(_MOST_LABELS)),
        "rows": [_row(one) for one in found[start : start + _ROWS_PER_PAGE]],
    }


def finding_cells(snapshot: Snapshot, asked: Asked) -> list[list[Any]]:
    """Return all findings that match as cells of a table, with a line of names."""
    if snapshot.audit is None:
        raise Refused(503, "The audit is being computed; try again.", {"retry-after": "2"})
    return [
        ["kind", "score", "items", "labels", "reason"],
        *(
            [one.kind, rounded(one.score), "|".join(one.items), "|".join(one.labels), one.reason]
            for one in _found(snapshot, asked)
        ),
    ]


def _found(snapshot: Snapshot, asked: Asked) -> list[Finding]:
    kind, label, sort = asked["kind"], asked["label"], asked["sort"]
    if kind and kind not in KINDS:
        raise Refused(404, f"kind: choose one of {', '.join(KINDS)}.")
    keys = {
        "score": lambda one: -one.score,
        "item": lambda one: one.items[:1],
        "label": lambda one: one.labels[:1],
    }
    name = sort.removeprefix("-")
    if name not in {"", *keys}:
        raise Refused(404, f"sort: choose one of {', '.join(keys)}.")
    if snapshot.audit is None:
        return []
    found = [
        one
        for one in snapshot.audit.findings
        if (not kind or one.kind == kind) and (not label or label in one.labels)
    ]
    return sorted(found, key=keys[name], reverse=sort.startswith("-")) if name else found


def _row(one: Finding) -> FindingData:
    return {
        "kind": one.kind,
        "score": rounded(min(max(one.score, 0.0), 1.0)),
        "items": list(one.items),
        "labels": list(one.labels),
        "reason": one.reason,
    }
