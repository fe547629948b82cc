"""Labels by any of their names, for completion, and the tree of their vocabulary."""

from __future__ import annotations

from typing import Annotated, TypedDict

from .answer_parts import Asked
from .parameters import LONGEST_QUERY, Parameter
from .schema import Count
from .snapshot import Snapshot

__all__ = [
    "COMPLETE",
    "COMPLETED",
    "TREE",
    "BranchData",
    "CompletedData",
    "TreeData",
    "complete",
    "tree",
]

COMPLETE, TREE = "/labels/complete.json", "/labels/tree.json"
COMPLETED = (
    Parameter("q", "text", "What a name begins with, or has in it.", "", LONGEST_QUERY),
    Parameter("n", "whole", "Maximum number of labels.", 10, 100, 1),
)


class NamedData(TypedDict):
    """A label that was found by one of its names."""

    label: str
    count: Annotated[Count, "number of items; 0 if only the vocabulary has it"]
    by: Annotated[str, "the alternative name that was found, or empty"]


class CompletedData(TypedDict):
    """The answer of ``/labels/complete.json``."""

    labels: list[NamedData]


class BranchData(TypedDict):
    """A label in the tree."""

    label: str
    depth: Count
    count: Annotated[Count, "number of items with the label itself"]
    total: Annotated[Count, "number of items with it or a narrower one"]


class TreeData(TypedDict):
    """The answer of ``/labels/tree.json``."""

    labels: Annotated[list[BranchData], "in the order of an outline; empty without a vocabulary"]


def complete(snapshot: Snapshot, asked: Asked) -> CompletedData:
    """Find labels by a part of any of their names."""
    found = snapshot.index.find_labels(asked["q"], asked["n"])
    return {"labels": [{"label": one.label, "count": one.count, "by": one.by} for one in found]}


def tree(snapshot: Snapshot, asked: Asked) -> TreeData:
    """Return the tree of the labels, if the index has a vocabulary."""
    if snapshot.index.vocabulary is None:
        return {"labels": []}
    rows: list[BranchData] = [
        {"label": one.label, "depth": depth, "count": one.count, "total": one.total}
        for node in snapshot.index.label_tree()
        for depth, one in node.walk()
    ]
    return {"labels": rows}
