"""Bibliographies, library records, bookmarks and mail: one small reader per format.

Each yields the fields of one item after the other. Libraries of the fields are imported when a file
needs them.
"""

from __future__ import annotations

import csv
import io
import itertools
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.errors import MessageError
from html import unescape
from importlib import import_module
from typing import Any
from unicodedata import combining

from .._install import needed
from ..errors import InvalidFile
from .label_values import best_separator
from .plain_text import plain_text
from .sources import Member, text_of
from .tables import Tally
from .xml_records import marc_row

__all__ = ["bibtex_entries", "bibtex_rows", "bookmark_rows", "latex_decoder"]
__all__ += ["mail_rows", "marc_rows", "ris_rows"]

Fields = dict[str, Any]


# Folders inside folders, at most.
_DEEPEST = 100
_JOINT = re.compile(r"[}\"]\s*#\s*[{\"\w]")


# --- bibliographies ---------------------------------------------------------------------------


def bibtex_entries(text: str) -> tuple[list[Any], dict[str, str], list[int]]:
    """Return the entries of BibTeX, its strings, and the lines of what is malformed."""
    bibtex = needed("BibTeX", "bibtexparser", "formats")
    # The parser prints what it cannot read.
    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
    found = bibtex.parse_string(text, parse_stack=[])
    # Entries with the key of another one are there, too.
    inner = [getattr(one, "ignore_error_block", None) for one in found.failed_blocks]
    entries = [*found.entries, *(one for one in inner if hasattr(one, "fields"))]
    broken = [
        one.start_line + 1
        for one, there in zip(found.failed_blocks, inner, strict=True)
        if not hasattr(there, "fields")
    ]
    strings = {one.key.lower(): str(one.value) for one in found.strings}
    return sorted(entries, key=lambda one: one.start_line), strings, broken


def bibtex_rows(member: Member, encoding: str | None, tally: Tally) -> Iterator[Fields]:
    """Yield the entries of a BibTeX or BibLaTeX file, with accents of LaTeX decoded."""
    text = text_of(member, encoding)
    entries, strings, broken = bibtex_entries(text)
    for line in broken:
        tally.setdefault("not an entry of BibTeX; left out", []).append(line)
    if not entries and not broken and (content := text.strip()) and "@" not in content:
        raise InvalidFile(f"{member.name} is not BibTeX: {content!r:.60} is not an entry (@...).")
    decode = latex_decoder()

    def piece_of(piece: str) -> str:
        piece = strings.get(piece.lower(), piece)
        return piece[1:-1] if piece[:1] + piece[-1:] in ("{}", '""') else piece

    def value_of(raw: str) -> str:
        # Pieces in braces or quotation marks, and names of strings, with # between them.
        whole = raw[:1] in ("{", '"') and not _JOINT.search(raw)
        pieces = [raw] if whole else re.split(r"(?<!\\)#", raw)
        return decode("".join(piece_of(piece.strip()) for piece in pieces))

    for entry in entries:
        row: Fields = {one.key.lower(): value_of(str(one.value)) for one in entry.fields}
        for key in ("author", "editor"):
            if key in row:
                row[key] = re.split(r"\s+and\s+", row[key])
        named = {"key": entry.key} if entry.key else {}
        yield {**named, **row, "entry type": entry.entry_type}


def latex_decoder() -> Callable[[str], str]:
    """Return what reads LaTeX as plain text."""
    converter = import_module("pylatexenc.latex2text").LatexNodes2Text(
        math_mode="verbatim", strict_latex_spaces=False
    )

    def decode(value: str) -> str:
        if not any(mark in value for mark in "\\{}~"):
            return " ".join(value.split())
        # Exporters do not escape percent signs, which begin comments in LaTeX.
        escaped = re.sub(r"(?<!\\)%", r"\\%", value)
        try:
            return " ".join(converter.latex_to_text(escaped).split())
        except (RecursionError, ValueError, IndexError):
            return " ".join(value.split())

    return decode


