"""Corpora of one's own: texts with labels, ids and metadata, from files, folders and streams."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..errors import InvalidFile, InvalidInput, InvalidParameter
from .corpus_fields import Asked, choose_fields, field_notes, label_reader, plain
from .corpus_rows import FORMATS, Rows, read_rows

__all__ = ["FORMATS", "TaggedTexts", "read_corpus"]


@dataclass(frozen=True, eq=False)
class TaggedTexts:
    """Items of a corpus, each with a text, and what else is known of it.

    Attributes
    ----------
    name : str
        Where it came from.
    texts, ids : list of str
    labels : list of lists of str, or None in places
        None for an item whose labels are not known.
    metadata : list of dict
        Strings, numbers, booleans or None by key.
    notes : tuple of str
        How the corpus was read: its format, and which fields are what.
    numbered : bool
        Whether the ids are numbers that the items were given in reading.

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

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def n_labelled(self) -> int:
        """How many items have labels."""
        return sum(bool(labels) for labels in self.labels)

    @property
    def label_names(self) -> list[str]:
        """All labels, sorted."""
        return sorted({label for labels in self.labels for label in labels or ()})


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
) -> TaggedTexts:
    r"""Read texts and their labels, guessing what is not said.

    Parameters
    ----------
    source : path or binary stream
        A file (jsonl, json, csv, tsv, parquet, or a text a line; all but parquet also with
        ``.gz``), a folder of text files, or a stream of such content. In a folder the names of
        the folders that a file lies in are its labels, and its path is its id.
    format : str or None, default=None
        One of ``FORMATS``; None goes by the name, else by the content.
    text : str, sequence of str or None, default=None
        The field of the text, or several to be joined.
    labels, ids : str or None, default=None
        The fields of the labels, a list or a string, and of the items' names.
    separator : str or None, default=None
        What stands between labels in a string; None takes the one of ``; | ,`` that is in most
        of them. "" takes each string as one label.
    labelled : bool, default=True
        Whether to look for labels at all.
    empty : {"unknown", "none"}, default="unknown"
        Whether an item without labels is one that nobody labelled, or one that has none.

    Returns
    -------
    TaggedTexts
        Its ``notes`` say what was guessed.

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
    if empty not in ("unknown", "none"):
        raise InvalidParameter(
            f"read_corpus: empty must be 'unknown' or 'none', but {empty!r} was given."
        )
    if format is not None and format not in FORMATS:
        raise InvalidParameter(
            f"read_corpus: format must be one of {', '.join(FORMATS)}, but {format!r} was given."
        )
    rows = read_rows(source, format)
    if not rows.items:
        raise InvalidInput(f"{rows.name} holds no items.")
    wanted = (text,) if isinstance(text, str) else tuple(text or ())
    asked = Asked(wanted, labels, ids, labelled=labelled)
    fields = choose_fields(rows, asked)
    texts = [_text(rows, number, fields.text) for number in range(len(rows.items))]
    read, how = label_reader(rows, fields.labels, separator)
    lists = [read(number) for number in range(len(rows.items))]
    if empty == "unknown":
        lists = [found or None for found in lists]
    else:
        lists = [[] if found is None else found for found in lists]
    if not labelled:
        lists = [None] * len(lists)
    names = _names(rows, fields.ids)
    notes = [rows.note, *field_notes(rows, asked, fields)]
    if how:
        some = sum(bool(found) for found in lists)
        notes.append(f"{how}; {some:,} of {len(lists):,} items have labels")
    kept = fields.metadata
    tables = [{key: plain(item[key]) for key in kept if key in item} for item in rows.items]
    numbered = fields.ids is None
    return TaggedTexts(rows.name, texts, lists, names, tables, tuple(notes), numbered)


def _text(rows: Rows, number: int, keys: tuple[str, ...]) -> str:
    parts = []
    for key in keys:
        value = rows.items[number].get(key, ...)
        if value is ...:
            raise InvalidFile(f"{rows.where(number)}: there is no field {key!r}.")
        if value is not None and not isinstance(value, str):
            raise InvalidFile(
                f"{rows.where(number)}: {key!r} must be a text, but is {value!r:.60}."
            )
        if value and value.strip():
            parts.append(value)
    return "\n\n".join(parts)


def _names(rows: Rows, key: str | None) -> list[str]:
    """Ids from a field, all different; numbers from 0 without one."""
    if key is None:
        return [str(number) for number in range(len(rows.items))]
    first: dict[str, int] = {}
    for number, item in enumerate(rows.items):
        value = item.get(key)
        if value is None or isinstance(value, dict | list) or not str(value).strip():
            raise InvalidFile(f"{rows.where(number)}: the field {key!r} names no item.")
        name = str(value)
        if name in first:
            raise InvalidFile(
                f"{rows.where(number)}: the id {name!r} is also in {rows.place(first[name])}; "
                "every item needs its own, or choose another field for ids."
            )
        first[name] = number
    return list(first)
