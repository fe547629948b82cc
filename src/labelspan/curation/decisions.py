"""Decisions about labels, in the database of an index.

A decision is an edit of the labels of items, a label renamed, merged or dropped, or a finding or
a suggested label that was accepted or rejected. It and the change of labels that follows from it
are one transaction; undoing is another. Decisions stay when the index is fitted or saved again in
the same folder.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..errors import InvalidFile, InvalidInput
from ..index.inputs import as_names, read_label_lists
from ..index.store import ItemStore, Labels

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = [
    "DecisionGroup",
    "DecisionLog",
    "LabelDecision",
    "LabelEdit",
    "Verdict",
    "as_lines",
    "as_table",
    "plan_edit",
    "plan_replace",
]

Verdict = Literal["accept", "reject", "skip"]
Action = Literal["review", "feedback", "edit", "rename", "merge", "drop"]
_VERDICTS, _ACTIONS = get_args(Verdict), get_args(Action)
_KINDS = ("wrong", "missing")
LONGEST_WHO = 200

# Kind ("wrong" is to be removed, "missing" to be added), id of an item, and label.
Pair = tuple[str, str, str]


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
    kind: Literal["wrong", "missing"]
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
    plan_edit, plan_replace : Create it.
    Review.apply : Applies it.

    Examples
    --------
    >>> from labelspan.curation import LabelEdit
    >>> LabelEdit("edit", (("missing", "gimp", "image"), ("missing", "krita", "image"))).said
    'Add image to 2 items.'
    """

    action: Action
    pairs: tuple[Pair, ...]
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
    Review.history : Lists them.

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


def plan_edit(
    index: SemanticIndex,
    items: str | Sequence[str],
    add: str | Sequence[str] = (),
    remove: str | Sequence[str] = (),
) -> LabelEdit:
    """Plan to add labels to items and remove others.

    Parameters
    ----------
    index : SemanticIndex
        The index; it is not changed.
    items : str or list of str
        Ids; all must exist.
    add, remove : str or list of str, default=()
        Labels; those to be removed must exist.

    Returns
    -------
    LabelEdit
        For :meth:`Review.apply`.

    See Also
    --------
    plan_replace : Renames, merges or drops labels of all items.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.curation import plan_edit
    >>> texts = ["a chess game", "chess online", "edit photos", "crop pictures"]
    >>> index = SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image"]])
    >>> edit = plan_edit(index, ["0", "1", "2"], add="game", remove="image")
    >>> edit.said, edit.n_items
    ('Add game to 1 item, remove image from 1 item.', 1)
    """
    table = index.store.labels
    more, less = (_labels(names) for names in (add, remove))
    both = set(more) & set(less)
    if both:
        raise InvalidInput(f"edit: {min(both)!r} cannot be both added and removed.")
    for label in less:
        table.rows(label)
    names = list(dict.fromkeys(as_names(items)))
    pairs: list[Pair] = []
    for name, row in zip(names, index.store.rows(names).tolist(), strict=True):
        own = table.labels(row) or ()
        pairs += [("wrong", name, label) for label in less if label in own]
        pairs += [("missing", name, label) for label in more if label not in own]
    return LabelEdit("edit", tuple(pairs), _new(index, more))


def plan_replace(index: SemanticIndex, labels: str | Sequence[str], by: str | None) -> LabelEdit:
    """Plan to rename labels, merge them into another, or drop them.

    Parameters
    ----------
    index : SemanticIndex
        The index; it is not changed.
    labels : str or list of str
        Labels that exist.
    by : str or None
        The label that replaces them, new or existing; None drops them.

    Returns
    -------
    LabelEdit
        For :meth:`Review.apply`.

    See Also
    --------
    plan_edit : Changes labels of some items.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.curation import plan_replace
    >>> texts = ["a chess game", "chess online", "edit photos", "crop pictures"]
    >>> index = SemanticIndex().fit(texts, [["game"], ["games"], ["image"], ["image"]])
    >>> plan_replace(index, "games", "game").said
    'Merge games into game in 1 item.'
    """
    table = index.store.labels
    given = _labels(labels)
    wanted = () if by is None else _labels(by)
    if not given:
        raise InvalidInput("edit: no label was given to rename, merge or drop.")
    rows = sorted({int(row) for label in given for row in table.rows(label)})
    names = index.store.ids_by_row()
    pairs: list[Pair] = []
    for row in rows:
        own = table.labels(row) or ()
        pairs += [("wrong", names[row], one) for one in given if one in own and one not in wanted]
        pairs += [("missing", names[row], one) for one in wanted if one not in own]
    new = _new(index, wanted)
    adds = any(kind == "missing" for kind, _, _ in pairs)
    action: Action = "rename" if new and len(given) == 1 else "merge"
    return LabelEdit(action if adds else "drop", tuple(pairs), new)


