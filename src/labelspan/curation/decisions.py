"""Decisions about labels, and plans of edits.

A decision is what the history of an index says about a label of an item: that it was added or
removed, and the answer of a review, of feedback or of a lesson.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Literal

from .._texts import csv_text
from ..index.history import By, Cell, HistoryEntry, Part, as_value, bit, counted, describe

if TYPE_CHECKING:
    from ..index import SemanticIndex
    from ..index.label_table import LabelTable

__all__ = [
    "LabelDecision",
    "LabelEdit",
    "Verdict",
    "apply_cells",
    "as_lines",
    "as_table",
    "verdict",
]

# What is decided about a finding, and what that says about the label.
Verdict = Literal["accept", "reject", "skip"]
Answer = Literal["yes", "no", "unsure", ""]
Action = Literal["edit", "rename", "merge", "drop", "lesson"]
Kind = Literal["wrong", "missing"]

# Kind ("wrong" is to be removed, "missing" to be added), id of an item, and label.
Change = tuple[Kind, str, str]


@dataclass(frozen=True)
class LabelDecision:
    """What was decided about a label of an item.

    Attributes
    ----------
    number : int
        Number of the change in the history of the index.
    time : str
        When, in UTC, for example "2026-05-01T12:00:00Z".
    who : str
        Who decided; empty if no name was given.
    action : str
        What it was: "review", "feedback", "answer" of a lesson, "edit", "rename" or another change.
    item, label : str
        Id of the item, and the label.
    answer : {"yes", "no", "unsure", ""}
        Whether the item has the label, by a review, by feedback or by a lesson; empty if the label
        was changed without an answer.
    change : {"added", "removed", ""}
        Whether the item has got or lost the label since the items were read.
    changed : bool
        Whether the label was changed together with the answer.
    reason, note : str
        Why, if that was given.

    See Also
    --------
    LabelEdits.decisions : Lists them.

    Examples
    --------
    >>> from labelspan.curation import LabelDecision
    >>> one = LabelDecision(1, "2026-05-01T12:00:00Z", "", "review", "gimp", "game", "no")
    >>> one.label, one.answer
    ('game', 'no')
    """

    number: int
    time: str
    who: str
    action: str
    item: str
    label: str
    answer: Answer
    change: Literal["added", "removed", ""] = ""
    changed: bool = False
    reason: str = ""
    note: str = ""


@dataclass(frozen=True)
class LabelEdit:
    """Plan of an edit: labels to be added to items and removed from them.

    Attributes
    ----------
    action : {"edit", "rename", "merge", "drop", "lesson"}
        Kind of edit.
    pairs : tuple of (str, str, str)
        Kind ("wrong" is removed, "missing" added), id and label, of what would change.
    new_labels : tuple of str
        Labels to be added that do not exist yet.

    See Also
    --------
    LabelEdits.plan_edit, LabelEdits.plan_replace, LabelEdits.apply : Create and apply it.

    Examples
    --------
    >>> from labelspan.curation import LabelEdit
    >>> LabelEdit("edit", (("missing", "gimp", "image"), ("missing", "krita", "image"))).said
    'Add image to 2 items.'
    """

    action: Action
    pairs: tuple[Change, ...]
    new_labels: tuple[str, ...] = ()

    @property
    def n_items(self) -> int:
        """Number of items whose labels change."""
        return len({item for _, item, _ in self.pairs})

    @property
    def added(self) -> tuple[str, ...]:
        """Labels that are added, sorted."""
        return tuple(sorted({label for kind, _, label in self.pairs if kind == "missing"}))

    @property
    def removed(self) -> tuple[str, ...]:
        """Labels that are removed, sorted."""
        return tuple(sorted({label for kind, _, label in self.pairs if kind == "wrong"}))

    @property
    def said(self) -> str:
        """The edit as a sentence."""
        if not self.pairs:
            return "Nothing to change."
        if self.action == "rename":
            # The history tells of a new name, without the items that have it.
            size = counted(self.n_items, "item")
            return f"Rename {self.removed[0]} to {self.added[0]} in {size}."
        names = sorted({*self.added, *self.removed})
        counts = Counter((label, kind) for kind, _, label in self.pairs)
        parts = [
            Part(f"label {names.index(label)}", None, bit(kind == "missing"), count, "")
            for (label, kind), count in counts.items()
        ]
        return describe(self.action, parts, names.__getitem__, self.n_items)[0]


def verdict(answer: Answer, reason: str = "", note: str = "") -> str:
    """Return an answer about a label of an item as a value of the log."""
    return as_value([answer, reason, note])


def apply_cells(
    index: SemanticIndex,
    cells: Mapping[Cell, str | None],
    by: By,
    labels: LabelTable | None = None,
) -> HistoryEntry | None:
    """Change an index; return the entry of its history, None if nothing changes."""
    with index.write_lock:
        before = index.store.number
        index.change(by.action, lambda store: store.apply(cells, by, labels))
        store = index.store
        return None if store.number == before else store.history.entry(store.number)


def as_table(decisions: Sequence[LabelDecision]) -> str:
    """Return decisions as CSV."""
    head = [field.name for field in fields(LabelDecision)]
    return csv_text([head, *([*asdict(one).values()] for one in decisions)])


def as_lines(decisions: Sequence[LabelDecision]) -> str:
    """Return decisions as JSON lines."""
    return "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in decisions)
