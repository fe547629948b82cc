"""Change labels in a corpus file: a copy or a patch, in which everything else stays as it was."""

from __future__ import annotations

import bz2
import codecs
import csv
import difflib
import gzip
import io
import json
import lzma
import os
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from .._files import write_whole
from ..errors import InvalidFile, InvalidInput, InvalidParameter
from .corpora import read_corpus
from .corpus_fields import Asked, choose_fields
from .corpus_files import decode, open_corpus
from .corpus_labels import best_separator, label_reader, name_of
from .corpus_rows import CorpusRows, guessed_delimiter, read_rows

__all__ = ["CorpusEdit", "edit_corpus"]

_EDITABLE = ("jsonl", "json", "csv", "tsv")
_WIDE = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": partial(gzip.compress, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
_LONGEST_CELL = 1 << 30

# For each label whether the item should have it.
Wanted = Mapping[str, bool]


@dataclass(frozen=True)
class CorpusEdit:
    r"""A corpus file with other labels.

    Attributes
    ----------
    content : bytes
        The file with the changes.
    patch : bytes
        The changes as a unified diff, for ``patch`` and ``git apply``; empty for UTF-16 and
        UTF-32.
    n_items : int
        Number of items whose labels differ.
    n_added, n_removed : int
        Number of labels added and removed.
    n_unchanged : int
        Number of changes that the file had already.
    missing : tuple of str
        Ids that are not in the file.

    See Also
    --------
    edit_corpus : Returns it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.datasets import edit_corpus
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

    content: bytes = field(repr=False)
    patch: bytes = field(repr=False)
    n_items: int
    n_added: int
    n_removed: int
    n_unchanged: int
    missing: tuple[str, ...]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the copy; an existing file is not replaced.

        Parameters
        ----------
        path : path
            A new file; packed if its name ends in .gz, .bz2 or .xz.
        """
        target = Path(path)
        pack = _PACKERS.get(target.suffix.lower())
        _write_new(target, self.content if pack is None else pack(self.content))

    def write_patch(self, path: str | os.PathLike[str]) -> None:
        """Write the patch; an existing file is not replaced.

        Parameters
        ----------
        path : path
            A new file.
        """
        if self.n_items and not self.patch:
            raise InvalidInput("There are no patches of files in UTF-16; write a copy instead.")
        _write_new(Path(path), self.patch)


