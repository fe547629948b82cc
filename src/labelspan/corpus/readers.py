"""The formats of files, one class each, found in one table and among installed packages.

A new format is a class in a file of its own, with samples: added to ``_BUILT_IN``, or in another
package under the entry point ``labelspan.readers``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import entry_points
from typing import Any, ClassVar, Protocol

from ..errors import InvalidFile
from .json_files import flat, json_object, json_values, unwrapped
from .known_objects import as_item
from .notes import yaml_values
from .record_files import bibtex_rows, bookmark_rows, mail_rows, marc_rows, ris_rows
from .sheets import ods_rows, open_database, parquet_rows, sqlite_rows, xlsx_rows
from .sources import Member, lines_of, open_text, text_of
from .tables import Row, TableLayout, Tally, split_fasttext, split_tagged, table_rows
from .writers import (
    edit_bibtex,
    edit_calibre,
    edit_json,
    edit_lines,
    edit_notes,
    edit_ris,
    edit_table,
    edit_workbook,
)
from .xml_records import XML_KINDS, xml_kind, xml_rows

__all__ = ["GROUP", "FileFormat", "ReadFile", "Reader", "format_at", "kind_of_suffix"]
__all__ += ["all_readers", "reader_of"]

# The entry point by which other packages add readers.
GROUP = "labelspan.readers"


class _Plan(Protocol):
    edits: Any

    def text_with(self, changed: Callable[[str], str]) -> dict[str, bytes]: ...


@dataclass(frozen=True)
class FileFormat:
    """How a file is written: its format, whether that is guessed, and the layout of a table.

    ``angled`` says whether the labels behind a text are URIs in angle brackets.
    """

    kind: str
    encoding: str | None = None
    guessed: bool = False
    layout: TableLayout | None = None
    angled: bool = True


@dataclass(frozen=True)
class ReadFile:
    """A file that is read, and where notes on it go.

    Attributes
    ----------
    member : object
        The file: ``name``, ``suffix``, ``read(size)`` and ``whole()``, which opens it as bytes.
    how : object
        How it is written: ``kind`` is the name of its format, ``encoding`` that of its text.
    encoding : str or None
        The encoding that was given.
    table : str or None
        The sheet or table that was asked for.
    alone : bool
        Whether it is the only file of the corpus.
    tally : dict
        Numbers of items that were left out or repaired, by what was done.
    notes : list of str
        What else should be said.

    See Also
    --------
    Reader : Reads it.

    Examples
    --------
    >>> from labelspan.corpus import Reader
    >>> class Words(Reader):
    ...     name = "words"
    ...
    ...     def records(self, file):
    ...         file.notes.append(f"{file.member.name} is split at blanks")
    ...         yield from ({"text": word} for word in file.text().split())
    """

    member: Member
    how: FileFormat
    encoding: str | None
    table: str | None
    alone: bool
    tally: Tally
    notes: list[str]

    def text(self) -> str:
        """Return the whole text of the file.

        Returns
        -------
        str
            Decoded as is asked for, or by its byte order mark, else as UTF-8.
        """
        return text_of(self.member, self.encoding)


class Reader:
    """A format of files; a subclass needs a ``name`` and ``records``.

    Attributes
    ----------
    name : str
        As in the option ``format``.
    suffixes : tuple of str
        Suffixes of its files, such as ".bib".
    unit : str
        What the number of an item counts, for messages.
    ids : str or None
        The field of ids of a format whose fields have fixed names: nothing is guessed from content.
    binary : bool
        Whether files are not text.
    writable : bool
        Whether changed labels can be written back, by :meth:`write`.
    samples : tuple of str
        Small files of text in the format, by which it is tested.

    See Also
    --------
    CorpusReader : Reads files in these formats.

    Examples
    --------
    >>> from labelspan.corpus import Reader
    >>> class Diary(Reader):
    ...     name, suffixes, unit = "diary", (".diary",), "day"
    ...     samples = ("2024-01-02 walk, rain: Along the river, and back.",)
    ...
    ...     def records(self, file):
    ...         for line in file.text().splitlines():
    ...             head, _, text = line.partition(": ")
    ...             day, _, tags = head.partition(" ")
    ...             yield {"id": day, "text": text, "tags": tags.split(", ")}

    In ``pyproject.toml`` of a package of its own::

        [project.entry-points."labelspan.readers"]
        diary = "my_package:Diary"
    """

    name: ClassVar[str] = ""
    suffixes: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = "record"
    ids: ClassVar[str | None] = None
    binary: ClassVar[bool] = False
    writable: ClassVar[bool] = False
    samples: ClassVar[tuple[str, ...]] = ()
    # How its files begin, in bytes as latin-1 or as text.
    beginning: ClassVar[str] = ""

    def begins(self, start: str) -> bool:
        """Return whether a file with this beginning is in the format.

        Parameters
        ----------
        start : str
            The first characters, without blanks before them.

        Returns
        -------
        bool
            By the expression ``beginning``, unless a subclass knows better.
        """
        return bool(self.beginning) and bool(re.match(self.beginning, start, re.I | re.S))

    def kind_of(self, member: Member) -> str:
        """Return the name of the format of a file, for suffixes that several formats have.

        Parameters
        ----------
        member : object
            The file.

        Returns
        -------
        str
            Its own name, unless a subclass looks into the file.
        """
        return self.name

    def records(self, file: ReadFile) -> Iterator[dict[str, Any]]:
        """Yield the fields of one item after the other.

        Parameters
        ----------
        file : ReadFile
            The file.

        Yields
        ------
        dict
            Objects in it become fields with dotted names.
        """
        raise NotImplementedError(f"{type(self).__name__} has no records.")

    def rows(self, file: ReadFile) -> Iterator[Row]:
        """Yield the items of a file with their numbers.

        Parameters
        ----------
        file : ReadFile
            The file.

        Yields
        ------
        tuple of (int, dict)
            The records, numbered from 1.
        """
        yield from enumerate(map(flat, self.records(file)), 1)

    def write(self, plan: _Plan) -> dict[str, bytes]:
        """Return the new content of each file that changes, by its path; "" for one file.

        Parameters
        ----------
        plan : object
            ``edits``: by the numbers of the file and of the item in it, the fields of the item and
            the changes by field (``added``, ``removed``); and ``text_with(function)``, which gives
            the old text to a function that returns the new one.

        Returns
        -------
        dict
            Everything else in the files is as before.
        """
        raise InvalidFile(f"Files in the format {self.name} are not changed.")


# --- lines of text ----------------------------------------------------------------------------


class _LineReader(Reader):
    """A text in which each line is an item."""

    unit = "line"

    def item(self, file: ReadFile, number: int, line: str) -> dict[str, Any]:
        return {"text": line.rstrip("\n")}

    def rows(self, file: ReadFile) -> Iterator[Row]:
        with open_text(file.member, file.encoding) as (text, _):
            for number, line in enumerate(lines_of(text, file.member.name), 1):
                if line.strip():
                    yield number, self.item(file, number, line)


class PlainLines(_LineReader):
    """A text per line, without labels."""

    name, suffixes = "lines", (".txt", ".text")


class Clippings(Reader):
    """Highlights and notes of a Kindle, between lines of equals signs."""

    name, unit = "clippings", "clipping"
    beginning = r"[^\n]+\n- [^\n]+\|[^\n]+\n\s*\n.*?={10}"
    samples = (
        "Chess (Ann Lee)\n- Your Highlight on page 1 | Added on 1 May\n\nA game.\n==========\n",
    )

    def records(self, file: ReadFile) -> Iterator[dict[str, Any]]:
        for piece in re.split(r"^={10}\s*$", file.text(), flags=re.M):
            book, _, rest = piece.strip("\ufeff\r\n ").partition("\n")
            place, _, text = rest.partition("\n")
            # A bookmark has no text.
            if text := text.strip():
                yield {
                    "text": text,
                    "source": book.strip("\ufeff\r "),
                    "place": place.strip("- \r"),
                }


class JsonLines(_LineReader):
    """An object per line."""

    name, suffixes, writable = "jsonl", (".jsonl", ".ndjson"), True
    samples = ('{"title": "Chess", "body": "A game of kings.", "tags": ["game", "board"]}\n',)

    def item(self, file: ReadFile, number: int, line: str) -> dict[str, Any]:
        return flat(as_item(json_object(file.member.name, number, line)))

    def write(self, plan: _Plan) -> dict[str, bytes]:
        return plan.text_with(partial(edit_lines, plan))


class FastText(_LineReader):
    """A line of labels and a text: __label__game A game of kings."""

    name = "fasttext"
    samples = ("__label__game __label__board A game of kings.\n",)

    def item(self, file: ReadFile, number: int, line: str) -> dict[str, Any]:
        return split_fasttext(line)


class TaggedLines(_LineReader):
    """A text and, after tabs, URIs in angle brackets or other labels."""

    name = "uris"
    samples = ("A game of kings.\t<http://example.org/game>\n",)

    def item(self, file: ReadFile, number: int, line: str) -> dict[str, Any]:
        return split_tagged(file.member.name, number, line, file.how.angled)


class _Table(Reader):
    unit, writable = "line", True

    def rows(self, file: ReadFile) -> Iterator[Row]:
        layout = file.how.layout
        with open_text(file.member, file.encoding) as (text, _):
            lines = lines_of(text, file.member.name)
            if layout is not None:
                yield from table_rows(file.member.name, lines, layout, file.tally)

    def write(self, plan: _Plan) -> dict[str, bytes]:
        return plan.text_with(partial(edit_table, plan))


class Csv(_Table):
    """A table with commas, semicolons or bars between its cells."""

    name, suffixes = "csv", (".csv",)
    samples = ("title,body,tags\nChess,A game of kings.,game;board\n",)


class Tsv(_Table):
    """A table with tabs between its cells."""

    name, suffixes = "tsv", (".tsv", ".tab")
    samples = ("title\tbody\ttags\nChess\tA game of kings.\tgame;board\n",)


class Arff(Reader):
    """A table of Weka."""

    name, suffixes, unit = "arff", (".arff",), "line"
    beginning = r"(?:%[^\n]*\n\s*)*@relation\s"
    samples = ("@relation a\n@attribute text string\n@attribute class {x,y}\n@data\n'A game',x\n",)

    def rows(self, file: ReadFile) -> Iterator[Row]:
        # It needs numpy and scipy, which no other format does.
        from ..datasets.arff import arff_records  # noqa: PLC0415

        with open_text(file.member, file.encoding) as (text, _):
            yield from arff_records(file.member.name, lines_of(text, file.member.name))


# --- objects ----------------------------------------------------------------------------------


class Json(Reader):
    """Objects in a list, in an object, one after the other, or one record."""

    name, suffixes, unit, writable = "json", (".json", ".geojson"), "item", True
    samples = ('[{"title": "Chess", "body": "A game of kings.", "tags": ["game"]}]',)

    def rows(self, file: ReadFile) -> Iterator[Row]:
        with open_text(file.member, file.encoding) as (text, _):
            # A folder of JSON files has a record in each.
            yield from json_values(file.member.name, text, only_file=file.alone)

    def write(self, plan: _Plan) -> dict[str, bytes]:
        return plan.text_with(partial(edit_json, plan))


class Yaml(Reader):
    """Documents of YAML, or one list of them."""

    name, suffixes, unit = "yaml", (".yml", ".yaml"), "document"
    samples = ("title: Chess\nbody: A game of kings.\ntags: [game, board]\n",)

    def records(self, file: ReadFile) -> Iterator[dict[str, Any]]:
        name = file.member.name
        try:
            values = yaml_values(file.text())
        except ValueError as error:
            raise InvalidFile(f"{name} is not YAML ({error}).") from None
        if len(values) == 1 and isinstance(values[0], dict):
            values = [unwrapped(values[0], only_file=file.alone)]
        for value in values:
            for one in value if isinstance(value, list) else [value]:
                if not isinstance(one, dict):
                    raise InvalidFile(f"{name}: fields are needed, but this is {one!r:.60}.")
                yield {str(key): item for key, item in one.items()}


# --- workbooks and databases ------------------------------------------------------------------


class Parquet(Reader):
    """A table of Parquet."""

    name, suffixes, unit, binary = "parquet", (".parquet", ".pq"), "row", True
    beginning = "PAR1"

    def records(self, file: ReadFile) -> Iterator[dict[str, Any]]:
        return parquet_rows(file.member)


class Xlsx(Reader):
    """A sheet of an Excel workbook."""

    name, suffixes, unit, binary, writable = "xlsx", (".xlsx", ".xlsm"), "row", True, True

    def rows(self, file: ReadFile) -> Iterator[Row]:
        return xlsx_rows(file.member, file.table, file.notes)

    def write(self, plan: _Plan) -> dict[str, bytes]:
        return edit_workbook(plan)


class Ods(Reader):
    """A sheet of an OpenDocument workbook."""

    name, suffixes, unit, binary = "ods", (".ods",), "row", True

    def rows(self, file: ReadFile) -> Iterator[Row]:
        return ods_rows(file.member, file.table, file.notes)


class Sqlite(Reader):
    """A table of a SQLite database, or a query of it."""

    name, suffixes, unit, binary = "sqlite", (".sqlite", ".sqlite3", ".db"), "row", True
    beginning = "SQLite format 3"

    def kind_of(self, member: Member) -> str:
        base, is_calibre = open_database(member)
        base.close()
        return "calibre" if is_calibre else "sqlite"

    def records(self, file: ReadFile) -> Iterator[dict[str, Any]]:
        return sqlite_rows(file.member, file.table, file.notes)


class Calibre(Reader):
    """The books of a library of Calibre."""

    name, unit, ids, binary, writable = "calibre", "book", "id", True, True

    def records(self, file: ReadFile) -> Iterator[dict[str, Any]]:
        return sqlite_rows(file.member, file.table, file.notes)

    def write(self, plan: _Plan) -> dict[str, bytes]:
        return edit_calibre(plan)


# --- bibliographies, links and mail -----------------------------------------------------------


class Bibtex(Reader):
    """Entries of BibTeX or BibLaTeX."""

    name, suffixes, unit, ids, writable = "bibtex", (".bib",), "entry", "key", True
    beginning = r"(?:%[^\n]*\n\s*|@comment[^\n]*\n\s*)*@[a-z]+\s*[{(]"
    samples = ("@book{a,\n title = {Chess},\n keywords = {game, board}}\n",)

    def records(self, file: ReadFile) -> Iterator[dict[str, Any]]:
        return bibtex_rows(file.member, file.encoding, file.tally)

    def write(self, plan: _Plan) -> dict[str, bytes]:
        return plan.text_with(partial(edit_bibtex, plan))


class Ris(Reader):
    """References of RIS."""

    name, suffixes, unit, ids, writable = "ris", (".ris",), "reference", "id", True
    beginning = "TY  - "
    samples = ("TY  - BOOK\nTI  - Chess\nKW  - game\nID  - a\nER  - \n",)

    def records(self, file: ReadFile) -> Iterator[dict[str, Any]]:
        return ris_rows(file.member, file.encoding)

    def write(self, plan: _Plan) -> dict[str, bytes]:
        return plan.text_with(partial(edit_ris, plan))


class Marc(Reader):
    """Records of MARC 21."""

    name, suffixes, ids, binary = "marc", (".mrc", ".marc"), "id", True
    beginning = r"\d{5}[a-z ]{3}.{4}\d\d"

    def records(self, file: ReadFile) -> Iterator[dict[str, Any]]:
        return marc_rows(file.member, file.encoding, file.tally)


class Bookmarks(Reader):
    """Links that browsers, Pinboard and Pocket export as HTML."""

    name, suffixes, unit, ids = "bookmarks", (".html", ".htm"), "link", "url"
    samples = (
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><DT><A HREF='http://a.org' TAGS='game'>Chess</A>",
    )

    def records(self, file: ReadFile) -> Iterator[dict[str, Any]]:
        return bookmark_rows(file.member, file.encoding)


class Mail(Reader):
    """Messages of an mbox, or one eml."""

    name, suffixes, unit, ids, binary = "mail", (".mbox", ".eml"), "message", "message id", True
    beginning = r"From \S+[^\n]*\n[\w-]+:|(?:Return-Path|Delivered-To|Received|Message-ID):"

    def records(self, file: ReadFile) -> Iterator[dict[str, Any]]:
        return mail_rows(file.member)


# --- XML --------------------------------------------------------------------------------------


class Xml(Reader):
    """XML of one of the programs below, which its elements tell."""

    name = "xml"
    suffixes = (".xml", ".rdf", ".marcxml", ".mods", ".opf", ".enex", ".rss", ".atom")
    binary = True

    def kind_of(self, member: Member) -> str:
        return xml_kind(member)

    def records(self, file: ReadFile) -> Iterator[dict[str, Any]]:
        return xml_rows(file.member, file.how.kind, file.tally)


def _of_xml(kind: str, ids: str, about: str) -> type[Reader]:
    """Make the reader of one kind of XML, whose elements are in a table of their own."""
    own = {"name": kind, "suffixes": (), "ids": ids, "__doc__": about, "__module__": __name__}
    return type(f"Xml{kind.title()}", (Xml,), own)


_XML = {
    "posts": ("Id", "Posts of StackExchange, or links of Pinboard."),
    "pubmed": ("pmid", "Articles of PubMed."),
    "marcxml": ("id", "Records of MARCXML."),
    "mods": ("id", "Records of MODS."),
    "dc": ("id", "Dublin Core, also by OAI-PMH."),
    "zotero": ("id", "Zotero's RDF."),
    "evernote": ("url", "Notes of Evernote."),
    "feed": ("id", "RSS, Atom and exports of WordPress."),
}


# --- folders ----------------------------------------------------------------------------------


class Folder(Reader):
    """A text per file; labels in files with the same name, or the names of folders."""

    name, unit = "folder", "file"


class Markdown(Reader):
    """A folder of notes with fields in YAML or TOML, or tags in the text."""

    name, suffixes, unit, writable = "markdown", (".md", ".markdown"), "file", True

    def write(self, plan: _Plan) -> dict[str, bytes]:
        return edit_notes(plan)


_BUILT_IN: list[type[Reader]] = [
    *[
        JsonLines,
        Json,
        Csv,
        Tsv,
        TaggedLines,
        FastText,
        Clippings,
        PlainLines,
        Parquet,
        Xlsx,
        Ods,
        Sqlite,
    ],
    *[Calibre, Bibtex, Ris, Marc, Xml],
    *[_of_xml(kind, *_XML[kind]) for kind in XML_KINDS],
    *[Bookmarks, Mail, Yaml, Arff, Folder, Markdown],
]
_READERS: dict[str, Reader] = {one.name: one() for one in _BUILT_IN}
_SUFFIXES = {suffix: one.name for one in _READERS.values() for suffix in one.suffixes}


@cache
def _installed() -> dict[str, Reader]:
    """Return the readers of installed packages; one that has the name of another is an error."""
    found: dict[str, Reader] = {}
    for point in entry_points(group=GROUP):
        reader = point.load()()
        if not isinstance(reader, Reader) or not reader.name:
            raise InvalidFile(
                f"The reader {point.value!r} of another package is not a class of "
                "labelspan.corpus.Reader with a name; remove that package, or correct it."
            )
        if reader.name in {**_READERS, **found}:
            raise InvalidFile(
                f"Two readers have the name {reader.name!r}; remove the package of {point.value!r}."
            )
        found[reader.name] = reader
    return found


def all_readers() -> dict[str, Reader]:
    """Return the readers of all formats by their names, those of other packages last.

    Returns
    -------
    dict
        Readers by the names of their formats.

    See Also
    --------
    Reader : The class of a format.

    Examples
    --------
    >>> from labelspan.corpus import all_readers
    >>> sorted(name for name, reader in all_readers().items() if ".json" in reader.suffixes)
    ['json']
    """
    return {**_READERS, **_installed()}


def reader_of(name: str) -> Reader:
    """Return the reader of a format, which exists."""
    return _READERS.get(name) or _installed()[name]


def kind_of_suffix(suffix: str) -> str | None:
    """Return the format of files with a suffix; None if there is none."""
    if suffix in _SUFFIXES or not suffix:
        return _SUFFIXES.get(suffix)
    return next((one.name for one in _installed().values() if suffix in one.suffixes), None)


def format_at(start: str, *, marked: bool, known: str | None = None) -> str | None:
    """Return the format of a file by how it begins.

    ``marked`` asks for files that are not text; before a suffix that is ``known`` goes only what
    begins with a mark of its own.
    """
    every = all_readers()
    if marked:
        names = {"sqlite", "parquet", *(["marc"] if known is None else [])}
        every = {
            name: one
            for name, one in every.items()
            if one.binary and (name in names or name not in _READERS)
        }
    else:
        # Mail is read as bytes, and begins with lines of text.
        every = {name: one for name, one in every.items() if not one.binary or name == "mail"}
    return next((name for name, one in every.items() if one.begins(start)), None)
