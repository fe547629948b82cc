"""Edits of labels: planned, applied as one change of the index, and compared with the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..corpus.label_writing import check_labels
from ..errors import InvalidInput, NewLabels
from ..index.history import By, Cell, HistoryEntry, as_value, bit, field_number, value_of
from ..index.inputs import as_names, label_name, read_label_lists
from ..index.store import ItemStore
from .decisions import Action, Answer, Change, LabelDecision, LabelEdit, apply_cells, verdict
from .label_spelling import near_spellings, similar_words

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["LabelEdits"]

Pair = tuple[str, str]


class LabelEdits:
    """Edits of the labels of an index: each is one change, which the index lists and can undo.

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
    >>> edits.index.undo().said
    'Undone: Rename image to photo.'
    """

    def __init__(self, index: SemanticIndex) -> None:
        self.index = index
        # A decision is made from labels that nobody changes meanwhile.
        self._lock = index.write_lock

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
        renames = len(given) == 1 and bool(wanted) and wanted[0] not in table.totals
        action: Action = "rename" if renames else "merge"
        return LabelEdit(action if adds else "drop", tuple(pairs), new)

    def check_new_labels(
        self,
        labels: Iterable[str],
        without: Sequence[str] = (),
        *,
        create: bool = False,
        similar: bool = False,
        typed: bool = True,
    ) -> None:
        """Raise an error for labels that no item has, or that are spelt nearly like others.

        Parameters
        ----------
        labels : list of str
            Labels that are to be given to items.
        without : list of str, default=()
            Labels that are not compared, because they are replaced.
        create : bool, default=False
            Whether labels that do not exist yet are allowed.
        similar : bool, default=False
            Whether those that are spelt nearly like another one are allowed.
        typed : bool, default=True
            Whether they were typed, and are not those of another file: one that the file of
            the index could not hold raises an error, too.
        """
        labels = list(labels)
        if typed:
            check_labels(labels, self.index.corpus_fields)
        names, store = [label_name(one) for one in labels], self.index.store
        new = next((one for one in names if not store.has_label(one)), None)
        if new is not None and not create:
            raise NewLabels(str(store.labels.unknown(new)), "create")
        if not similar and (near := self.similar(names, without)):
            raise NewLabels(similar_words(near, store.labels.totals), "similar")

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

    # --- changes ----------------------------------------------------------------------

    def apply(self, edit: LabelEdit, *, who: str = "", create: bool = False) -> HistoryEntry | None:
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
        HistoryEntry or None
            With the number for :meth:`SemanticIndex.undo`; None if nothing changes.
        """
        with self._lock:
            self.check_new_labels(edit.added, create=create, similar=True)
            store = self.index.store
            number, table = store.numbered(label for _, _, label in edit.pairs)
            by = By(who, edit.action)
            if edit.action == "rename" and edit.added[0] not in store.labels.number:
                # The label stays the same, so that all that refers to it does.
                cell = "", f"name {number[edit.removed[0]]}"
                return apply_cells(self.index, {cell: as_value(edit.added[0])}, by)
            there = set(store.known_ids({item for _, item, _ in edit.pairs}))
            cells: dict[Cell, str | None] = {
                (item, f"label {number[label]}"): bit(kind == "missing")
                for kind, item, label in edit.pairs
                if item in there
            }
            if cells and edit.action in ("rename", "merge"):
                for label in edit.removed:
                    cells["", f"merged {number[label]}"] = as_value(number[edit.added[0]])
            return apply_cells(self.index, cells, by, table)

    def feedback(
        self,
        item: str,
        accepted: Sequence[str] = (),
        rejected: Sequence[str] = (),
        *,
        who: str = "",
    ) -> HistoryEntry | None:
        """Decide about labels that were suggested for an item.

        Parameters
        ----------
        item : str
            Its id.
        accepted : list of str, default=()
            Labels that it has, or gets.
        rejected : list of str, default=()
            Labels that it does not have, or loses; they are not predicted for it again.
        who : str, default=""
            Who decides, for the history.

        Returns
        -------
        HistoryEntry or None
            None if this says nothing new.
        """
        right, wrong = _labels(accepted), _labels(rejected)
        _check_apart(right, wrong, "feedback", "accepted and rejected")
        with self._lock:
            self.index.store.row(item)
            new = [one for one in right if not self.index.store.has_label(one)]
            check_labels(new, self.index.corpus_fields)
            answers: dict[Pair, Answer] = {(item, label): "yes" for label in right}
            answers |= {(item, label): "no" for label in wrong}
            return self._answer(answers, By(who, "feedback"), change=True)

    def _answer(
        self,
        answers: Mapping[Pair, Answer],
        by: By,
        *,
        change: bool,
        reason: str = "",
        note: str = "",
    ) -> HistoryEntry | None:
        """Write answers about labels of items; ``change`` adds and removes the labels as well."""
        number, table = self.index.store.numbered(label for _, label in answers)
        cells: dict[Cell, str | None] = {}
        for (item, label), answer in answers.items():
            cells[item, f"verdict {number[label]}"] = verdict(answer, reason, note)
            if change and answer != "unsure":
                cells[item, f"label {number[label]}"] = bit(answer == "yes")
        return apply_cells(self.index, cells, by, table)

    def decisions(self) -> list[LabelDecision]:
        """List what is decided about labels of items, the oldest first.

        Returns
        -------
        list of LabelDecision
            One for each pair of an item and a label that has an answer, or that is different from
            what was read.
        """
        store = self.index.store
        return [*store.once("decisions", lambda: _read_decisions(store), of=store.number)]

    def changes(self) -> dict[str, dict[str, bool]]:
        """Return how labels differ from those that were read, for :func:`.edit_corpus`.

        Returns
        -------
        dict
            For each item its labels that were added (True) and removed (False), as they are called
            now and in the file. Items that were added or removed are left out.
        """
        return label_changes_of(self.index)

    def values(self) -> dict[str, dict[str, tuple[str, str]]]:
        """Return the texts in the metadata that differ from those that were read.

        Returns
        -------
        dict
            For each item its fields with their texts, as they were read and as they are now;
            without items that were added later.
        """
        index, found = self.index, dict[str, dict[str, tuple[str, str]]]()
        own: dict[str, dict[str, Any]] = {}
        whole: dict[str, Any] = {}
        for (name, field), value in index.store.history.as_read().items():
            if field == "item":
                whole[name] = value_of(value)
            elif field.startswith("metadata "):
                own.setdefault(name, {})[field.removeprefix("metadata ")] = value_of(value)
        for item in index.items([name for name in {**own, **whole} if name in index]):
            read = whole.get(item.id, [])
            before = (read[2] if read else {}) | own.get(item.id, {})
            both = {key: (before.get(key), item.metadata.get(key)) for key in before}
            pairs = {
                key: (old or "", new or "")
                for key, (old, new) in both.items()
                if old != new and {type(old), type(new)} <= {str, type(None)}
            }
            if pairs and read is not None:
                found[item.id] = pairs
        return found

    def went(self) -> tuple[list[str], list[str]]:
        """List the items that were read and are not there, and those that were put there again.

        Returns
        -------
        gone, again : list of str
            Their ids. They stay in the corrected file, with the labels that they have now or had.
            Those that an undo brought back are in neither.
        """
        store, history = self.index.store, self.index.store.history
        read = history.as_read()
        names = [item for (item, field), value in read.items() if field == "item" and value]
        there = set(store.known_ids(names))
        # An undo puts back what was read.
        others = history.undone() | {one.number for one in store.groups("undoes")}
        rows = store.log_rows("field = 'item' AND before IS NULL")
        put = {item for _, group, item, *_ in rows if group not in others}
        return [one for one in names if one not in there], [
            one for one in names if one in there and one in put
        ]


