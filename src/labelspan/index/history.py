"""The log of an index: what was changed, when and by whom, and how that is undone.

    history  number, time, who and action of what was done at once, and the number that it undoes
    changes  number, group, item, field, and the value before and after, of each cell that changed

A cell is a field of an item, or with the item "" of the index. Labels are referred to by number, so
that a new name changes nothing else. Values are JSON; None stands for nothing.

    label 5       whether the item has the label with this number: 0 or 1
    labels        whether the labels of the item are known: 0 or 1
    metadata KEY  a value of the metadata
    text          the text, and the row that has its vector
    item          text, labels, metadata and row; after an item was added, a hash of the first three
    verdict 5     what somebody said about the label: yes, no or unsure, a reason and a note
    name 5        the name of the label
    merged 5      the label that its items got instead
    lesson 5      how the label began to be taught
    search NAME   a saved search
    vocabulary    names and broader labels of the labels; after a change, a hash of them
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    from .results import Item

__all__ = [
    "READ",
    "By",
    "Cell",
    "CellChange",
    "Group",
    "History",
    "HistoryEntry",
    "Part",
    "Past",
    "Row",
    "Undone",
    "as_value",
    "bit",
    "describe",
    "field_kind",
    "field_number",
    "hashed",
    "hashed_item",
    "item_value",
    "label_changes",
    "metadata_value",
    "now",
    "same",
    "value_of",
]

# Id of an item, and field.
Cell = tuple[str, str]
# Item, field, value before and after.
Row = tuple[str, str, str | None, str | None]
LONGEST_WHO = 200
# The items were read again from a file; what was changed before is not a change of that file.
READ = "read"
# Fields that change neither items nor labels.
NOTES = frozenset({"verdict", "merged", "lesson", "search"})
_LABEL_FIELDS = ("label", "verdict", "name", "merged", "lesson")


class By(NamedTuple):
    """Who makes a change, what it is, and the number of the change that it undoes."""

    who: str = ""
    action: str = "edit"
    undoes: int = 0

    def checked(self) -> By:
        """Return it; a name that is too long is refused."""
        if len(self.who) > LONGEST_WHO:
            raise InvalidInput(f"The name of who decides has more than {LONGEST_WHO} characters.")
        return self


class Group(NamedTuple):
    """What was done at once, as it is stored."""

    number: int
    time: str
    who: str
    action: str
    undoes: int


@dataclass(frozen=True)
class CellChange:
    """A value that was changed.

    Attributes
    ----------
    item : str
        Id of the item; empty if the change is about the index.
    field : str
        What was changed, for example "label game", "metadata year" or "text".
    before, after : object
        The value before and after; None for nothing.

    See Also
    --------
    SemanticIndex.changes : Lists them.

    Examples
    --------
    >>> from labelspan.index import CellChange
    >>> CellChange("gimp", "metadata year", 2001, 2002).after
    2002
    """

    item: str
    field: str
    before: Any
    after: Any


@dataclass(frozen=True)
class HistoryEntry:
    """What was changed at once, and can be undone at once.

    Attributes
    ----------
    number : int
        Changes are numbered from 1.
    time : str
        When, in UTC, for example "2026-05-01T12:00:00Z".
    who : str
        Who made it; empty if no name was given.
    action : str
        What it was: "edit", "rename", "merge", "drop", "relabel", "review", "feedback", "answer",
        "lesson", "add", "remove", "metadata", "search", "vocabulary", "read" or "undo".
    said : str
        The change as a sentence.
    n_items : int
        Number of items that it is about.
    added, removed : tuple of str
        Labels that items got and lost.
    examples : tuple of str
        Ids of some of the items.
    undone : bool
        Whether it was undone, at least in part.
    undoes : int
        Number of the change that it undoes; 0 for another.

    See Also
    --------
    SemanticIndex.history, SemanticIndex.undo : List and undo them.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> texts = ["a chess game", "play chess", "edit photos", "crop a photo"]
    >>> index = SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image"]])
    >>> index.relabel("0", ["game", "board"]).history()[0].said
    'Add board to 1 item.'
    """

    number: int
    time: str
    who: str
    action: str
    said: str
    n_items: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    undone: bool = False
    undoes: int = 0


@dataclass(frozen=True)
class Undone:
    """What was undone.

    Attributes
    ----------
    entry : HistoryEntry
        The change that was undone.
    number : int
        Number of the undo, which can be undone as well.
    restored : int
        Number of items, or of values of the index, that are as they were before.
    kept : dict
        Numbers of items that were changed since, by the number of the change, and stay as they are.

    See Also
    --------
    SemanticIndex.undo : Returns it.

    Examples
    --------
    >>> from labelspan.index import HistoryEntry, Undone
    >>> entry = HistoryEntry(3, "2026-05-01T12:00:00Z", "", "edit", "Add board to 3 items.", 3)
    >>> Undone(entry, 5, 2, {4: 1}).said
    'Undone: Add board to 3 items. 2 are as before; 1 was changed since by change 4 and stays.'
    """

    entry: HistoryEntry
    number: int
    restored: int
    kept: dict[int, int]

    @property
    def said(self) -> str:
        """The result as a sentence."""
        said = f"Undone: {self.entry.said}"
        if not self.kept:
            return said
        total = sum(self.kept.values())
        by = ", ".join(str(number) for number in sorted(self.kept))
        be = ("was", "stays") if total == 1 else ("were", "stay")
        what = "change" if len(self.kept) == 1 else "changes"
        verb = "is" if self.restored == 1 else "are"
        return (
            f"{said} {self.restored:,} {verb} as before; {total:,} {be[0]} changed since by {what} "
            f"{by} and {be[1]}."
        )


def now() -> str:
    """Return the time in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# Made once: json.dumps makes an encoder for each call with an option.
