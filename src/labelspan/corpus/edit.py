"""Change labels in a corpus: a copy or a patch, in which everything else is unchanged."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from .._files import write_whole
from ..errors import InvalidFile, InvalidInput
from .label_values import ONE_LABEL, LabelParser
from .label_writing import Change, LabelChange, ValueChange
from .reader import CorpusReader
from .readers import reader_of
from .sources import encoding_of

__all__ = ["CorpusEdit", "EditPlan", "edit_corpus"]

_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": partial(gzip.compress, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}

# For each label whether the item should have it.
Wanted = Mapping[str, bool]
# What changes in an item, by field.
Changes = dict[str, Change]
# Formats in which values of the metadata can be replaced.
_VALUE_FORMATS = ("csv", "tsv", "json", "jsonl", "xlsx")


@dataclass(frozen=True)
class CorpusEdit:
    r"""A corpus with changed labels.

    Attributes
    ----------
    files : dict
        The content of each file that changes, by its path; "" for a corpus of one file.
    n_items : int
        Number of items whose labels or values differ.
    n_added, n_removed : int
        Number of labels added and removed.
    n_unchanged : int
        Number of changes that the corpus already contained.
    missing : tuple of str
        Ids that are not in the corpus.
    changed : tuple of str
        Ids of items whose text differs from the one given in ``texts``.
    source : Path or None
        The folder of which a copy is written; None for a corpus of one file.
    n_replaced : int
        Number of values of the metadata that were replaced.
    n_unwritten : int
        Number of items with values of the metadata that cannot be written into the corpus.

    See Also
    --------
    edit_corpus : Returns it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.corpus import edit_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.csv"
    ...     _ = path.write_text("id,text,tags\na,a chess game,game;image\nb,photos,image;art\n")
    ...     edit = edit_corpus(path, {"a": {"image": False, "board": True}})
    ...     edit.write(path.with_name("copy.csv"))
    ...     print(path.with_name("copy.csv").read_text(), end="")
    id,text,tags
    a,a chess game,game;board
    b,photos,image;art
    """

    files: Mapping[str, bytes] = field(repr=False)
    n_items: int
    n_added: int
    n_removed: int
    n_unchanged: int
    missing: tuple[str, ...]
    changed: tuple[str, ...] = ()
    source: Path | None = field(default=None, repr=False)
    n_replaced: int = 0
    n_unwritten: int = 0

    @property
    def content(self) -> bytes:
        """The file with the changes, for a corpus of one file."""
        return self.files[""]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the copy, for a folder with all its files; existing files are not replaced.

        Parameters
        ----------
        path : path
            A new file, packed if its name ends in .gz, .bz2 or .xz; or a new folder.
        """
        target = Path(path)
        if os.path.lexists(target):
            raise InvalidInput(f"{target} exists, and is not replaced; give a new file.")
        if self.source is None:
            content = _PACKERS.get(target.suffix.lower(), bytes)(self.content)

            def write(file: BinaryIO) -> None:
                file.write(content)

            write_whole(target, write)
            return
        partial = target.with_name(f".{target.name}.copy")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(self.source, partial)
        for name, content in self.files.items():
            (partial / name).write_bytes(content)
        partial.rename(target)


