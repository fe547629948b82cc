"""Review labels one by one: a queue of labels that look wrong or missing, and decisions."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..errors import InvalidInput, InvalidParameter, Mismatch
from ..index.inputs import label_name
from ..index.results import TagExplanation
from ..index.tagging import explain_tag
from ..tagger import Tagger
from .audit_results import Finding
from .decisions import DecisionGroup, DecisionLog, LabelDecision, LabelEdit, Verdict
from .label_audit import label_findings

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["Progress", "Review"]

_WORDS = 6

Pair = tuple[str, str]


@dataclass(frozen=True)
class Progress:
    """Progress of a review.

    Attributes
    ----------
    accepted, rejected, skipped : int
        Number of decisions of each kind.
    waiting : int
        Number of findings without a decision.

    See Also
    --------
    Review.progress : Returns it.

    Examples
    --------
    >>> from labelspan.curation import Progress
    >>> Progress(accepted=3, rejected=1, skipped=0, waiting=12).decided
    4
    """

    accepted: int
    rejected: int
    skipped: int
    waiting: int

    @property
    def decided(self) -> int:
        """Number of decisions to accept or to reject."""
        return self.accepted + self.rejected

    @property
    def total(self) -> int:
        """Number of decisions and of findings without one."""
        return self.decided + self.skipped + self.waiting


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
        Fitted with labels; in a folder, loaded with ``write=True``.

    See Also
    --------
    SemanticIndex.audit : Finds what is reviewed, and more.

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
    """

    def __init__(self, index: SemanticIndex) -> None:
        if not index.writable:
            raise Mismatch("review: the index was loaded for reading; load it with write=True.")
        if not index.can_tag:
            raise Mismatch("review: this index was fitted without labels.")
        self.index = index
        self._lock = threading.RLock()
        self._decisions = DecisionLog(index.store)
        self._findings: dict[Pair, Finding] | None = None
        self._tagger: Tagger | None = None

    @property
    def _log(self) -> DecisionLog:
        # A save replaces the store.
        if self._decisions.store is not self.index.store:
            self._decisions = DecisionLog(self.index.store)
        return self._decisions

    # --- the queue --------------------------------------------------------------------

    def order(self) -> Review:
        """Find labels that look wrong or missing with the current labels, the clearest first.

        Returns
        -------
        Review
            The review itself.
        """
        tagger = self.index.tagger
        assert tagger is not None
        ids = self.index.store.ids_by_row()
        found = label_findings(tagger, [ids.get(int(row), "") for row in tagger.rows])
        with self._lock:
            self._findings = {pair_of(one): one for one in found}
            # Evidence is that of the model that made the queue, and does not wait for a new one.
            self._tagger = tagger
        return self

    def _queue(self) -> dict[Pair, Finding]:
        with self._lock:
            if self._findings is None:
                self.order()
            assert self._findings is not None
            return self._findings

    def waiting(
        self,
        *,
        label: str = "",
        kind: Literal["", "wrong", "missing"] = "",
        skipped: bool = False,
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
        label = _check(label, kind)
        with self._lock:
            latest = self._log.latest()
            # A label that was renamed or dropped since has no items to ask about.
            there = self.index.store.labels.totals
            found = []
            for pair, one in self._queue().items():
                before = latest.get(pair)
                fits = before is None if not skipped else before and before.decision == "skip"
                if fits and label in ("", pair[1]) and kind in ("", one.kind) and pair[1] in there:
                    found.append(one)
            return found

    def labels(self) -> list[tuple[str, int]]:
        """List the labels with open findings, the most frequent first.

        Returns
        -------
        list of (str, int)
            Labels and the number of their findings.
        """
        counts = Counter(one.labels[0] for one in self.waiting())
        return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))

    def progress(self, *, label: str = "", kind: Literal["", "wrong", "missing"] = "") -> Progress:
        """Count decisions and findings without one.

        Parameters
        ----------
        label : str, default=""
            Only this label.
        kind : {"", "wrong", "missing"}, default=""
            Only this kind.

        Returns
        -------
        Progress
            Numbers of decisions and of open findings.
        """
        label = _check(label, kind)
        with self._lock:
            counts = Counter(
                one.decision
                for one in self._log.decisions()
                if label in ("", one.label) and kind in ("", one.kind)
            )
            waiting = len(self.waiting(label=label, kind=kind))
        return Progress(counts["accept"], counts["reject"], counts["skip"], waiting)

    def findings_of(self, decision: DecisionGroup | None) -> list[Finding]:
        """Return the findings that a decision was about.

        Parameters
        ----------
        decision : DecisionGroup or None
            For example what :meth:`undo` returned.

        Returns
        -------
        list of Finding
            Only those in the queue.
        """
        queue = self._queue()
        parts = () if decision is None else decision.parts
        found = [queue.get((one.item, one.label)) for one in parts]
        return [one for one in found if one is not None]

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
        (item, label) = pair_of(finding)
        self._queue()
        index = self.index
        try:
            return explain_tag(
                index.model,
                index.store,
                self._tagger,
                label=label,
                query=None,
                items=item,
                n=_WORDS,
            )
        except InvalidInput:
            return None

    # --- decisions --------------------------------------------------------------------

    def decide(
        self,
        findings: Sequence[Finding],
        decision: Verdict,
        *,
        who: str = "",
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
        with self._lock:
            given = {pair_of(one): one for one in findings}
            pairs = [(one.kind, item, label) for (item, label), one in given.items()]
            return self._log.add(decision, pairs, who)

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
        with self._lock:
            return self._log.feedback(item, accepted, rejected, who)

    def apply(
        self, edit: LabelEdit, *, who: str = "", create: bool = False
    ) -> DecisionGroup | None:
        """Change labels as planned: all of them or, after a failure, none.

        Parameters
        ----------
        edit : LabelEdit
            From :func:`plan_edit` or :func:`plan_replace`.
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
            return self._log.apply(edit, who, create=create)

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
        with self._lock:
            undone = self._log.undo(number)
            queue = self._queue()
            asked = undone is not None and undone.action == "review"
            for one in undone.parts if undone is not None and asked else ():
                pair = one.item, one.label
                there = queue.get(pair)
                if there is None or there.kind != one.kind:
                    # The queue was ordered since: put it back at the front.
                    again = Finding(one.kind, 1.0, (one.item,), (one.label,), "Decided before.")
                    queue.pop(pair, None)
                    self._findings = {pair: again, **queue}
                    queue = self._findings
            return undone

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
            With who made each, and when.
        """
        with self._lock:
            return self._log.history(n, before, item, str(label_name(label)))

    def forget(self, items: Iterable[str]) -> None:
        """Remove deleted items from the queue.

        Parameters
        ----------
        items : list of str
            Their ids.
        """
        gone = set(items)
        with self._lock:
            if self._findings is not None:
                self._findings = {p: one for p, one in self._findings.items() if p[0] not in gone}

    def decisions(self) -> list[LabelDecision]:
        """List the decisions in effect, the oldest first.

        Returns
        -------
        list of LabelDecision
            The last one about each pair of an item and a label.
        """
        with self._lock:
            return self._log.decisions()

    def changes(self) -> dict[str, dict[str, bool]]:
        """Return the accepted changes, for :func:`labelspan.corpus.edit_corpus`.

        Returns
        -------
        dict
            For each item its labels that were added (True) and removed (False).
        """
        with self._lock:
            return self._log.changes()


def pair_of(finding: Finding) -> Pair:
    """Return the item and the label of a finding."""
    return finding.items[0], finding.labels[0]


def finding_key(finding: Finding) -> str:
    """Return a short name for a finding, from its kind, item and label.

    Examples
    --------
    >>> from labelspan.curation import Finding
    >>> from labelspan.curation.review_queue import finding_key
    >>> finding_key(Finding("wrong", 0.9, ("gimp",), ("game",), "")) == finding_key(
    ...     Finding("wrong", 0.5, ("gimp",), ("game",), "")
    ... )
    True
    """
    item, label = pair_of(finding)
    parts = "\0".join((finding.kind, str(len(item)), item, label))
    return hashlib.blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _check(label: str, kind: str) -> str:
    if kind not in ("", "wrong", "missing"):
        raise InvalidParameter(
            f"review: kind must be wrong or missing, but {kind!r:.40} was given."
        )
    return str(label_name(label))
