"""Bibliographies, library records, bookmarks and mail: one small reader per format.

Each yields the fields of one item after the other. Libraries of the fields are imported when a file
needs them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.errors import MessageError
from html.parser import HTMLParser
from importlib import import_module
from typing import Any

from .._install import install_command
from ..errors import InvalidFile, MissingData
from .label_values import best_separator
from .sources import Member, text_of
from .tables import Tally
from .xml_records import marc_row, plain_text

__all__ = ["bibtex_entries", "bibtex_rows", "bookmark_rows", "library_for", "mail_rows"]
__all__ += ["marc_rows", "ris_rows"]

Fields = dict[str, Any]


_JOINT = re.compile(r"[}\"]\s*#\s*[{\"\w]")


def library_for(what: str, module: str, extra: str = "formats") -> Any:
    """Import the library that reads a format; say how to install it if it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingData(
            f"{what} needs {module.partition('.')[0]}, which is not installed; "
            f"{install_command(extra)}."
        ) from error


# --- bibliographies ---------------------------------------------------------------------------


def bibtex_entries(text: str) -> tuple[list[Any], dict[str, str], list[int]]:
    """Return the entries of BibTeX, its strings, and the lines of what is malformed."""
    bibtex = library_for("BibTeX", "bibtexparser")
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
    entries, strings, broken = bibtex_entries(text_of(member, encoding))
    for line in broken:
        tally.setdefault("not an entry of BibTeX; left out", []).append(line)
    decode = _latex_decoder()

    def piece_of(piece: str) -> str:
        piece = strings.get(piece.lower(), piece)
        return piece[1:-1] if piece[:1] + piece[-1:] in ("{}", '""') else piece

    def value_of(raw: str) -> str:
        # Pieces in braces or quotation marks, and names of strings, with # between them.
        pieces = [raw] if raw[:1] == "{" and not _JOINT.search(raw) else raw.split("#")
        return str(decode("".join(piece_of(piece.strip()) for piece in pieces)))

    for entry in entries:
        row: Fields = {one.key.lower(): value_of(str(one.value)) for one in entry.fields}
        for key in ("author", "editor"):
            if key in row:
                row[key] = re.split(r"\s+and\s+", row[key])
        yield {"key": entry.key, **row, "entry type": entry.entry_type}


def _latex_decoder() -> Any:
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
    rispy = library_for("RIS", "rispy")
    try:
        found = rispy.loads(text_of(member, encoding))
    except (OSError, ValueError, LookupError) as error:
        raise InvalidFile(f"{member.name} is not RIS ({error}).") from error
    for entry in found:
        row = {}
        for name, keys in _RIS_NAMES.items():
            value = next((entry[key] for key in keys if entry.get(key)), None)
            if value is not None:
                row[name] = value[0] if name == "url" and isinstance(value, list) else value
        # PY has a year and slashes.
        row["date"] = str(row.get("date", "")).strip("/").replace("/", "-")
        yield row


def marc_rows(member: Member, tally: Tally) -> Iterator[Fields]:
    """Yield the records of a MARC 21 file."""
    pymarc = library_for("MARC 21", "pymarc")
    with member.whole() as file:
        reader = pymarc.MARCReader(file, to_unicode=True, permissive=True, hide_utf8_warnings=True)
        for number, record in enumerate(reader, 1):
            if record is None:
                tally.setdefault("not a record of MARC; left out", []).append(number)
                if number == 1:
                    raise InvalidFile(
                        f"{member.name} is not MARC 21 ({reader.current_exception}); export it "
                        "again as MARC 21 or MARCXML."
                    )
                continue
            yield marc_row(
                [
                    (field.tag, [("", field.data or "")])
                    if field.is_control_field()
                    else (field.tag, [(part.code, part.value) for part in field.subfields])
                    for field in record
                ]
            )


# --- bookmarks --------------------------------------------------------------------------------


