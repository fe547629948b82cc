"""Labels: all of them, one with its items, those found by a part of a name, similar names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from .._texts import shortened
from .._typing import TypedDict
from ..curation import value_groups
from ..curation.metadata_edits import value_counts
from ..errors import NotFound
from ..index import SemanticIndex
from ..index.inputs import label_name
from ..index.label_tree import FoundLabel
from ..index.results import LabelReport
from ..index.searching import similar_labels
from .common import (
    Count,
    Given,
    PageData,
    StoredLabelData,
    Unit,
    cached,
    find_label,
    labels_by_count,
    page_of,
    rounded,
    stored_labels,
)
from .items import ShownHitData, hits_data

__all__ = ["SORTS", "branches", "complete", "label", "label_list", "labels", "values"]

# How well each label is predicted, by its name; None while that is computed.
Reports = Mapping[str, LabelReport] | None

_LABELS_PER_PAGE, _GROUPS_PER_PAGE = 100, 50
# On the page of a label.
_ITEMS, _OTHERS, _NEIGHBOURS = 10, 5, 12


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


class LabelListData(PageData):
    """Labels, the most frequent first."""

    labels: list[StoredLabelData]


class CompletedData(TypedDict):
    """The answer of ``/labels/complete.json``."""

    labels: list[FoundLabel]


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


class ValuesData(PageData):
    """The answer of ``/values``."""

    fields: Annotated[list[str], "keys of the metadata whose values are texts"]
    different: Annotated[Count, "number of different values, or labels"]
    groups: Annotated[list[dict[str, Count]], "values that are probably the same, and their items"]


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


def labels(index: SemanticIndex, given: Given, reports: Reports) -> LabelsData:
    """List all labels with the number of their items, and how well each is predicted."""
    sort, known = given["sort"] or "items", reports or {}
    name, back = sort.removeprefix("-"), sort.startswith("-")
    if name not in SORTS:
        raise NotFound(f"sort: choose one of {', '.join(SORTS)}.")
    pairs, tree = _with_part(index, given["q"]), list[BranchData]()
    if not given["q"].strip() and given["page"] == 1 and index.vocabulary is not None:
        tree = branches(index)
    pairs.sort(
        key=lambda pair: SORTS[name](pair[0], pair[1], known.get(pair[0], _UNKNOWN)), reverse=back
    )
    shown, page = page_of(given, pairs, _LABELS_PER_PAGE)
    return {
        **page,
        "labels": dict(shown),
        "reports": None
        if reports is None
        else {label: known[label] for label, _ in shown if label in known},
        "never": sum(known[label].never for label, _ in pairs if label in known),
        "tree": tree,
    }


def branches(index: SemanticIndex) -> list[BranchData]:
    """List the labels of the tree of a vocabulary, each below what is broader."""
    return [
        {"label": branch.label, "depth": depth, "count": branch.count, "total": branch.total}
        for node in index.label_tree()
        for depth, branch in node.walk()
    ]


def label_list(index: SemanticIndex, given: Given) -> LabelListData:
    """List labels with their numbers of items, the most frequent first."""
    names = [name for name, _ in _with_part(index, given["q"])]
    shown, page = page_of(given, names, given["k"])
    return {**page, "labels": stored_labels(index, shown)}


def _with_part(index: SemanticIndex, part: str) -> list[tuple[str, int]]:
    """Return the labels with a text in one of their names, the most frequent first."""
    pairs = labels_by_count(index)
    if not part.strip():
        return pairs
    names = {label.label for label in index.find_labels(part.strip(), max(1, len(pairs)))}
    return [pair for pair in pairs if pair[0] in names]


def complete(index: SemanticIndex, given: Given) -> CompletedData:
    """Find labels by a part of any of their names."""
    return {"labels": index.find_labels(given["q"], given["n"])}


def label(index: SemanticIndex, given: Given, reports: Reports) -> LabelData:
    """Return a label with its neighbours, its items, and items that may lack it."""
    name, counts = given["name"], index.labels
    count = find_label(index, name)
    typical = index.search(None, _ITEMS, {"labels": [name]}, labels=name)
    others = index.search(None, _OTHERS, {"without": [name]}, labels=name)
    return {
        "label": name,
        "count": count,
        "report": (reports or {}).get(label_name(name)),
        "neighbours": [
            {"label": other, "score": rounded(score), "count": counts[other]}
            for other, score in similar_labels(index.store, name, _NEIGHBOURS)
        ],
        "items": hits_data(index, typical),
        "others": hits_data(index, others),
    }


def values(index: SemanticIndex, given: Given) -> ValuesData:
    """Group labels, or values of the metadata, that are probably the same."""
    field, how = given["field"], given["how"]
    fields = [name for name, kind in index.fields().items() if kind in ("category", "text")]
    if field and field not in fields:
        raise NotFound(f"field: {shortened(field, 60)!r} is not a key of texts.")

    def make() -> tuple[int, list[dict[str, int]]]:
        counts = value_counts(index, field)
        return len(counts), value_groups(counts, how)

    different, groups = cached(index, ("values", field, how), make)
    shown, page = page_of(given, groups, _GROUPS_PER_PAGE)
    return {**page, "fields": fields, "different": different, "groups": shown}