def _read_decisions(store: ItemStore) -> list[LabelDecision]:
    groups = {one.number: one for one in store.groups("1")}
    last: dict[tuple[str, int], tuple[int, list[str]]] = {}
    labels: dict[tuple[str, int], int] = {}
    query = "field GLOB 'label *' OR field GLOB 'verdict *' ORDER BY number"
    for _, group, item, field, _, after in store.log_rows(query):
        pair = item, field_number(field)
        if field.startswith("label"):
            labels[pair] = group
        else:
            last.pop(pair, None)
            if after is not None:
                last[pair] = group, value_of(after)
    read = {
        (item, field_number(field)): value == "1"
        for (item, field), value in store.history.as_read().items()
        if field.startswith("label ")
    }
    present = store.present((item, f"label {label}") for item, label in read)
    found = []
    for pair in {**labels, **last}:
        item, label = pair
        number, said = last.get(pair, (labels.get(pair, 0), ["", "", ""]))
        has = present.get((item, f"label {label}"))
        change: Literal["added", "removed", ""] = ""
        if pair in read and has is not None and (has == "1") != read[pair]:
            change = "added" if has == "1" else "removed"
        if said[0] or change:
            group = groups[number]
            answer: Answer = said[0]  # type: ignore[assignment]
            about = item, store.history.label_name(label)
            changed = labels.get(pair) == number
            one = LabelDecision(*group[:4], *about, answer, change, changed, *said[1:3])
            found.append(one)
    return sorted(found, key=lambda one: one.number)


def label_changes_of(index: SemanticIndex) -> dict[str, dict[str, bool]]:
    """Return how the labels of items differ from those that were read from their file."""
    store = index.store
    table, read = store.labels, store.history.as_read()
    # What labels were called, and which labels items had.
    names = [*table.names]
    own: dict[str, dict[int, bool]] = {}
    whole: dict[str, Any] = {}
    for (item, field), value in read.items():
        if field.startswith("name "):
            names[field_number(field)] = value_of(value)
        elif field.startswith("label "):
            own.setdefault(item, {})[field_number(field)] = value == "1"
        elif field == "item":
            whole[item] = value_of(value)
    ids = store.ids_by_row()
    rows = {name: row for row, name in ids.items() if name in own or name in whole}
    for number, name in enumerate(names):
        if name != table.names[number] and table.support[number]:
            rows |= {ids[row]: row for row in table.rows(table.names[number]).tolist()}
    found = {}
    for item, row in rows.items():
        now = set(table.numbers(row) or ())
        before = now
        if item in whole:
            if whole[item] is None:
                # It was added later, and is not in the file.
                continue
            before = set(whole[item][1] or ())
        before = {n for n in before | own.get(item, {}).keys() if own.get(item, {}).get(n, True)}
        old, new = {names[n] for n in before}, {table.names[n] for n in now}
        if old != new:
            gone = dict.fromkeys(sorted(old - new), False)
            found[item] = gone | dict.fromkeys(sorted(new - old), True)
    return found


def _labels(names: str | Sequence[str]) -> tuple[str, ...]:
    return read_label_lists([as_names(names)], 1, "edit")[0] or ()


def _check_apart(some: Iterable[str], others: Iterable[str], owner: str, how: str) -> None:
    both = set(some) & set(others)
    if both:
        raise InvalidInput(f"{owner}: {min(both)!r} cannot be both {how}.")
