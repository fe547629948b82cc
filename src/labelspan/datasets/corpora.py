"""Your own corpora: texts with labels, ids and metadata, from files, folders and streams."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO

from ..errors import InvalidFile, InvalidInput, InvalidParameter
from .corpus_fields import Asked, Fields, choose_fields, listed, plain
from .corpus_files import check_encoding
from .corpus_labels import ONE_LABEL, clean, is_missing, keep_labels, label_reader, read_vocabulary
from .corpus_rows import FORMATS, CorpusRows, read_rows

__all__ = [
    "FORMATS",
    "CorpusReading",
    "TaggedTexts",
    "check_options",
    "describe_reading",
    "join_text",
    "read_corpus",
]


@dataclass(frozen=True)
class CorpusReading:
    r"""Describe how a corpus was read: what was named, and what was guessed.

    Attributes
    ----------
    format : str
        The format that was read.
    encoding : str or None
        The encoding of its text; None for parquet and folders.
    text : tuple of str
        The fields that were joined to the text.
    labels, ids, title : str or None
        The fields of the labels, of the ids and of the titles.
    metadata : tuple of str
        The fields that were kept as metadata.
    label_style : str or None
        How labels are written, for example ``"separated by ','"``.
    guessed : tuple of str
        Which of ``format``, ``text``, ``labels`` and ``ids`` were guessed.
    other_labels : tuple of str
        Further fields that could hold labels.
    dropped_labels : int
        The number of labels that ``min_count`` and ``limit_labels`` left out.
    notes : tuple of str
        What was left out or repaired.

    See Also
    --------
    read_corpus : Read a corpus; the result holds this description.

    Examples
    --------
    >>> import io
    >>> from labelspan.datasets import read_corpus
    >>> stream = io.BytesIO(b"title,tags\nChess,game|board\nGo,game|board\n")
    >>> found = read_corpus(stream).reading
    >>> found.format, found.text, found.labels, found.label_style
    ('csv', ('title',), 'tags', "separated by '|' (guessed)")
    """

    format: str
    encoding: str | None = None
    text: tuple[str, ...] = ()
    labels: str | None = None
    ids: str | None = None
    title: str | None = None
    metadata: tuple[str, ...] = ()
    label_style: str | None = None
    guessed: tuple[str, ...] = ()
    other_labels: tuple[str, ...] = ()
    dropped_labels: int = 0
    notes: tuple[str, ...] = ()


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
        Whether the ids are numbers that were given in reading.
    reading : CorpusReading or None
        How the corpus was read, for programs.

    See Also
    --------
    read_corpus : Read a corpus from a file, a folder or a stream.

    Examples
    --------
    >>> from labelspan.datasets import TaggedTexts
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
    reading: CorpusReading | None = field(default=None, repr=False)

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

    def sample(self, n_items: int = 2, n_labels: int = 8) -> list[str]:
        """Return lines that show a few items and the most frequent labels.

        Parameters
        ----------
        n_items : int, default=2
            The number of items; those with labels come first.
        n_labels : int, default=8
            The number of labels.

        Returns
        -------
        list of str
            A line per item, and one with the labels and their counts.
        """
        chosen = [row for row, labels in enumerate(self.labels) if labels][:n_items]
        chosen += [row for row in range(len(self)) if row not in chosen][: n_items - len(chosen)]
        lines = []
        for row in chosen:
            own = self.labels[row]
            tags = "labels unknown" if own is None else ", ".join(own[:5]) or "no labels"
            tags += ", ..." if own and len(own) > 5 else ""
            lines.append(f"{self.ids[row]:.40}: {_excerpt(self.texts[row])!r} [{tags}]")
        counts = self.label_counts
        if counts:
            top = ", ".join(f"{label} {count:,}" for label, count in counts.most_common(n_labels))
            lines.append(f"most frequent of {len(counts):,} labels: {top}")
        return lines


def read_corpus(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    format: str | None = None,
    text: str | Sequence[str] | None = None,
    labels: str | None = None,
    ids: str | None = None,
    separator: str | None = None,
    labelled: bool = True,
    empty: str = "unknown",
    encoding: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    min_count: int = 1,
    limit_labels: int | None = None,
) -> TaggedTexts:
    r"""Read texts and their labels, and guess what is not given.

    Parameters
    ----------
    source : path or binary stream
        A file, also packed by gzip, bzip2 or xz; a folder, tar or zip archive of texts or tables;
        or a stream of such content. See Notes for the formats.
    format : str or None, default=None
        One of ``"jsonl"``, ``"json"``, ``"csv"``, ``"tsv"``, ``"uris"``, ``"parquet"``,
        ``"lines"`` and ``"folder"``; None goes by the name, else by the content.
    text : str, sequence of str or None, default=None
        The field of the text, or several that are joined. None looks for a known name, then
        for the longest field; a title is put before it.
    labels : str or None, default=None
        The field of the labels, a list or a string. None looks for a known name, then for lists,
        then for short values that occur again and again.
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
        A file of names for labels: per line a URI or code, a tab and a name.
    min_count : int, default=1
        Labels of fewer items are left out.
    limit_labels : int or None, default=None
        The maximum number of labels; the most frequent are kept.

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
    load_debtags : Load a corpus that comes with the package.

    Notes
    -----
    - ``jsonl``, ``json``: objects, one per line or in a list. Fields inside objects have dotted
      names, as ``labels.name``; a field may be missing in some items.
    - ``csv``, ``tsv``: a table with or without header and quotation marks. Repeated header lines
      are left out, missing cells at the end of a line are empty.
    - ``uris``: a text, a tab and URIs in angle brackets, per line.
    - ``parquet``: a table; needs ``labelspan[io]``.
    - ``lines``: a text per line, without labels.
    - ``folder``: a text per file. Labels are in files with the same name as the text, next to it
      (``7.txt`` and ``7.tsv`` or ``7.key``) or in a folder (``text/7.txt`` and
      ``labels/7.txt``), one per line, optionally a URI, a tab and a name. Without such files, the
      names of the folders around a text are its labels, except ``train``, ``test`` and the like.

    A folder or an archive of tables of one format is read as one table, file after file by name;
    the fields of text, labels and ids must be in all of them. With a format, other files are left
    out.

    Examples
    --------
    >>> import io
    >>> from labelspan.datasets import read_corpus
    >>> stream = io.BytesIO(b'{"title": "Chess", "body": "A game.", "tags": "game; board"}')
    >>> corpus = read_corpus(stream)
    >>> corpus.texts, corpus.labels
    (['Chess\n\nA game.'], [['game', 'board']])
    >>> corpus.notes[1]
    "text from 'title' and 'body' (guessed)"
    """
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    check_options(format, empty, encoding, delimiter, min_count, limit_labels)
    rows = read_rows(source, format, encoding=encoding, header=header, delimiter=delimiter)
    if not rows.items:
        raise InvalidInput(f"{rows.name} holds no items.")
    wanted = (text,) if isinstance(text, str) else tuple(text or ())
    asked = Asked(wanted, labels, ids, labelled=labelled)
    fields = choose_fields(rows, asked)
    texts = [
        join_text(item, fields.text, partial(rows.where, number))
        for number, item in enumerate(rows.items)
    ]
    lists: list[list[str] | None] = [None] * len(texts)
    style = None
    if labelled and fields.labels is not None:
        values = [item.get(fields.labels) for item in rows.items]
        read, style = label_reader(values, fields.labels, separator, rows.where)
        lists = [read(number) for number in range(len(texts))]
    notes = [*rows.notes]
    blank = sum(not text for text in texts)
    if blank:
        notes.append(f"{blank:,} item(s) have no text")
    if vocabulary is not None:
        lists = _renamed(lists, read_vocabulary(vocabulary, encoding), notes)
    lists, dropped = keep_labels(lists, min_count, limit_labels)
    if dropped:
        notes.append(f"{dropped:,} rare label(s) left out")
    if labelled and empty == "unknown":
        lists = [found or None for found in lists]
    elif labelled:
        lists = [[] if found is None else found for found in lists]
    reading = _reading(rows, asked, fields, style, dropped, notes)
    kept = fields.metadata
    tables = [{key: plain(item[key]) for key in kept if key in item} for item in rows.items]
    names = _names(rows, fields.ids)
    made = TaggedTexts(rows.name, texts, lists, names, tables, (), fields.ids is None, reading)
    sentences = tuple(_sentences(made, reading, rows, asked, fields))
    return TaggedTexts(
        rows.name, texts, lists, names, tables, sentences, fields.ids is None, reading
    )


def _reading(  # noqa: PLR0917
    rows: CorpusRows,
    asked: Asked,
    fields: Fields,
    style: str | None,
    dropped: int,
    notes: Sequence[str],
) -> CorpusReading:
    guessed = [
        name
        for name, given in (("text", asked.text), ("labels", asked.labels), ("ids", asked.ids))
        if not given and getattr(fields, name) and rows.kind not in ("lines", "folder", "uris")
    ]
    return CorpusReading(
        format=rows.kind,
        encoding=rows.encoding,
        text=fields.text,
        labels=fields.labels,
        ids=fields.ids,
        title=fields.title,
        metadata=fields.metadata,
        label_style=style,
        guessed=(*(("format",) if rows.guessed else ()), *guessed),
        other_labels=fields.others,
        dropped_labels=dropped,
        notes=tuple(notes),
    )


def describe_reading(
    rows: CorpusRows, asked: Asked, fields: Fields, style: str | None, items: Sequence[Any]
) -> tuple[CorpusReading, tuple[str, ...]]:
    """Return how some items were read, also in sentences."""
    reading = _reading(rows, asked, fields, style, 0, rows.notes)
    made = TaggedTexts(
        rows.name,
        [item.text for item in items],
        [item.labels for item in items],
        [item.id for item in items],
        [],
    )
    return reading, tuple(_sentences(made, reading, rows, asked, fields))


def check_options(  # noqa: PLR0917
    format: str | None,
    empty: str,
    encoding: str | None,
    delimiter: str | None,
    min_count: int = 1,
    limit_labels: int | None = None,
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
    for name, value in (("min_count", min_count), ("limit_labels", limit_labels)):
        if value is not None and value < 1:
            raise InvalidParameter(f"read_corpus: {name} must be at least 1, but is {value}.")
    check_encoding(encoding)


def _sentences(
    made: TaggedTexts, reading: CorpusReading, rows: CorpusRows, asked: Asked, fields: Fields
) -> list[str]:
    """Return how a corpus was read, in words."""
    encoded = f" in {reading.encoding}" if reading.encoding not in (None, "utf-8") else ""
    said = [f"{rows.name} read as {rows.kind}{encoded}{' (guessed)' if rows.guessed else ''}"]
    if rows.kind == "folder":
        said[0] = f"{rows.name} read as a folder of {len(made):,} text file(s)"
        where = "files with the name of the text"
        if rows.labels_in != "files":
            where = "the names of folders" if made.n_labelled else "nowhere: files are in no folder"
        said.append(f"labels from {where}; ids from the files' names")
    elif rows.kind == "lines":
        said.append("one text per line; items are numbered")
    elif rows.kind == "uris":
        said.append("one text per line, with URIs as labels; items are numbered")
    else:
        said += _field_sentences(reading, asked, fields)
    said += reading.notes
    if reading.label_style is not None:
        one = reading.label_style == ONE_LABEL
        style = "each item has one label" if one else f"labels are {reading.label_style}"
        said.append(f"{style}; {made.n_labelled:,} of {len(made):,} items have labels")
        said += _label_sentences(made, reading)
    return said


def _field_sentences(reading: CorpusReading, asked: Asked, fields: Fields) -> list[str]:
    def mark(name: str) -> str:
        return " (guessed)" if name in reading.guessed else ""

    said = [f"text from {listed(fields.text, ' and ')}{mark('text')}"]
    if fields.labels:
        other = f"; others may be {listed(fields.others[:5])}" if fields.others else ""
        said.append(f"labels from {fields.labels!r}{mark('labels')}{other}")
    elif asked.labelled:
        said.append("no field looks like labels; name it with --labels")
    if fields.ids:
        said.append(f"ids from {fields.ids!r}{mark('ids')}")
    else:
        said.append("items are numbered because no field looks like ids")
    if fields.metadata:
        said.append(f"metadata: {', '.join(fields.metadata)}")
    return said


def _label_sentences(made: TaggedTexts, reading: CorpusReading) -> list[str]:
    """Return what could be done about many rare labels, and labels without names."""
    counts = made.label_counts
    once = sum(count == 1 for count in counts.values())
    said = []
    if len(counts) > 100 and once > len(counts) / 5:
        said.append(f"{once:,} of {len(counts):,} labels occur once; --min-count 2 leaves them out")
    uris = sum("://" in label for label in counts)
    if counts and uris > len(counts) / 2:
        said.append("labels are URIs; --vocabulary FILE (URI, tab, name per line) names them")
    return said


def _renamed(
    lists: Sequence[list[str] | None], names: Mapping[str, str], notes: list[str]
) -> list[list[str] | None]:
    unknown = {label for found in lists for label in found or ()} - names.keys()
    if unknown:
        notes.append(f"{len(unknown):,} label(s) are not in the vocabulary: {min(unknown)!r:.60}")
    return [
        None if found is None else list(dict.fromkeys(names.get(label, label) for label in found))
        for found in lists
    ]


def _excerpt(text: str, length: int = 70) -> str:
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else f"{line[:length]}..."


def join_text(item: Mapping[str, Any], keys: tuple[str, ...], where: Callable[[], str]) -> str:
    """Join the fields of the text; one that is missing is empty."""
    parts = []
    for key in keys:
        value = item.get(key)
        if type(value) is str:
            if value.strip():
                parts.append(clean(value))
            continue
        if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
            value = "\n".join(value)
        # A table read by pandas has NaN for an empty cell.
        if isinstance(value, float) and is_missing(value):
            value = None
        if value is not None and not isinstance(value, str):
            raise InvalidFile(
                f"{where()}: {key!r} must be a text, but is {value!r:.60}; choose "
                "another field for the text (--text)."
            )
        if value and value.strip():
            parts.append(clean(value))
    return "\n\n".join(parts)


def _names(rows: CorpusRows, key: str | None) -> list[str]:
    """Return ids from a field, all different; numbers from 0 without one."""
    if key is None:
        return [str(number) for number in range(len(rows.items))]
    first: dict[str, int] = {}
    for number, item in enumerate(rows.items):
        value = item.get(key)
        if value is None or isinstance(value, dict | list) or not str(value).strip():
            raise InvalidFile(
                f"{rows.where(number)}: the field {key!r} is empty, but every item needs an id; "
                "choose another field for ids (--ids)."
            )
        name = clean(str(value))
        if name in first:
            raise InvalidFile(
                f"{rows.where(number)}: the id {name!r} is also in {rows.place(first[name])}; "
                "every item needs its own, or choose another field for ids (--ids)."
            )
        first[name] = number
    return list(first)