as_value = json.JSONEncoder(ensure_ascii=False).encode


def bit(value: object) -> str:
    """Return yes or no as a value of the log."""
    return "1" if value else "0"


def value_of(text: str | None) -> Any:
    """Return what a value of the log stands for."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise InvalidFile("items.sqlite is damaged: a value of the history is not JSON.") from None


def field_number(field: str) -> int:
    """Return the number of the label in a field, -1 if there is none."""
    number = field.partition(" ")[2]
    kinds = ("label", "verdict", "name", "merged", "lesson")
    return int(number) if field.startswith(kinds) and number.isdecimal() else -1


def field_kind(field: str) -> str:
    """Return the first word of a field, which says what it is."""
    return field.partition(" ")[0]


def metadata_value(item: Item, key: str) -> str | None:
    """Return a value of the metadata as a value of the log."""
    return as_value(item.metadata[key]) if key in item.metadata else None


def label_changes(
    item: str, before: Iterable[int] | None, after: Iterable[int] | None
) -> Iterator[Row]:
    """Yield what differs between the labels of an item, by their numbers."""
    old, new = set(before or ()), set(after or ())
    for number in sorted(old ^ new):
        yield item, f"label {number}", bit(number in old), bit(number in new)
    if (before is None) != (after is None):
        yield item, "labels", bit(before is not None), bit(after is not None)


def item_value(item: Item, numbers: Iterable[int] | None, row: int) -> str:
    """Return an item with the numbers of its labels as a value of the log."""
    labels = None if numbers is None else sorted(numbers)
    return as_value([item.text, labels, item.metadata, row])


def hashed_item(value: str) -> str:
    """Return the hash of an item, by which it is compared."""
    text, labels, metadata, _ = value_of(value)
    # What is undone may put fields into another order.
    return as_value(_hash(as_value([text, labels, sorted(metadata.items())])))


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def hashed(value: str | None) -> str | None:
    """Return the hash of a long value."""
    return None if value is None else as_value(_hash(value))


def same(field: str, present: str | None, after: str | None) -> bool:
    """Return whether a cell still has the value that a change gave it."""
    if present is None or after is None:
        return present is after
    if field == "item":
        return after in (present, hashed_item(present))
    if field == "text":
        return bool(value_of(present)[0] == value_of(after)[0])
    return after == present or (field == "vocabulary" and after == hashed(present))


class Past(NamedTuple):
    """Log of an index: names of its labels, and time, author and changes of each group."""

    names: list[str]
    groups: list[tuple[str, By, list[Row]]]

    def read_again(self) -> Past:
        """Return the log of an index whose items are then read from their file."""
        if not self.groups:
            return self
        return self._replace(groups=[*self.groups, (now(), By(action=READ), [])])

    def renumbered(self, row: Row, number: Mapping[str, int]) -> Row:
        """Return a change with other numbers of labels, and without rows, which mean others now."""

        def new(label: int) -> int:
            return number[self.names[label]]

        item, field, *values = row
        kind, label = field.partition(" ")[0], field_number(field)
        for n, value in enumerate(map(value_of, values)):
            if kind == "text" and isinstance(value, list):
                values[n] = as_value([value[0], -1])
            elif kind == "item" and isinstance(value, list):
                labels = None if value[1] is None else [new(one) for one in value[1]]
                values[n] = as_value([value[0], labels, value[2], -1])
            elif kind == "merged" and value is not None:
                values[n] = as_value(new(value))
        return item, field if label < 0 else f"{kind} {new(label)}", values[0], values[1]


# --- sentences ----------------------------------------------------------------------------------


class Part(NamedTuple):
    """Changes of a group with the same field and, of labels and verdicts, the same value."""

    field: str
    before: str | None
    after: str | None
    size: int
    item: str

    @property
    def kind(self) -> str:
        """The first word of the field."""
        return self.field.partition(" ")[0]


def describe(
    action: str,
    parts: Sequence[Part],
    name: Callable[[int], str],
    n_items: int,
    undone: HistoryEntry | None = None,
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return a change of some items as a sentence, with the labels that they got and lost."""
    of: dict[str, list[Part]] = {}
    for part in parts:
        of.setdefault(part.kind, []).append(part)
    labels = [(name(field_number(one.field)), one) for one in of.get("label", ())]
    names = of.get("name", ())
    more = {label for label, one in labels if one.after == "1"}
    less = {label for label, one in labels if one.after == "0"}
    more |= {value_of(one.after) for one in names}
    less |= {value_of(one.before) for one in names}
    added, removed = tuple(sorted(more)), tuple(sorted(less))
    if undone is not None:
        verb = "Redo" if undone.action == "undo" else "Undo"
        said = undone.said.removeprefix("Undo: ").removeprefix("Redo: ")
        return f"{verb}: {said}", added, removed
    size = counted(n_items, "item")
    if names:
        said = f"Rename {removed[0]} to {added[0]}."
    elif action == "merge" and added:
        said = f"Merge {', '.join(removed)} into {added[0]} in {size}."
    elif action == "drop":
        said = f"Drop {', '.join(removed)} from {size}."
    else:
        said = _sentence(action, of, name)
    return said, added, removed


