"""Decisions about labels, and plans of edits.

A decision is an edit of the labels of items, a label renamed, merged or dropped, or a finding or
a suggested label that was accepted or rejected.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from ..errors import InvalidInput, Mismatch

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = [
    "DecisionGroup",
    "LabelDecision",
    "LabelEdit",
    "Verdict",
    "as_lines",
    "as_table",
    "checked_who",
    "signed",
]

Verdict = Literal["accept", "reject", "skip"]
Action = Literal["review", "feedback", "edit", "rename", "merge", "drop"]
Kind = Literal["wrong", "missing"]
LONGEST_WHO = 200

# Kind ("wrong" is to be removed, "missing" to be added), id of an item, and label.
Change = tuple[Kind, str, str]


@dataclass(frozen=True)
class LabelDecision:
    """Decision about a label of an item.

    Attributes
    ----------
    number : int
        Decisions with the same number were made, and are undone, together.
    time : str
        When, in UTC, for example "2026-05-01T12:00:00Z".
    item, label : str
        Id of the item, and the label.
    kind : {"wrong", "missing"}
        Whether the label was suspected to be wrong or to be missing.
    decision : {"accept", "reject", "skip"}
        "accept" confirms the finding: a wrong label is removed, a missing one added.
    had : bool or None
        Whether the item had the label before; None if its labels were unknown.
    who : str
        Who decided; empty if no name was given.
    action : {"review", "feedback", "edit", "rename", "merge", "drop"}
        The kind of change: a finding, a suggested label, or an edit.

    See Also
    --------
    Review : Makes decisions.

    Examples
    --------
    >>> from labelspan.curation import LabelDecision
    >>> one = LabelDecision(1, "2026-05-01T12:00:00Z", "gimp", "game", "wrong", "accept", True)
    >>> one.changes, one.wanted
    (True, False)
    """

    number: int
    time: str
    item: str
    label: str
    kind: Kind
    decision: Verdict
    had: bool | None
    who: str = ""
    action: Action = "review"

    @property
    def wanted(self) -> bool:
        """Whether the item should have the label if the decision is "accept"."""
        return self.kind == "missing"

    @property
    def changes(self) -> bool:
        """Whether the decision changes the labels of the item."""
        return self.decision == "accept" and self.had is not self.wanted


@dataclass(frozen=True)
class LabelEdit:
    """Plan of an edit: labels to be added to items and removed from them.

    Attributes
    ----------
    action : {"edit", "rename", "merge", "drop"}
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
        size = _items(self.n_items)
        if self.action == "drop":
            return f"Drop {', '.join(self.removed)} from {size}."
        if self.action in ("rename", "merge"):
            verb, into = ("Rename", "to") if self.action == "rename" else ("Merge", "into")
            return f"{verb} {', '.join(self.removed)} {into} {self.added[0]} in {size}."
        counts = Counter((kind, label) for kind, _, label in self.pairs)
        words = {"missing": ("add", "to"), "wrong": ("remove", "from")}
        parts = [
            f"{words[kind][0]} {label} {words[kind][1]} {_items(count)}"
            for (kind, label), count in sorted(counts.items())
        ]
        sentence = ", ".join(parts)
        return f"{sentence[0].upper()}{sentence[1:]}."


@dataclass(frozen=True)
class DecisionGroup:
    """Decisions that were made at once, and are undone at once.

    Attributes
    ----------
    parts : tuple of LabelDecision
        One for each pair of an item and a label.
    undone : bool
        Whether it was undone.

    See Also
    --------
    LabelEdits.history : Lists them.

    Examples
    --------
    >>> from labelspan.curation import DecisionGroup, LabelDecision
    >>> one = LabelDecision(1, "2026-05-01T12:00:00Z", "gimp", "game", "wrong", "reject", True)
    >>> DecisionGroup((one,)).said
    'Keep game of gimp.'
    """

    parts: tuple[LabelDecision, ...]
    undone: bool = False

    @property
    def number(self) -> int:
        """Number of the decision; they are counted from 1."""
        return self.parts[0].number

    @property
    def time(self) -> str:
        """When it was made, in UTC."""
        return self.parts[0].time

    @property
    def who(self) -> str:
        """Who made it; empty if no name was given."""
        return self.parts[0].who

    @property
    def action(self) -> Action:
        """What it was, for example "review" or "rename"."""
        return self.parts[0].action

    @property
    def changed(self) -> LabelEdit:
        """What it changed."""
        pairs = tuple((one.kind, one.item, one.label) for one in self.parts if one.changes)
        return LabelEdit(self.action, pairs)

    @property
    def said(self) -> str:
        """The decision as a sentence."""
        if self.action not in ("review", "feedback"):
            return self.changed.said
        one = self.parts[0]
        if len(self.parts) > 1:
            counts = Counter(part.decision for part in self.parts)
            text = " and ".join(f"{verdict} {count:,}" for verdict, count in counts.items())
            about = f"labels of {one.item}" if self.action == "feedback" else "findings"
            return f"{text[0].upper()}{text[1:]} {about}."
        words = {
            ("accept", "wrong"): "Remove {label} from {item}.",
            ("accept", "missing"): "Add {label} to {item}.",
            ("reject", "wrong"): "Keep {label} of {item}.",
            ("reject", "missing"): "Do not add {label} to {item}.",
        }
        text = words.get((one.decision, one.kind), "Skip {label} of {item}.")
        return text.format(label=one.label, item=one.item)


def checked_who(who: str) -> str:
    """Return a name for the history; one that is too long is refused."""
    if len(who) > LONGEST_WHO:
        raise InvalidInput(f"The name of who decides has more than {LONGEST_WHO} characters.")
    return who


def signed(index: SemanticIndex, owner: str, who: str) -> tuple[str, str]:
    """Return the time (UTC) and who, for the history; an index loaded for reading is refused."""
    if not index.writable:
        raise Mismatch(f"{owner}: the index was loaded for reading; load it with write=True.")
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), checked_who(who)


def _items(count: int) -> str:
    return f"{count:,} item{'' if count == 1 else 's'}"


def as_table(decisions: Sequence[LabelDecision]) -> str:
    """Return decisions as CSV."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow([field.name for field in fields(LabelDecision)])
    table.writerows(asdict(one).values() for one in decisions)
    return out.getvalue()


def as_lines(decisions: Sequence[LabelDecision]) -> str:
    """Return decisions as JSON lines."""
    return "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in decisions)
