"""One reader for all formats: records one by one, or all of them in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import InvalidFile, InvalidInput, InvalidParameter, MissingData
from .fields import Asked, Fields, choose_fields, has_field, missing_field, plain
from .folders import Texts, open_folder
from .formats import FORMATS, FileFormat, find_format, read_rows
from .label_values import LabelParser, clean, is_missing, keep_labels
from .label_vocabulary import read_vocabulary
from .sources import Member, check_encoding, open_source
from .tables import TableLayout, Tally
from .texts import CorpusReading, Record, TaggedTexts

__all__ = ["CorpusReader", "read_corpus"]

# Characters of the first items, from which formats and fields are guessed.
_HEAD = 1 << 23
# Notes on single files of several that are shown.
_FEW_NOTES = 5
# Formats in which nothing is left to guess.
_FIXED = ("lines", "folder", "uris")

# Number of the file, number of the row in it, and its fields.
Placed = tuple[int, int, dict[str, Any]]


class CorpusReader:
    r"""Read the items of a corpus one by one, in any format.

    What is not given is guessed from the first items, about 8 MiB of them. Only those and one
    item at a time are in memory; of a folder of texts also the names and labels of all files. A
    packed archive and a stream are copied to a temporary file first.

    Parameters
    ----------
    source : path or binary stream
        A file, also packed by gzip, bzip2 or xz; a folder, tar or zip archive of texts or tables;
        or a stream of such content. See :func:`read_corpus` for the formats.
    format : str or None, default=None
        One of ``"jsonl"``, ``"json"``, ``"csv"``, ``"tsv"``, ``"uris"``, ``"parquet"``,
        ``"lines"``, ``"posts"``, ``"calibre"``, ``"folder"`` and ``"markdown"``; None goes by the
        name, else by the content.
    text : str, sequence of str or None, default=None
        The field of the text, or several that are joined. None looks for a known name, then
        for the longest field; a title is put before it.
    labels : str, sequence of str or None, default=None
        The field of the labels, lists or strings, or several that are joined. None looks for a
        known name, then for lists, then for short values that occur again and again.
    ids : str or None, default=None
        The field of the ids. None looks for a known name, then for unique short values; "" numbers
        the items.
    separator : str or None, default=None
        The separator of labels in a string; None chooses the one of ``; | ,`` that most strings
        contain. "" takes each string as one label.
    labelled : bool, default=True
        Whether to look for labels at all.
    empty : {"unknown", "none"}, default="unknown"
        Whether the labels of an item without any are unknown, or it is known to have none.
    encoding : str or None, default=None
        The encoding of text, for example ``"latin-1"``. None uses the byte order mark, else UTF-8.
    header : bool or None, default=None
        Whether the first line of csv or tsv names the columns; None guesses. Without a header the
        fields are ``"column 1"``, ``"column 2"`` and so on.
    delimiter : str or None, default=None
        The character between the columns of csv; None guesses.
    vocabulary : path or None, default=None
        A file of names for labels: per line a URI or code, a tab and a name, or a SKOS thesaurus
        (see :func:`read_vocabulary`).
    label_language : str or None, default=None
        Language of the names in a thesaurus.
    like : mapping or None, default=None
        Fields ``text``, ``labels`` and ``ids`` of an earlier reading; those that the corpus has
        are taken instead of guesses.
    head : int, default=8388608
        Characters from which formats and fields are guessed.
    folder : path or None, default=None
        Where the copy of a stream is written; None is the system's folder of temporary files.

    Attributes
    ----------
    name : str
        What is read, for messages.
    reading : CorpusReading
        How it is read.
    head : TaggedTexts
        The first items; its ``notes`` say in words what was guessed.
    complete : bool
        Whether these are all items.
    vocabulary : LabelVocabulary or None
        Names of labels and what is broader, from the file that was given.

    See Also
    --------
    read_corpus : Read all items into memory.

    Examples
    --------
    >>> import io
    >>> from labelspan.corpus import CorpusReader
    >>> corpus = CorpusReader(io.BytesIO(b"title,tags\nChess,game|board\nGo,game|board\n"))
    >>> [(record.text, record.labels) for record in corpus.items()]
    [('Chess', ['game', 'board']), ('Go', ['game', 'board'])]
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | BinaryIO,
        *,
        format: str | None = None,
        text: str | Sequence[str] | None = None,
        labels: str | Sequence[str] | None = None,
        ids: str | None = None,
        separator: str | None = None,
        labelled: bool = True,
        empty: str = "unknown",
        encoding: str | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        vocabulary: str | os.PathLike[str] | None = None,
        label_language: str | None = None,
        like: Mapping[str, Any] | None = None,
        head: int = _HEAD,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
        _check_options(format, empty, encoding, delimiter)
        self._empty, self._labelled, self._encoding = empty, labelled, encoding
        self.vocabulary = None
        if vocabulary is not None:
            self.vocabulary = read_vocabulary(vocabulary, label_language, encoding)
        self._names = {} if self.vocabulary is None else self.vocabulary.names
        a_path = isinstance(source, str | os.PathLike)
        if format == "folder" and a_path and not Path(source).exists():  # type: ignore[arg-type]
            raise MissingData(f"There is no folder {os.fspath(source)!r}; correct the path.")  # type: ignore[arg-type]
        self._source = open_source(source, None if folder is None else Path(folder))
        self.name = self._source.name
        self._how = FileFormat(format, encoding, header, delimiter)
        self._open()
        self._formats: dict[int, FileFormat] = {}
        self._tallies: dict[int, Tally] = {}
        self._fields: Fields | None = None
        first, self.complete = self._read_head(head)
        if not first:
            raise InvalidInput(f"{self.name} holds no items.")
        asked = Asked(_several(text), _several(labels), ids, labelled, dict(like or {}))
        items = [row for _, _, row in first]
        self._fields = choose_fields(self.name, items, asked)
        self._check_files(first)
        self.parsers = [
            LabelParser([row.get(field) for row in items], field, separator)
            for field in (self._fields.labels if labelled else ())
        ]
        kind = "markdown" if self._texts and self._texts.markdown else self._how.kind or "folder"
        guessed = {} if kind in _FIXED else dict(self._fields.why)
        self.reading = CorpusReading(
            format=kind,
            encoding=None if self._texts is not None else self._format(first[0][0]).used,
            text=self._fields.text,
            labels=self._fields.labels,
            ids=self._fields.ids,
            title=self._fields.title,
            metadata=self._fields.metadata,
            label_style=self.parsers[0].how if self.parsers else None,
            guessed={**({"format": "content"} if self._guessed_format else {}), **guessed},
            other_labels=self._fields.others,
            notes=tuple(self._notes()),
        )
        # All of them, if the corpus is small: nothing is parsed twice.
        self._first_records = list(self._records(first))
        self.head = self._as_texts([record for *_, record in self._first_records])
        if not self.complete:
            more = (*self.head.notes, "guessed from the beginning of the file")
            self.head = replace(self.head, notes=more)

    @property
    def path(self) -> Path | None:
        """The path that was given; None for a stream."""
        return self._source.path

    @property
    def members(self) -> tuple[Member, ...]:
        """The files that are read."""
        return self._members if self._texts is None else self._texts.members

    @property
    def layout(self) -> TableLayout | None:
        """How a single table is split; None for other formats."""
        return self._format(0).layout

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What tells whether the corpus is still the same, as values for JSON."""
        return self._source.fingerprint()

    def __iter__(self) -> Iterator[Record]:
        return self.items()

    def items(self, skip: int = 0) -> Iterator[Record]:
        """Yield all items after some that are skipped.

        Parameters
        ----------
        skip : int, default=0
            Number of items to skip.

        Yields
        ------
        Record
            That ids are different is not checked.
        """
        if self.complete:
            yield from (record for *_, record in self._first_records[skip:])
        else:
            yield from (record for *_, record in self._records(self._rows(skip), skip))

    def placed(self) -> Iterator[tuple[int, int, dict[str, Any], Record]]:
        """Yield all items with the number of their file, of their line, and their fields.

        Yields
        ------
        tuple
            Number of the file, number of the line or item in it, fields, record.
        """
        yield from self._first_records if self.complete else self._records(self._rows())

    def collect(self, *, min_count: int = 1, limit_labels: int | None = None) -> TaggedTexts:
        """Read all items into memory.

        Parameters
        ----------
        min_count : int, default=1
            Labels of fewer items are left out.
        limit_labels : int or None, default=None
            The maximum number of labels; the most frequent are kept.

        Returns
        -------
        TaggedTexts
            All items; ids that are not different are an error, or numbers if they were guessed.
        """
        for name, value in (("min_count", min_count), ("limit_labels", limit_labels)):
            if value is not None and value < 1:
                raise InvalidParameter(f"read_corpus: {name} must be at least 1, but is {value}.")
        records: list[Record] = []
        first: dict[str, tuple[int, int]] = {}
        twice = None
        for file, number, _, record in self.placed():
            if record.id in first and twice is None:
                twice = (record.id, self._where(file, number), self._place(*first[record.id]))
            first.setdefault(record.id, (file, number))
            records.append(record)
        if twice is not None:
            if "ids" not in self.reading.guessed:
                raise InvalidFile(
                    f"{twice[1]}: the id {twice[0]!r} is also in {twice[2]}; every item needs its "
                    "own, or choose another field for ids (--ids)."
                )
            records = [record._replace(id=str(row)) for row, record in enumerate(records)]
        return self._as_texts(records, min_count, limit_labels, numbered=twice is not None)

    # --- files and rows -----------------------------------------------------------------------

    def _open(self) -> None:
        """Find the tables, or the texts, in a file, folder or archive."""
        self._texts: Texts | None = None
        self._members: tuple[Member, ...] = self._source.members
        self._folder_notes: list[str] = []
        self._guessed_format = False
        if not self._source.is_folder:
            if self._how.kind in ("folder", "markdown"):
                raise InvalidInput(f"{self.name} is a file, not a folder; leave --format out.")
            # The only file of an archive is named in messages.
            self.name = self._members[0].name
            return
        found = open_folder(self._source, self._how.kind, self._encoding)
        self._folder_notes = list(found.notes)
        if isinstance(found, Texts):
            self._texts = found
            if not found.markdown:
                where = "files with the name of the text"
                if found.labels_in != "files":
                    any_label = any(found.labels.values())
                    where = (
                        "the names of folders" if any_label else "nowhere: files are in no folder"
                    )
                self._folder_notes.insert(0, f"labels from {where}; ids from the files' names")
            return
        self._members = found.members
        # A folder of JSON files has a record in each.
        self._how = replace(self._how, kind=found.kind, alone=len(found.members) == 1)

    def _format(self, place: int) -> FileFormat:
        """Return how a file is written; all are like the first with items."""
        if place not in self._formats:
            self._formats[place] = find_format(self._members[place], self._how)
        return self._formats[place]

    def _rows(self, skip: int = 0) -> Iterator[Placed]:
        """Yield all rows after some that are skipped."""
        if self._texts is not None:
            for number, row in self._texts.rows(self._encoding, skip):
                yield 0, number, row
            return
        self._tallies = {}
        for place, member in enumerate(self._members):
            how = self._format(place)
            tally = self._tallies[place] = Tally()
            checked = self._fields is not None and self._is_checked()
            missing = self._fields.needed if checked and self._fields is not None else ()
            there: dict[str, Any] = {}
            for number, row in read_rows(member, how, tally):
                if missing:
                    missing = tuple(name for name in missing if not has_field(row, name))
                    there |= row
                if skip:
                    skip -= 1
                    continue
                yield place, number, row
            # A file without items has no fields.
            if missing and there:
                raise missing_field(member.name, missing[0], list(there))

    def _is_checked(self) -> bool:
        """Tell whether each file needs all fields; records in files of their own differ."""
        return len(self._members) > 1 and self._how.kind != "json"

    def _read_head(self, size: int) -> tuple[list[Placed], bool]:
        """Return the first rows, and whether they are all."""
        found: list[Placed] = []
        rows = self._rows()
        for place, number, row in rows:
            if not found and self._texts is None:
                # All files are written as the first one with items.
                first = self._format(place)
                self._guessed_format, self._how = first.guessed, first.like()
                self._formats = {place: first}
            found.append((place, number, row))
            size -= 16 + sum(_size(value) for value in row.values())
            if size < 0:
                last = next(rows, None)
                rows.close()  # type: ignore[attr-defined]
                return found, last is None
        return found, True

    def _check_files(self, first: Sequence[Placed]) -> None:
        """Raise an error at once if one of several tables is seen to lack a field."""
        if self._texts is not None or not self._is_checked() or self._fields is None:
            return
        keys: dict[int, dict[str, Any]] = {}
        for place, _, row in first:
            keys.setdefault(place, {}).update(row)
        if not self.complete:
            keys.pop(max(keys))
        if self._how.kind in ("csv", "tsv"):
            # Columns are known before all is read.
            for place, member in enumerate(self._members):
                rows = read_rows(member, self._format(place), Tally())
                keys[place] = next(rows, (0, {}))[1]
        for place, there in keys.items():
            for name in self._fields.needed if there else ():
                if not has_field(there, name):
                    having = (self._members[other].name for other in keys if name in keys[other])
                    raise missing_field(
                        self._members[place].name, name, list(there), next(having, None)
                    )

    def _place(self, file: int, number: int) -> str:
        if self._texts is not None:
            return self._texts.where(number)
        place = f"{self._format(file).word} {number}"
        return f"{self._members[file].path}, {place}" if len(self._members) > 1 else place

    def _where(self, file: int, number: int) -> str:
        """Return the place of an item with the name of the file."""
        if self._texts is not None:
            return f"{self.name}, {self._texts.where(number)}"
        return f"{self._members[file].name}, {self._format(file).word} {number}"

    # --- records ------------------------------------------------------------------------------

    def _records(
        self, rows: Iterator[Placed] | Sequence[Placed], start: int = 0
    ) -> Iterator[tuple[int, int, dict[str, Any], Record]]:
        fields = self._fields
        assert fields is not None
        for count, (file, number, row) in enumerate(rows, start):
            labels = self._labels(row, file, number)
            title = row.get(fields.title) if fields.title else None
            record = Record(
                self._id(row, fields.ids, count, file, number),
                clean(title) if isinstance(title, str) and title.strip() else None,
                self._text(row, fields.text, file, number),
                labels,
                {key: plain(row[key]) for key in fields.metadata if key in row},
            )
            yield file, number, row, record

    def _labels(self, row: dict[str, Any], file: int, number: int) -> list[str] | None:
        if not self._labelled:
            return None
        found: list[str] = []
        for parse in self.parsers:
            found += parse(row.get(parse.field), lambda: self._where(file, number)) or ()
        if self._names:
            found = [self._names.get(label, label) for label in found]
        if len(self.parsers) > 1 or self._names:
            found = list(dict.fromkeys(found))
        return found or (None if self._empty == "unknown" else [])

    def _id(self, row: dict[str, Any], key: str | None, count: int, file: int, number: int) -> str:
        if key is None:
            return str(count)
        value = row.get(key)
        if value is None or isinstance(value, dict | list) or not str(value).strip():
            raise InvalidFile(
                f"{self._where(file, number)}: the field {key!r} is empty, but every item needs an "
                "id; choose another field for ids (--ids), or --ids '' to number the items."
            )
        return clean(str(value))

    def _text(self, row: dict[str, Any], keys: tuple[str, ...], file: int, number: int) -> str:
        """Join the fields of the text; one that is missing is empty."""
        parts = []
        for key in keys:
            value = row.get(key)
            if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
                value = "\n".join(value)
            # A table read by pandas has NaN for an empty cell.
            if is_missing(value):
                continue
            if not isinstance(value, str):
                raise InvalidFile(
                    f"{self._where(file, number)}: {key!r} must be a text, but is {value!r:.60}; "
                    "choose another field for the text (--text)."
                )
            if value.strip():
                parts.append(clean(value))
        return "\n\n".join(parts)

    # --- what is said -------------------------------------------------------------------------

    def _notes(self) -> list[str]:
        """Return what was left out or repaired so far."""
        said = []
        for place, tally in self._tallies.items():
            how = self._formats.get(place)
            notes = [*(how.layout.notes if how and how.layout else ()), *tally.notes()]
            lead = f"{self._members[place].path}: " if len(self._members) > 1 else ""
            said += [f"{lead}{note}" for note in notes]
        if len(said) > _FEW_NOTES:
            more = f"{len(said) - _FEW_NOTES:,} more such notes on other files"
            said = [*said[:_FEW_NOTES], more]
        if self._how.kind == "posts":
            said.append("only questions are read, because answers have no tags")
        unnamed = self._fields.unnamed if self._fields else 0
        if unnamed:
            said.append(f"{unnamed:,} column(s) without a name left out")
        return [*self._folder_notes, *said]

    def _as_texts(
        self,
        records: Sequence[Record],
        min_count: int = 1,
        limit_labels: int | None = None,
        *,
        numbered: bool = False,
    ) -> TaggedTexts:
        notes = self._notes()
        blank = sum(not record.text for record in records)
        if blank:
            notes.append(f"{blank:,} item(s) have no text")
        lists = [record.labels for record in records]
        if self._names:
            there = {label for own in lists for label in own or ()} - set(self._names.values())
            if there:
                notes.append(
                    f"{len(there):,} label(s) are not in the vocabulary: {min(there)!r:.60}"
                )
        lists, dropped = keep_labels(lists, min_count, limit_labels)
        if dropped:
            notes.append(f"{dropped:,} rare label(s) left out")
        if self._labelled and self._empty == "unknown":
            lists = [own or None for own in lists]
        if numbered:
            notes.append(f"items are numbered because {self.reading.ids!r} has the same id twice")
        reading = replace(self.reading, dropped_labels=dropped, notes=tuple(notes))
        made = TaggedTexts(
            self.name,
            [record.text for record in records],
            lists,
            [record.id for record in records],
            [record.metadata for record in records],
            (),
            numbered or reading.ids is None,
            reading,
        )
        return replace(made, notes=reading._sentences(self.name, made, self._labelled))


def read_corpus(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    min_count: int = 1,
    limit_labels: int | None = None,
    **options: Any,
) -> TaggedTexts:
    r"""Read texts and their labels into memory, and guess what is not given.

    Parameters
    ----------
    source : path or binary stream
        A file, also packed by gzip, bzip2 or xz; a folder, tar or zip archive of texts or tables;
        or a stream of such content. See Notes for the formats.
    min_count : int, default=1
        Labels of fewer items are left out.
    limit_labels : int or None, default=None
        The maximum number of labels; the most frequent are kept.
    **options
        ``format``, ``text``, ``labels``, ``ids``, ``separator``, ``labelled``, ``empty``,
        ``encoding``, ``header``, ``delimiter``, ``vocabulary`` and ``label_language`` of
        :class:`CorpusReader`.

    Returns
    -------
    TaggedTexts
        Its ``reading`` describes what was guessed, ``notes`` says it in sentences.

    Raises
    ------
    InvalidFile
        If the content cannot be read; the message says what to do.
    InvalidParameter
        If a field does not exist, or no field looks like a text.

    See Also
    --------
    CorpusReader : Read items one by one.

    Notes
    -----
    - ``jsonl``, ``json``: objects, one per line or in a list. Fields inside objects have dotted
      names, as ``labels.name``; a field may be missing in some items.
    - ``csv``, ``tsv``: a table with or without header and quotation marks. Repeated header lines
      are left out, missing cells at the end of a line are empty.
    - ``uris``: per line a text and, behind tabs, URIs in angle brackets or other labels.
    - ``parquet``: a table; needs ``labelspan[io]``.
    - ``lines``: a text per line, without labels.
    - ``posts``: the questions in ``Posts.xml`` of a dump of StackExchange.
    - ``calibre``: the books in ``metadata.db`` of a Calibre library.
    - ``folder``: a text per file. Labels are in files with the same name as the text, next to it
      (``7.txt`` and ``7.tsv`` or ``7.key``) or in a folder (``text/7.txt`` and
      ``labels/7.txt``), one per line, optionally a URI, a tab and a name, or in one line with
      separators. Without such files, the names of the folders around a text are its labels, except
      ``train``, ``test`` and the like.
    - ``markdown``: a folder of Markdown files that begin with fields (``tags:``) between lines
      ``---``.

    A folder or an archive of tables of one format is read as one table, file after file by name;
    the fields of text, labels and ids must be in all of them, except in JSON files of one record
    each. With a format, other files are left out. Files called README, LICENSE and the like are
    not items.

    Examples
    --------
    >>> import io
    >>> from labelspan.corpus import read_corpus
    >>> stream = io.BytesIO(b'{"title": "Chess", "body": "A game.", "tags": "game; board"}')
    >>> corpus = read_corpus(stream)
    >>> corpus.texts, corpus.labels
    (['Chess\n\nA game.'], [['game', 'board']])
    >>> corpus.notes[1]
    "text from 'title' and 'body' (guessed)"
    """
    return CorpusReader(source, **options).collect(min_count=min_count, limit_labels=limit_labels)


def _several(names: str | Sequence[str] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(_size, value)) if isinstance(value, list) else 8


def _check_options(
    format: str | None, empty: str, encoding: str | None, delimiter: str | None
) -> None:
    """Check how a corpus is to be read."""
    if empty not in ("unknown", "none"):
        raise InvalidParameter(
            f"read_corpus: empty must be 'unknown' or 'none', but {empty!r} was given."
        )
    if format is not None and format not in FORMATS:
        raise InvalidParameter(
            f"read_corpus: format must be one of {', '.join(FORMATS)}, but {format!r} was given."
        )
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n '):
        raise InvalidParameter(
            "read_corpus: delimiter must be one character, for example ';', or 'tab', but "
            f"{delimiter!r} was given."
        )
    check_encoding(encoding)
