"""From files to rows: the format of a file, and one dictionary per item, read one by one."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..errors import InvalidFile, InvalidInput
from .names import known_names, listed, normal
from .notes import note_row
from .readers import FileFormat, ReadFile, format_at, kind_of_suffix, reader_of
from .sheets import arrow_errors
from .sources import LONGEST, READABLE, Member, encoding_of, open_text, text_of
from .tables import (
    Row,
    TableLayout,
    Tally,
    anki_header,
    is_fasttext,
    is_table,
    table_layout,
    tagged_kind,
    why_not_lines,
)
from .xml_records import xml_kind

__all__ = ["CorpusFiles", "Placed", "arrow_errors"]

# Characters from which formats and columns are guessed.
_SAMPLE = 1 << 21
# Formats of text in which something more than the encoding has to be found out.
_LAID_OUT = ("csv", "tsv", "uris", "fasttext", "arff")
# Notes on single files of several that are shown.
_FEW_NOTES = 5
_BOOKMARKS = re.compile(
    r"<!doctype netscape-bookmark|<title>pocket export|\btime_added=|<dt>\s*<(?:a|h3)\b", re.I
)
_PAGE = re.compile(r"\s*(?:<!doctype (?:html|netscape)|<html|<title|<head)", re.I)
_XML = r"(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*"
# Files of other programs that are not read, by their beginning, and what helps.
_FOREIGN = [
    (re.compile(mark), what)
    for mark, what in (
        (rf"{_XML}<xml>\s*<records>", "EndNote's XML; export it as RIS or BibTeX"),
        (rf"{_XML}<(?:\w+:)?Sources\b", "Word's list of sources; export BibTeX or RIS"),
        (rf"{_XML}<opml\b", "an outline; save its items as csv or Markdown notes"),
        (r"FN (?:Clarivate|ISI|Thomson)|PT J\nAU ", "Web of Science's text; export BibTeX or RIS"),
        (r"PMID- ?\d", "PubMed's text; save it as XML (efetch), or as RIS by a reference manager"),
        (r"window\.YTD\.", "X's archive; remove what is before the list, and name it .json"),
        (
            r"(?:VN|DB)  - Ovid|<1>\s+(?:Unique Identifier|Accession Number|Title|UI|AN)\b",
            "Ovid's text; export it as RIS or BibTeX",
        ),
        (r"%0 [A-Z]", "EndNote's or refer's text; export it as RIS or BibTeX"),
    )
]

# Number of the file, number of the row in it, and its fields.
Placed = tuple[int, int, dict[str, Any]]


class CorpusFiles:
    """Items in files of one format, read one file after the other.

    ``kind`` and ``encoding`` are None if they are to be guessed. For a folder of texts, ``fields``
    has the metadata of each file. ``table`` names a sheet or table, or is a query.
    """

    def __init__(
        self,
        name: str,
        members: Sequence[Member],
        kind: str | None,
        encoding: str | None,
        *,
        table: str | None = None,
        notes: Sequence[str] = (),
        fields: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.name, self.members = name, tuple(members)
        self._kind, self._encoding, self._notes = kind, encoding, list(notes)
        self._fields, self._table = fields, table
        self._formats: dict[int, FileFormat] = {}
        self._tallies: dict[int, Tally] = {}
        self._said: dict[int, list[str]] = {}
        # How the first file with items is written; all others are written as it is.
        self.how = FileFormat("lines" if kind is None else kind)
        self._found = self._answers = False
        # Fields that every table must have, and those of which a row of a table needs one.
        self.needed: Sequence[str] = ()
        self.wanted: Sequence[str] = ()
        self.titled = False

    def rows(self, skip: int = 0) -> Iterator[Placed]:
        """Yield all rows after some that are skipped."""
        self._tallies = {}
        # A file of a folder of texts is one item, and need not be read to be skipped.
        start = skip if self._fields else 0
        skip -= start
        for place in range(start, len(self.members)):
            for count, (number, row) in enumerate(self._read(place)):
                if not count:
                    self.check(place, row)
                if not self._found:
                    self.how, self._found = self._formats[place], True
                    self._formats = {place: self.how}
                # Answers of StackExchange have no tags.
                if str(row.get("PostTypeId", "1")) != "1":
                    self._answers = True
                    continue
                if not self.keeps((place, number, row)):
                    continue
                if skip:
                    skip -= 1
                    continue
                yield place, number, row

    def keeps(self, placed: Placed) -> bool:
        """Return whether a row is an item: totals, and rows that go on with the last, are none."""
        place, number, row = placed
        values = [row.get(one) for one in self.wanted]
        values = [one for one in values if one not in ("", None)]
        # A number in the title without a text is a sum.
        total = self.titled and len(values) == 1 and str(values[0]).isdecimal()
        if not self.wanted or (values and not total):
            return True
        what = "without text and labels; left out"
        self._tallies.setdefault(place, {}).setdefault(what, []).append(number)
        return False

    def _read(self, place: int) -> Iterator[Row]:
        member = self.members[place]
        tally = self._tallies[place] = {}
        if self._fields:
            self._formats[place] = self.how
            text = text_of(member, self._encoding)
            if self._kind == "markdown":
                named = _note_title(member.path.stem, row := note_row(text, tally))
                return iter([(0, {**self._fields[place], **named, **row})])
            return iter([(0, {**self._fields[place], "text": text})])
        if place not in self._formats:
            kind = self.how.kind if self._found else self._kind
            self._formats[place] = _find_format(member, kind, self._encoding, self.how.layout)
        return self._rows_of(member, self._formats[place], tally, self._said.setdefault(place, []))

    def _rows_of(
        self, member: Member, how: FileFormat, tally: Tally, notes: list[str]
    ) -> Iterator[Row]:
        """Yield the items of a file with their numbers."""
        notes.clear()
        alone = len(self.members) == 1
        file = ReadFile(member, how, self._encoding, self._table, alone, tally, notes)
        try:
            yield from reader_of(how.kind).rows(file)
        except (RecursionError, MemoryError) as error:
            raise InvalidFile(
                f"{member.name} is nested too deeply or too large to be read ({error}); split it."
            ) from error

    def check(self, place: int, row: dict[str, Any]) -> None:
        """Raise an error if a table lacks a field that is needed; all its rows have the same."""
        lacking = [name for name in self.needed if name not in row]
        if lacking and self.how.kind in ("csv", "tsv", "parquet", "xlsx"):
            raise InvalidFile(
                f"{self.members[place].name} has no field {lacking[0]!r}, which is in other files, "
                f"but {listed(list(row))}; give all files the same fields, or name fields that all "
                "have (--text, --labels, --ids)."
            )

    @property
    def are_tables(self) -> bool:
        """Whether there are several files with several items each."""
        return len(self.members) > 1 and not self._fields

    def note(self, line: str) -> None:
        """Add a note on how a file was read."""
        if line not in self._notes:
            self._notes.append(line)

    def where(self, file: int, number: int) -> str:
        """Return the place of an item, for messages."""
        place = "" if self._fields else f", {reader_of(self.how.kind).unit} {number}"
        return f"{self.members[file].name}{place}"

    def notes(self) -> list[str]:
        """Return notes on rows that were skipped or repaired so far."""
        said, files = [], dict[str, list[int]]()
        for place, tally in self._tallies.items():
            layout = self._formats[place].layout if place in self._formats else None
            lead = f"{self.members[place].path}: " if len(self.members) > 1 else ""
            own = (*(layout.notes if layout else ()), *self._said.get(place, ()))
            said += [f"{lead}{note}" for note in own]
            for what, numbers in tally.items():
                if self._fields:
                    files.setdefault(what, []).append(place)
                    continue
                some = ", ".join([*map(str, numbers[:3]), *["..."] * (len(numbers) > 3)])
                unit = reader_of(self.how.kind).unit
                said.append(f"{lead}{len(numbers):,} {unit}(s) ({some}) {what}")
        for what, places in files.items():
            some = ", ".join(str(self.members[place].path) for place in places[:3])
            said.append(f"{len(places):,} file(s) ({some}) {what}")
        if len(said) > _FEW_NOTES:
            said[_FEW_NOTES:] = [f"{len(said) - _FEW_NOTES:,} more such notes on other files"]
        if self._answers:
            said.append("only questions are read, because answers have no tags")
        return [*self._notes, *said]


def _note_title(name: str, row: dict[str, Any]) -> dict[str, str]:
    """Return the name of a note as its title, if it has no other and it is not a slug or number."""
    slug = " " not in name and ("-" in name or "_" in name or not any(map(str.isalpha, name)))
    known = any(normal(key) in known_names("headings") for key in row)
    own = known or slug or row["text"].lstrip().startswith("# ") or name in ("index", "README")
    return {} if own else {"title": name}


def _find_format(
    member: Member, kind: str | None, encoding: str | None, like: TableLayout | None
) -> FileFormat:
    """Detect the format of a file, from its name and its beginning."""
    known, start = kind_of_suffix(member.suffix), member.read(2048)
    if kind is None:
        _refuse_foreign(member, start)
    first = kind or format_at(start.decode("latin-1"), marked=True, known=known) or known
    reader = None if first is None else reader_of(first)
    if reader is not None and reader.binary:
        return FileFormat(reader.kind_of(member) if first in ("sqlite", "xml") else reader.name)
    if first == "markdown":
        raise InvalidInput(
            f"{member.name} is one note, which is one item; give the folder of the notes, or "
            "--format lines for one text per line."
        )
    if kind is not None and kind not in _LAID_OUT:
        return FileFormat(kind, encoding_of(start, encoding).removesuffix("-sig"))
    with open_text(member, encoding) as (text, used):
        sample = text.read(_SAMPLE)
        cut = len(sample) == _SAMPLE
        # A table needs whole lines; a JSON file may have only one.
        if sample.lstrip("\ufeff \t\n")[:1] not in ("[", "{", "<"):
            sample += text.readline(LONGEST)
    lines = [line for line in sample[: 1 << 18].split("\n")[:2000] if line.strip()]
    # The last line may have no end.
    lines = lines[:-1] if len(sample) > 1 << 18 and len(lines) > 1 else lines
    guess = kind or _guessed(member, sample, lines, known)
    found = FileFormat(guess, used, kind is None and known is None)
    if reader_of(guess).binary:
        return replace(found, encoding=None)
    # One JSON value over many lines, under the name of JSON lines.
    single = len(lines) == 1 and known != "jsonl" and kind is None
    if found.kind == "jsonl" and lines and (single or lines[0].strip(" \ufeff") in ("{", "[")):
        return replace(found, kind="json")
    if found.kind == "uris" or (kind is None and found.kind in ("tsv", "lines")):
        tagged = None if anki_header(lines) else tagged_kind(lines)
        if tagged or kind == "uris":
            return replace(found, kind="uris", angled=tagged != "labels")
    if found.kind not in ("csv", "tsv") or not lines:
        return found
    return replace(found, layout=table_layout(member.name, sample, found.kind, cut=cut, like=like))


def _refuse_foreign(member: Member, start: bytes) -> None:
    """Raise an error for a known format that is not read, with the export that helps."""
    beginning = start.removeprefix(BOM_UTF8).decode("latin-1").lstrip()
    for mark, what in _FOREIGN:
        if mark.match(beginning):
            raise InvalidFile(f"{member.name} is {what}.")


def _guessed(member: Member, sample: str, lines: list[str], known: str | None) -> str:
    """Return the format of a file of text by its content, or the one known by its name."""
    if _PAGE.match(sample) and not _BOOKMARKS.search(sample):
        raise InvalidFile(
            f"{member.name} is a web page, not a file of bookmarks; save a table in it as csv."
        )
    if known not in (None, "lines"):
        return str(known)
    # Databases also save RIS and the like as .txt.
    guess = _sniffed(member, sample, lines, plain=known is not None) or known
    if guess is None:
        what = f"files ending in {member.suffix} are unknown"
        what = what if member.suffix else "its content is in no known format"
        raise InvalidFile(
            f"{member.name} cannot be read: {what}; give --format lines if it has one text per "
            f"line. {READABLE}."
        )
    if guess == "lines" and (why := why_not_lines(sample[: 1 << 18].split("\n"))):
        raise InvalidFile(
            f"{member.name}: not sure that each line is a text, because {why}; give --format lines "
            "if each is, or an export of the program in another format."
        )
    return guess


def _sniffed(member: Member, sample: str, lines: list[str], *, plain: bool) -> str | None:
    """Guess the format from the content, of a file that should be plain text with more care."""
    start = sample[:65536].lstrip("\ufeff \t\r\n")
    if not plain or re.match(r'[\[{]\s*["{]', start):
        if start.startswith(("{", "[")) or not start:
            return "json" if start[:1] == "[" else "jsonl"
        if start.startswith("<"):
            return "bookmarks" if _PAGE.match(sample) else xml_kind(member)
    found = format_at(start, marked=False)
    if found is not None:
        return found
    if is_fasttext(lines):
        return "fasttext"
    return is_table(lines) or ("uris" if not plain and tagged_kind(lines) else None)