def edit_corpus(
    source: str | os.PathLike[str],
    changes: Mapping[str, Wanted],
    *,
    metadata: Mapping[str, Mapping[str, str]] | None = None,
    texts: Mapping[str, str] | None = None,
    like: Mapping[str, Any] | None = None,
    **options: Any,
) -> CorpusEdit:
    r"""Change labels of a corpus, without writing the result.

    Only the labels of the given items change; all other bytes of the file stay the same. The result
    is read again and verified before it is returned.

    Parameters
    ----------
    source : path
        A file of csv, tsv, JSON, JSON lines, BibTeX or RIS, also packed; an xlsx workbook;
        Calibre's ``metadata.db``; or a folder of Markdown notes.
    changes : dict
        For each id a dict from labels to whether the item should have it. Labels that stay keep
        their order, and new ones come behind them in that of the dict.
    metadata : dict or None, default=None
        For each id a dict from fields of the metadata to their new values, those of a list with
        semicolons between them. They are written into tables, workbooks and JSON, if the item has
        the field there and its value is a text or a list. The title is one of them.
    texts : dict or None, default=None
        Texts by id at the time of the decisions; items whose text has changed since are in
        ``changed``.
    like : dict or None, default=None
        How the corpus was read, as in :attr:`SemanticIndex.corpus_fields`: fields that are used
        if the corpus has them, and the format, separator and encoding that were given.
    **options
        ``format``, ``text``, ``labels``, ``ids``, ``separator``, ``encoding`` and ``table`` of
        :class:`CorpusReader`.

    Returns
    -------
    CorpusEdit
        The new content; nothing is written yet.

    See Also
    --------
    read_corpus : Read a corpus.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.corpus import edit_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.jsonl"
    ...     _ = path.write_text('{"id": "a", "text": "a game", "tags": ["image"]}\n')
    ...     edit = edit_corpus(path, {"a": {"image": False, "game": True}}, texts={"a": "chess"})
    >>> edit.content, edit.n_added, edit.n_removed, edit.changed
    (b'{"id": "a", "text": "a game", "tags": ["game"]}\n', 1, 1, ('a',))
    """
    told = {key: (like or {}).get(key) for key in ("format", "separator", "encoding", "table")}
    options = {**{key: one for key, one in told.items() if isinstance(one, str)}, **options}
    reader = CorpusReader(source, empty="none", like=like, **options)
    kind = reader.reading["format"]
    problem = reader.why_not_writable()
    if problem is not None and (changes or not metadata or kind not in _VALUE_FORMATS):
        raise InvalidInput(problem)
    before, plan = reader.fingerprint, EditPlan(reader, changes, texts or {}, metadata or {})
    files = reader_of(kind).write(plan)
    if plan.edits and kind != "markdown":
        how = {key: reader.reading[key] or "" for key in ("format", "text", "labels", "ids")}
        again = CorpusReader(io.BytesIO(files[""]), empty="none", **{**options, **how})
        if [set(map(_nfc, record.labels or ())) for record in again] != plan.expected:
            raise InvalidInput(
                f"{reader.name}: the labels would be read differently after the change; fit with "
                "--separator or --labels, which say how they are written, or rename a label."
            )
    if reader.fingerprint != before:
        raise InvalidInput(f"{reader.name} was changed while it was read; try again.")
    return CorpusEdit(
        files,
        len(plan.edits),
        plan.added,
        plan.removed,
        plan.unchanged,
        tuple(name for name in {**changes, **(metadata or {})} if name not in plan.seen),
        tuple(plan.changed),
        Path(source) if kind == "markdown" else None,
        plan.replaced,
        len(plan.unwritten),
    )


