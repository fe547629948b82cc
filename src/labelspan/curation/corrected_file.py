"""The corrected copy of a file: what differs between the items that were read and those of now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..corpus import CorpusEdit, CorpusReader, edit_corpus
from ..corpus.edit import VALUE_FORMATS
from .label_edits import LabelEdits

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["Correction", "correct_file"]


class Correction(NamedTuple):
    """A corrected copy, items that were removed or put again, and values that it does not hold."""

    edit: CorpusEdit
    gone: list[str]
    again: list[str]
    unwritten: int

    @property
    def notes(self) -> list[str]:
        """What the copy does not show, as sentences."""
        found = []
        for names, what in (
            (self.gone, "removed from the index; they stay in the file"),
            (self.again, "removed and put into the index again"),
        ):
            if names:
                size = f"{len(names):,} item{'' if len(names) == 1 else 's'}"
                verb = "was" if len(names) == 1 else "were"
                found.append(f"{size} {verb} {what}, for example {names[0]:.60}.")
        if self.unwritten:
            found.append(
                f"Values of the metadata of {self.unwritten:,} items differ, and cannot be written "
                "into a file of this format."
            )
        return found


def correct_file(index: SemanticIndex, corpus: Path) -> Correction | None:
    """Return the corrected copy of the file that an index was fitted on; None if it is the same."""
    edits = LabelEdits(index)
    labels, values, (gone, again) = edits.changes(), edits.values(), edits.went()
    if not (labels or values or gone):
        return None
    writable = bool(values) and _format(index, corpus) in VALUE_FORMATS
    names = {**labels, **values}
    texts = {item.id: item.text for item in index.items(list(names))}
    edit = edit_corpus(
        corpus,
        labels,
        metadata=values if writable else {},
        texts=texts,
        like=index.corpus_fields,
    )
    return Correction(edit, gone, again, 0 if writable else len(values))


def _format(index: SemanticIndex, corpus: Path) -> str:
    told = index.corpus_fields
    options = {key: told[key] for key in ("format", "encoding", "table") if told.get(key)}
    return str(CorpusReader(corpus, like=told, **options).reading["format"])
