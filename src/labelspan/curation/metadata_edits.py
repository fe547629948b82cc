"""Values of the metadata, or labels, that are probably the same; values and links that change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..corpus.link_names import LINK_MARK, LINKS, link_text, link_values, name_key
from ..errors import InvalidInput
from ..index.history import By, Cell, HistoryEntry, as_value
from ..index.links import LinkFields
from ..index.metadata_fields import MetadataField, metadata_text
from .decisions import apply_cells
from .label_spelling import spelling_groups, word_groups

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["MetadataEdits", "value_counts", "value_groups"]


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


class MetadataEdits:
    """Replace values of the metadata, and change links between items.

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
    'Change by of 1 item: "Smith, Ann" to "Ann Smith".'
    >>> index.item("1").metadata
    {'by': 'Ann Smith'}
    >>> _ = index.undo(made.number)
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
    ) -> HistoryEntry | None:
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
        HistoryEntry or None
            With the number for :meth:`SemanticIndex.undo`; None if nothing changes.
        """
        with self.index.write_lock:
            wanted = self.plan(field, replaced)
            cells = {(item, f"metadata {field}"): as_value(one) for item, one in wanted.items()}
            return apply_cells(self.index, cells, By(who, "metadata"))

    def link(
        self,
        add: Sequence[tuple[str, str]] = (),
        remove: Sequence[tuple[str, str]] = (),
        *,
        who: str = "",
    ) -> HistoryEntry | None:
        """Add links between items, and remove others; they are on disk when this returns.

        Parameters
        ----------
        add, remove : list of (str, str)
            The id of an item, and what it links to: an id, or another name of an item.
        who : str, default=""
            Who decides, for the history.

        Returns
        -------
        HistoryEntry or None
            With the number for :meth:`SemanticIndex.undo`; None if nothing changes.
        """
        with self.index.write_lock:
            store = self.index.store
            fields = store.link_fields or LinkFields({LINKS: LINK_MARK})
            usual = LINKS if LINKS in fields.marks else next(iter(fields.marks))
            cells: dict[Cell, str | None] = {}
            for start in dict.fromkeys(start for start, _ in (*add, *remove)):
                item, ends = store.item(start), [end for one, end in remove if one == start]
                gone = {name_key(end) for end in ends}
                for other in store.items(store.rows(store.known_ids(ends))):
                    gone |= fields.names(other)
                new = [end for one, end in add if one == start]
                for field, mark in fields.marks.items():
                    own = link_values(item.metadata.get(field), mark)
                    now = {name: one for name, one in own.items() if name_key(name) not in gone}
                    if field == usual:
                        now |= {name: 1.0 for name in new if name not in now}
                    if now != own:
                        text = link_text(now, mark)
                        cells[start, f"metadata {field}"] = None if text is None else as_value(text)
            self.index.change("link", lambda store: store.with_link_field(usual, LINK_MARK))
            return apply_cells(self.index, cells, By(who, "metadata"))
