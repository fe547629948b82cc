"""What differs between the items that were read and those of now, and the corrected file of it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..corpus import CorpusEdit, edit_corpus
from ..index.folder import source_file
from ..index.history import field_kind, value_of
from .label_edits import LabelEdits

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["ChangedCell", "Correction", "changed_cells", "corpus_file", "correct_file"]


class Correction(NamedTuple):
    """A corrected copy, and the items that were removed or put again."""

    edit: CorpusEdit
    gone: list[str]
    again: list[str]

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
        if count := self.edit.n_unwritten:
            found.append(
                f"Values of the metadata of {count:,} item{'' if count == 1 else 's'} differ, and "
                "cannot be written into the file, which has no text or list in their place."
            )
        return found

    @property
    def content(self) -> bytes:
        """The corrected file; of a folder or an archive of files, those that change, as a zip."""
        if self.edit.source is None and set(self.edit.files) == {""}:
            return self.edit.content
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in self.edit.files.items():
                archive.writestr(name, content)
        return packed.getvalue()


class ChangedCell(NamedTuple):
    """What an item has instead of what was read from its file, and the last change of it."""

    item: str
    field: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    number: int


def changed_cells(index: SemanticIndex) -> list[ChangedCell]:
    """List what differs from what was read: labels, and values of the metadata.

    The last change comes first. Items that were added, and those that were removed, are left out.
    """
    store = index.store
    return store.once("changed cells", lambda: _changed_cells(index), of=store.number)


def _changed_cells(index: SemanticIndex) -> list[ChangedCell]:
    edits, store = LabelEdits(index), index.store
    labels, values = edits.changes(), edits.values()
    if not (labels or values):
        return []
    # Which change was the last one of a cell; a new name of a label changes all that have it.
    last: dict[tuple[str, str], int] = {}
    names: dict[str, int] = {}
    query = (
        "field GLOB 'label *' OR field GLOB 'metadata *' OR field GLOB 'name *' OR field = 'item' "
        "ORDER BY number"
    )
    for _, group, item, field, _, after in store.log_rows(query):
        kind = field_kind(field)
        if kind == "name":
            names[value_of(after)] = group
        else:
            last[item, "label" if kind == "label" else field] = group
    found = []
    for item in index.items([name for name in {**labels, **values} if name in index]):
        whole = last.get((item.id, "item"), 0)
        if change := labels.get(item.id):
            now = item.labels or ()
            before = [name for name in now if not change.get(name)]
            before += [name for name, added in change.items() if not added]
            group = max(last.get((item.id, "label"), 0), *(names.get(one, 0) for one in change))
            found.append(ChangedCell(item.id, "", tuple(before), now, max(group, whole)))
        for key, (old, new) in values.get(item.id, {}).items():
            group = max(last.get((item.id, f"metadata {key}"), 0), whole)
            found.append(ChangedCell(item.id, key, (old,), (new,), group))
    return sorted(found, key=lambda one: -one.number)


def corpus_file(index: SemanticIndex) -> Path | None:
    """Return the file or folder that an index was made of, if it is still there."""
    folder = index.path
    return None if folder is None else source_file(Path(folder), index.corpus_fields.get("file"))


def correct_file(index: SemanticIndex, corpus: Path) -> Correction:
    """Return the corrected copy of the file that an index was fitted on."""
    edits = LabelEdits(index)
    labels, (gone, again) = edits.changes(), edits.went()
    values = {
        item: {key: new for key, (_, new) in own.items()} for item, own in edits.values().items()
    }
    names = {**labels, **values}
    texts = {item.id: item.text for item in index.items(list(names))}
    edit = edit_corpus(
        corpus,
        labels,
        metadata=values,
        texts=texts,
        like=index.corpus_fields,
    )
    return Correction(edit, gone, again)
