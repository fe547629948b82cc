"""Review labels: findings that wait for a decision, edits, decisions and their history.

A decision and the change of labels that follows from it are one transaction in the database of
the index; undoing is another. Decisions stay when the index is fitted or saved again in the same
folder.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..errors import InvalidFile, InvalidInput, InvalidParameter, Mismatch
from ..index.inputs import as_names, label_name, read_label_lists
from ..index.label_table import Labels
from ..index.results import TagExplanation
from ..index.store import ItemStore
from ..index.tagging import ItemTagger
from ..tagger import Tagger
from .audit_results import Finding
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
from .label_audit import label_findings
from .label_spelling import near_spellings

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["Review", "finding_key", "pair_of"]

_WORDS = 6

Pair = tuple[str, str]


class Review:
    """Labels of an index that look wrong or missing, to be accepted or rejected one by one.

    Accepting a finding changes the labels of its item: a wrong label is removed, a missing one
    added (:meth:`SemanticIndex.relabel`). Rejecting it leaves them unchanged. Either way it is not
    shown again, even after the index was fitted again in the same folder. Decisions are stored in
    the database of the index; a decision and its change of labels are one transaction, on disk when
    the call returns.

    Parameters
    ----------
    index : SemanticIndex
        Fitted with labels; to decide about an index in a folder, load it with ``write=True``.

    See Also
    --------
    audit_labels : Finds the labels to review, and more.

    Notes
    -----
    The queue and the evidence are those of the model at the time of :meth:`order`; predictions of
    the index follow each decision.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.curation import Review
    >>> texts = ["a chess game", "a chess club", "play chess", "chess online"]
    >>> texts += ["edit a photo", "crop a photo", "a photo frame", "photo edit"]
    >>> labels = [["game"], ["game"], ["image"], ["game"], *[["image"]] * 4]
    >>> review = Review(SemanticIndex().fit(texts, labels))
    >>> finding = review.waiting(kind="missing")[0]
    >>> finding.items, finding.labels
    (('2',), ('game',))
    >>> _ = review.decide([finding], "accept")
    >>> review.index.item("2").labels
    ('game', 'image')
    >>> _ = review.undo()
    >>> review.index.item("2").labels
    ('image',)
    >>> review.plan_replace("image", "photo").said
    'Rename image to photo in 5 items.'
    """

    def __init__(self, index: SemanticIndex) -> None:
        self.index = index
        # A decision is made from labels that nobody changes meanwhile.
        self._lock = index.write_lock
        self._read: tuple[ItemStore | None, dict[int, DecisionGroup]] = None, {}
        self._findings: dict[Pair, Finding] | None = None
        self._rows: dict[str, int] = {}
        self._tagger: Tagger | None = None

    # --- the queue --------------------------------------------------------------------

    def order(self) -> Review:
        """Find labels that look wrong or missing with the current labels, the clearest first.

        Returns
        -------
        Review
            The review itself.
        """
        tagger = self.index.tagger
        if tagger is None:
            raise Mismatch("review: this index was fitted without labels.")
        ids = self.index.store.ids_by_row()
        names = [ids.get(int(row), "") for row in tagger.rows]
        found = label_findings(tagger, names)
        with self._lock:
            self._findings = {pair_of(one): one for one in found}
            self._rows = dict(zip(names, tagger.rows.tolist(), strict=True))
            # Evidence is that of the model that made the queue, and does not wait for a new one.
            self._tagger = tagger
        return self

    def _queue(self) -> dict[Pair, Finding]:
        if self._findings is None:
            self.order()
        assert self._findings is not None
        return self._findings

    def waiting(
        self, *, label: str = "", kind: Literal["", "wrong", "missing"] = "", skipped: bool = False
    ) -> list[Finding]:
        """List the findings without a decision, the clearest first.

        Parameters
        ----------
        label : str, default=""
            Only findings about this label.
        kind : {"", "wrong", "missing"}, default=""
            Only findings of this kind.
        skipped : bool, default=False
            Whether to list the findings that were skipped, instead of those without a decision.

        Returns
        -------
        list of Finding
            The same objects as before, unless the queue was ordered since.
        """
        if kind not in ("", "wrong", "missing"):
            raise InvalidParameter(
                f"review: kind must be wrong or missing, but {kind!r:.40} was given."
            )
        label = label_name(label)
        with self._lock:
            wanted = "skip" if skipped else None
            made = {pair: one.decision for pair, one in self._latest().items()}
            queue, store = self._queue(), self.index.store
            # Items and labels that were removed since are not asked about.
            labels, alive = store.labels.totals, store.vectors.alive
            return [
                one
                for pair, one in queue.items()
                if made.get(pair) == wanted
                and label in ("", pair[1])
                and kind in ("", one.kind)
                and pair[1] in labels
                and alive[self._rows[pair[0]]]
            ]

    def progress(
        self, *, label: str = "", kind: Literal["", "wrong", "missing"] = ""
    ) -> dict[str, int]:
        """Count decisions about findings, and findings without one; other edits do not count.

        Parameters
        ----------
        label : str, default=""
            Only this label.
        kind : {"", "wrong", "missing"}, default=""
            Only this kind.

        Returns
        -------
        dict
            Numbers of findings: ``accepted``, ``rejected``, ``skipped``, ``waiting`` and ``total``.
        """
        with self._lock:
            waiting = len(self.waiting(label=label, kind=kind))
            counts = Counter(
                one.decision
                for one in self._latest().values()
                if one.action == "review"
                and label_name(label) in ("", one.label)
                and kind in ("", one.kind)
            )
        return {
            "accepted": counts["accept"],
            "rejected": counts["reject"],
            "skipped": counts["skip"],
            "waiting": waiting,
            "total": counts.total() + waiting,
        }

    def find(self, keys: Iterable[str]) -> list[Finding]:
        """Return the findings with some keys, as the explorer names them.

        Parameters
        ----------
        keys : list of str
            Short names of findings.

        Returns
        -------
        list of Finding
            Only those whose key is known.
        """
        with self._lock:
            by_key = {finding_key(one): one for one in self._queue().values()}
        return [by_key[key] for key in keys if key in by_key]

    def explain(self, finding: Finding) -> TagExplanation | None:
        """Explain the probability of the label, by words and by labelled items near the item.

        Parameters
        ----------
        finding : Finding
            One of the queue.

        Returns
        -------
        TagExplanation or None
            None if the item or the label no longer exists.
        """
        item, label = pair_of(finding)
        with self._lock:
            self._queue()
        tagger = ItemTagger(self.index.model, self.index.store, self._tagger)
        try:
            return tagger.explain(label, None, _WORDS, item)
        except InvalidInput:
            return None

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

    def decide(
        self, findings: Sequence[Finding], decision: Verdict, *, who: str = ""
    ) -> DecisionGroup | None:
        """Decide about findings; several decided at once are undone together.

        Parameters
        ----------
        findings : list of Finding
            One or several.
        decision : {"accept", "reject", "skip"}
            "accept" removes a wrong label and adds a missing one; "reject" leaves the labels;
            "skip" postpones the finding.
        who : str, default=""
            Who decides, for the history.

        Returns
        -------
        DecisionGroup or None
            None if there are no findings.
        """
        if decision not in get_args(Verdict):
            choices = ", ".join(get_args(Verdict))
            raise InvalidInput(f"A decision is one of {choices}, but {decision!r:.40} was given.")
        given = {pair_of(one): one.kind for one in findings}
        wanted: list[tuple[Verdict, Any]] = [
            (decision, (kind, *pair)) for pair, kind in given.items()
        ]
        return self._decide(wanted, who, "review")

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
            new = self._new(edit.added)
            if new and not create:
                unknown = self.index.store.labels.unknown(new[0])
                raise InvalidInput(f"{unknown} Say that it is to be created.")
            return self._decide([("accept", pair) for pair in edit.pairs], who, edit.action)

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
            pairs = {(one.item, one.label) for one in made.parts}
            if made.action == "review" and not pairs <= (self._findings or {}).keys():
                # The queue was ordered since the decision.
                self._findings = None
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


def pair_of(finding: Finding) -> Pair:
    """Return the item and the label of a finding."""
    return finding.items[0], finding.labels[0]


def finding_key(finding: Finding) -> str:
    """Return a short name for a finding, from its kind, item and label."""
    item, label = pair_of(finding)
    parts = "\0".join((finding.kind, str(len(item)), item, label))
    return hashlib.blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
