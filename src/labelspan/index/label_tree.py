"""Levels of labels: in their names, and in the tree of a vocabulary; labels by any name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._typing import Array
from ..corpus import LabelVocabulary
from .inputs import label_name
from .label_table import LabelTable

__all__ = ["FoundLabel", "LabelNode", "find_labels", "label_separator", "label_tree"]

# What separates the levels of labels such as role::program. The first has hardly another use; the
# others count if most labels have them.
_SEPARATORS = {"::": 0.0, "/": 0.5, ":": 0.5}


def label_separator(labels: Sequence[str]) -> str:
    """Return the separator of the levels of labels; empty if there is none.

    The slashes and colons of web addresses, as labels of libraries are, separate no levels.
    """
    labels = [label for label in labels if "://" not in label]
    for one, share in _SEPARATORS.items():
        if sum(one in label.strip(one) for label in labels) > share * len(labels):
            return one
    return ""


@dataclass(frozen=True)
class LabelNode:
    """A label in the tree of its vocabulary.

    ``count`` items have the label itself, ``total`` have it or a narrower one. What is below a
    label with several broader ones is listed once.
    """

    label: str
    count: int
    total: int
    narrower: tuple[LabelNode, ...] = ()

    def walk(self, depth: int = 0) -> list[tuple[int, LabelNode]]:
        """List the label and all below it, each with its depth, in the order of an outline."""
        return [(depth, self), *(one for node in self.narrower for one in node.walk(depth + 1))]


@dataclass(frozen=True)
class FoundLabel:
    """A label that was looked for, its number of items, and the other name that it has."""

    label: str
    count: int
    by: str = ""


def label_tree(
    table: LabelTable, vocabulary: LabelVocabulary, rows: Array | None = None
) -> list[LabelNode]:
    """Return the tree of the labels of some rows, with their broader labels."""
    matrix = table.matrix(rows)
    counts = np.asarray(matrix.sum(axis=0)).ravel().astype(np.int64)
    own = {table.names[column]: int(counts[column]) for column in np.flatnonzero(counts).tolist()}
    above = {name: vocabulary.broader(name) for name in own}
    names = sorted({*above, *(one for up in above.values() for one in up)})
    number = {name: n for n, name in enumerate(names)}
    pairs = [(table.number[name], number[one]) for name, up in above.items() for one in (name, *up)]
    low, high = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    shape = (len(table.names), len(names))
    raised = sparse.csr_matrix((np.ones(len(pairs), dtype=np.float32), (low, high)), shape)
    totals = np.asarray(((matrix @ raised) > 0).sum(axis=0)).ravel()
    below: dict[str, list[str]] = {}
    for name in names:
        for parent in vocabulary.concept(name).broader:
            below.setdefault(parent, []).append(name)
    listed: set[str] = set()

    def node(name: str) -> LabelNode:
        inside = () if name in listed else tuple(map(node, below.get(name, ())))
        listed.add(name)
        return LabelNode(name, own.get(name, 0), int(totals[number[name]]), inside)

    return [node(name) for name in names if not vocabulary.concept(name).broader]


def find_labels(
    table: LabelTable, vocabulary: LabelVocabulary | None, text: str, n: int
) -> list[FoundLabel]:
    """Find labels whose name, or another name of theirs, has words that begin with a text."""
    key, ranked = _key(text), []
    names = [(label, label) for label in table.totals]
    for concept in () if vocabulary is None else vocabulary.concepts.values():
        names += [(concept.name, name) for name in (concept.name, *concept.other_names)]
    for label, name in names:
        own = _key(name)
        if key in own:
            # The text itself, its beginning, that of a word in it, or any part of it.
            begins = any(f"{sign}{key}" in own for sign in " :/")
            rank = 0 if own == key else 1 if own.startswith(key) else 2 if begins else 3
            ranked.append((rank, name != label, -table.totals.get(label, 0), label, name))
    found: dict[str, FoundLabel] = {}
    for _, other, count, label, name in sorted(ranked):
        found.setdefault(label, FoundLabel(label, -count, name if other else ""))
    return list(found.values())[:n]


def _key(text: str) -> str:
    return " ".join(str(label_name(text)).casefold().split())