class _BookmarkParser(HTMLParser):
    """Bookmarks as browsers export them: links, with folders around and descriptions after them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.items: list[Fields] = []
        self._folders: list[str] = []
        # A heading names the list that follows it.
        self._heading = ""
        self._into: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a link, a folder or a description."""
        values = {key: value or "" for key, value in attrs}
        self._into = {"a": "title", "dd": "description", "h3": "folder"}.get(tag)
        if tag == "a" and "href" in values:
            names = [one for one in self._folders if one]
            self.items.append(
                {
                    "url": values["href"],
                    "title": "",
                    "description": "",
                    "tags": [one.strip() for one in values.get("tags", "").split(",") if one],
                    "folders": names,
                    "added": _day(values.get("add_date") or values.get("time_added") or ""),
                }
            )
        elif tag == "h3":
            # The bars and menus of browsers say nothing about what is in them.
            outer = "personal_toolbar_folder" in values or "unfiled_bookmarks_folder" in values
            self._heading, self._into = "", None if outer else "folder"
        elif tag == "dl":
            self._folders.append(" ".join(self._heading.split()))
            self._heading = ""

    def handle_endtag(self, tag: str) -> None:
        """End a link or a folder."""
        if tag == "dl" and self._folders:
            self._folders.pop()
        if tag in ("a", "h3", "dl"):
            self._into = None

    def handle_data(self, data: str) -> None:
        """Take the text of a link, a folder or a description."""
        if self._into == "folder":
            self._heading += data
        elif self._into and self.items:
            self.items[-1][self._into] += data


def bookmark_rows(member: Member, encoding: str | None) -> Iterator[Fields]:
    """Yield the links of a file of bookmarks (Firefox, Chrome, Pinboard, Delicious, Pocket)."""
    parser = _BookmarkParser()
    parser.feed(text_of(member, encoding))
    parser.close()
    for item in parser.items:
        # Firefox has searches and places of its own among them.
        if item["url"].startswith(("place:", "javascript:", "data:")):
            continue
        plain = {key: one.strip() if isinstance(one, str) else one for key, one in item.items()}
        yield {key: one for key, one in plain.items() if one}


def _day(stamp: str) -> str:
    """Return the date of seconds since 1970."""
    try:
        return datetime.fromtimestamp(int(stamp), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


# --- mail -------------------------------------------------------------------------------------

_KEYWORDS = ("x-gmail-labels", "x-keywords", "keywords", "x-label", "x-mozilla-keys")
_FROM = re.compile(rb"^From .*\r?\n", re.M)


def mail_rows(member: Member) -> Iterator[Fields]:
    """Yield the message of an eml file, or those of an mbox, one in memory at a time."""
    with member.whole() as file:
        lines: list[bytes] = []
        blank, is_mbox = True, False
        for line in file:
            if blank and line.startswith(b"From ") and (is_mbox or not lines):
                is_mbox = True
                if lines:
                    yield _message(b"".join(lines))
                lines = []
                continue
            lines.append(line[1:] if is_mbox and re.match(rb">+From ", line) else line)
            blank = not line.strip()
        if lines:
            yield _message(b"".join(lines))


def _message(content: bytes) -> Fields:
    message = message_from_bytes(content, policy=policy.default)

    def header(name: str) -> str:
        try:
            return " ".join(str(message.get(name, "")).split())
        except (ValueError, LookupError, IndexError, AttributeError, TypeError):
            # A header that the library cannot parse.
            return ""

    words: list[str] = []
    for value in map(header, _KEYWORDS):
        mark = best_separator([value]) if value else ""
        words += value.split(mark or None)
    try:
        sent = message["date"].datetime.date().isoformat()
    except (AttributeError, ValueError, TypeError, IndexError, LookupError, MessageError):
        sent = ""
    return {
        "message id": header("message-id"),
        "subject": header("subject"),
        "text": _body(message),
        "labels": [word.strip().strip('"') for word in words if word.strip()],
        "from": header("from"),
        "date": sent,
    }


def _body(message: Any) -> str:
    try:
        part = message.get_body(("plain", "html"))
        content = "" if part is None else str(part.get_content())
    except (LookupError, ValueError, AttributeError, TypeError, MessageError):
        return ""
    if part is not None and part.get_content_type() == "text/html":
        content = plain_text(content)
    return content.replace("\r\n", "\n").strip()
