"""One reader for all formats: records one by one or all in memory, and how they were read."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO
from unicodedata import normalize

from .._files import check_there
from ..errors import InvalidFile, InvalidInput, InvalidParameter
from .fields import choose_fields, plain
from .folders import open_files
from .formats import Placed
from .json_files import FOLDERS
from .known_objects import LINKED
from .label_values import (
    INLINE,
    NO_LABELS,
    LabelParser,
    clean,
    is_missing,
    truths_of,
    words_of_truth,
)
from .label_vocabulary import names_of_labels, read_vocabulary
from .link_names import LINKS, LinkReader, read_link_file
from .names import known_names, normal
from .notes import inline_tags
from .plain_text import plain_text
from .read_twice import TWICE, is_read_twice
from .readers import all_readers, reader_of
from .reading_report import ReadingReport, make_report, shorten
from .sources import check_encoding, open_source
from .tagged_texts import Item, TaggedTexts

__all__ = ["CorpusReader", "read_corpus"]

# Characters of the first items, from which formats and fields are guessed.
_HEAD = 1 << 23
# Rows of these at most: short ones take more memory than their characters.
_ROWS = 100_000
# A piece of HTML, and the share of texts with one that makes a field HTML.
_HTML = re.compile(
    r"</?(?:\w+:)?(?:p|br|div|a|li|ul|em|strong|span|h\d|code|pre|blockquote)\b[^<>]*>", re.I
)
_SHARE = 0.3
# Rows of a file from which the separator of its labels is guessed, and strings at least.
_FIRST_ROWS, _FEW_TEXTS = 500, 5
# Texts that are looked at for characters that were read twice.
_HEAD_TEXTS = 2000
# Tables, in which a row may be a part of another item, or a total.
_SHEETS = ("csv", "tsv", "xlsx", "ods")
# Formats in which nothing is left to guess.
_FIXED = ("lines", "folder", "uris", "fasttext")

# Number of the file, number of the line or item in it, fields, item.
PlacedItem = tuple[int, int, dict[str, Any], Item]


class CorpusReader:
    r"""Read the items of a corpus one by one, in any format.

    Options that are not given are guessed from the first items, about 8 MiB of them. Only those and
    one item at a time are in memory; for a folder of texts also the names and labels of all files.
    A compressed archive and a stream are copied to a temporary file first.

    Parameters
    ----------
    source : path or binary stream
        A file, possibly compressed (gzip, bzip2, xz); a folder, tar or zip archive of texts or
        tables; or a stream of such content. See :func:`read_corpus` for the formats.
    format : str or None, default=None
        One of the formats in the notes of :func:`read_corpus`; None goes by the name, else by the
        content. A file in an unknown format raises an error; ``"lines"`` reads one text per line.
    text : str, sequence of str or None, default=None
        The field of the text, or several, which are joined. None looks for a known name, then
        for the longest field; a title is put before it.
    labels : str, sequence of str or None, default=None
        The field of the labels (lists or strings), or several, which are joined. None looks for a
        known name, then for lists, then for short values that repeat; "" reads none.
    ids : str or None, default=None
        The field of the ids. None looks for a known name, then for unique short values; "" numbers
        the items.
    separator : str or None, default=None
        The separator of labels in a string; None chooses the one of ``; | ,`` that most strings
        contain, or blanks if the parts between them repeat far more often than the strings.
        "" takes each string as one label.
    empty : {"unknown", "none"}, default="unknown"
        Whether the labels of an item without any are unknown, or it is known to have none.
    encoding : str or None, default=None
        The encoding of text, for example ``"latin-1"``. None uses the byte order mark, else UTF-8.
        ``"utf-8-twice"`` reads text that a program took for cp1252 and saved as UTF-8 again.
    vocabulary : path or None, default=None
        A file of names for labels: per line a URI or code, a tab and a name, or a SKOS thesaurus
        (see :func:`read_vocabulary`). A label may be the code or any name of a concept, and gets
        its preferred name; names of several concepts stay as they are.
    label_language : str or None, default=None
        Language of the preferred names in a thesaurus; None takes that of most labels.
    table : str or None, default=None
        The sheet of a workbook, the table of a database, or a query (``select ...``) of it. None
        takes the first sheet with rows, and the largest table with texts.
    links : path, bool or None, default=None
        A file of links between items: two ids in a line of csv or tsv, and perhaps a weight. None
        looks for fields with ids, titles or addresses of other items, and for links in texts:
        ``[[a page]]``, relative links of notes, addresses of items. False reads none.
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
        The first items.
    complete : bool
        Whether these are all items.
    vocabulary : LabelVocabulary or None
        Names of labels and broader labels, from the given file.
    renamed : dict
        Labels as they are written, and their names in the vocabulary, as far as items were read.
    table : str or None
        The table that was asked for.
    n_joined : int
        Number of rows in ``head`` that were joined with another one of the same text.

    See Also
    --------
    read_corpus : Read all items into memory.

    Examples
    --------
    >>> import io
    >>> from labelspan.corpus import CorpusReader
    >>> corpus = CorpusReader(io.BytesIO(b"title,tags\nChess,game|board\nGo,game|board\n"))
    >>> [(record.text, record.labels) for record in corpus.items()]
    [('Chess', ('game', 'board')), ('Go', ('game', 'board'))]
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
        table: str | None = None,
        links: str | os.PathLike[str] | bool | None = None,
        like: Mapping[str, Any] | None = None,
        head: int = _HEAD,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if empty not in ("unknown", "none"):
            raise InvalidParameter(f"empty must be 'unknown' or 'none', but {empty!r} was given.")
        if format is not None and format not in all_readers():
            raise InvalidParameter(
                f"format must be one of {', '.join(all_readers())}, but {format!r} was given."
            )
        if encoding is not None:
            check_encoding(encoding)
        self._empty, self._labelled, self.table = empty, labels != "", table
        self.vocabulary, self._like = None, like or {}
        # By code or another name, and by those that items have.
        self._names: dict[str, str] = {}
        self.renamed: dict[str, str] = {}
        self._ambiguous: frozenset[str] = frozenset()
        self._source = open_source(source, None if folder is None else Path(folder))
        self.files = files = open_files(self._source, format, encoding, table)
        self.name = files.name
        first, self.complete = self._read_head(head)
        if not first:
            why = "; ".join(files.notes()[:3])
            raise InvalidInput(f"{self.name} holds no items{f': {why}' if why else ''}.")
        items = [row for _, _, row in first]
        options: dict[str, Any] = {"ids": ids, "separator": separator, "like": like}
        self.reading = self._choose(items, _several(text), _several(labels), **options)
        needed = (*self.reading["text"], *self.reading["labels"], self.reading["ids"])
        files.needed = [one for one in needed if one and one != INLINE]
        for file, row in {file: row for file, _, row in first}.items():
            files.check(file, row)
        if self.reading["format"] in _SHEETS:
            files.titled = len(self.reading["text"]) > 1
            files.wanted = [*self.reading["text"], *self.reading["labels"]]
            first = [placed for placed in first if files.keeps(placed)]
        if vocabulary is not None:
            used = {label for row in items for label in self._labels(row, self.parsers) or ()}
            self.vocabulary = read_vocabulary(vocabulary, label_language, encoding, used=used)
            self._names, self._ambiguous = names_of_labels(self.vocabulary)
        # By field: the share of the first items that have a value, and an example.
        self._examples = _examples(items)
        # All of them, if the corpus is small: nothing is parsed twice.
        self._parsers_of: dict[int, list[LabelParser]] = {}
        # A table of several may separate its labels in its own way.
        self._by_file = separator is None and files.are_tables and bool(self.parsers)
        self._link_reader: LinkReader | None = None
        self._first_records = list(self._records(first))
        self._find_links(items, links)
        self.n_joined = 0
        self.head = self._as_texts(self._joined(record for *_, record in self._first_records))
        self.n_joined = len(self._first_records) - len(self.head)

    def _choose(
        self,
        items: Sequence[dict[str, Any]],
        text: tuple[str, ...],
        labels: tuple[str, ...],
        *,
        ids: str | None,
        separator: str | None,
        like: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Return how the items are read: given fields, and guesses of the others."""
        how, before = self.files.how, like or {}
        # Tags in the texts are a field of notes only.
        tagged = how.kind != "markdown" and INLINE in (labels or before.get("labels") or ())
        given: dict[str, Any] = {"ids": ids, "like": before, "record_id": reader_of(how.kind).ids}
        given |= {"labelled": self._labelled and not tagged}
        chosen = choose_fields(
            self.name, items, text=text, labels=() if tagged else labels, **given
        )
        if self._labelled and not chosen["labels"] and how.kind not in _FIXED:
            chosen["labels"] = _hashtags(items, chosen["text"], every=tagged)
            if chosen["labels"]:
                said = "labels are tags such as #game in the texts (--labels '': none)"
                chosen["notes"] = (*chosen["notes"], said)
        known = chosen["guessed"].get("labels") != "content"
        self.parsers = _parsers(items, chosen["labels"], separator, blanks=known)
        mark = before.get("separator") if separator is None else None
        same = chosen["labels"] == tuple(before.get("labels") or ())
        if mark is not None and same and all(one.separator is not None for one in self.parsers):
            # In few rows a comma in a name would be taken for a separator, or the reverse.
            self.parsers = _parsers(items, chosen["labels"], mark, blanks=known)
        joined = not ids and _is_repeated(items, chosen["text"], self.parsers)
        if joined:
            # One row of each text: an id need not be unique otherwise.
            single = list({_key(row, chosen["text"]): row for row in reversed(items)}.values())
            fixed: dict[str, Any] = {"text": chosen["text"], "labels": chosen["labels"], **given}
            chosen["ids"] = choose_fields(self.name, single[::-1], **fixed)["ids"]
            chosen["metadata"] = tuple(one for one in chosen["metadata"] if one != chosen["ids"])
        chosen["guessed"] = {
            **({"format": "content"} if how.guessed else {}),
            **({} if how.kind in _FIXED else chosen["guessed"]),
        }
        style = self.parsers[0].how if self.parsers else None
        mark = self.parsers[0].separator if self.parsers else None
        written = {"format": how.kind, "encoding": how.encoding, "label_style": style}
        written |= {"separator": mark}
        marked = tuple(one for one in chosen["text"] if _is_html([row.get(one) for row in items]))
        return {**written, **chosen, "html": marked, "joined": joined}

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Values for JSON that identify the content of the corpus."""
        return self._source.fingerprint()

    def __iter__(self) -> Iterator[Item]:
        return self.items()

    def items(self, skip: int = 0) -> Iterator[Item]:
        """Yield all items, optionally skipping the first ones.

        Parameters
        ----------
        skip : int, default=0
            Number of items to skip.

        Yields
        ------
        Item
            The uniqueness of ids is not checked.
        """
        if self.reading["joined"]:
            rows = (record for *_, record in self._placed())
            yield from islice(self._joined(rows, everywhere=self.complete), skip, None)
        else:
            yield from (record for *_, record in self._placed(skip))

    def _joined(self, rows: Iterable[Item], *, everywhere: bool = True) -> Iterator[Item]:
        """Yield items with the labels of all rows of their text: everywhere, or next to it."""
        if not self.reading["joined"]:
            yield from rows
            return
        groups: dict[str, Item] = {}
        count = 0
        for row in rows:
            same = groups.get(row.text)
            if same is None:
                if groups and not everywhere:
                    yield from groups.values()
                    groups.clear()
                name = str(count) if self.reading["ids"] is None else row.id
                groups[row.text] = replace(row, id=name)
                count += 1
            elif same.labels is None or row.labels is None:
                groups[row.text] = replace(same, labels=same.labels or row.labels)
            else:
                both = tuple(dict.fromkeys((*same.labels, *row.labels)))
                groups[row.text] = replace(same, labels=both)
        yield from groups.values()

    def report(self, texts: TaggedTexts | None = None) -> ReadingReport:
        """Return how the corpus was read: format, fields, labels, and what to change.

        Parameters
        ----------
        texts : TaggedTexts or None, default=None
            All items, as :meth:`collect` returns them; None describes the first ones.

        Returns
        -------
        ReadingReport
            For a screen or for programs.
        """
        return make_report(
            texts or self.head,
            self._examples,
            n_joined=self.n_joined,
            complete=self.complete or texts is not None,
            why_not_writable=self.why_not_writable(),
        )

    def why_not_writable(self) -> str | None:
        """Say why labels cannot be written back into a copy of the corpus.

        Returns
        -------
        str or None
            The reason, and what to do; None if they can be written.
        """
        kind = self.reading["format"]
        if not reader_of(kind).writable:
            problem = f"files in the format {kind} are not changed"
        elif len(self.files.members) > 1 and kind != "markdown":
            problem = f"{self.name} has several files, and only one can be changed"
        elif not self.reading["labels"]:
            return f"{self.name} has no field of labels that could be changed; name it (--labels)."
        elif {FOLDERS, LINKED} & {*self.reading["labels"]}:
            problem = f"labels of {self.name} are folders, or objects of their own, not changed"
        elif INLINE in self.reading["labels"] and kind != "markdown":
            problem = f"labels of {self.name} are in its texts, which are not changed"
        elif self.reading["joined"]:
            problem = f"{self.name} has several rows per item, which are not changed"
        elif self.renamed or self._like.get("renamed"):
            problem = f"labels of {self.name} are codes, or other names than in the index"
        else:
            return None
        return f"{problem}; export the decisions (--export decisions.csv)."

    def _placed(self, skip: int = 0) -> Iterator[PlacedItem]:
        yield from self._first_records[skip:]
        if not self.complete:
            skip = max(skip, len(self._first_records))
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
        records: list[Item] = []
        ids: set[str] = set()
        guessed = "ids" in self.reading["guessed"] or self.reading["joined"]
        for file, number, _, record in self._placed():
            if record.id in ids and not guessed:
                raise InvalidFile(
                    f"{self.files.where(file, number)}: another item has the id {record.id!r}; "
                    "every item needs its own, or choose another field for ids (--ids)."
                )
            ids.add(record.id)
            records.append(record)
        if self.reading["joined"]:
            count = len(records)
            records = list(self._joined(records))
            self.n_joined = count - len(records)
        again = len({record.id for record in records}) < len(records)
        if again:
            records = [replace(record, id=str(row)) for row, record in enumerate(records)]
        return self._as_texts(records, min_count, numbered=again)

    def _read_head(self, size: int) -> tuple[list[Placed], bool]:
        """Return the first rows, and whether they are all."""
        found: list[Placed] = []
        rows = self.files.rows()
        for placed in rows:
            found.append(placed)
            size -= 16 + sum(8 + len(str(value)) for value in placed[2].values())
            if size < 0 or len(found) >= _ROWS:
                last = next(rows, None)
                rows.close()  # type: ignore[attr-defined]
                return found, last is None
        return found, True

    def _records(self, rows: Iterable[Placed], start: int = 0) -> Iterator[PlacedItem]:
        ids, text, metadata, html = (
            self.reading[key] for key in ("ids", "text", "metadata", "html")
        )
        tagged = INLINE in self.reading["labels"]
        if self._by_file:
            rows = self._with_parsers(rows)
        for count, (file, number, row) in enumerate(rows, start):
            try:
                if tagged and INLINE not in row:
                    row[INLINE] = inline_tags(_text(row, text, ()))
                item = Item(
                    str(count) if ids is None else _id(row, ids),
                    _text(row, text, html),
                    self._labels(row, self._parsers_of.get(file, self.parsers)),
                    {key: plain(row[key]) for key in metadata if key in row},
                )
            except ValueError as error:
                raise InvalidFile(f"{self.files.where(file, number)}: {error}") from None
            yield file, number, row, self._with_links(row, item)

    def _find_links(
        self, rows: Sequence[dict[str, Any]], links: str | os.PathLike[str] | bool | None
    ) -> None:
        """Find the fields of links; add the links of the first items that are elsewhere."""
        self.reading["links"] = {}
        if links is False or self.reading["joined"]:
            return
        given = None
        if links is not None and links is not True:
            path = Path(links)
            check_there(path)
            given = read_link_file(path.read_bytes(), str(path))
        notes, fields = self.reading["format"] == "markdown", self.reading["metadata"]
        items = [item for *_, item in self._first_records]
        if self.reading["ids"] in rows[0]:
            # The id of an item may be its address.
            fields = tuple(one for one in fields if one != self.reading["ids"])
        self._link_reader = LinkReader(
            rows,
            items,
            self.reading["text"],
            fields,
            given,
            notes=notes,
            like=self._like.get("links"),
        )
        self.reading["links"] = self._link_reader.told
        self._first_records = [
            (file, number, row, self._with_links(row, item))
            for file, number, row, item in self._first_records
        ]

    def _with_links(self, row: dict[str, Any], item: Item) -> Item:
        """Return an item with the links that are in its text or in a file of links."""
        text = None if self._link_reader is None else self._link_reader.links_of(row, item)
        return item if text is None else replace(item, metadata={**item.metadata, LINKS: text})

    def _with_parsers(self, rows: Iterable[Placed]) -> Iterator[Placed]:
        """Yield rows; before those of a file, find out how its labels are separated."""
        for file, group in groupby(rows, key=itemgetter(0)):
            own = iter(group)
            first = [] if file in self._parsers_of else list(islice(own, _FIRST_ROWS))
            if first:
                found = [_of_file(one, [row for *_, row in first]) for one in self.parsers]
                self._parsers_of[file] = found
                for new, old in zip(found, self.parsers, strict=True):
                    if new is not old:
                        name = self.files.members[file].path
                        self.files.note(f"{name}: labels are {new.how}, not {old.how}")
            yield from chain(first, own)

    def _labels(
        self, row: dict[str, Any], parsers: Sequence[LabelParser]
    ) -> tuple[str, ...] | None:
        if not self._labelled:
            return None
        found = [label for parse in parsers for label in parse(row.get(parse.field)) or ()]
        if not found and parsers and parsers[0].column:
            # All cells say 0: it is known that there are none.
            return () if any(p(row.get(p.field)) is not None for p in parsers) else None
        if not found and any(row.get(one.field) is NO_LABELS for one in parsers):
            return ()
        if self._names:
            written = [normalize("NFC", label) for label in found]
            found = [self._names.get(label, label) for label in written]
            pairs = zip(written, found, strict=True)
            self.renamed |= {old: new for old, new in pairs if old != new}
        if len(parsers) > 1 or self._names:
            found = list(dict.fromkeys(found))
        return tuple(found) or (None if self._empty == "unknown" else ())

    def _as_texts(
        self, rows: Iterable[Item], min_count: int = 1, *, numbered: bool = False
    ) -> TaggedTexts:
        records = list(rows)
        notes = [*self.files.notes(), *self.reading["notes"]]
        if self.reading["joined"]:
            notes.append("rows of the same text are joined into one item with all their labels")
        if self.reading["html"]:
            notes.append(f"HTML removed from {', '.join(self.reading['html'])}")
        blank = sum(not record.text for record in records)
        if blank:
            notes.append(f"{blank:,} item(s) have no text")
        counts = Counter(label for record in records for label in record.labels or ())
        twice = sum(is_read_twice(record.text) for record in records[:_HEAD_TEXTS])
        if twice > 0.01 * min(len(records), _HEAD_TEXTS):
            notes.append(
                f"text looks like UTF-8 that was read as cp1252, as Ã© for é, in {twice:,} "
                f"item(s) (--encoding {TWICE} reads it as it was)"
            )
        notes += self._vocabulary_notes(counts)
        rare = {label for label, count in counts.items() if count < min_count}
        if rare:
            notes.append(f"{len(rare):,} rare label(s) left out")
            known = self._empty == "none" or bool(self.parsers[0].column)
            for row, record in enumerate(records):
                if record.labels and not rare.isdisjoint(record.labels):
                    own = tuple(label for label in record.labels if label not in rare)
                    records[row] = replace(record, labels=own or (() if known else None))
        if numbered:
            ids = self.reading["ids"]
            notes.append(f"items are numbered because {ids!r} has the same id twice")
        reading = {**self.reading, "notes": tuple(notes)}
        numbered = numbered or reading["ids"] is None
        return TaggedTexts(self.name, records, tuple(notes), numbered, reading)

    def _vocabulary_notes(self, labels: Collection[str]) -> Iterator[str]:
        """Say which labels got another name, and which are not a label of the vocabulary."""
        if self.vocabulary is None:
            return
        renamed = self.renamed.keys() - self.vocabulary.concepts.keys()
        if renamed:
            one = min(renamed)
            yield (
                f"{len(renamed):,} label(s) get their preferred name in the vocabulary: "
                f"{one!r:.60} is {self.renamed[one]!r:.60} (--language chooses)"
            )
        ambiguous = self._ambiguous & set(labels)
        if ambiguous:
            yield (
                f"{len(ambiguous):,} label(s) are names of several concepts of the vocabulary and "
                f"are not replaced: {min(ambiguous)!r:.60}"
            )
        strange = set(labels) - ambiguous - set(self.vocabulary.names.values())
        if strange:
            yield f"{len(strange):,} label(s) are not in the vocabulary: {min(strange)!r:.60}"


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
        A file, possibly compressed (gzip, bzip2, xz); a folder, tar or zip archive of texts or
        tables; or a stream of such content. See Notes for the formats.
    min_count : int, default=1
        Labels with fewer items are dropped.
    **options
        ``format``, ``text``, ``labels``, ``ids``, ``separator``, ``empty``, ``encoding``,
        ``vocabulary`` and ``label_language`` of :class:`CorpusReader`.

    Returns
    -------
    TaggedTexts
        Its ``reading`` describes what was guessed, ``notes`` what was skipped or repaired.

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
    - ``jsonl``, ``json``, ``yaml``: objects, one per line, in a list or in files of their own.
      Fields inside objects have dotted names, as ``labels.name``; a field may be missing in some
      items.
    - ``csv``, ``tsv``, ``parquet``, ``xlsx``, ``ods``, ``sqlite``, ``arff``: a table. Without a
      header the fields are ``"column 1"``, ``"column 2"`` and so on.
    - ``bibtex``, ``ris``, ``marc``, ``marcxml``, ``mods``, ``dc`` (Dublin Core, OAI-PMH),
      ``pubmed``, ``zotero`` (RDF): bibliographies and records of libraries.
    - ``bookmarks``: what browsers, Pinboard and Pocket export as HTML. ``mail``: mbox and eml.
    - ``posts``, ``calibre``: ``Posts.xml`` of StackExchange, ``metadata.db`` of Calibre.
      ``evernote``, ``feed``: notes of Evernote; RSS, Atom and WordPress.
    - ``uris``: per line a text and, after tabs, URIs in angle brackets or other labels.
    - ``lines``: a text per line, without labels.
    - ``folder``: a text per file. Labels are in files with the same name, next to it or in a folder
      of labels; without such files, the names of the folders around a text are its labels.
    - ``markdown``: a folder of notes with fields in YAML or TOML, or ``#tags`` in the text.

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
    >>> corpus.reading["text"], corpus.reading["label_style"]
    (('title', 'body'), "separated by ';' (guessed)")
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


def _parsers(
    items: Sequence[dict[str, Any]], fields: Sequence[str], separator: str | None, *, blanks: bool
) -> list[LabelParser]:
    """Return what reads the labels of each field; columns of 0 and 1 are labels by their names."""
    values = {field: [row.get(field) for row in items] for field in fields}
    cells = [one for own in values.values() for one in own if not _is_empty(one)]
    decided = len(fields) == 1 and normal(fields[0]) in known_names("decisions")
    chosen = all(one in (field, "", None) for field, own in values.items() for one in own)
    columns = (len(fields) > 1 or decided) and (chosen or bool(truths_of(cells)))
    words = ("1", "0")
    if columns and not chosen:
        words = words_of_truth(one for own in values.values() for one in own)
    # Of "labels.game" and "labels.sound", what differs.
    outer = {field.rpartition(".")[0] for field in fields}
    lead = f"{outer.pop()}." if len(outer) == 1 and "" not in outer else ""
    return [
        LabelParser(
            own,
            field,
            separator,
            blanks=blanks,
            column=field.removeprefix(lead) if columns else "",
            words=(field, "") if chosen else words,
        )
        for field, own in values.items()
    ]


def _of_file(parser: LabelParser, rows: Sequence[dict[str, Any]]) -> LabelParser:
    """Return what reads the labels of one file of several: with its own separator if it has one."""
    values = [row.get(parser.field) for row in rows]
    texts = [one for one in values if isinstance(one, str)]
    if parser.column or parser.has_lists or not parser.mark or len(texts) < _FEW_TEXTS:
        return parser
    own = LabelParser(values, parser.field, None)
    uses, others = (sum(mark in one for one in texts) for mark in (own.mark, parser.mark))
    return own if own.mark.strip() and own.mark != parser.mark and uses > 2 * others else parser


def _key(row: dict[str, Any], text: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row.get(field) or "") for field in text)