def edit_corpus(
    source: str | os.PathLike[str],
    changes: Mapping[str, Wanted],
    *,
    format: str | None = None,
    text: str | Sequence[str] | None = None,
    labels: str | None = None,
    ids: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> CorpusEdit:
    r"""Change labels of a corpus file (JSON lines, JSON, csv, tsv), without writing it.

    Only the labels of the items named change; all other bytes of the file stay. The result is
    read again, and compared with what was wanted, before it is returned.

    Parameters
    ----------
    source : path
        A file that :func:`read_corpus` reads, also packed.
    changes : dict
        For each id a dict from labels to whether the item should have it.
    format : str or None, default=None
        As in :func:`read_corpus`, like all that follow; None guesses.
    text : str, sequence of str or None, default=None
        The field of the text, or several.
    labels, ids : str or None, default=None
        The fields of the labels and of the ids.
    separator : str or None, default=None
        The separator of labels in a string.
    encoding : str or None, default=None
        The encoding of text.
    header : bool or None, default=None
        Whether the first line of csv or tsv names the columns.
    delimiter : str or None, default=None
        The character between the columns of csv.

    Returns
    -------
    CorpusEdit
        The new content, the patch, and what was changed.

    Raises
    ------
    InvalidInput
        If the format cannot be changed, or a label cannot be written in it.

    See Also
    --------
    labelspan.index.Review : Its ``changes()`` are what a review decided.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.datasets import edit_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.jsonl"
    ...     _ = path.write_text('{"id": "a", "text": "a chess game", "tags": ["image"]}\n')
    ...     edit = edit_corpus(path, {"a": {"image": False, "game": True}})
    >>> edit.content
    b'{"id": "a", "text": "a chess game", "tags": ["game"]}\n'
    """
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    opened = open_corpus(source)
    rows = read_rows(source, format, encoding=encoding, header=header, delimiter=delimiter)
    kind = rows.kind if opened.members is None else "folder"
    if kind not in _EDITABLE:
        raise InvalidInput(
            f"{rows.name} is of the format {kind}; labels can be changed in {', '.join(_EDITABLE)}."
        )
    wanted = (text,) if isinstance(text, str) else tuple(text or ())
    fields = choose_fields(rows, Asked(wanted, labels, ids, labelled=True))
    if fields.labels is None:
        raise InvalidParameter(f"{rows.name}: no field looks like labels; name it with --labels.")
    before = read_corpus(
        source,
        format=rows.kind,
        text=fields.text,
        labels=fields.labels,
        ids=fields.ids,
        separator=separator,
        encoding=encoding,
        header=header,
        delimiter=delimiter,
        empty="none",
    )
    number_of = {name: number for number, name in enumerate(before.ids)}
    values = [item.get(fields.labels) for item in rows.items]
    _, style = label_reader(values, fields.labels, separator, rows.where)
    edits: dict[int, Wanted] = {}
    expected = [list(own or ()) for own in before.labels]
    counts = {True: 0, False: 0}
    unchanged = 0
    for name, asked in changes.items():
        if name not in number_of:
            continue
        number = number_of[name]
        own = {_nfc(label) for label in expected[number]}
        differing = {
            _nfc(label): fits for label, fits in asked.items() if (_nfc(label) in own) != fits
        }
        unchanged += len(asked) - len(differing)
        if differing:
            edits[number] = differing
            kept = [one for one in expected[number] if differing.get(_nfc(one), True)]
            expected[number] = kept + [one for one, fits in differing.items() if fits]
            for fits in differing.values():
                counts[fits] += 1
    written = _Written(rows, fields.labels, style, _mark(values, separator), delimiter)
    content, patch = _edited(opened.content, written, edits, encoding, Path(source).name)
    if edits:
        _verify(
            content,
            expected,
            name=rows.name,
            format=rows.kind,
            text=fields.text,
            labels=fields.labels,
            ids=fields.ids,
            separator=separator,
            encoding=encoding,
            header=header,
            delimiter=delimiter,
        )
    return CorpusEdit(
        content,
        patch,
        len(edits),
        counts[True],
        counts[False],
        unchanged,
        tuple(name for name in changes if name not in number_of),
    )


@dataclass(frozen=True)
class _Written:
    """How the labels of a file are written."""

    rows: CorpusRows
    field: str
    style: str
    # The separator of labels in a string, and that of columns.
    mark: str
    delimiter: str | None


def _mark(values: Sequence[Any], separator: str | None) -> str:
    """Return the separator of labels in a string, as they are read."""
    texts = [value.strip() for value in values if isinstance(value, str) and value.strip()]
    return best_separator(texts) if separator is None else separator


def _edited(
    content: bytes, how: _Written, edits: Mapping[int, Wanted], encoding: str | None, name: str
) -> tuple[bytes, bytes]:
    """Return the new content, and the patch that leads to it."""
    rows = how.rows
    text, used = decode(content, rows.name, encoding)
    mark = next((one for one in (codecs.BOM_UTF8, *_WIDE) if content.startswith(one)), b"")
    if used not in ("utf-8", "utf-16", "utf-32"):
        mark = b""
    codec = _WIDE.get(mark, used)

    def encoded(one: str) -> bytes:
        return mark + one.encode(codec)

    if encoded(text) != content:
        raise InvalidFile(f"{rows.name} cannot be written again as it is in {used}.")
    find = _table_edits if rows.kind in ("csv", "tsv") else _json_edits
    parts, end = [], 0
    for start, stop, piece in sorted(find(text, how, edits)):
        parts += [text[end:start], piece]
        end = stop
    new = "".join((*parts, text[end:]))
    try:
        made = encoded(new)
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{rows.name} is in {used}, which cannot hold {error.object[error.start]!r} of a "
            "label; save it in UTF-8 first."
        ) from error
    start_mark = "\ufeff" if mark == codecs.BOM_UTF8 else ""
    if codec in _WIDE.values():
        # Programs that apply patches know lines of bytes.
        return made, b""
    return made, _diff(start_mark + text, start_mark + new, name).encode(codec)


def _verify(content: bytes, expected: Sequence[list[str]], *, name: str, **how: Any) -> None:
    """Read the new content, and compare its labels with those wanted."""
    found = read_corpus(io.BytesIO(content), empty="none", **how)
    same = len(found) == len(expected) and all(
        {_nfc(one) for one in got or ()} == {_nfc(one) for one in own}
        for got, own in zip(found.labels, expected, strict=True)
    )
    if not same:
        raise InvalidInput(
            f"{name}: the labels would be read differently after the change; say how they are "
            "written (--separator, --labels), or choose another name for a label."
        )


# --- strings of labels ----------------------------------------------------------------------