class EditPlan:
    """Changes of a corpus: for each item and field, the labels that differ.

    A reader writes them by :meth:`text_with` and what changes the text of its format.

    Attributes
    ----------
    reader : CorpusReader
        The corpus.
    edits : dict
        By the numbers of the file and of the item in it: the fields of the item, and the changes
        by field.
    """

    def __init__(
        self,
        reader: CorpusReader,
        changes: Mapping[str, Wanted],
        texts: Mapping[str, str],
        metadata: Mapping[str, Mapping[str, str]],
    ) -> None:
        self.reader = reader
        self.parsers = {one.field: one for one in reader.parsers}
        # By numbers of the file and of the line in it: the fields of an item, and changes by field.
        self.edits: dict[tuple[int, int], tuple[dict[str, Any], Changes]] = {}
        self.expected: list[set[str]] = []
        self.results: dict[tuple[int, int], set[str]] = {}
        self.seen: set[str] = set()
        self.changed: list[str] = []
        self.unwritten: set[str] = set()
        self.added = self.removed = self.unchanged = self.replaced = 0
        other: set[str] = set()
        for file, line, row, record in reader._placed():
            own = {_nfc(label) for label in record.labels or ()}
            if record.id in changes and record.id not in self.seen:
                self.seen.add(record.id)
                if texts.get(record.id, record.text) != record.text:
                    self.changed.append(record.id)
                wanted = {_nfc(one): fits for one, fits in changes[record.id].items()}
                wanted = {one: fits for one, fits in wanted.items() if (one in own) != fits}
                self.unchanged += len(changes[record.id]) - len(wanted)
                if wanted:
                    self.edits[file, line] = (row, self._by_field(row, wanted))
                    new = {one for one, fits in wanted.items() if fits}
                    self.added += len(new)
                    self.removed += len(wanted) - len(new)
                    own = own - wanted.keys() | new
                    self.results[file, line] = own
            if record.id in metadata and record.id not in other:
                other.add(record.id)
                self._replace((file, line), row, record.id, metadata[record.id])
            self.expected.append(own)
        self.seen |= other

    def text_with(self, changed: Callable[[str], str]) -> dict[str, bytes]:
        """Return the content of the only file, of which ``changed`` computes the new text."""
        member, used = self.reader.files.members[0], self.reader.reading["encoding"] or "utf-8"
        content = member.read()
        codec = encoding_of(content[:4], used)
        text = content.decode(codec)
        if text.encode(codec) != content:
            raise InvalidFile(f"{member.name} cannot be written again as it is in {used}.")
        try:
            return {"": changed(text).encode(codec)}
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"{member.name} is in {used}, which cannot hold {error.object[error.start]!r} of a "
                "label; save it in UTF-8 first."
            ) from error

    def _replace(
        self,
        place: tuple[int, int],
        row: dict[str, Any],
        item: str,
        values: Mapping[str, str],
    ) -> None:
        """Replace values of the metadata that differ, in texts and lists of the file."""
        new: Changes = {}
        for name, value in values.items():
            old = row.get(name)
            if self.reader.reading["format"] not in _VALUE_FORMATS:
                self.unwritten.add(item)
            elif isinstance(old, list) and "." not in name and all(isinstance(x, str) for x in old):
                parts = [one for part in value.split(";") if (one := part.strip())]
                gone = frozenset(old) - {*parts}
                added = tuple(one for one in parts if one not in old)
                if gone or added:
                    new[name] = LabelChange(LabelParser([old], name, None), added, gone)
            elif name in row and (old is None or isinstance(old, str)):
                if (old or "") != value:
                    new[name] = ValueChange(value)
            else:
                self.unwritten.add(item)
        self.replaced += len(new)
        self.unchanged += len(values) - len(new)
        if new:
            self.edits[place] = (row, {**self.edits.get(place, (row, {}))[1], **new})

    def _by_field(self, row: dict[str, Any], wanted: Wanted) -> Changes:
        """Remove a label from its field, and add it to the first field, or to its column."""
        new = tuple(one for one, fits in wanted.items() if fits)
        gone = frozenset(wanted) - set(new)
        parsers = list(self.parsers.values())
        if parsers[0].column:
            names = {_nfc(one.column): one for one in parsers}
            lacking = next((one for one in wanted if one not in names), None)
            if lacking is not None:
                raise InvalidInput(
                    f"{self.reader.name} has a column for each label, and none for {lacking!r:.60}."
                )
            return {
                names[one].field: LabelChange(names[one], (one,) * fits, frozenset())
                for one, fits in wanted.items()
            }
        found: Changes = {}
        # Of columns with one label each, such as tag1 and tag2, the first that has none.
        free = (one for one in parsers if one.how == ONE_LABEL and not one(row.get(one.field)))
        first = next(free, parsers[0]) if parsers[0].how == ONE_LABEL else parsers[0]
        for parse in parsers:
            # In a list, a full stop ends each label.
            stop = "." if parse.stops and not parse.mark else ""
            added = tuple(f"{parse.lead}{one}{stop}" for one in new) if parse is first else ()
            if added or gone & {_nfc(one) for one in parse(row.get(parse.field)) or ()}:
                found[parse.field] = LabelChange(parse, added, gone)
        return found


def _nfc(label: str) -> str:
    return unicodedata.normalize("NFC", label)
