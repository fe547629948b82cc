"""Review labels: findings that wait for a decision, and their evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from ..errors import InvalidInput, InvalidParameter, Mismatch
from ..index.history import By, HistoryEntry
from ..index.inputs import label_name
from ..index.results import TagExplanation
from .audit_results import Finding
from .decisions import Answer, Verdict
from .label_audit import EVIDENCE, label_findings
from .label_edits import LabelEdits, Pair

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["Review", "pair_of"]

# When at most this number of the last decisions accepted what was proposed, the rest is noise.
_LAST, _FEW_ACCEPTED = 20, 3


class Review(LabelEdits):
    """Labels of an index that look wrong or missing, to be accepted or rejected one by one.

    Accepting a finding changes the labels of its item: a wrong label is removed, a missing one
    added (:meth:`SemanticIndex.relabel`). Rejecting it leaves them unchanged. Either way it is not
    shown again, even after the index was fitted again in the same folder.

    Parameters
    ----------
    index : SemanticIndex
        Fitted with labels; to decide about an index in a folder, load it with ``write=True``.

    See Also
    --------
    audit_labels : Finds the labels to review, and more.
    LabelEdits : Other edits, of which a review has all methods.

    Notes
    -----
    The queue is that of the model at the time of :meth:`order`; evidence and predictions follow
    each decision.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.curation import Review
    >>> texts = [f"{verb} chess" for verb in ("play", "learn", "watch", "enjoy", "teach")]
    >>> texts += [f"{verb} a photo" for verb in ("edit", "crop", "print", "save", "share")]
    >>> labels = [["game"]] * 4 + [["image"]] * 6
    >>> review = Review(SemanticIndex().fit(texts, labels))
    >>> finding = review.waiting(kind="missing")[0]
    >>> finding.items, finding.labels
    (('4',), ('game',))
    >>> _ = review.decide([finding], "accept")
    >>> review.index.item("4").labels
    ('game', 'image')
    >>> _ = review.index.undo()
    >>> review.index.item("4").labels
    ('image',)
    """

    def __init__(self, index: SemanticIndex) -> None:
        super().__init__(index)
        self._findings: dict[Pair, Finding] | None = None

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
        found = label_findings(self.index, tagger, names)
        with self._lock:
            self._findings = {pair_of(one): one for one in found}
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
            wanted = "unsure" if skipped else None
            queue, store = self._queue(), self.index.store
            number, made = store.labels.number, store.history.verdicts()
            # Items and labels that were removed since are not asked about.
            labels, there = store.labels.totals, set(store.known_ids(pair[0] for pair in queue))
            return [
                one
                for pair, one in queue.items()
                if made.get((pair[0], number.get(pair[1], -1))) == wanted
                and label in ("", pair[1])
                and kind in ("", one.kind)
                and pair[1] in labels
                and pair[0] in there
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
            name = label_name(label)
            counts = Counter(
                "skip" if one.answer == "unsure" else "accept" if one.changed else "reject"
                for one in self.decisions()
                if one.answer
                and one.action == "review"
                and name in ("", one.label)
                and kind in ("", "wrong" if (one.answer == "yes") != one.changed else "missing")
            )
        return {
            "accepted": counts["accept"],
            "rejected": counts["reject"],
            "skipped": counts["skip"],
            "waiting": waiting,
            "total": counts.total() + waiting,
        }

    @property
    def enough(self) -> str:
        """A sentence when what is left is as good as noise, by the last decisions; else empty."""
        last = [one.changed for one in self.decisions() if one.answer in ("yes", "no")][-_LAST:]
        accepted = sum(last)
        if len(last) < _LAST or accepted > _FEW_ACCEPTED:
            return ""
        return (
            f"Enough: of the last {_LAST} findings only {accepted} were right, and what follows is "
            "less clear."
        )

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
            by_key = {one.key: one for one in self._queue().values()}
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
        try:
            return self.index.explain_tag(label, n=EVIDENCE, items=item)
        except InvalidInput:
            return None

    # --- decisions --------------------------------------------------------------------

    def decide(
        self,
        findings: Sequence[Finding],
        decision: Verdict,
        *,
        who: str = "",
        reason: str = "",
        note: str = "",
    ) -> HistoryEntry | None:
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
        reason, note : str, default=""
            Why, for the list of decisions.

        Returns
        -------
        HistoryEntry or None
            None if this says nothing new.
        """
        if decision not in get_args(Verdict):
            choices = ", ".join(get_args(Verdict))
            raise InvalidInput(f"A decision is one of {choices}, but {decision!r:.40} was given.")
        answers: dict[Pair, Answer] = {}
        for one in findings:
            right = (one.kind == "missing") == (decision == "accept")
            answers[pair_of(one)] = "unsure" if decision == "skip" else "yes" if right else "no"
        by = By(who, "review")
        with self._lock:
            # An item may have been removed since.
            there = set(self.index.store.known_ids({item for item, _ in answers}))
            answers = {pair: one for pair, one in answers.items() if pair[0] in there}
            change = decision == "accept"
            return self._answer(answers, by, change=change, reason=reason, note=note)


def pair_of(finding: Finding) -> Pair:
    """Return the item and the label of a finding."""
    return finding.items[0], finding.labels[0]