_RIS_NAMES = {
    "title": ("title", "primary_title", "translated_title"),
    "abstract": ("abstract", "notes_abstract"),
    "keywords": ("keywords",),
    "id": ("id", "accession_number", "doi"),
    "authors": ("authors", "first_authors"),
    "date": ("date", "publication_year", "year"),
    "journal": ("journal_name", "secondary_title", "alternate_title1"),
    "reference type": ("type_of_reference",),
    "url": ("urls",),
    "doi": ("doi",),
}


def ris_rows(member: Member, encoding: str | None) -> Iterator[Fields]:
    """Yield the references of a RIS file."""
    rispy = needed("RIS", "rispy", "formats")
    text = text_of(member, encoding)
    # Databases put lines such as "Record #1 of 2" between references.
    references, inside = list[str](), False
    for line in text.lstrip("\ufeff").splitlines(keepends=True):
        inside = inside or line.startswith("TY  -")
        references += [line] if inside else []
        inside = inside and not line.startswith("ER  -")
    if text.strip() and not references:
        raise InvalidFile(f"{member.name} is not RIS: no line begins with 'TY  - '.")
    try:
        found = rispy.loads("".join(references))
    except Exception as error:  # its versions raise different ones
        reason = " ".join(str(error).split())
        raise InvalidFile(f"{member.name} is not RIS ({reason:.120}).") from error
    for entry in found:
        row = {}
        for name, keys in _RIS_NAMES.items():
            value = next((entry[key] for key in keys if entry.get(key)), None)
            if value is not None:
                row[name] = value[0] if name == "url" and isinstance(value, list) else value
        if "date" in row:
            # PY has a year and slashes.
            row["date"] = str(row["date"]).strip("/").replace("/", "-")
        # Related records.
        if related := entry.get("unknown_tag", {}).get("L3"):
            row["related"] = related
        yield row