def _rewritten(value: str, wanted: Wanted, how: _Written) -> str:
    """Return a string of labels with changes, written as before."""
    added = [label for label, fits in wanted.items() if fits]
    if how.style.startswith("separated by "):
        parts = value.split(how.mark) if value.strip() else []
        kept = [part for part in parts if wanted.get(_nfc(name_of(part)), True)]
        space = " " if any(part.startswith(" ") for part in parts[1:]) else ""
        if kept and not parts[0].startswith(" "):
            kept[0] = kept[0].lstrip(" ")
        for label in added:
            kept.append(f"{space}{label}" if kept else label)
        return how.mark.join(kept)
    if how.style == "words in angle brackets":
        parts = [part for part in value.replace(">", ">\0").split("\0") if part.strip(" ,;")]
        kept = [part for part in parts if wanted.get(_nfc(name_of(part.strip(" ,;"))), True)]
        return " ".join([*(part.strip() for part in kept), *(f"<{one}>" for one in added)])
    if how.style == "lists written as text":
        reader, _ = label_reader([value or "[]"], "", None, str)
        names = [one for one in reader(0) or () if wanted.get(_nfc(one), True)] + added
        try:
            json.loads(value or "[]")
        except ValueError:
            return repr(names)
        return json.dumps(names, ensure_ascii=False)
    names = [value] if value.strip() and wanted.get(_nfc(name_of(value)), True) else []
    names += added
    if len(names) > 1:
        raise InvalidInput(
            f"Each item of this file has one label, and {names[-1]!r:.60} cannot be added to "
            f"{names[0]!r:.60}; say by --separator how several labels are written."
        )
    return names[0] if names else ""


# --- JSON -----------------------------------------------------------------------------------

Span = tuple[int, int, str]
Dumps = Callable[[Any], str]
_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"


def _json_edits(text: str, how: _Written, edits: Mapping[int, Wanted]) -> Iterator[Span]:
    """Yield the places of labels that change, with what to write there."""
    dumps = partial(json.dumps, ensure_ascii=text.isascii())
    if how.rows.kind == "jsonl":
        starts = [0]
        for line in io.StringIO(text, newline=""):
            starts.append(starts[-1] + len(line))
        places = [starts[int(place.split()[1]) - 1] for place in how.rows.places]
    else:
        places = _objects(text)
    for number, wanted in edits.items():
        yield _object_edit(text, places[number], how.field, wanted, how, dumps)


def _objects(text: str) -> list[int]:
    """Return where the items of a JSON file begin."""
    start = _skip(text, 0)
    if text[start] == "[":
        return [first for first, _ in _elements(text, start)]
    end = _DECODER.raw_decode(text, start)[1]
    if _skip(text, end) < len(text):
        # JSON lines under the name of JSON.
        found = []
        while start < len(text):
            found.append(start)
            start = _skip(text, _DECODER.raw_decode(text, start)[1])
        return found
    for _, first, stop in _members(text, start):
        value = json.loads(text[first:stop])
        if isinstance(value, list) and len(value) > 1 and all(isinstance(v, dict) for v in value):
            return [begin for begin, _ in _elements(text, first)]
    return [start]


def _object_edit(  # noqa: PLR0917
    text: str, place: int, field: str, wanted: Wanted, how: _Written, dumps: Dumps
) -> Span:
    """Return where the labels of one object are, and what to write there."""
    place = _skip(text, place)
    for key, start, stop in _members(text, place):
        value = _DECODER.raw_decode(text, start)[0]
        if key == field:
            return start, stop, _value(text[start:stop], value, wanted, how, dumps)
        inner = field.removeprefix(f"{key}.")
        if inner != field and isinstance(value, dict) and value:
            return _object_edit(text, start, inner, wanted, how, dumps)
        if inner != field and isinstance(value, list):
            return start, stop, _value(text[start:stop], value, wanted, how, dumps, inner)
    # An item without the field.
    end = _DECODER.raw_decode(text, place)[1] - 1
    fresh = _value("null", None, wanted, how, dumps)
    comma = ", " if text[place + 1 : end].strip() else ""
    return end, end, f"{comma}{json.dumps(field)}: {fresh}"


def _value(  # noqa: PLR0917
    raw: str, value: Any, wanted: Wanted, how: _Written, dumps: Dumps, inner: str = ""
) -> str:
    """Return the labels of an item as JSON."""
    if isinstance(value, list) or (value is None and how.style == "lists"):
        raw = raw if isinstance(value, list) else "[]"
        spans = list(_elements(raw, 0))
        elements = [raw[start:stop] for start, stop in spans]
        names = [
            _nfc(name_of(str(one.get(inner) if isinstance(one, dict) else one)))
            for one in value or ()
        ]
        kept = [part for part, name in zip(elements, names, strict=True) if wanted.get(name, True)]
        kept += [
            dumps({inner: label} if inner else label) for label, fits in wanted.items() if fits
        ]
        lead = raw[1 : spans[0][0]] if spans else ""
        tail = raw[spans[-1][1] : -1] if spans else ""
        between = raw[spans[0][1] : spans[1][0]] if len(spans) > 1 else "," + (lead or " ")
        return f"[{lead}{between.join(kept)}{tail}]" if kept else "[]"
    if value is None or isinstance(value, str):
        return dumps(_rewritten(value or "", wanted, how))
    raise InvalidInput(f"The labels {raw:.60} are not a list or a string, and cannot be changed.")


