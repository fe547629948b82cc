"""Edits of labels: planned, applied as decisions, undone, and listed.

A decision and the change of labels that follows from it are one transaction in the database of
the index; undoing is another. Decisions stay when the index is fitted or saved again in the same
folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..errors import InvalidFile, InvalidInput
from ..index.inputs import as_names, label_name, read_label_lists
from ..index.label_table import Labels
from ..index.store import ItemStore
from .decisions import (
    Action,
    Change,
    DecisionGroup,
    Kind,
    LabelDecision,
    LabelEdit,
    Verdict,
    signed,
)
from .label_spelling import near_spellings, similar_words

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["LabelEdits", "doubted"]

Pair = tuple[str, str]


class LabelEdits:
    """Edits of the labels of an index, as decisions that are listed and can be undone.

    A decision and its change of labels are stored in the database of the index in one transaction,
    on disk when the call returns.

    Parameters
    ----------
    index : SemanticIndex
        To edit an index in a folder, load it with ``write=True``.

    See Also
    --------
    Review : Decides about labels that look wrong or missing.
    MetadataEdits : The same for values of the metadata.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.curation import LabelEdits
    >>> texts = ["a chess game", "a chess club", "edit a photo", "crop a photo"]
    >>> edits = LabelEdits(SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image"]]))
    >>> edit = edits.plan_replace("image", "photo")
    >>> edit.said
    'Rename image to photo in 2 items.'
    >>> _ = edits.apply(edit, create=True)
    >>> edits.index.labels
    {'game': 2, 'photo': 2}
    >>> edits.undo().said
    'Rename image to photo in 2 items.'
    """

    def __init__(self, index: SemanticIndex) -> None:
        self.index = index
        # A decision is made from labels that nobody changes meanwhile.
        self._lock = index.write_lock
        self._read: tuple[ItemStore | None, dict[int, DecisionGroup]] = None, {}

    # --- plans ------------------------------------------------------------------------

    def plan_edit(
        self,
        items: str | Sequence[str],
        add: str | Sequence[str] = (),
        remove: str | Sequence[str] = (),
    ) -> LabelEdit:
        """Plan to add labels to items and remove others.

        Parameters
        ----------
        items : str or list of str
            Ids; all must exist.
        add, remove : str or list of str, default=()
            Labels; those to be removed must exist.

        Returns
        -------
        LabelEdit
            For :meth:`apply`.
        """
        more, less = _labels(add), _labels(remove)
        _check_apart(more, less, "edit", "added and removed")
        names = list(dict.fromkeys(as_names(items)))
        pairs: list[Change] = []
        with self._lock:
            store = self.index.store
            for label in less:
                store.labels.rows(label)
            for name, row in zip(names, store.rows(names).tolist(), strict=True):
                own = store.labels.labels(row) or ()
                pairs += [("wrong", name, label) for label in less if label in own]
                pairs += [("missing", name, label) for label in more if label not in own]
            return LabelEdit("edit", tuple(pairs), self._new(more))

    def plan_replace(self, labels: str | Sequence[str], by: str | None) -> LabelEdit:
        """Plan to rename labels, merge them into another, or drop them.

        Parameters
        ----------
        labels : str or list of str
            Labels that exist.
        by : str or None
            The label that replaces them, new or existing; None drops them.

        Returns
        -------
        LabelEdit
            For :meth:`apply`.
        """
        with self._lock:
            table, names = self.index.store.labels, self.index.store.ids_by_row()
        given = _labels(labels)
        wanted = () if by is None else _labels(by)
        if not given:
            raise InvalidInput("edit: no label was given to rename, merge or drop.")
        pairs: list[Change] = []
        for row in sorted({int(row) for label in given for row in table.rows(label)}):
            own = table.labels(row) or ()
            old = [label for label in given if label in own and label not in wanted]
            pairs += [("wrong", names[row], label) for label in old]
            pairs += [("missing", names[row], label) for label in wanted if label not in own]
        new = self._new(wanted)
        adds = any(kind == "missing" for kind, _, _ in pairs)
        action: Action = "rename" if new and len(given) == 1 else "merge"
        return LabelEdit(action if adds else "drop", tuple(pairs), new)

    def similar(self, labels: Iterable[str], without: Sequence[str] = ()) -> dict[str, list[str]]:
        """Find labels that differ from new ones only in case, accents, a plural s or one letter.

        Parameters
        ----------
        labels : list of str
            Those that exist are passed over.
        without : list of str, default=()
            Labels that are not compared, because they are replaced.

        Returns
        -------
        dict
            For each new label that may be a misspelling: the existing labels that it resembles.
        """
        store = self.index.store
        new = self._new(dict.fromkeys(map(label_name, labels)))
        known = dict.fromkeys(store.labels.totals)
        if store.vocabulary is not None:
            known |= dict.fromkeys(one.name for one in store.vocabulary.concepts.values())
        return near_spellings(new, (one for one in known if one not in without)) if new else {}

    def _new(self, labels: Iterable[str]) -> tuple[str, ...]:
        return tuple(label for label in labels if not self.index.store.has_label(label))

    # --- decisions --------------------------------------------------------------------

    def apply(
        self, edit: LabelEdit, *, who: str = "", create: bool = False
    ) -> DecisionGroup | None:
        """Change labels as planned: all of them or, after a failure, none.

        Parameters
        ----------
        edit : LabelEdit
            From :meth:`plan_edit` or :meth:`plan_replace`.
        who : str, default=""
            Who decides, for the history.
        create : bool, default=False
            Whether labels that do not exist yet may be created.

        Returns
        -------
        DecisionGroup or None
            None if nothing changes.
        """
        with self._lock:
            what, said = doubted(self, edit.added, create=create, similar=True)
            if what:
                raise InvalidInput(f"{said} Say that it is to be created.")
            return self._decide([("accept", pair) for pair in edit.pairs], who, edit.action)

    def feedback(
        self,
        item: str,
        accepted: Sequence[str] = (),
        rejected: Sequence[str] = (),
        *,
        who: str = "",
    ) -> DecisionGroup | None:
        """Decide about labels that were suggested for an item.

        Parameters
        ----------
        item : str
            Its id.
        accepted : list of str, default=()
            Labels that it has, or gets.
        rejected : list of str, default=()
            Labels that it does not have, or loses.
        who : str, default=""
            Who decides, for the history.

        Returns
        -------
        DecisionGroup or None
            None if no label is given.
        """
        right, wrong = _labels(accepted), _labels(rejected)
        _check_apart(right, wrong, "feedback", "accepted and rejected")
        with self._lock:
            own = self.index.store.labels_of(item) or ()
            wanted: list[tuple[Verdict, Change]] = []
            for label in (*right, *wrong):
                kind: Kind = "wrong" if label in own else "missing"
                changes = (label in own) != (label in right)
                wanted.append(("accept" if changes else "reject", (kind, item, label)))
            return self._decide(wanted, who, "feedback")

    def relabel(self, lists: Mapping[str, Labels]) -> DecisionGroup | None:
        """Give items other labels, as one decision.

        Parameters
        ----------
        lists : dict
            The labels of each item; None if they are unknown.

        Returns
        -------
        DecisionGroup or None
            None if no label is added or removed.
        """
        with self._lock:
            wanted: list[tuple[Verdict, Change]] = []
            for name, own in lists.items():
                before, after = set(self.index.store.labels_of(name) or ()), set(own or ())
                wanted += [("accept", ("wrong", name, label)) for label in sorted(before - after)]
                wanted += [("accept", ("missing", name, label)) for label in sorted(after - before)]
            return self._decide(wanted, "", "edit", lists)

    def undo(self, number: int | None = None) -> DecisionGroup | None:
        """Undo a decision, with everything that was decided at the same time.

        Parameters
        ----------
        number : int or None, default=None
            Its number; None for the last one. A decision cannot be undone before a later one about
            the same items and labels.

        Returns
        -------
        DecisionGroup or None
            None if there is none.
        """
        signed(self.index, "review", "")
        with self._lock:
            groups, latest = self._groups(), self._latest()
            if number is None:
                number = max((n for n, made in groups.items() if not made.undone), default=None)
                if number is None:
                    return None
            made = groups.get(number)
            if made is None or made.undone:
                state = "there is none" if made is None else "it was undone before"
                raise InvalidInput(f"Decision {number} cannot be undone: {state}.")
            for one in made.parts:
                after = latest[one.item, one.label]
                if after.number > number:
                    raise InvalidInput(
                        f"Decision {number} cannot be undone: decision {after.number} is also "
                        f"about {one.label!r} of {one.item!r}; undo that one first."
                    )
            lists = self._changed([(one, one.had) for one in made.parts if one.changes])
            self._write(lists, [_record(one, undone=True) for one in made.parts])
            groups[number] = replace(made, undone=True)
            return made

    def history(
        self, n: int = 20, *, before: int | None = None, item: str = "", label: str = ""
    ) -> list[DecisionGroup]:
        """List decisions, including those that were undone, the newest first.

        Parameters
        ----------
        n : int, default=20
            Maximum number of decisions.
        before : int or None, default=None
            Only decisions with a smaller number: that of the last one listed, for the next page.
        item : str, default=""
            Only decisions about this item.
        label : str, default=""
            Only decisions about this label.

        Returns
        -------
        list of DecisionGroup
            Each with its author and time.
        """
        label = label_name(label)
        with self._lock:
            found = [
                made
                for number, made in sorted(self._groups().items(), reverse=True)
                if (before is None or number < before)
                and any(item in ("", one.item) and label in ("", one.label) for one in made.parts)
            ]
        return found[:n]

    def decisions(self) -> list[LabelDecision]:
        """List the decisions in effect, the oldest first.

        Returns
        -------
        list of LabelDecision
            The last one about each pair of an item and a label.
        """
        with self._lock:
            return sorted(self._latest().values(), key=lambda one: one.number)

    def changes(self) -> dict[str, dict[str, bool]]:
        """Return the accepted changes, for :func:`labelspan.corpus.edit_corpus`.

        Returns
        -------
        dict
            For each item its labels that were added (True) and removed (False).
        """
        found: dict[str, dict[str, bool]] = {}
        for one in self.decisions():
            if one.decision == "accept":
                found.setdefault(one.item, {})[one.label] = one.wanted
        return found

    # --- internal ---------------------------------------------------------------------

    def _groups(self) -> dict[int, DecisionGroup]:
        """Return all decisions by number, read again if something else changed the index."""
        if self._read[0] is not self.index.store:
            self._read = self.index.store, _read_decisions(self.index.store)
        return self._read[1]

    def _write(self, lists: Mapping[str, Labels], records: Sequence[tuple[Any, ...]]) -> None:
        """Write labels and decisions, of which the caller keeps those in memory up to date."""
        self.index.change("relabel", lambda store: store.relabel(lists, records))
        self._read = self.index.store, self._read[1]

    def _latest(self) -> dict[Pair, LabelDecision]:
        """Return the decision that holds for each pair of an item and a label."""
        made = [one for _, one in sorted(self._groups().items()) if not one.undone]
        return {(one.item, one.label): one for group in made for one in group.parts}

    def _decide(
        self,
        wanted: Sequence[tuple[Verdict, Change]],
        who: str,
        action: Action,
        lists: Mapping[str, Labels] | None = None,
    ) -> DecisionGroup | None:
        """Write decisions and the labels after them, which may be given, in one transaction."""
        now, who = signed(self.index, "review", who)
        with self._lock:
            store, groups = self.index.store, self._groups()
            number = max(groups, default=0) + 1
            parts = []
            for decision, (kind, item, label) in wanted:
                own = store.labels_of(item)
                had = None if own is None else label in own
                one = LabelDecision(number, now, item, label, kind, decision, had, who, action)
                # Nothing is decided by an edit that another has made before.
                if one.changes or action in ("review", "feedback"):
                    parts.append(one)
            after = lists or self._changed([(one, one.wanted) for one in parts if one.changes])
            if parts or after:
                self._write(after, [_record(one, undone=False) for one in parts])
            if not parts:
                return None
            groups[number] = DecisionGroup(tuple(parts))
            return groups[number]

    def _changed(self, wanted: Sequence[tuple[LabelDecision, bool | None]]) -> Mapping[str, Labels]:
        """Return the labels of items after some of them were added or removed."""
        found: dict[str, Labels] = {}
        store = self.index.store
        for one, has in wanted:
            if one.item not in self.index:
                continue
            own = set((found[one.item] if one.item in found else store.labels_of(one.item)) or ())
            own = own | {one.label} if has else own - {one.label}
            # They were unknown before the decision that is undone.
            found[one.item] = None if has is None and not own else tuple(sorted(own))
        return found


def doubted(
    edits: LabelEdits,
    labels: Iterable[str],
    without: Sequence[str] = (),
    *,
    create: bool,
    similar: bool,
) -> tuple[Literal["", "create", "similar"], str]:
    """Return what must be allowed before labels are given to items, and a sentence about it.

    ``create`` allows those that do not exist yet, ``similar`` those that are spelt nearly like
    another one, except some that are replaced.
    """
    names, table = [label_name(one) for one in labels], edits.index.store.labels
    new = next((one for one in names if not edits.index.store.has_label(one)), None)
    if new is not None and not create:
        return "create", str(table.unknown(new))
    near = {} if similar else edits.similar(names, without)
    return ("similar", similar_words(near, table.totals)) if near else ("", "")


def _read_decisions(store: ItemStore) -> dict[int, DecisionGroup]:
    found = {}
    for number, records in groupby(store.decisions(), key=lambda record: record[0]):
        parts, undone = [], False
        for _, time, item, label, kind, decision, had, is_undone, who, action in records:
            if not {kind, decision, action} <= _KNOWN:
                raise InvalidFile("items.sqlite is damaged: a decision is not what was written.")
            before = None if had is None else bool(had)
            pair = (item, label, kind)
            parts.append(LabelDecision(number, time, *pair, decision, before, who, action))
            undone = bool(is_undone)
        found[number] = DecisionGroup(tuple(parts), undone)
    return found


_KNOWN = {*get_args(Kind), *get_args(Verdict), *get_args(Action)}


def _record(one: LabelDecision, *, undone: bool) -> tuple[Any, ...]:
    *values, had, who, action = asdict(one).values()
    return (*values, None if had is None else int(had), int(undone), who, action)


def _labels(names: str | Sequence[str]) -> tuple[str, ...]:
    return read_label_lists([as_names(names)], 1, "edit")[0] or ()


def _check_apart(some: Iterable[str], others: Iterable[str], owner: str, how: str) -> None:
    both = set(some) & set(others)
    if both:
        raise InvalidInput(f"{owner}: {min(both)!r} cannot be both {how}.")
