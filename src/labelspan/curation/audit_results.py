"""Results of an audit of labels."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

__all__ = ["KINDS", "PAIRS", "Finding", "LabelAudit"]

KINDS = {
    "missing": "Labels that look missing",
    "merge": "Labels to merge",
    "implied": "Labels that imply another",
    "duplicates": "Nearly equal items with different labels",
    "unlabelled": "Items without labels",
    "broader_missing": "Items without the broader label",
    "broader_too": "Items with a label and its broader one",
    "junk": "Labels that say nothing",
    "wrong": "Labels that look wrong",
}
# Findings about one label of one item, which can be decided.
PAIRS = ("wrong", "missing")


@dataclass(frozen=True)
class Finding:
    """A possible problem in the labels of a collection.

    Attributes
    ----------
    kind : str
        For example "wrong" or "missing".
    score : float
        From 0 to 1; findings of a kind are sorted by it.
    items, labels : tuple of str
        Ids of the items, and the labels concerned.
    reason : str
        The evidence, in a sentence.
    evidence : dict
        The evidence in numbers.
    titles : tuple of str
        Titles of the items.

    See Also
    --------
    labelspan.SemanticIndex.audit : Finds them.

    Examples
    --------
    >>> from labelspan.curation import Finding
    >>> Finding("junk", 1.0, (), ("TODO",), "The name says nothing.").labels
    ('TODO',)
    """

    kind: str
    score: float
    items: tuple[str, ...]
    labels: tuple[str, ...]
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)
    titles: tuple[str, ...] = ()

    @property
    def sure(self) -> bool:
        """Whether the evidence is clear; otherwise it is about as often wrong as right."""
        return bool(self.evidence.get("sure", True))

    @property
    def key(self) -> str:
        """Short name, from kind, item and label; empty unless a label looks wrong or missing."""
        if self.kind not in PAIRS:
            return ""
        parts = "\0".join((self.kind, str(len(self.items[0])), self.items[0], self.labels[0]))
        return hashlib.blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


@dataclass(frozen=True)
class LabelAudit:
    """Findings about the labels of a collection.

    Attributes
    ----------
    findings : tuple of Finding
        Kind by kind, within a kind the clearest first.
    counts : dict
        Number of all findings of each kind, including those that are not listed; a
        :class:`Review` has the same number of wrong and missing labels.

    See Also
    --------
    labelspan.SemanticIndex.audit : Returns it.
    LabelReport : How well each label is predicted.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.curation import audit_labels
    >>> texts = ["a chess game", "chess online", "edit photos", "edit a photo"]
    >>> index = SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image", "TODO"]])
    >>> [finding.labels for finding in audit_labels(index).of("junk")]
    [('TODO',)]
    """

    findings: tuple[Finding, ...]
    counts: dict[str, int]

    def of(self, kind: str) -> list[Finding]:
        """Return the findings of a kind.

        Parameters
        ----------
        kind : str
            For example "wrong" or "missing".

        Returns
        -------
        list of Finding
            The clearest first; empty if there are none.
        """
        return [finding for finding in self.findings if finding.kind == kind]
