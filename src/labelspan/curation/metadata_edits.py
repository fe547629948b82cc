"""Values of the metadata, or labels, that are probably the same; and values that are replaced.

A change of metadata is one transaction with an event that tells how to undo it. Events stay when
the index is fitted or saved again in the same folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..index.metadata_fields import MetadataField, metadata_text
from .decisions import signed
from .label_spelling import spelling_groups, word_groups

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["MetadataEdit", "MetadataEdits", "value_counts", "value_groups"]

_ABOUT = "metadata"


def value_counts(index: SemanticIndex, field: str = "") -> dict[str, int]:
    """Count the items of each value of a field, several in one text on their own, or of labels."""
    if not field:
        return dict(index.labels)
    found = _text_field(index, field)
    return dict(found.most_common(found.counts(index.store.vectors.alive.nonzero()[0])))


def value_groups(counts: Mapping[str, int], how: str = "words") -> list[dict[str, int]]:
    """Group values that are probably the same.

    Parameters
    ----------
    counts : dict
        Number of items by value.
    how : {"words", "spelling"}, default="words"
        "words" groups values that have the same words in any order, apart from case, accents, signs
        and a plural s; "spelling" also those that differ by one letter of a word.

    Returns
    -------
    list of dict
        The values of each group with their numbers of items, the most frequent first; the groups
        with the most items first.

    See Also
    --------
    MetadataEdits : Replaces values of the metadata.
    LabelEdits.plan_replace : Merges labels.

    Examples
    --------
    >>> from labelspan.curation import value_groups
    >>> value_groups({"Smith, Ann": 1, "Ann Smith": 3, "Anna Smith": 2})
    [{'Ann Smith': 3, 'Smith, Ann': 1}]
    """
    if how not in ("words", "spelling"):
        raise InvalidInput(f"value_groups: how must be words or spelling, but {how!r} was given.")
    names = [name for name in counts if name.strip()]
    groups = (word_groups if how == "words" else spelling_groups)(names)
    made = [
        {name: counts[name] for name in sorted(group, key=lambda one: (-counts[one], one))}
        for group in groups
    ]
    return sorted(made, key=lambda group: (-sum(group.values()), next(iter(group))))


def _text_field(index: SemanticIndex, field: str) -> MetadataField:
    found = index.store.fields().get(field)
    if found is None or found.kind not in ("category", "text"):
        known = [name for name, one in index.fields().items() if one in ("category", "text")]
        raise InvalidInput(
            f"{field!r:.80} is not a field of texts; there are: {', '.join(known) or 'none'}."
        )
    return found


@dataclass(frozen=True)
class MetadataEdit:
    """Values of a field of the metadata that were replaced at once.

    Attributes
    ----------
    number : int
        For :meth:`MetadataEdits.undo`.
    time : str
        When, in UTC.
    who : str
        Who decided; empty if no name was given.
    field : str
        The key of the metadata.
    replaced : dict
        The new value of each old one.
    n_items : int
        Number of items that changed.
    undone : bool
        Whether it was undone.

    See Also
    --------
    MetadataEdits : Makes it.

    Examples
    --------
    >>> from labelspan.curation import MetadataEdit
    >>> made = MetadataEdit(1, "2026-05-01T12:00:00Z", "", "by", {"Bo L.": "Bo Li"}, 3, False)
    >>> made.said
    "Replace 'Bo L.' by 'Bo Li' in by of 3 items."
    """

    number: int
    time: str
    who: str
    field: str
    replaced: dict[str, str]
    n_items: int
    undone: bool

    @property
    def said(self) -> str:
        """The change as a sentence."""
        by: dict[str, list[str]] = {}
        for old, new in self.replaced.items():
            by.setdefault(new, []).append(old)
        parts = [f"{', '.join(map(repr, old))} by {new!r}" for new, old in by.items()]
        size = f"{self.n_items:,} item{'' if self.n_items == 1 else 's'}"
        return f"Replace {'; '.join(parts)} in {self.field} of {size}."


class MetadataEdits:
    """Replace values of the metadata, and undo that.

    Parameters
    ----------
    index : SemanticIndex
        To change an index in a folder, load it with ``write=True``.

    See Also
    --------
    LabelEdits : The same for labels.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.curation import MetadataEdits
    >>> texts = ["a chess game", "play chess", "edit photos", "crop a photo"]
    >>> tables = [{"by": "Ann Smith"}, {"by": "Smith, Ann"}, {"by": "Bo"}, {"by": "Bo"}]
    >>> index = SemanticIndex().fit(texts, [["a"], ["a"], ["b"], ["b"]], metadata=tables)
    >>> edits = MetadataEdits(index)
    >>> made = edits.replace("by", {"Smith, Ann": "Ann Smith"})
    >>> made.said
    "Replace 'Smith, Ann' by 'Ann Smith' in by of 1 item."
    >>> index.item("1").metadata
    {'by': 'Ann Smith'}
    >>> _ = edits.undo(made.number)
    >>> index.item("1").metadata
    {'by': 'Smith, Ann'}
    """

    def __init__(self, index: SemanticIndex) -> None:
        self.index = index

    def plan(self, field: str, replaced: Mapping[str, str]) -> dict[str, str]:
        """Return the values that items would have.

        Parameters
        ----------
        field : str
            A key of the metadata whose values are texts.
        replaced : dict
            The new value of each old one; of several values in one text, each is compared.

        Returns
        -------
        dict
            The new text of each item that changes, by id.
        """
        found = _text_field(self.index, field)
        if not all(one.strip() for one in replaced.values()):
            raise InvalidInput(f"{field}: a value cannot be replaced by an empty one.")
        texts: dict[int, str] = {}
        for code, value in enumerate(found.values):
            own = [metadata_text(value)] if found.parts is None else found.parts[code]
            if any(replaced.get(one, one) != one for one in own):
                texts[code] = found.separator.join(
                    dict.fromkeys(replaced.get(one, one).strip() for one in own)
                )
        names = self.index.store.ids_by_row()
        return {
            name: texts[code]
            for row, name in names.items()
            if (code := int(found.codes[row])) in texts
        }

    def replace(
        self, field: str, replaced: Mapping[str, str], *, who: str = ""
    ) -> MetadataEdit | None:
        """Replace values; the change is on disk when this returns.

        Parameters
        ----------
        field : str
            A key of the metadata whose values are texts.
        replaced : dict
            The new value of each old one, as in :meth:`plan`.
        who : str, default=""
            Who decides, for the history.

        Returns
        -------
        MetadataEdit or None
            With the number for :meth:`undo`; None if nothing changes.
        """
        signature = signed(self.index, "metadata", who)
        with self.index.write_lock:
            wanted = self.plan(field, replaced)
            if not wanted:
                return None
            real = {old: new.strip() for old, new in replaced.items() if old != new}
            before = {item.id: item.metadata[field] for item in self.index.items(list(wanted))}
            value = {"field": field, "replaced": real, "before": before, "after": wanted}
            self._write(field, wanted, (*signature, "replace", json.dumps(value)))
            return self.history()[0]

    def undo(self, number: int, *, who: str = "") -> MetadataEdit:
        """Undo a change, in items whose value is still the one that it made.

        Parameters
        ----------
        number : int
            Its number.
        who : str, default=""
            Who undoes it.

        Returns
        -------
        MetadataEdit
            What was undone.
        """
        signature = signed(self.index, "metadata", who)
        with self.index.write_lock:
            made = {one.number: one for one in self.history()}.get(number)
            if made is None or made.undone:
                state = "there is none" if made is None else "it was undone before"
                raise InvalidInput(f"Change {number} of metadata cannot be undone: {state}.")
            ((*_, text),) = self.index.store.events(_ABOUT, number - 1)[:1]
            value = json.loads(text)
            there = self.index.items([name for name in value["before"] if name in self.index])
            wanted = {
                item.id: value["before"][item.id]
                for item in there
                if item.metadata.get(made.field) == value["after"][item.id]
            }
            self._write(made.field, wanted, (*signature, "undo", str(number)))
            return replace(made, undone=True)

    def history(self) -> list[MetadataEdit]:
        """List the changes, the last one first.

        Returns
        -------
        list of MetadataEdit
            All changes.
        """
        found: dict[int, MetadataEdit] = {}
        for _, number, time, who, event, text in self.index.store.events(_ABOUT):
            if event == "replace":
                value = json.loads(text)
                about = value["field"], value["replaced"], len(value["before"])
                found[number] = MetadataEdit(number, time, who, *about, undone=False)
            elif event == "undo":
                found[int(text)] = replace(found[int(text)], undone=True)
        return [*reversed(found.values())]

    def _write(
        self, field: str, values: Mapping[str, Any], event: tuple[str, str, str, str]
    ) -> None:
        tables = {
            item.id: item.metadata | {field: values[item.id]}
            for item in self.index.items(list(values))
        }
        self.index.change("metadata", lambda store: store.change_metadata(tables, _ABOUT, event))