def marc_rows(member: Member, encoding: str | None, tally: Tally) -> Iterator[Fields]:
    """Yield the records of a MARC 21 file; an encoding is used instead of MARC-8."""
    pymarc = needed("MARC 21", "pymarc", "formats")
    options = {} if encoding is None else {"file_encoding": encoding}
    problem: Exception | None = None
    count = 0
    with member.whole() as file:
        reader = pymarc.MARCReader(
            file, to_unicode=True, permissive=True, hide_utf8_warnings=True, **options
        )
        for number in itertools.count(1):
            # It prints what it repairs.
            with redirect_stderr(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    record = next(reader)
                except StopIteration:
                    break
            if record is None:
                problem = problem or reader.current_exception
                tally.setdefault("not a record of MARC; left out", []).append(number)
                continue
            count += 1
            row = marc_row(
                [
                    (field.tag, [("", field.data or "")])
                    if field.is_control_field()
                    else (field.tag, [(part.code, part.value) for part in field.subfields])
                    for field in record
                ]
            )
            title = row.get("title", "")
            if sum(map(bool, map(combining, title))) > sum(map(str.isalpha, title)):
                raise InvalidFile(
                    f"{member.name}, record {number}: the title is not in MARC-8; give its "
                    "encoding (--encoding), for example cp1251."
                )
            yield row
    if problem is not None and not count:
        raise InvalidFile(
            f"{member.name} is not MARC 21 ({problem}); export it again as MARC 21 or MARCXML."
        )


# --- bookmarks --------------------------------------------------------------------------------


# What matters of the HTML: links, headings of folders, descriptions, and lists, which are folders.
_ELEMENT = re.compile(r"<(?P<end>/?)(?P<tag>a|h3|dd|dt|dl|li)\b(?P<values>[^<>]*)>", re.I)
_VALUE = re.compile(r"""([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""")
# The bars and menus of browsers say nothing about what is in them.
_BARS = ("personal_toolbar_folder", "unfiled_bookmarks_folder")


def bookmark_rows(member: Member, encoding: str | None) -> Iterator[Fields]:
    """Yield the links of a file of bookmarks (Firefox, Chrome, Pinboard, Delicious, Pocket)."""
    text = text_of(member, encoding)
    elements = list(_ELEMENT.finditer(text))
    ends = [*(one.start() for one in elements), len(text)][1:]
    folders: list[str] = []
    heading, item = "", dict[str, Any]()
    for element, end in zip(elements, ends, strict=True):
        tag, content = element["tag"].lower(), ""
        if tag in ("a", "dd", "h3") and not element["end"]:
            content = plain_text(text[element.end() : end])
        pairs = _VALUE.findall(element["values"])
        values = {key.lower(): unescape("".join(found)) for key, *found in pairs}
        if tag == "dl" and element["end"]:
            folders = folders[:-1]
        elif element["end"]:
            continue
        elif tag == "dl":
            folders, heading = [*folders, heading][:_DEEPEST], ""
        elif tag == "h3":
            heading = "" if any(bar in values for bar in _BARS) else content
        elif tag == "dd":
            item["description"] = content
        elif tag == "a" and "href" in values:
            yield from _links(item)
            item = {
                "url": values["href"],
                "title": content,
                "tags": [one.strip() for one in values.get("tags", "").split(",") if one.strip()],
                "folders": [one for one in folders if one],
                "added": _day(values.get("add_date") or values.get("time_added") or ""),
            }
    yield from _links(item)


def _links(item: Fields) -> Iterator[Fields]:
    # Firefox has searches and places of its own among them.
    if item.get("url") and not item["url"].startswith(("place:", "javascript:", "data:")):
        yield {key: one for key, one in item.items() if one}


def _day(stamp: str) -> str:
    """Return the date of seconds since 1970."""
    try:
        seconds = int(stamp)
        # Some programs count microseconds.
        seconds //= 1_000_000 if seconds > 10**13 else 1
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


# --- mail -------------------------------------------------------------------------------------

_KEYWORDS = ("x-gmail-labels", "x-keywords", "keywords", "x-label", "x-mozilla-keys")
_BLANKS = ("x-keywords", "x-label", "x-mozilla-keys")
# What the library raises for headers and bodies that it cannot parse.
_MALFORMED = (LookupError, ValueError, AttributeError, TypeError, MessageError)
_LONGEST_HEADER, _MOST_PARTS = 5_000, 200


def mail_rows(member: Member) -> Iterator[Fields]:
    """Yield the message of an eml file, or those of an mbox, one in memory at a time."""
    with member.whole() as file:
        lines: list[bytes] = []
        blank, is_mbox = True, False
        for line in file:
            if blank and line.startswith(b"From ") and (is_mbox or not lines):
                is_mbox = True
                if lines:
                    yield _message(member.name, b"".join(lines))
                lines = []
                continue
            lines.append(line[1:] if is_mbox and re.match(rb">+From ", line) else line)
            blank = not line.strip()
        if lines:
            yield _message(member.name, b"".join(lines))


class _Policy(policy.EmailPolicy):
    """Parses headers up to a length, because the library takes the square of it."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        try:
            return super().header_fetch_parse(name, value[:_LONGEST_HEADER])
        except _MALFORMED:
            return value[:_LONGEST_HEADER]


_POLICY = _Policy()


def _message(name: str, content: bytes) -> Fields:
    if content.lower().count(b"multipart/") > _MOST_PARTS:
        raise InvalidFile(f"{name}: a message is nested too deeply to be read; save its text.")
    message: Any = message_from_bytes(content, policy=_POLICY)

    def header(name: str) -> str:
        return " ".join(str(message.get(name, "")).split())

    words: list[str] = []
    for key in _KEYWORDS:
        for value in (" ".join(str(one).split()) for one in message.get_all(key, ())):
            mark = best_separator([value]) or (" " if key in _BLANKS else ",")
            # A label with a comma is in quotation marks.
            words += next(csv.reader([value], delimiter=mark, skipinitialspace=True), [])
    try:
        sent = message["date"].datetime.date().isoformat()
    except _MALFORMED:
        sent = ""
    return {
        "message id": header("message-id"),
        "subject": header("subject"),
        "text": _body(message),
        "labels": [word.strip() for word in words if word.strip()],
        "from": header("from"),
        "date": sent,
    }


def _body(message: Any) -> str:
    try:
        part = message.get_body(("plain", "html"))
        content = "" if part is None else str(part.get_content())
        kind = None if part is None else part.get_content_type()
    except _MALFORMED:
        return ""
    if kind == "text/html":
        content = plain_text(content)
    return content.replace("\r\n", "\n").strip()