def _sentence(action: str, of: Mapping[str, list[Part]], name: Callable[[int], str]) -> str:
    found = _about_items(of)
    if (verdicts := of.get("verdict")) and action in ("review", "feedback", "answer"):
        found.append(_verdicts(action, verdicts, of.get("label", ()), name))
    elif labels := of.get("label"):
        words = {"1": ("add", "to"), "0": ("remove", "from")}
        clauses = sorted(
            f"{words[one.after or '0'][0]} {name(field_number(one.field))} "
            f"{words[one.after or '0'][1]} {counted(one.size, 'item')}"
            for one in labels
        )
        found.append(f"{clauses[0][:1].upper()}{', '.join(clauses)[1:]}.")
    elif known := of.get("labels"):
        state = "known" if known[0].after == "1" else "unknown"
        found.append(f"Mark the labels of {counted(known[0].size, 'item')} as {state}.")
    for one in of.get("search", ()):
        verb = "Remove" if one.after is None else "Save"
        found.append(f"{verb} the search {one.field.partition(' ')[2]}.")
    for one in of.get("lesson", ()):
        found.append(f"Begin to teach {name(field_number(one.field))}.")
    if "vocabulary" in of:
        found.append("Use another vocabulary.")
    if action == READ:
        found.append("Read the items from their file again.")
    return " ".join(found) or "Nothing."


def _about_items(of: Mapping[str, list[Part]]) -> list[str]:
    found = []
    for verb, gone in (("Add", False), ("Remove", True)):
        size = sum(one.size for one in of.get("item", ()) if (one.after is None) == gone)
        found += [f"{verb} {counted(size, 'item')}."] if size else []
    if texts := of.get("text"):
        found.append(f"Change the text of {counted(sum(one.size for one in texts), 'item')}.")
    for one in of.get("metadata", ()):
        key, pair = one.field.partition(" ")[2], ""
        if one.size == 1 and one.before is not None and one.after is not None:
            pair = f": {one.before:.60} to {one.after:.60}"
        found.append(f"Change {key} of {counted(one.size, 'item')}{pair}.")
    return found


def _verdicts(
    action: str,
    verdicts: Sequence[Part],
    labels: Sequence[Part],
    name: Callable[[int], str],
) -> str:
    changed = {name(field_number(one.field)): one.after for one in labels}
    count = sum(one.size for one in verdicts)
    one = verdicts[0]
    label, answer = name(field_number(one.field)), (value_of(one.after) or [""])[0]
    if count > 1:
        what = f"labels of {one.item}" if action == "feedback" else "questions"
        return f"Answer {count:,} {what}."
    if action == "answer":
        return f"Answer {answer} for {one.item} and {label}."
    if label in changed:
        verb, to = ("Add", "to") if changed[label] == "1" else ("Remove", "from")
        return f"{verb} {label} {to} {one.item}."
    words = {"yes": "Keep {} of {}.", "no": "Do not add {} to {}."}
    return words.get(answer, "Skip {} of {}.").format(label, one.item)