def _members(text: str, place: int) -> Iterator[tuple[str, int, int]]:
    """Yield the keys of the object at a place, and where their values begin and end."""
    place = _skip(text, place + 1)
    while text[place] != "}":
        key, place = _DECODER.raw_decode(text, place)
        start = _skip(text, _skip(text, place) + 1)
        _, stop = _DECODER.raw_decode(text, start)
        yield key, start, stop
        place = _skip(text, stop)
        if text[place] == ",":
            place = _skip(text, place + 1)


def _elements(text: str, place: int) -> Iterator[tuple[int, int]]:
    """Yield where the elements of the list at a place begin and end."""
    place = _skip(text, place + 1)
    while text[place] != "]":
        _, stop = _DECODER.raw_decode(text, place)
        yield place, stop
        place = _skip(text, stop)
        if text[place] == ",":
            place = _skip(text, place + 1)


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _SPACE:
        place += 1
    return place


# --- tables ---------------------------------------------------------------------------------


def _table_edits(text: str, how: _Written, edits: Mapping[int, Wanted]) -> Iterator[Span]:
    """Yield the rows of a table that change, with what to write there."""
    rows = how.rows
    mark = how.delimiter or (
        "\t" if rows.kind == "tsv" else guessed_delimiter(text.partition("\n")[0])
    )
    bare = "quotation marks are part of the text (guessed)" in rows.notes
    lines = list(io.StringIO(text, newline=""))
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    by_line = {int(rows.places[number].split()[1]): number for number in edits}
    quoting: Any = csv.QUOTE_NONE if bare else csv.QUOTE_MINIMAL
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        reader = csv.reader(iter(lines), delimiter=mark, quoting=quoting)
        first = 0
        for cells in reader:
            number = by_line.get(reader.line_num)
            begin, first = first, reader.line_num
            if number is None or not any(cells):
                continue
            raw = text[starts[begin] : starts[first]]
            ending = raw[len(raw.rstrip("\r\n")) :]
            columns = list(rows.items[number])
            filled = [*cells, *[""] * (len(columns) - len(cells))]
            place = columns.index(how.field)
            changed = [*filled]
            changed[place] = _rewritten(filled[place], edits[number], how)
            if bare and any(one in changed[place] for one in (mark, "\n", "\r")):
                raise InvalidInput(
                    f"{rows.name} has no quotation marks, and {changed[place]!r:.60} would need "
                    "them."
                )
            yield starts[begin], starts[first], _row(raw, cells, changed, mark, bare) + ending
    finally:
        csv.field_size_limit(limit)


def _row(raw: str, cells: list[str], changed: list[str], mark: str, bare: bool) -> str:
    """Return a row in the style in which it was written."""
    if bare:
        return mark.join(changed)

    def written(row: list[str], quoting: Any) -> str:
        out = io.StringIO()
        # Cells are quoted if they hold a character of the line terminator.
        csv.writer(out, delimiter=mark, quoting=quoting, lineterminator="\r\n").writerow(row)
        return out.getvalue()[:-2]

    old = raw.rstrip("\r\n")
    joined = mark.join(changed)
    plain = old == mark.join(cells)
    if plain and [*csv.reader(io.StringIO(joined, newline=""), delimiter=mark)] == [changed]:
        return joined
    every = written(cells, csv.QUOTE_ALL) == old
    return written(changed, csv.QUOTE_ALL if every else csv.QUOTE_MINIMAL)


# --- writing --------------------------------------------------------------------------------


def _diff(old: str, new: str, name: str) -> str:
    """Return the difference of two texts in the format of ``diff -u``."""
    if old == new:
        return ""
    before, after = (list(io.StringIO(text, newline="\n")) for text in (old, new))
    lines = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _write_new(path: Path, content: bytes) -> None:
    if os.path.lexists(path):
        raise InvalidInput(f"{path} exists, and is not replaced; give a new file.")

    def write(file: BinaryIO) -> None:
        file.write(content)

    write_whole(path, write)


def _nfc(label: str) -> str:
    return unicodedata.normalize("NFC", label)
