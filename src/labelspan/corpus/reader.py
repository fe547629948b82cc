"""One reader for all formats: records one by one or all in memory, and how they were read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..errors import InvalidFile, InvalidInput, InvalidParameter
from .fields import choose_fields, listed, plain
from .folders import open_files
from .formats import FORMATS, Placed
from .label_values import ONE_LABEL, LabelParser, clean, is_missing, keep_labels
from .label_vocabulary import read_vocabulary
from .sources import check_encoding, open_source

__all__ = ["CorpusReader", "Record", "TaggedTexts", "read_corpus"]

# Characters of the first items, from which formats and fields are guessed.
_HEAD = 1 << 23
# Formats in which nothing is left to guess.
_FIXED = ("lines", "folder", "uris")


class Record(NamedTuple):
    """Item of a corpus.

    Attributes
    ----------
    id : str
        Its id; a number in the order of the file if there is no field of ids.
    title : str or None
        The title, if there is a field for it. It is also the beginning of the text.
    text : str
        The fields of the text, joined.
    labels : list of str or None
        None if they are unknown.
    metadata : dict
        Strings, numbers, booleans or None by field.

    See Also
    --------
    CorpusReader : Yields records.

    Examples
    --------
    >>> from labelspan.corpus import Record
    >>> Record("1", None, "a game", ["play"], {}).labels
    ['play']
    """

    id: str
    title: str | None
    text: str
    labels: list[str] | None
    metadata: dict[str, Any]


@dataclass(frozen=True, eq=False)
class TaggedTexts:
    """Hold the items of a corpus, each with a text, labels, an id and metadata.

    Attributes
    ----------
    name : str
        Where it came from.
    texts, ids : list of str
        The texts and the names of the items.
    labels : list of lists of str, or None in places
        The labels of each item; None if they are unknown.
    metadata : list of dict
        Strings, numbers, booleans or None by key.
    notes : tuple of str
        How the corpus was read, in sentences.
    numbered : bool
        Whether the ids are numbers that were assigned when reading.
    reading : dict or None
        How the corpus was read, for programs: ``format`` and ``encoding``; the fields ``text``,
        ``labels``, ``ids``, ``title`` and ``metadata``; ``label_style``, as "separated by ','";
        which of them were ``guessed``, by "name" or by "content"; ``other_labels``, fields that
        could hold labels, too; and ``notes`` on what was skipped or repaired.

    See Also
    --------
    read_corpus : Read a corpus from a file, a folder or a stream.

    Examples
    --------
    >>> from labelspan.corpus import TaggedTexts
    >>> texts = TaggedTexts("mine", ["a game", "a tool"], [["play"], None], ["1", "2"], [{}, {}])
    >>> len(texts), texts.n_labelled, texts.label_names
    (2, 1, ['play'])
    """

    name: str
    texts: Sequence[str]
    labels: Sequence[list[str] | None]
    ids: Sequence[str]
    metadata: Sequence[Mapping[str, Any]]
    notes: tuple[str, ...] = ()
    numbered: bool = False
    reading: dict[str, Any] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def n_labelled(self) -> int:
        """Number of items that have labels."""
        return sum(bool(labels) for labels in self.labels)

    @property
    def label_counts(self) -> Counter[str]:
        """Number of items by label."""
        return Counter(label for labels in self.labels for label in labels or ())

    @property
    def label_names(self) -> list[str]:
        """All labels, sorted."""
        return sorted(self.label_counts)

    def sample(self) -> list[str]:
        """Return lines that show two items and the most frequent labels.

        Returns
        -------
        list of str
            A line per item, those with labels first, and one with the labels and their counts.
        """
        chosen = sorted(range(len(self)), key=lambda row: not self.labels[row])[:2]
        lines = []
        for row in chosen:
            own = self.labels[row]
            tags = "labels unknown" if own is None else ", ".join(own[:5]) or "no labels"
            tags += ", ..." if own and len(own) > 5 else ""
            line = " ".join(self.texts[row][:280].split())
            line = line if len(line) <= 70 else f"{line[:70]}..."
            lines.append(f"{self.ids[row]:.40}: {line!r} [{tags}]")
        counts = self.label_counts
        if counts:
            top = ", ".join(f"{label} {count:,}" for label, count in counts.most_common(8))
            lines.append(f"most frequent of {len(counts):,} labels: {top}")
        return lines


def _sentences(items: TaggedTexts, reading: dict[str, Any], labelled: bool) -> Iterator[str]:
    """Yield how a corpus was read, in words."""
    kind, encoding, style = (reading[key] for key in ("format", "encoding", "label_style"))
    encoded = f" in {encoding}" if encoding not in (None, "utf-8") else ""

    def mark(key: str) -> str:
        by = reading["guessed"].get(key)
        content = " by content" if by == "content" and key != "format" else ""
        return f" (guessed{content})" if by else ""

    if kind == "folder":
        yield f"{items.name} read as a folder of {len(items):,} text file(s)"
    else:
        yield f"{items.name} read as {kind}{encoded}{mark('format')}"
    if kind == "lines":
        yield "one text per line; items are numbered"
    elif kind == "uris":
        yield "one text per line, with its labels behind tabs; items are numbered"
    elif kind != "folder":
        text, labels = (listed(reading[key], " and ") for key in ("text", "labels"))
        yield f"text from {text}{mark('text')}"
        others = listed(reading["other_labels"][:5])
        if labels:
            more = f"; others may be {others}" if others else ""
            yield f"labels from {labels}{mark('labels')}{more}"
        elif labelled:
            yield "no field looks like labels; name it with --labels"
        numbers = "items are numbered because no field looks like ids"
        ids = reading["ids"]
        yield f"ids from {ids!r}{mark('ids')}" if ids else numbers
        if reading["metadata"]:
            yield "metadata: " + ", ".join(reading["metadata"])
    yield from reading["notes"]
    if style is None:
        return
    one = style == ONE_LABEL
    style = "each item has one label" if one else f"labels are {style}"
    yield f"{style}; {items.n_labelled:,} of {len(items):,} items have labels"
    counts = items.label_counts
    once = sum(count == 1 for count in counts.values())
    if len(counts) > 100 and once > len(counts) / 5:
        yield f"{once:,} of {len(counts):,} labels occur once; --min-count 2 leaves them out"
    if sum("://" in label for label in counts) > len(counts) / 2:
        yield "labels are URIs; --vocabulary FILE (URI, tab, name per line) names them"


# Number of the file, number of the line or item in it, fields, record.
PlacedRecord = tuple[int, int, dict[str, Any], Record]


class CorpusReader:
    r"""Read the items of a corpus one by one, in any format.

    Options that are not given are guessed from the first items, about 8 MiB of them. Only those and
    one item at a time are in memory; for a folder of texts also the names and labels of all files.
    A compressed archive and a stream are copied to a temporary file first.

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
        known name, then for lists, then for short values that repeat; "" reads none.
    ids : str or None, default=None
        The field of the ids. None looks for a known name, then for unique short values; "" numbers
        the items.
    separator : str or None, default=None
        The separator of labels in a string; None chooses the one of ``; | ,`` that most strings
        contain. "" takes each string as one label.
    empty : {"unknown", "none"}, default="unknown"
        Whether the labels of an item without any are unknown, or it is known to have none.
    encoding : str or None, default=None
        The encoding of text, for example ``"latin-1"``. None uses the byte order mark, else UTF-8.
    vocabulary : path or None, default=None
        A file of names for labels: per line a URI or code, a tab and a name, or a SKOS thesaurus
        (see :func:`read_vocabulary`).
    label_language : str or None, default=None
        Language of the names in a thesaurus.
    like : mapping or None, default=None
        Fields ``text``, ``labels`` and ``ids`` of an earlier reading; those that the corpus has are
        used instead of guesses.
    head : int, default=8388608
        Characters from which formats and fields are guessed.
    folder : path or None, default=None
        Where the copy of a stream is written; None is the system's folder of temporary files.

    Attributes
    ----------
    name : str
        Name of the source, for messages.
    reading : dict
        The format and the fields that are used, as in :class:`TaggedTexts`.
    head : TaggedTexts
        The first items; its ``notes`` describe in words what was guessed.
    complete : bool
        Whether these are all items.
    vocabulary : LabelVocabulary or None
        Names of labels and broader labels, from the given file.

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
        empty: str = "unknown",
        encoding: str | None = None,
        vocabulary: str | os.PathLike[str] | None = None,
        label_language: str | None = None,
        like: Mapping[str, Any] | None = None,
        head: int = _HEAD,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if empty not in ("unknown", "none"):
            raise InvalidParameter(f"empty must be 'unknown' or 'none', but {empty!r} was given.")
        if format is not None and format not in FORMATS:
            raise InvalidParameter(
                f"format must be one of {', '.join(FORMATS)}, but {format!r} was given."
            )
        if encoding is not None:
            check_encoding(encoding)
        self._empty, self._labelled = empty, labels != ""
        self.vocabulary = None
        if vocabulary is not None:
            self.vocabulary = read_vocabulary(vocabulary, label_language, encoding)
        self._names = {} if self.vocabulary is None else self.vocabulary.names
        self._source = open_source(source, None if folder is None else Path(folder))
        self.files = files = open_files(self._source, format, encoding)
        self.name = files.name
        first, self.complete = self._read_head(head)
        if not first:
            raise InvalidInput(f"{self.name} holds no items.")
        items = [row for _, _, row in first]
        how = files.how
        chosen = choose_fields(
            self.name,
            items,
            text=_several(text),
            labels=_several(labels),
            ids=ids,
            labelled=self._labelled,
            like=like or {},
        )
        chosen["guessed"] = {
            **({"format": "content"} if how.guessed else {}),
            **({} if how.kind in _FIXED else chosen["guessed"]),
        }
        files.needed = [one for one in (*chosen["text"], *chosen["labels"], chosen["ids"]) if one]
        for file, row in {file: row for file, _, row in first}.items():
            files.check(file, row)
        self.parsers = [
            LabelParser([row.get(field) for row in items], field, separator)
            for field in chosen["labels"]
        ]
        style = self.parsers[0].how if self.parsers else None
        written = {"format": how.kind, "encoding": how.encoding, "label_style": style}
        self.reading = {**written, **chosen}
        # All of them, if the corpus is small: nothing is parsed twice.
        self._first_records = list(self._records(first))
        self.head = self._as_texts([record for *_, record in self._first_records])
        if not self.complete:
            notes = (*self.head.notes, "guessed from the beginning of the file")
            self.head = replace(self.head, notes=notes)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Values for JSON that identify the content of the corpus."""
        return self._source.fingerprint()

    def __iter__(self) -> Iterator[Record]:
        return self.items()

    def items(self, skip: int = 0) -> Iterator[Record]:
        """Yield all items, optionally skipping the first ones.

        Parameters
        ----------
        skip : int, default=0
            Number of items to skip.

        Yields
        ------
        Record
            The uniqueness of ids is not checked.
        """
        yield from (record for *_, record in self._placed(skip))

    def _placed(self, skip: int = 0) -> Iterator[PlacedRecord]:
        if self.complete:
            yield from self._first_records[skip:]
        else:
            yield from self._records(self.files.rows(skip), skip)

    def collect(self, *, min_count: int = 1) -> TaggedTexts:
        """Read all items into memory.

        Parameters
        ----------
        min_count : int, default=1
            Labels with fewer items are dropped.

        Returns
        -------
        TaggedTexts
            All items; duplicate ids raise an error, or are replaced by numbers if they were
            guessed.
        """
        if min_count < 1:
            raise InvalidParameter(f"min_count must be at least 1, but is {min_count}.")
        records: list[Record] = []
        ids: set[str] = set()
        for file, number, _, record in self._placed():
            if record.id in ids and "ids" not in self.reading["guessed"]:
                raise InvalidFile(
                    f"{self.files.where(file, number)}: another item has the id {record.id!r}; "
                    "every item needs its own, or choose another field for ids (--ids)."
                )
            ids.add(record.id)
            records.append(record)
        twice = len(ids) < len(records)
        if twice:
            records = [record._replace(id=str(row)) for row, record in enumerate(records)]
        return self._as_texts(records, min_count, numbered=twice)

    def _read_head(self, size: int) -> tuple[list[Placed], bool]:
        """Return the first rows, and whether they are all."""
        found: list[Placed] = []
        rows = self.files.rows()
        for placed in rows:
            found.append(placed)
            size -= 16 + sum(len(str(value)) for value in placed[2].values())
            if size < 0:
                last = next(rows, None)
                rows.close()  # type: ignore[attr-defined]
                return found, last is None
        return found, True

    def _records(self, rows: Iterable[Placed], start: int = 0) -> Iterator[PlacedRecord]:
        ids, title, text, metadata = (
            self.reading[key] for key in ("ids", "title", "text", "metadata")
        )
        for count, (file, number, row) in enumerate(rows, start):
            try:
                heading = row.get(title) if title else None
                record = Record(
                    str(count) if ids is None else _id(row, ids),
                    clean(heading) if isinstance(heading, str) and heading.strip() else None,
                    _text(row, text),
                    self._labels(row),
                    {key: plain(row[key]) for key in metadata if key in row},
                )
            except ValueError as error:
                raise InvalidFile(f"{self.files.where(file, number)}: {error}") from None
            yield file, number, row, record

    def _labels(self, row: dict[str, Any]) -> list[str] | None:
        if not self._labelled:
            return None
        found = [label for parse in self.parsers for label in parse(row.get(parse.field)) or ()]
        if self._names:
            found = [self._names.get(label, label) for label in found]
        if len(self.parsers) > 1 or self._names:
            found = list(dict.fromkeys(found))
        return found or (None if self._empty == "unknown" else [])

    def _as_texts(
        self, records: Sequence[Record], min_count: int = 1, *, numbered: bool = False
    ) -> TaggedTexts:
        notes = [*self.files.notes(), *self.reading["notes"]]
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
        lists, dropped = keep_labels(lists, min_count)
        if dropped:
            notes.append(f"{dropped:,} rare label(s) left out")
        if self._labelled and self._empty == "unknown":
            lists = [own or None for own in lists]
        if numbered:
            ids = self.reading["ids"]
            notes.append(f"items are numbered because {ids!r} has the same id twice")
        reading = {**self.reading, "notes": tuple(notes)}
        made = TaggedTexts(
            self.name,
            [record.text for record in records],
            lists,
            [record.id for record in records],
            [record.metadata for record in records],
            (),
            numbered or reading["ids"] is None,
            reading,
        )
        return replace(made, notes=tuple(_sentences(made, reading, self._labelled)))


def read_corpus(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    min_count: int = 1,
    **options: Any,
) -> TaggedTexts:
    r"""Read texts and their labels into memory, and guess options that are not given.

    Parameters
    ----------
    source : path or binary stream
        A file, also packed by gzip, bzip2 or xz; a folder, tar or zip archive of texts or tables;
        or a stream of such content. See Notes for the formats.
    min_count : int, default=1
        Labels with fewer items are dropped.
    **options
        ``format``, ``text``, ``labels``, ``ids``, ``separator``, ``empty``, ``encoding``,
        ``vocabulary`` and ``label_language`` of :class:`CorpusReader`.

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
    - ``csv``, ``tsv``, ``parquet``: a table. Without a header the fields are ``"column 1"``,
      ``"column 2"`` and so on.
    - ``uris``: per line a text and, after tabs, URIs in angle brackets or other labels.
    - ``lines``: a text per line, without labels.
    - ``posts``, ``calibre``: ``Posts.xml`` of StackExchange, ``metadata.db`` of Calibre.
    - ``folder``: a text per file. Labels are in files with the same name, next to it or in a folder
      of labels; without such files, the names of the folders around a text are its labels.
    - ``markdown``: a folder of Markdown files that begin with fields between lines ``---``.

    A folder or an archive of tables in one format is read as one table, in the order of file names.
    Files called README, LICENSE and the like are not items.

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
    return CorpusReader(source, **options).collect(min_count=min_count)


def _several(names: str | Sequence[str] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) and names else tuple(names or ())


def _id(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if value is None or isinstance(value, dict | list) or not str(value).strip():
        raise ValueError(
            f"the field {key!r} is empty, but every item needs an id; choose another field for ids "
            "(--ids), or --ids '' to number the items."
        )
    return clean(str(value))


def _text(row: dict[str, Any], keys: tuple[str, ...]) -> str:
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
            raise ValueError(
                f"{key!r} must be a text, but is {value!r:.60}; choose another field for the text "
                "(--text)."
            )
        if value.strip():
            parts.append(clean(value))
    return "\n\n".join(parts)