def counted(count: int, what: str) -> str:
    """Return a number of things."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


# --- the history of a store ----------------------------------------------------------------------


class History:
    """The log of an :class:`.ItemStore`, as it is now."""

    def __init__(self, store: Any) -> None:
        # The store imports this module.
        self._store = store

    def label_name(self, number: int) -> str:
        """Return the name of a label by its number."""
        names = self._store.labels.names
        if not 0 <= number < len(names):
            # Another process has noted it.
            names = self._store.label_names()
        found: str = names[number]
        return found

    def current_label(self, number: int) -> str:
        """Return the name of a label by its number; of one that was merged, the one it became."""

        def compute() -> dict[int, Any]:
            rows = self._store.log_rows("field GLOB 'merged *' ORDER BY number")
            return {field_number(one[3]): value_of(one[5]) for one in rows}

        merged, seen = self._store.once("merged", compute, of=self._store.number), set[int]()
        support = self._store.labels.support
        while number not in seen and merged.get(number) is not None:
            seen.add(number)
            if number < support.size and support[number]:
                break
            number = merged[number]
        return self.label_name(number)

    def entries(
        self, n: int, before: int | None = None, item: str = "", label: str = ""
    ) -> list[HistoryEntry]:
        """List the last changes, the newest first."""
        conditions = ["number < ?"]
        values: list[Any] = [before or 1 << 62]
        of = "number IN (SELECT part_of FROM changes WHERE {})"
        if item:
            conditions.append(of.format("item = ?"))
            values.append(item)
        if label:
            fields = [
                f"{kind} {self._store.labels.number.get(label, -1)}" for kind in _LABEL_FIELDS
            ]
            conditions.append(of.format(f"field IN ({', '.join('?' * len(fields))})"))
            values += fields
        query = f"{' AND '.join(conditions)} ORDER BY number DESC LIMIT {int(n)}"
        return self._entries(self._store.groups(query, *values))

    def entry(self, number: int) -> HistoryEntry | None:
        """Return one change of the history."""
        return next(iter(self._entries(self._store.groups("number = ?", number))), None)

    def _entries(self, groups: Sequence[Group]) -> list[HistoryEntry]:
        undone, found = self.undone(), []
        for group in groups:
            query = (
                "SELECT field, min(before), min(after), count(*), min(item) FROM changes "
                "WHERE part_of = ? GROUP BY field, CASE WHEN field LIKE 'label%' "
                "OR field LIKE 'verdict%' THEN after ELSE after IS NULL END"
            )
            parts = [Part(*one) for one in self._store.select(query, group.number)]
            query = "SELECT count(DISTINCT item) FROM changes WHERE part_of = ? AND item != ''"
            ((count,),) = self._store.select(query, group.number)
            query = "SELECT DISTINCT item FROM changes WHERE part_of = ? AND item != '' LIMIT 5"
            examples = tuple(one for (one,) in self._store.select(query, group.number))
            other = self.entry(group.undoes) if group.undoes else None
            told = describe(group.action, parts, self.label_name, count, other)
            said, added, removed = told
            for one in parts:
                if one.kind == "name":
                    count += int(self._store.labels.support[field_number(one.field)])
            about = group.number, group.time, group.who, group.action, said, count
            was_undone = group.number in undone
            entry = HistoryEntry(*about, added, removed, examples, was_undone, group.undoes)
            found.append(entry)
        return found

    def undone(self) -> set[int]:
        """Return the numbers of changes that were undone, and not done again."""

        def compute() -> set[int]:
            found: set[int] = set()
            for group in reversed(self._store.groups("undoes ORDER BY number")):
                if group.number not in found:
                    found.add(group.undoes)
            return found

        known: set[int] = self._store.once("undone", compute, of=self._store.number)
        return known

    def changes(self, number: int) -> list[CellChange]:
        """List the values that one change has changed."""

        def shown(kind: str, value: str | None) -> Any:
            found = value_of(value)
            if kind in ("label", "labels"):
                return None if found is None else bool(found)
            return found[0] if kind == "text" or (kind == "item" and found is list) else found

        rows = self._store.log_rows("part_of = ? ORDER BY number", number)
        return [
            CellChange(item, self.field_name(field), *(shown(field_kind(field), v) for v in pair))
            for _, _, item, field, *pair in rows
        ]

    def field_name(self, field: str) -> str:
        """Return a field of the log with the name of its label."""
        number = field_number(field)
        return field if number < 0 else f"{field_kind(field)} {self.label_name(number)}"

    def undo(
        self, number: int | None, who: str, embed: Callable[[list[str]], Any]
    ) -> tuple[Any, Undone]:
        """Put the values back that a change replaced, where they are still those that it made.

        None means the last change that was not undone and is not an undo.
        """
        if number is None:
            number = self._last()
        entry = None if number is None else self.entry(number)
        if number is None or entry is None:
            what = "There is nothing to undo." if number is None else f"Change {number}"
            raise InvalidInput(what if number is None else f"{what} is not in the history.")
        rows = self._store.log_rows("part_of = ? ORDER BY number", number)
        present = self._store.present((item, field) for _, _, item, field, _, _ in rows)
        there = set(self._store.known_ids({item for _, _, item, _, _, _ in rows}))
        # Labels that get their names back together may exchange them.
        renamed = {field_number(row[3]) for row in rows if field_kind(row[3]) == "name"}
        wanted: dict[Cell, str | None] = {}
        late: dict[str, int] = {}
        for last, _, item, field, before, after in rows:
            # An item that is gone has no value as well as one whose value was removed.
            gone = field_kind(field) == "metadata" and item not in there
            if not gone and self._can_restore(field, present[item, field], before, after, renamed):
                wanted[item, field] = before
            else:
                late[item or field] = self._changed_by(item, field, last)
        kept = dict(Counter(late.values()))
        if not wanted:
            state = "it was undone before" if entry.undone else "what it made was changed since"
            by = ", ".join(str(one) for one in sorted(kept) if one)
            raise InvalidInput(
                f"Change {number} cannot be undone: {state}{f', by {by}' if by else ''}."
            )
        for cell, value in [*wanted.items()]:
            holder = (
                self._store.labels.number.get(value_of(value), -1)
                if field_kind(cell[1]) == "name"
                else -1
            )
            if holder >= 0:
                # A label of no item has the name; it gets the other one.
                wanted.setdefault(("", f"name {holder}"), present[cell])
        made = self._store.apply(wanted, By(who, "undo", number), embed=embed)
        restored = {item or field for item, field in wanted if field != "labels" or item}
        return made, Undone(entry, made.number, len(restored - late.keys()), kept)

    def _last(self) -> int | None:
        undone = self.undone()
        skipped = {one.number for one in self._store.groups("undoes OR action = ?", READ)}
        every = reversed(range(1, self._store.number + 1))
        return next((one for one in every if one not in undone and one not in skipped), None)

    def _can_restore(
        self,
        field: str,
        present: str | None,
        before: str | None,
        after: str | None,
        renamed: set[int],
    ) -> bool:
        if not same(field, present, after):
            return False
        if field_kind(field) != "name":
            return True
        # The name may be that of another label now.
        holder = self._store.labels.number.get(value_of(before))
        return holder is None or holder in renamed or not self._store.labels.support[holder]

    def _changed_by(self, item: str, field: str, number: int) -> int:
        """Return the number of the change after which a value is not what it was."""
        condition = "item = ? AND field IN (?, 'item') AND number > ? ORDER BY number LIMIT 1"
        found = self._store.log_rows(condition, item, field, number)
        return int(found[0][1]) if found else 0

    def as_read(self) -> dict[Cell, str | None]:
        """Return the values that cells had when the items were read, of those that changed."""

        def compute() -> dict[Cell, str | None]:
            groups = self._store.groups("action = ? ORDER BY number DESC LIMIT 1", READ)
            found: dict[Cell, str | None] = {}
            first = groups[0].number if groups else 0
            query = "part_of > ? AND field NOT GLOB 'verdict *' ORDER BY number"
            for _, _, item, field, before, _ in self._store.log_rows(query, first):
                # What was there before an item went, or came, is all that was read.
                if (item, "item") not in found:
                    found[item, field] = found.get((item, field), before)
            return found

        known: dict[Cell, str | None] = self._store.once("as read", compute, of=self._store.number)
        return known

    def verdicts(self) -> dict[tuple[str, int], str]:
        """Return what was said about labels of items: yes, no or unsure, by id and label."""

        def compute() -> dict[tuple[str, int], str]:
            found: dict[tuple[str, int], str] = {}
            for _, _, item, field, _, after in self._store.log_rows(
                "field GLOB 'verdict *' ORDER BY number"
            ):
                pair = item, field_number(field)
                found.pop(pair, None)
                if after is not None:
                    found[pair] = value_of(after)[0]
            return found

        known: dict[tuple[str, int], str] = self._store.once(
            "verdicts", compute, of=self._store.number
        )
        return known
