"""The answers of the pages about labels, and of tags for a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from typing_extensions import TypedDict

from ..answers import TagReasonData, rounded, tag_reason
from ..index import Tag
from ..index.inputs import label_name
from ..index.label_tree import FoundLabel
from ..index.results import LabelReport
from ..index.searching import similar_labels
from .answer_parts import (
    Asked,
    PageData,
    ShownHitData,
    find_label,
    hits_data,
    labels_by_count,
    page_of,
)
from .requests import Refused
from .schema import Count, Unit
from .snapshot import Snapshot

__all__ = ["SORTS", "complete", "label", "labels", "tag"]

_LABELS_PER_PAGE = 100
_MOST_FOUND = 1_000_000
_EXPLAINED = 3


class BranchData(TypedDict):
    """A label in the tree of its vocabulary."""

    label: str
    depth: Count
    count: Annotated[Count, "number of items with the label itself"]
    total: Annotated[Count, "number of items with it or a narrower one"]


class LabelsData(PageData):
    """The answer of ``/labels``."""

    labels: Annotated[dict[str, Count], "their numbers of items, in the order asked for"]
    reports: Annotated[
        dict[str, LabelReport] | None,
        "how well each is predicted for items that were left out; null while that is computed",
    ]
    never: Annotated[Count, "number of labels, on all pages, that are never predicted"]
    tree: Annotated[list[BranchData], "all labels below what is broader, on the first page"]


SORTS: dict[str, Callable[[str, int, LabelReport], Any]] = {
    "items": lambda name, count, row: -count,
    "label": lambda name, count, row: name.casefold(),
    "chosen": lambda name, count, row: -row.chosen,
    "precision": lambda name, count, row: row.precision if row.chosen else -1.0,
    "recall": lambda name, count, row: row.recall,
    "f1": lambda name, count, row: row.f1,
    "threshold": lambda name, count, row: row.threshold,
}
_UNKNOWN = LabelReport("", 0, 0, 0.0, 0.0, 1.0)


def labels(snapshot: Snapshot, asked: Asked) -> LabelsData:
    """List all labels with the number of their items, and how well each is predicted."""
    sort, part = asked["sort"] or "items", asked["q"].strip()
    name, back = sort.removeprefix("-"), sort.startswith("-")
    if name not in SORTS:
        raise Refused(404, f"sort: choose one of {', '.join(SORTS)}.")
    every, known = labels_by_count(snapshot), snapshot.report()
    reports = known or {}
    tree: list[BranchData] = []
    if part:
        # Also by alternative names, if there is a vocabulary.
        found = {one.label for one in snapshot.index.find_labels(part, _MOST_FOUND)}
        every = [pair for pair in every if pair[0] in found]
    elif asked["page"] == 1 and snapshot.index.vocabulary is not None:
        tree = [
            {"label": one.label, "depth": depth, "count": one.count, "total": one.total}
            for node in snapshot.index.label_tree()
            for depth, one in node.walk()
        ]
    every.sort(
        key=lambda pair: SORTS[name](pair[0], pair[1], reports.get(pair[0], _UNKNOWN)), reverse=back
    )
    shown, page = page_of(asked, every, _LABELS_PER_PAGE)
    return {
        **page,
        "labels": dict(shown),
        "reports": known and {one: reports[one] for one, _ in shown if one in reports},
        "never": sum(reports[one].never for one, _ in every if one in reports),
        "tree": tree,
    }


class CompletedData(TypedDict):
    """The answer of ``/labels/complete.json``."""

    labels: list[FoundLabel]


def complete(snapshot: Snapshot, asked: Asked) -> CompletedData:
    """Find labels by a part of any of their names."""
    return {"labels": snapshot.index.find_labels(asked["q"], asked["n"])}


class NearData(TypedDict):
    """A label whose items are similar to those of another."""

    label: str
    score: Annotated[Unit, "cosine similarity"]
    count: Count


class LabelData(TypedDict):
    """The answer of ``/label``."""

    label: str
    count: Annotated[Count, "number of items that have it"]
    report: Annotated[LabelReport | None, "how well it is predicted; null if it is not"]
    neighbours: Annotated[list[NearData], "labels with similar items"]
    items: Annotated[list[ShownHitData], "items that have it, the most typical first"]
    others: Annotated[list[ShownHitData], "similar items that do not have it"]


def label(snapshot: Snapshot, asked: Asked) -> LabelData:
    """Return a label with its neighbours, its items, and items that may lack it."""
    name = asked["name"]
    count = find_label(snapshot, name)
    index = snapshot.index
    own = index.search(None, 10, {"labels": [name]}, labels=name)
    others = index.search(None, 5, {"without": [name]}, labels=name)
    return {
        "label": name,
        "count": count,
        "report": (snapshot.report() or {}).get(label_name(name)),
        "neighbours": [
            {"label": other, "score": rounded(score), "count": snapshot.labels[other]}
            for other, score in similar_labels(index.store, name, 12)
        ],
        "items": hits_data(snapshot, own),
        "others": hits_data(snapshot, others),
    }


class TaggedData(TypedDict):
    """The answer of ``/tag``."""

    tags: Annotated[list[Tag], "labels, the most probable first"]
    reasons: Annotated[list[TagReasonData], "of the chosen labels, or of the first; at most three"]


def tag(snapshot: Snapshot, asked: Asked) -> TaggedData:
    """Predict labels for a text, the most probable first, and explain those that are chosen."""
    index, text = snapshot.index, asked["text"]
    tags = index.tag(text, asked["k"]) if text.strip() else []
    explained = [one for one in tags if one.chosen][:_EXPLAINED] or tags[:1]
    return {
        "tags": tags,
        "reasons": [tag_reason(index, index.explain_tag(one.label, text)) for one in explained],
    }
