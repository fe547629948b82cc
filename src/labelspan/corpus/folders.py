"""Folders and archives: a text per file with its labels, Markdown notes, or tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from ..errors import InvalidInput
from .formats import SUFFIXES, Placed, TableFiles, flat
from .front_matter import has_front_matter, split_front_matter
from .label_values import best_separator, name_of, unique_names
from .names import known_names, normal
from .sources import READABLE, Member, Source, text_of

__all__ = ["TextFolder", "open_files"]

# Suffixes of texts; files without a suffix are texts, too.
_TEXTS = {"", ".txt", ".text", ".md", ".markdown", ".rst"}
_MARKDOWN = {".md", ".markdown"}
# Suffixes of files of labels, next to the text with the same name; the more detailed first.
_LABEL_SUFFIXES = (".tsv", ".key", ".ann", ".lab", ".labels", ".tags", ".keywords")


class TextFolder:
    """A text per file; its labels are in other files, names of folders, or fields of the text.

    Parameters
    ----------
    source : Source
    texts, members : sequence of Member
        Files with texts, and all files but those about the collection.
    encoding : str or None
    markdown : bool
        Whether files begin with fields.
    """

    layout = None
    guessed = False
    encoding = None

    def __init__(
        self,
        source: Source,
        texts: Sequence[Member],
        members: Sequence[Member],
        encoding: str | None,
        *,
        markdown: bool,
    ) -> None:
        self.name, self._encoding = source.name, encoding
        self.format = "markdown" if markdown else "folder"
        # By text: its labels, and the part of the collection; empty for Markdown.
        self._labels: dict[PurePosixPath, list[str]] = {}
        self._folders: dict[PurePosixPath, str] = {}
        self._notes: list[str] = []
        self.members, self._ids = tuple(texts), [one.path.as_posix() for one in texts]
        used = 0
        if not markdown:
            label_files = _paired(texts, members)
            taken = {member.path for member in label_files.values()}
            used = len(taken)
            self.members = tuple(one for one in texts if one.path not in taken)
            self._ids = [one.path.as_posix() for one in self.members]
            if label_files:
                self._with_files(label_files)
            else:
                self._with_folders()
            tables = [one for one in members if one.path not in taken and _kind(one)]
            if tables:
                self._notes.append(
                    f"tables such as {str(tables[0].path)!r} are not read; give them by name"
                )
        left_out = len(source.members) - len(self.members) - used
        if left_out:
            self._notes.append(f"{left_out:,} other file(s) left out")

    def _with_files(self, label_files: dict[PurePosixPath, Member]) -> None:
        """Take labels from files; names are short where that is enough."""
        self._labels = _read_labels(label_files, self._encoding)
        stems = [_stem(one.path) for one in self.members]
        per_folder = len(set(stems)) < len(stems)
        if per_folder:
            # A folder per text has its name.
            stems = ["/".join(one.path.parts[:-1]) for one in self.members]
        short = len(set(stems)) == len(stems)
        self._ids = stems if short else self._ids
        if not (short and "/" in stems[0]):
            self._set_folders({one.path: one.path.parts[:-1] for one in self.members})
        self._notes = ["labels from files with the name of the text; ids from the files' names"]
        without = len(self.members) - len(label_files)
        if without:
            self._notes.append(f"{without:,} text(s) have no file of labels")

    def _with_folders(self) -> None:
        """Take labels from the names of folders, except of parts as "train"."""
        _check_parallel(self.name, self.members)
        parts = frozenset(known_names("parts"))
        above = {one.path: one.path.parts[:-1] for one in self.members}
        self._labels = {
            path: [part for part in own if part.lower() not in parts] for path, own in above.items()
        }
        self._set_folders(
            {path: [one for one in own if one.lower() in parts] for path, own in above.items()}
        )
        there = any(self._labels.values())
        where = "the names of folders" if there else "nowhere: files are in no folder"
        self._notes = [f"labels from {where}; ids from the files' names"]

    def _set_folders(self, parts: dict[PurePosixPath, Sequence[str]]) -> None:
        found = {path: "/".join(own) for path, own in parts.items()}
        self._folders = found if len(set(found.values())) > 1 else {}

    def rows(self, skip: int = 0) -> Iterator[Placed]:
        """Yield the texts after some that are skipped; they are read one by one."""
        for number in range(skip, len(self.members)):
            member = self.members[number]
            text = text_of(member, self._encoding)
            row: dict[str, Any] = {"path": self._ids[number]}
            if self.format == "markdown":
                fields, body, _ = split_front_matter(text, member.name)
                row |= {**flat(fields), "text": body}
            else:
                row |= {"text": text, "labels": self._labels.get(member.path)}
            if self._folders:
                row["folder"] = self._folders[member.path]
            yield 0, number, row

    def check(self, needed: Sequence[str]) -> None:
        """Accept all files: any of them may lack a field."""

    def where(self, file: int, number: int, *, short: bool = False) -> str:
        """Return the place of a text, for messages."""
        place = f"file {self.members[number].path.as_posix()!r}"
        return place if short else f"{self.name}, {place}"

    def notes(self) -> list[str]:
        """Return where labels are from, and what was left out."""
        return list(self._notes)


def open_files(source: Source, format: str | None, encoding: str | None) -> TableFiles | TextFolder:
    """Find out what a file, a folder or an archive holds."""
    if not source.is_folder:
        if format in ("folder", "markdown"):
            raise InvalidInput(f"{source.name} is a file, not a folder; leave --format out.")
        # The only file of an archive is named in messages.
        return TableFiles(source.members[0].name, source.members, format, encoding)
    members = [one for one in source.members if not _is_about(one.path)]
    texts = [one for one in members if _is_text(one.path)]
    if format not in ("folder", "markdown"):
        found = _tables(source, members, texts, format, encoding)
        if found is not None:
            return found
    if not texts:
        _refuse(source.name, source.members)
    notes = all(one.path.suffix.lower() in _MARKDOWN for one in texts)
    markdown = format == "markdown" or (format is None and notes and _is_markdown(texts))
    return TextFolder(source, texts, members, encoding, markdown=markdown)


def _is_text(path: PurePosixPath) -> bool:
    # A number after a dot, as in "mail.12", is not a suffix.
    suffix = path.suffix.lower()
    return suffix in _TEXTS or suffix[1:].isdigit()


def _is_about(path: PurePosixPath) -> bool:
    # Programs that write tables in parts mark their end by an empty file "_SUCCESS".
    stem = path.name.split(".")[0].lower()
    return path.name.startswith("_") or stem in known_names("about")


def _kind(member: Member) -> str | None:
    kind = SUFFIXES.get(member.suffix)
    return None if kind == "lines" else kind


def _tables(
    source: Source,
    members: Sequence[Member],
    texts: Sequence[Member],
    format: str | None,
    encoding: str | None,
) -> TableFiles | None:
    """Return the tables of a folder; None if it is to be read as texts."""
    kinds: dict[str, list[Member]] = {}
    for member in members:
        kind = _kind(member)
        if kind is not None:
            kinds.setdefault(kind, []).append(member)
    if format is None:
        # One text next to tables says what they are.
        if not kinds or len(texts) > 1 or (texts and _paired(texts, members)):
            return None
        if len(kinds) > 1:
            some = " and ".join(str(found[0].path) for found in list(kinds.values())[:2])
            raise InvalidInput(
                f"{source.name} holds tables of several formats, as {some}; choose one with "
                "--format, or give a folder with files of one."
            )
        format = next(iter(kinds))
    if format not in kinds:
        raise InvalidInput(f"{source.name} is a folder, and cannot be read as {format}.")
    found = kinds[format]
    if format == "posts":
        found = [one for one in found if one.path.stem.lower() == "posts"] or found
    notes = []
    if len(found) > 1:
        notes.append(
            f"{len(found):,} files, one after the other, from {str(found[0].path)!r} to "
            f"{str(found[-1].path)!r}"
        )
    if len(source.members) > len(found):
        notes.append(f"{len(source.members) - len(found):,} other file(s) left out")
    return TableFiles(source.name, found, format, encoding, notes)


def _stem(path: PurePosixPath) -> str:
    return path.stem if path.suffix.lower() in _TEXTS else path.name


def _is_label_name(part: str) -> bool:
    names = (*known_names("labels"), *known_names("label_folders"))
    return normal(part) in names


def _paired(texts: Sequence[Member], members: Sequence[Member]) -> dict[PurePosixPath, Member]:
    """Return the file of labels of each text that has one.

    It is next to the text with the same name, in a folder of labels that is arranged as the one
    of texts, called "labels" or the like next to the only text of a folder, or it has the same
    name elsewhere.
    """
    files = [one for one in members if one.path.suffix.lower() in _LABEL_SUFFIXES]
    files.sort(key=lambda one: -_LABEL_SUFFIXES.index(one.path.suffix.lower()))
    by_suffix = {one.path.with_suffix(""): one for one in files}
    found = {
        one.path: by_suffix[stem]
        for one in texts
        if (stem := one.path.with_name(_stem(one.path))) in by_suffix
    }
    if found:
        return found
    in_folders, called = {}, {}
    for one in members:
        parts = one.path.parts
        for place in range(len(parts) - 1):
            if _is_label_name(parts[place]):
                in_folders[parts[:place], parts[place + 1 : -1], one.path.stem] = one
        if len(parts) > 1 and _is_label_name(one.path.stem):
            called[parts[:-1]] = one
    labels = {one.path for one in (*in_folders.values(), *called.values())}
    own = [one for one in texts if one.path not in labels]
    for one in own:
        parts = one.path.parts
        for place in range(len(parts) - 1):
            key = parts[:place], parts[place + 1 : -1], one.path.stem
            if key in in_folders:
                found[one.path] = in_folders[key]
    per_folder = Counter(one.path.parts[:-1] for one in own)
    if not found and called and max(per_folder.values(), default=0) == 1:
        found = {
            one.path: called[one.path.parts[:-1]] for one in own if one.path.parts[:-1] in called
        }
    if not found:
        # The same name elsewhere, as docs/7.txt and keys7/7.key.
        stems = Counter(path.name for path in by_suffix)
        elsewhere = {path.name: one for path, one in by_suffix.items() if stems[path.name] == 1}
        found = {
            one.path: elsewhere[_stem(one.path)] for one in own if _stem(one.path) in elsewhere
        }
        found = found if len(found) > 0.5 * len(own) else {}
    return found


def _check_parallel(name: str, texts: Sequence[Member]) -> None:
    """Raise an error if one folder seems to hold the labels of another."""
    tops = {one.path.parts[0] for one in texts if len(one.path.parts) > 1}
    strange = sorted(top for top in tops if _is_label_name(top))
    if strange and len(tops) > 1:
        raise InvalidInput(
            f"{name}: the folder {strange[0]!r} seems to hold labels, but none of its files has "
            "the name of a text; give a text and its labels the same name, as text/7.txt and "
            f"{strange[0]}/7.txt."
        )


def _read_labels(
    files: dict[PurePosixPath, Member], encoding: str | None
) -> dict[PurePosixPath, list[str]]:
    """Return the labels of each text: one per line, or in one line with a separator."""
    lines = {
        path: [line for line in text_of(file, encoding).split("\n") if line.strip()]
        for path, file in files.items()
    }
    single = [own[0] for own in lines.values() if len(own) == 1 and "\t" not in own[0]]
    several = sum(len(own) > 1 for own in lines.values())
    mark = best_separator(single) if several < 0.5 * len(lines) else ""
    pairs: dict[PurePosixPath, list[tuple[str, str]]] = {}
    for path, own in lines.items():
        in_one = len(own) == 1 and mark and "\t" not in own[0]
        found: dict[str, str] = {}
        for line in own[0].split(mark) if in_one else own:
            # A URI, a tab and a name, or only one of them.
            uri, _, label = line.partition("\t")
            uri = name_of(uri)
            if uri:
                found.setdefault(uri, label.strip() or uri)
        pairs[path] = list(found.items())
    names = unique_names(pair for found in pairs.values() for pair in found)
    return {path: [names[uri] for uri, _ in found] for path, found in pairs.items()}


def _is_markdown(texts: Sequence[Member]) -> bool:
    """Return whether half of some files begin with fields."""
    some = texts[:: max(1, len(texts) // 50)]
    return sum(has_front_matter(one.start(4)) for one in some) >= 0.5 * len(some)


def _refuse(name: str, members: Sequence[Member]) -> None:
    tables = [one.path for one in members if _kind(one)]
    if tables:
        raise InvalidInput(
            f"{name} holds no items: it has no text files (.txt, .md), but {tables[0]}; leave "
            "--format out to read tables."
        )
    other = f", but {members[0].path}" if members else ""
    raise InvalidInput(
        f"{name} holds no items: it has no text files (.txt, .md) and no tables (.jsonl, .csv, "
        f".tsv, .parquet){other}. {READABLE}."
    )
