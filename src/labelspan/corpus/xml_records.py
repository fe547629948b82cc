"""XML of libraries, PubMed, Zotero, StackExchange and others: one element per item."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree.ElementTree import Element
from xml.parsers import expat

from ..errors import InvalidFile
from .plain_text import plain_text
from .sources import READABLE, Member

__all__ = ["XML_KINDS", "marc_row", "xml_elements", "xml_kind", "xml_rows"]

# Elements inside elements, at most.
_DEEPEST = 200
Fields = dict[str, Any]


def xml_elements(member: Member, wanted: Callable[[str, int], bool]) -> Iterator[Element]:
    """Yield the outermost elements that are wanted, by their names without namespaces and depth.

    Entities are refused, because with them a short file grows without bound or reads other files.
    """
    done: list[Element] = []
    open_elements: list[Element] = []
    depth = 0

    def refuse(name: str, *_: Any) -> None:
        raise InvalidFile(
            f"{member.name} declares the XML entity {name!r:.40}, by which a file can grow without "
            "bound; remove the declaration."
        )

    def start(tag: str, values: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise InvalidFile(f"{member.name}: elements are nested deeper than {_DEEPEST}.")
        name = tag.rpartition(" ")[2]
        if not open_elements and not wanted(name, depth):
            return
        made = Element(name, {key.rpartition(" ")[2]: one for key, one in values.items()})
        if open_elements:
            open_elements[-1].append(made)
        open_elements.append(made)

    def text(content: str) -> None:
        if open_elements:
            parent = open_elements[-1]
            if len(parent):
                parent[-1].tail = (parent[-1].tail or "") + content
            else:
                parent.text = (parent.text or "") + content

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1
        if open_elements:
            last = open_elements.pop()
            if not open_elements:
                done.append(last)

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = text, refuse
    with member.whole() as file:
        try:
            while chunk := file.read(1 << 18):
                parser.Parse(chunk, False)
                yield from done
                done.clear()
            parser.Parse(b"", True)
            yield from done
        except expat.ExpatError as error:
            raise InvalidFile(f"{member.name} is not XML ({error}).") from error


class _FoundError(Exception):
    """The format of a file, as soon as it is known."""


def xml_kind(member: Member) -> str:
    """Return the format of an XML file, by the names of its first elements."""
    seen: list[str] = []

    def look(name: str, _: int) -> bool:
        seen.append(name)
        if name in _BY_ELEMENT or len(seen) > 40:
            raise _FoundError(_BY_ELEMENT.get(name, ""))
        return False

    kind = ""
    try:
        next(xml_elements(member, look), None)
    except _FoundError as found:
        kind = str(found)
    if not kind:
        raise InvalidFile(
            f"{member.name} is XML with the element <{seen[0]:.40}>, which is unknown; {READABLE}."
        )
    return kind


def xml_rows(member: Member, kind: str, tally: dict[str, list[int]]) -> Iterator[Fields]:
    """Yield the fields of each item of an XML file of a known kind."""
    wanted, read = XML_KINDS[kind]
    number = 0
    for element in xml_elements(member, wanted):
        row = read(element)
        number += 1
        if row is None:
            tally.setdefault("without a record; left out", []).append(number)
            continue
        yield {key: value for key, value in row.items() if value not in (None, "", [])}


def _texts(element: Element, path: str) -> list[str]:
    """Return the texts of the elements at a path, or of the attribute behind @, if not empty."""
    path, _, attribute = path.rpartition("@") if "@" in path else (path, "", "")
    there = element.iterfind(path.rstrip("/") or ".")
    raw = (one.get(attribute, "") if attribute else "".join(one.itertext()) for one in there)
    return [one for one in (" ".join(text.split()) for text in raw) if one]


def _text(element: Element, *paths: str) -> str:
    """Return the first text that is at one of some paths."""
    return next((one for path in paths for one in _texts(element, path)), "")


def _all(element: Element, *paths: str) -> list[str]:
    return list(dict.fromkeys(one for path in paths for one in _texts(element, path)))


def _people(element: Element, path: str, *names: str) -> list[str]:
    people = (" ".join(_all(one, *names)) for one in element.iterfind(path))
    return [one for one in people if one]


# --- records ----------------------------------------------------------------------------------


def _post(element: Element) -> Fields:
    """Return a post of StackExchange, or a link of Pinboard."""
    values: Fields = dict(element.attrib)
    if element.tag == "post":
        names = {"href": "Id", "description": "title", "extended": "description", "time": "date"}
        return {
            **{names[key]: one for key, one in values.items() if key in names},
            "tags": values.get("tag", "").split(),
        }
    return {**values, "Body": plain_text(values["Body"])} if "Body" in values else values


def _pubmed(element: Element) -> Fields:
    abstract = []
    for part in element.iterfind(".//Abstract/AbstractText"):
        name, content = part.get("Label"), _text(part, ".")
        abstract.append(f"{name}: {content}" if name else content)
    return {
        "pmid": _text(element, ".//PMID"),
        "title": _text(element, ".//ArticleTitle", ".//BookTitle"),
        "abstract": "\n".join(filter(None, abstract)),
        "mesh terms": _texts(element, ".//MeshHeading/DescriptorName"),
        "keywords": _texts(element, ".//KeywordList/Keyword"),
        "authors": _people(element, ".//AuthorList/Author", "ForeName", "LastName"),
        "journal": _text(element, ".//Journal/Title"),
        "date": " ".join(
            filter(None, (_text(element, f".//PubDate/{one}") for one in ("Day", "Month", "Year")))
        ),
    }


def marc_row(fields: list[tuple[str, list[tuple[str, str]]]]) -> Fields:
    """Return an item of the fields of a MARC record; a control field has one part named ""."""

    def parts(tag: str, codes: str, mark: str = " ") -> list[str]:
        found = (
            mark.join(value.strip() for code, value in inner if code and code in codes)
            for own, inner in fields
            if own.startswith(tag)
        )
        return [one for one in (each.rstrip(" /:;,=").strip() for each in found) if one]

    control = {tag: inner[0][1] for tag, inner in fields if inner and not inner[0][0]}
    subjects = []
    for tag, inner in fields:
        # 653 repeats its part for each word; the others add subdivisions to one.
        if tag[:1] == "6" and tag != "653" and inner and inner[0][0]:
            main = " ".join(value.strip() for code, value in inner if code in "abcdt")
            below = [value.strip() for code, value in inner if code in "vxyz"]
            subjects.append("--".join(one.rstrip(" .,;") for one in (main, *below) if one))
        elif tag == "653":
            subjects += [value.strip(" .,;") for code, value in inner if code == "a"]
    coded = control.get("008", "")
    year = coded[7:11] if coded[7:11].isdigit() else ""
    found = {
        "id": control.get("001", "").strip(),
        # UNIMARC has its titles and abstracts where MARC 21 has nothing.
        "title": next(iter([*parts("245", "abnp"), *parts("200", "ae")]), ""),
        "abstract": "\n".join([*parts("520", "ab"), *parts("505", "at"), *parts("330", "a")]),
        "subjects": list(dict.fromkeys(filter(None, subjects))),
        "authors": [*parts("100", "a"), *parts("700", "a")],
        "publisher": next(iter([*parts("264", "b"), *parts("260", "b")]), ""),
        "year": year,
        "language": coded[35:38].strip() if coded[35:38].isalpha() else "",
    }
    return {key: value for key, value in found.items() if value}


def _marcxml(element: Element) -> Fields:
    return marc_row(
        [
            (
                one.get("tag", ""),
                [(part.get("code", ""), part.text or "") for part in one]
                if one.tag == "datafield"
                else [("", one.text or "")],
            )
            for one in element
            if one.tag in ("controlfield", "datafield")
        ]
    )


def _mods(element: Element) -> Fields:
    subjects = ["--".join(_texts(one, "*")) for one in element.iterfind("subject")]
    return {
        "id": _text(element, "recordInfo/recordIdentifier", "identifier"),
        "title": " ".join(_text(element, f"titleInfo/{one}") for one in _MODS_TITLE).strip(),
        "abstract": "\n".join(_all(element, "abstract", "tableOfContents")),
        "subjects": list(dict.fromkeys(filter(None, subjects))),
        # A kind of resource, as "article".
        "type": _texts(element, "genre"),
        "authors": _texts(element, "name/namePart"),
        "date": _text(element, "originInfo/dateIssued", "originInfo/dateCreated"),
        "language": _text(element, "language/languageTerm"),
    }


_MODS_TITLE = ("nonSort", "title", "subTitle")


def _dublin_core(element: Element) -> Fields | None:
    content = element
    if element.find("header") is not None or element.find("metadata") is not None:
        inner = element.find("metadata/*")
        if inner is None:
            return None
        content = inner
        reader = {"record": _marcxml, "mods": _mods}.get(inner.tag)
        if reader is not None:
            return reader(inner)
    return {
        "id": _text(element, "header/identifier", "@about") or _text(content, "identifier"),
        "title": _text(content, "title"),
        "description": "\n".join(_all(content, "description", "abstract")),
        "subjects": _texts(content, "subject"),
        "authors": _texts(content, "creator"),
        "date": _text(content, "date", "issued"),
        **{key: _text(content, key) for key in ("type", "language", "publisher", "identifier")},
    }


def _zotero(element: Element) -> Fields | None:
    kind = _text(element, "itemType")
    if not kind or kind in ("attachment", "note"):
        # What belongs to an item, a journal or a collection; RDF of other programs has no types.
        plain = element.tag == "Description" and not kind
        return _dublin_core(element) if plain and _text(element, "title") else None
    return {
        "id": element.get("about"),
        "title": _text(element, "title"),
        "abstract": _text(element, "abstract"),
        "tags": _texts(element, "subject"),
        "authors": _people(element, "authors//Person", "givenName", "surname"),
        "journal": _text(element, "isPartOf//title"),
        "date": _text(element, "date"),
        "item type": kind,
    }


def _note(element: Element) -> Fields:
    """Return a note of Evernote."""
    return {
        "title": _text(element, "title"),
        "text": plain_text("".join(element.findtext("content", ""))),
        "tags": _texts(element, "tag"),
        "created": re.sub(r"(\d{4})(\d\d)(\d\d).*", r"\1-\2-\3", _text(element, "created")),
        "url": _text(element, "note-attributes/source-url"),
    }


def _entry(element: Element) -> Fields:
    """Return an entry of a feed, as RSS, Atom and exports of WordPress have them."""
    contents = (
        element.findtext(one, "") for one in ("encoded", "content", "description", "summary")
    )
    return {
        "id": _text(element, "guid", "id", "link"),
        "title": _text(element, "title"),
        "text": plain_text(next(filter(None, contents), "")),
        "categories": _all(element, "category", "category/@term"),
        "authors": _all(element, "creator", "author/name"),
        "date": _text(element, "pubDate", "published", "updated"),
        "url": _text(element, "link", "link/@href"),
    }


# By format: which elements are items, by name and depth, and what reads one.
XML_KINDS: dict[str, tuple[Callable[[str, int], bool], Callable[[Element], Fields | None]]] = {
    "posts": (lambda name, _: name in ("row", "post"), _post),
    "pubmed": (lambda name, _: name in ("PubmedArticle", "PubmedBookArticle"), _pubmed),
    "marcxml": (lambda name, _: name == "record", _marcxml),
    "mods": (lambda name, _: name == "mods", _mods),
    # Calibre's metadata.opf is a package with metadata.
    "dc": (
        lambda name, depth: name in ("record", "dc") or (name == "metadata" and depth == 2),
        _dublin_core,
    ),
    "zotero": (lambda _, depth: depth == 2, _zotero),
    "evernote": (lambda name, _: name == "note", _note),
    "feed": (lambda name, _: name in ("item", "entry"), _entry),
}
_BY_ELEMENT = {
    **dict.fromkeys(("posts", "row"), "posts"),
    **dict.fromkeys(("PubmedArticleSet", "PubmedArticle", "PubmedBookArticle"), "pubmed"),
    **dict.fromkeys(("OAI-PMH", "dc", "header", "metadata"), "dc"),
    **dict.fromkeys(("modsCollection", "mods"), "mods"),
    **dict.fromkeys(("leader", "controlfield", "datafield"), "marcxml"),
    "RDF": "zotero",
    "en-export": "evernote",
    **dict.fromkeys(("rss", "feed"), "feed"),
}
