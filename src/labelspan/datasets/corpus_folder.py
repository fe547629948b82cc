"""Folders and archives of texts: one file per item, and labels in files or in folder names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ..errors import InvalidInput
from .corpus_files import Member, decode
from .corpus_labels import name_of, unique_names
from .corpus_members import is_text, table_kind
from .corpus_names import LABELS, PARTS

__all__ = ["FolderText", "folder_items", "folder_texts"]

# Files of labels, one per line, next to the text with the same name.
_LABEL_FILES = {".tsv", ".key", ".ann", ".lab", ".labels", ".tags"}

_LABEL_FOLDERS = frozenset((*LABELS, "keys", "annotations"))


class FolderText(NamedTuple):
    """A text of a folder: how it is read, its name, labels and part of the collection."""

    member: Member
    name: str
    labels: list[str] | None
    folder: str | None

    def item(self, name: str, encoding: str | None) -> dict[str, Any]:
        """Read the text, and return the item."""
        path = self.member.path
        found = {
            "path": self.name,
            "text": decode(self.member.read(), f"{name}/{path}", encoding)[0],
            "labels": self.labels,
        }
        return found if self.folder is None else {**found, "folder": self.folder}

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"file {self.member.path.as_posix()!r}"


def folder_items(
    name: str, members: Sequence[Member], encoding: str | None
) -> tuple[list[dict[str, Any]], list[str], str, list[str]]:
    """Return items, their places, where labels came from, and notes."""
    found, how, notes = folder_texts(name, members, encoding)
    return [text.item(name, encoding) for text in found], [text.place for text in found], how, notes


def folder_texts(
    name: str, members: Sequence[Member], encoding: str | None
) -> tuple[list[FolderText], str, list[str]]:
    """Return texts that are not read yet, where labels came from, and notes."""
    texts = [member for member in members if is_text(member.path)]
    if not texts:
        _refuse(name, members)
    label_files = _paired(texts, members)
    used = set(label_files.values())
    texts = [member for member in texts if member.path not in used]
    if label_files:
        lists = _read_labels(name, label_files, members, encoding)
    else:
        _check_parallel(name, texts)
        lists = {member.path: _folders(member.path) for member in texts}
    # Names are short where they are enough.
    short = bool(label_files) and len({member.path.stem for member in texts}) == len(texts)
    found = []
    for member in texts:
        path = member.path
        folder = "/".join(path.parts[:-1] if label_files else _parts(path))
        shown = path.stem if short else path.as_posix()
        found.append(FolderText(member, shown, lists.get(path), folder))
    if len({text.folder for text in found}) == 1:
        found = [text._replace(folder=None) for text in found]
    counts = {
        "text(s) have no file of labels": len(texts) - len(label_files) if label_files else 0,
        "file(s) with other suffixes left out": len(members) - len(texts) - len(used),
    }
    notes = [f"{count:,} {what}" for what, count in counts.items() if count]
    return found, "files" if label_files else "folders", notes


def _parts(path: PurePosixPath) -> list[str]:
    """Return the folders around a text that are parts of a collection."""
    return [folder for folder in path.parts[:-1] if folder.lower() in PARTS]


def _folders(path: PurePosixPath) -> list[str]:
    """Return the other folders around a text, which are its labels."""
    return [folder for folder in path.parts[:-1] if folder.lower() not in PARTS]


def _read_labels(
    name: str,
    label_files: dict[PurePosixPath, PurePosixPath],
    members: Sequence[Member],
    encoding: str | None,
) -> dict[PurePosixPath, list[str]]:
    """Return the labels of each text that has a file of labels."""
    read = {member.path: member.read for member in members}
    pairs = {
        path: _label_lines(decode(read[file](), f"{name}/{file}", encoding)[0])
        for path, file in label_files.items()
    }
    names = unique_names(pair for found in pairs.values() for pair in found)
    return {path: [names[uri] for uri, _ in found] for path, found in pairs.items()}


def _paired(
    texts: Sequence[Member], members: Sequence[Member]
) -> dict[PurePosixPath, PurePosixPath]:
    """Return the file of labels of each text that has one, next to it or in a folder of labels."""
    next_to_text = {
        member.path.with_suffix(""): member.path
        for member in members
        if member.path.suffix.lower() in _LABEL_FILES
    }
    found = {
        member.path: next_to_text[member.path.with_suffix("")]
        for member in texts
        if member.path.with_suffix("") in next_to_text
    }
    if found:
        return found
    aside = {
        (member.path.parts[:-2], member.path.stem): member.path
        for member in members
        if len(member.path.parts) > 1 and member.path.parts[-2].lower() in _LABEL_FOLDERS
    }
    for member in texts:
        path = member.path
        key = (path.parts[:-2], path.stem)
        if len(path.parts) > 1 and path.parts[-2].lower() not in _LABEL_FOLDERS and key in aside:
            found[path] = aside[key]
    return found


def _check_parallel(name: str, texts: Iterable[Member]) -> None:
    """Raise an error if one folder seems to hold the labels of another."""
    tops = {member.path.parts[0] for member in texts if len(member.path.parts) > 1}
    strange = sorted(top for top in tops if top.lower() in _LABEL_FOLDERS)
    if strange and len(tops) > 1:
        raise InvalidInput(
            f"{name}: the folder {strange[0]!r} seems to hold labels, but none of its files has "
            "the name of a text; give a text and its labels the same name, as text/7.txt and "
            f"{strange[0]}/7.txt."
        )


def _label_lines(text: str) -> list[tuple[str, str]]:
    """Return the labels of a file, one per line: a URI, a tab and a name, or only one of them."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        uri, _, name = line.partition("\t")
        uri = name_of(uri)
        if uri:
            found.setdefault(uri, name.strip() or uri)
    return list(found.items())


def _refuse(name: str, members: Sequence[Member]) -> None:
    tables = [member.path for member in members if table_kind(member.path)]
    if tables:
        raise InvalidInput(
            f"{name} holds no items: it has no text files (.txt, .md), but {tables[0]}; leave "
            "--format out to read tables."
        )
    other = f", but {members[0].path}" if members else ""
    raise InvalidInput(
        f"{name} holds no items: it has no text files (.txt, .md) and no tables (.jsonl, .csv, "
        f".tsv, .parquet){other}."
    )
