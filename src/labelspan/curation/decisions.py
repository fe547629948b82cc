"""Decisions about labels, in the database of an index.

A decision and the change of labels that follows from it are one transaction; undoing is another.
Decisions stay when the index is fitted or saved again in the same folder.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from ..errors import InvalidFile, InvalidInput
from ..index.item_labels import Labels
from ..index.store import ItemStore

__all__ = ["DecisionLog", "LabelDecision", "Verdict", "as_lines", "as_table"]

Verdict = Literal["accept", "reject", "skip"]
_VERDICTS = get_args(Verdict)
_KINDS = ("wrong", "missing")


@dataclass(frozen=True)
class LabelDecision:
    """What was decided about a label of an item.

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
        "accept" follows the suspicion: a wrong label is removed, a missing one added.
    had : bool or None
        Whether the item had the label before; None if its labels were unknown.

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
    kind: Literal["wrong", "missing"]
    decision: Verdict
    had: bool | None

    @property
    def wanted(self) -> bool:
        """Whether the item should have the label if the decision is "accept"."""
        return self.kind == "missing"

    @property
    def changes(self) -> bool:
        """Whether the decision changes the labels of the item."""
        return self.decision == "accept" and self.had is not self.wanted


class DecisionLog:
    """All decisions in the store of an index.

    Parameters
    ----------
    store : ItemStore
        To decide, that of an index that was opened for writing.
    """

    def __init__(self, store: ItemStore) -> None:
        self.store = store
        self._groups: dict[int, tuple[LabelDecision, ...]] = {}
        self._undone: set[int] = set()
        groups: dict[int, list[LabelDecision]] = {}
        for record in store.decisions():
            number, time, item, label, kind, verdict, had, undone = record
            had = None if had is None else bool(had)
            made = LabelDecision(number, time, item, label, kind, verdict, had)
            if made.kind not in _KINDS or made.decision not in _VERDICTS:
                raise InvalidFile("items.sqlite is damaged: a decision is not what was written.")
            groups.setdefault(made.number, []).append(made)
            if undone:
                self._undone.add(made.number)
        self._groups = {number: tuple(own) for number, own in groups.items()}

    def latest(self) -> dict[tuple[str, str], LabelDecision]:
        """Return the decision that holds for each pair of an item and a label."""
        return {
            (one.item, one.label): one
            for number, group in self._groups.items()
            if number not in self._undone
            for one in group
        }

    def decisions(self) -> list[LabelDecision]:
        """Return the decisions that hold, the oldest first."""
        return sorted(self.latest().values(), key=lambda one: one.number)

    def last(self) -> tuple[LabelDecision, ...]:
        """Return the decisions that would be undone next; empty if there are none."""
        active = [number for number in self._groups if number not in self._undone]
        return self._groups[active[-1]] if active else ()

    def changes(self) -> dict[str, dict[str, bool]]:
        """Return for each item which labels it should have (True), and which not (False)."""
        found: dict[str, dict[str, bool]] = {}
        for one in self.decisions():
            if one.decision == "accept":
                found.setdefault(one.item, {})[one.label] = one.wanted
        return found

    def add(
        self, decision: Verdict, pairs: Sequence[tuple[str, str, str]]
    ) -> tuple[LabelDecision, ...]:
        """Decide about pairs (kind, item, label) and change the labels: all of them or none."""
        if decision not in _VERDICTS:
            raise InvalidInput(
                f"A decision is one of {', '.join(_VERDICTS)}, but {decision!r:.40} was given."
            )
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        number = max(self._groups, default=0) + 1
        made = []
        for kind, item, label in pairs:
            own = self._labels(item)
            had = None if own is None else label in own
            made.append(LabelDecision(number, now, item, label, kind, decision, had))  # type: ignore[arg-type]
        changes = self._changed([(one, one.wanted) for one in made if one.changes])
        self.store.relabel(changes, [_record(one, undone=False) for one in made])
        self._groups[number] = tuple(made)
        return self._groups[number]

    def undo(self) -> tuple[LabelDecision, ...]:
        """Undo the last decisions, with what they changed; return them."""
        last = self.last()
        if last:
            changing = [(one, one.had) for one in last if one.changes]
            self.store.relabel(self._changed(changing), [_record(one, undone=True) for one in last])
            self._undone.add(last[0].number)
        return last

    def _labels(self, item: str) -> Labels:
        return self.store.labels.labels(self.store.row(item))

    def _changed(self, wanted: Sequence[tuple[LabelDecision, bool | None]]) -> Mapping[int, Labels]:
        """Return the labels of items after some of them were added or removed."""
        found: dict[int, Labels] = {}
        for one, has in wanted:
            row = self.store.find(one.item)
            if row is None:
                continue
            before = found[row] if row in found else self.store.labels.labels(row)
            own = set(before or ())
            own = own | {one.label} if has else own - {one.label}
            # They were unknown before the decision that is undone.
            found[row] = None if has is None and not own else tuple(sorted(own))
        return found


def _record(one: LabelDecision, *, undone: bool) -> tuple[Any, ...]:
    *values, had = asdict(one).values()
    return (*values, None if had is None else int(had), int(undone))


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