def _is_repeated(
    items: Sequence[dict[str, Any]], text: Sequence[str], parsers: Sequence[LabelParser]
) -> bool:
    """Return whether texts repeat with one other label each: several rows are one item."""
    if len(parsers) != 1:
        return False
    (parse,) = parsers
    counts = Counter(_key(row, text) for row in items)
    again = sum(count for key, count in counts.items() if count > 1 and any(key))
    if again < max(2, 0.1 * len(items)) or len(counts) < 2:
        return False
    # Rows that are the same twice say nothing: of each text, the different labels.
    groups: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for row in items:
        try:
            own = tuple(parse(row.get(parse.field)) or ())
        except ValueError:
            return False
        groups.setdefault(_key(row, text), set()).add(own)
    single = all(len(one) <= 1 for own in groups.values() for one in own)
    several = [own for key, own in groups.items() if counts[key] > 1 and any(key)]
    differ = sum(len(own) > 1 for own in several)
    return single and differ >= max(2, 0.5 * len(several))


def _hashtags(
    items: Sequence[dict[str, Any]], text: tuple[str, ...], *, every: bool
) -> tuple[str, ...]:
    """Return the field of tags such as #game in the texts, if many texts have some.

    ``every`` says that they are asked for.
    """
    try:
        lists = [inline_tags(_text(row, text, ())) for row in items]
    except ValueError:
        return ()
    counts = Counter(tag for own in lists for tag in own)
    again = sum(count for count in counts.values() if count > 1)
    few = sum(map(bool, lists)) < _SHARE * len(lists) or 2 * again < counts.total()
    if few and not every:
        return ()
    for row, own in zip(items, lists, strict=True):
        row[INLINE] = own
    return (INLINE,)