def _labels(names: str | Sequence[str]) -> tuple[str, ...]:
    return read_label_lists([as_names(names)], None, 1, "edit")[0] or ()


def _new(index: SemanticIndex, labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(label for label in labels if not index.store.has_label(label))


def _items(count: int) -> str:
    return f"{count:,} item{'' if count == 1 else 's'}"


class DecisionLog:
    """All decisions in the store of an index.

    Parameters
    ----------
    store : ItemStore
        To decide, that of an index that was opened for writing.
    """

    def __init__(self, store: ItemStore) -> None:
        self.store = store
        self._latest: dict[tuple[str, str], LabelDecision] | None = None
        groups: dict[int, list[LabelDecision]] = {}
        undone = set()
        for number, time, item, label, kind, verdict, had, is_undone, *by in store.decisions():
            known = None if had is None else bool(had)
            made = LabelDecision(number, time, item, label, kind, verdict, known, *by)
            if (
                made.kind not in _KINDS
                or made.decision not in _VERDICTS
                or made.action not in _ACTIONS
            ):
                raise InvalidFile("items.sqlite is damaged: a decision is not what was written.")
            groups.setdefault(made.number, []).append(made)
            if is_undone:
                undone.add(made.number)
        self._made = {n: DecisionGroup(tuple(parts), n in undone) for n, parts in groups.items()}

    def latest(self) -> Mapping[tuple[str, str], LabelDecision]:
        """Return the decision that holds for each pair of an item and a label."""
        if self._latest is None:
            self._latest = {
                (one.item, one.label): one
                for made in self._made.values()
                if not made.undone
                for one in made.parts
            }
        return self._latest

    def decisions(self) -> list[LabelDecision]:
        """Return the decisions that hold, the oldest first."""
        return sorted(self.latest().values(), key=lambda one: one.number)

    def history(
        self, n: int, before: int | None = None, item: str = "", label: str = ""
    ) -> list[DecisionGroup]:
        """Return the newest decisions before a number, undone ones too, the newest first."""
        found: list[DecisionGroup] = []
        for number in sorted(self._made, reverse=True):
            made = self._made[number]
            fits = any(item in ("", one.item) and label in ("", one.label) for one in made.parts)
            if (before is None or number < before) and fits:
                found.append(made)
                if len(found) == n:
                    break
        return found

    def last(self) -> DecisionGroup | None:
        """Return the decision that would be undone next; None if there is none."""
        active = [number for number, made in self._made.items() if not made.undone]
        return self._made[max(active)] if active else None

    def changes(self) -> dict[str, dict[str, bool]]:
        """Return for each item which labels it should have (True), and which not (False)."""
        found: dict[str, dict[str, bool]] = {}
        for one in self.decisions():
            if one.decision == "accept":
                found.setdefault(one.item, {})[one.label] = one.wanted
        return found

    def apply(
        self, edit: LabelEdit, who: str = "", *, create: bool = False
    ) -> DecisionGroup | None:
        """Do an edit; return None if nothing changes."""
        table = self.store.labels
        new = [label for label in edit.added if not self.store.has_label(label)]
        if new and not create:
            raise InvalidInput(f"{table.unknown(new[0])} Say that it is to be created.")
        wanted: list[tuple[Verdict, Pair]] = [("accept", pair) for pair in edit.pairs]
        return self._keep([one for one in self._parts(wanted, who, edit.action) if one.changes])

    def add(
        self,
        decision: Verdict,
        pairs: Sequence[Pair],
        who: str = "",
        action: Action = "review",
    ) -> DecisionGroup | None:
        """Decide about pairs (kind, item, label) and change the labels: all of them or none."""
        if decision not in _VERDICTS:
            raise InvalidInput(
                f"A decision is one of {', '.join(_VERDICTS)}, but {decision!r:.40} was given."
            )
        return self._keep(self._parts([(decision, pair) for pair in pairs], who, action))

    def feedback(
        self, item: str, accepted: Sequence[str], rejected: Sequence[str], who: str = ""
    ) -> DecisionGroup | None:
        """Decide that an item has some labels, and does not have others."""
        right, wrong = _labels(accepted), _labels(rejected)
        both = set(right) & set(wrong)
        if both:
            raise InvalidInput(f"feedback: {min(both)!r} cannot be both accepted and rejected.")
        own = self.store.labels.labels(self.store.row(item)) or ()
        wanted: list[tuple[Verdict, Pair]] = []
        for label in (*right, *wrong):
            kind = "wrong" if label in own else "missing"
            changes = (label in own) != (label in right)
            wanted.append(("accept" if changes else "reject", (kind, item, label)))
        return self._keep(self._parts(wanted, who, "feedback"))

    def relabel(self, lists: Mapping[str, Labels]) -> DecisionGroup | None:
        """Give items other labels, None for unknown ones, as one decision."""
        table = self.store.labels
        rows = {name: self.store.row(name) for name in lists}
        wanted: list[tuple[Verdict, Pair]] = []
        for name, row in rows.items():
            before, after = set(table.labels(row) or ()), set(lists[name] or ())
            wanted += [("accept", ("wrong", name, label)) for label in sorted(before - after)]
            wanted += [("accept", ("missing", name, label)) for label in sorted(after - before)]
        parts = self._parts(wanted, "", "edit")
        return self._keep(parts, {rows[name]: own for name, own in lists.items()})

    def undo(self, number: int | None = None) -> DecisionGroup | None:
        """Undo a decision, by default the last, with what it changed; None if there is none."""
        made = self.last() if number is None else self._made.get(number)
        if number is not None and (made is None or made.undone):
            state = "there is none" if made is None else "it was undone before"
            raise InvalidInput(f"Decision {number} cannot be undone: {state}.")
        if made is None:
            return None
        for one in made.parts:
            after = self.latest().get((one.item, one.label))
            if after is not None and after.number > made.number:
                raise InvalidInput(
                    f"Decision {made.number} cannot be undone: decision {after.number} is also "
                    f"about {one.label!r} of {one.item!r}; undo that one first."
                )
        changing = [(one, one.had) for one in made.parts if one.changes]
        self.store.relabel(
            self._changed(changing), [_record(one, undone=True) for one in made.parts]
        )
        self._made[made.number] = replace(made, undone=True)
        self._latest = None
        return made

    def _parts(
        self, wanted: Sequence[tuple[Verdict, Pair]], who: str, action: Action
    ) -> list[LabelDecision]:
        if len(who) > LONGEST_WHO:
            raise InvalidInput(f"The name of who decides has more than {LONGEST_WHO} characters.")
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        number = max(self._made, default=0) + 1
        made = []
        for decision, (kind, item, label) in wanted:
            own = self.store.labels.labels(self.store.row(item))
            had = None if own is None else label in own
            made.append(LabelDecision(number, now, item, label, kind, decision, had, who, action))  # type: ignore[arg-type]
        return made

    def _keep(
        self, parts: Sequence[LabelDecision], lists: Mapping[int, Labels] | None = None
    ) -> DecisionGroup | None:
        """Write decisions and the labels after them, which may be given."""
        changes = lists or self._changed([(one, one.wanted) for one in parts if one.changes])
        if not parts and not changes:
            return None
        self.store.relabel(changes, [_record(one, undone=False) for one in parts])
        if not parts:
            return None
        made = self._made[parts[0].number] = DecisionGroup(tuple(parts))
        if self._latest is not None:
            self._latest |= {(one.item, one.label): one for one in parts}
        return made

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
    *values, had, who, action = asdict(one).values()
    return (*values, None if had is None else int(had), int(undone), who, action)


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
