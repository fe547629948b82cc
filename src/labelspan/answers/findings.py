"""Findings of the audit: those that wait for a decision, and the evidence of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from .._typing import TypedDict
from ..curation import Finding, Review
from ..curation.audit_results import KINDS, PAIRS
from ..errors import NotFound
from ..index import SemanticIndex
from ..index.passages import whole_title
from ..index.results import WordShare
from .common import Count, Given, PageData, Unit, find_item, page_of, rounded, titles_of
from .tags import NearItemData, near_items

__all__ = ["AuditState", "finding", "review"]

AuditState = Literal["computing", "ready", "failed", "none"]

_ROWS_PER_PAGE = 50
_MOST_LABELS = 500
_LONGEST_TEXT = 5000


class KindData(TypedDict):
    """A kind of finding."""

    kind: str
    name: str
    count: Annotated[Count, "number of findings of this kind that wait, before other filters"]
    sure: Annotated[Count, "number of those that are not unsure"]


class ReviewData(PageData):
    """The answer of ``/review``."""

    state: Annotated[AuditState, "of the audit"]
    kinds: Annotated[list[KindData], "kinds with findings"]
    labels: Annotated[dict[str, Count], "numbers of findings that match by label"]
    rows: Annotated[list[Finding], "findings of this page"]
    progress: Annotated[
        dict[str, Count] | None,
        "accepted, rejected, skipped, waiting and total; null if nothing can be decided",
    ]
    enough: Annotated[str, "a sentence when what is left is as good as noise"]


class EvidenceData(TypedDict):
    """The answer of ``/finding``."""

    key: str
    kind: Literal["wrong", "missing"]
    item: str
    title: str
    text: Annotated[str, "the text after its title"]
    cut: Annotated[bool, "whether the text is longer"]
    metadata: dict[str, Any]
    label: str
    others: Annotated[list[str], "other labels of the item"]
    reason: str
    probability: Annotated[Unit, "of the label, from a model without the item"]
    base_rate: Annotated[Unit, "share of the labelled items that have the label"]
    words: list[WordShare]
    neighbours: list[NearItemData]
    linked: Annotated[list[int], "linked items with the label, and linked items with known labels"]
    implied_by: Annotated[str | None, "narrower label that gives it its probability, if one does"]


def review(
    index: SemanticIndex,
    given: Given,
    review: Review,
    findings: Sequence[Finding],
    state: AuditState,
) -> ReviewData:
    """Return a page of the findings that wait; the first request starts the computation."""
    if given["show"] == "skipped":
        findings = review.waiting(skipped=True) if state == "ready" else []
    matching = _matching(findings, given["kind"], given["label"])
    shown, page = page_of(given, matching, _ROWS_PER_PAGE)
    counts = Counter(finding.kind for finding in findings)
    sure = Counter(finding.kind for finding in findings if finding.sure)
    progress = None
    if state == "ready" and index.writable:
        kind: Any = given["kind"] if given["kind"] in PAIRS else ""
        progress = review.progress(label=given["label"], kind=kind)
    return {
        "state": state,
        **page,
        "kinds": [
            {"kind": kind, "name": name, "count": counts[kind], "sure": sure[kind]}
            for kind, name in KINDS.items()
            if counts[kind]
        ],
        "labels": dict(
            Counter(name for finding in matching for name in finding.labels).most_common(
                _MOST_LABELS
            )
        ),
        "rows": _titled(index, shown),
        "progress": progress,
        "enough": review.enough if progress else "",
    }


def _matching(findings: Sequence[Finding], kind: str, label: str) -> list[Finding]:
    if kind and kind not in (*KINDS, "pairs"):
        raise NotFound(f"kind: choose one of {', '.join(KINDS)}.")
    kinds = PAIRS if kind == "pairs" else (kind,)
    return [
        finding
        for finding in findings
        if (not kind or finding.kind in kinds) and (not label or label in finding.labels)
    ]


def _titled(index: SemanticIndex, findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with the titles of their items."""
    titles = iter(titles_of(index, [name for finding in findings for name in finding.items]))
    return [
        replace(finding, titles=tuple(next(titles) for _ in finding.items)) for finding in findings
    ]


def finding(index: SemanticIndex, given: Given, review: Review, state: AuditState) -> EvidenceData:
    """Return the evidence for a label that looks wrong or missing."""
    findings = review.find([given["key"]]) if state == "ready" else []
    if not findings:
        raise NotFound("key: there is no such finding now.")
    (finding,) = findings
    item, label = find_item(index, finding.items[0]), finding.labels[0]
    explained = review.explain(finding)
    title, text = whole_title(item, _LONGEST_TEXT)
    return {
        "key": given["key"],
        "kind": "wrong" if finding.kind == "wrong" else "missing",
        "item": item.id,
        "title": title,
        "text": text,
        "cut": len(item.text) > _LONGEST_TEXT,
        "metadata": item.metadata,
        "label": label,
        "others": [name for name in item.labels or () if name != label],
        "reason": finding.reason,
        "probability": rounded(finding.evidence["probability"]),
        "base_rate": rounded(finding.evidence["base_rate"]),
        "words": list(explained.words) if explained else [],
        "neighbours": near_items(index, explained.votes if explained else ()),
        "linked": list(explained.linked if explained else (0, 0)),
        "implied_by": explained.implied_by if explained else None,
    }