def _is_html(values: Sequence[Any]) -> bool:
    texts = [value for value in values[:1000] if isinstance(value, str) and value]
    return bool(texts) and sum(map(bool, map(_HTML.search, texts))) >= _SHARE * len(texts)


def _examples(items: Sequence[dict[str, Any]]) -> dict[str, tuple[float, str]]:
    """Return the share of items that have a value, and the first one, by field."""
    some = items[:: max(1, len(items) // 1000)]
    counts = Counter(key for row in some for key, value in row.items() if not _is_empty(value))
    first: dict[str, str] = {}
    for row in some:
        for key, value in row.items():
            if key not in first and not _is_empty(value):
                first[key] = shorten(value)
    return {key: (counts[key] / len(some), first.get(key, "")) for row in some for key in row}


def _is_empty(value: Any) -> bool:
    return value in ("", []) or is_missing(value)


def _text(row: dict[str, Any], keys: tuple[str, ...], html: tuple[str, ...]) -> str:
    """Join the fields of the text; one that is missing is empty."""
    parts = []
    for key in keys:
        value = row.get(key)
        if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
            value = "\n".join(value)
        # A table read by pandas has NaN for an empty cell.
        if is_missing(value):
            continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(plain(value))
        if not isinstance(value, str):
            raise ValueError(
                f"{key!r} must be a text, but is {value!r:.60}; choose another field for the text "
                "(--text)."
            )
        value = plain_text(value) if key in html else value
        # An original title is often the title.
        if value.strip() and value not in parts:
            parts.append(clean(value))
    return "\n\n".join(parts)
