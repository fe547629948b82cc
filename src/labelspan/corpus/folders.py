"""Folders and archives: a text per file with its labels, Markdown notes, or tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ..errors import InvalidInput
from .formats import SUFFIXES, flat
from .front_matter import has_front_matter, split_front_matter
from .label_values import best_separator, name_of, unique_names
from .names import known_names, normal
from .sources import READABLE, Member, Source, text_of
from .tables import Row

__all__ = ["Folder", "Tables", "Texts", "open_folder"]

# Suffixes of texts; files without a suffix are texts, too.
_TEXTS = {"", ".txt", ".text", ".md", ".markdown", ".rst"}
_MARKDOWN = {".md", ".markdown"}
# Suffixes of files of labels, next to the text with the same name; the more detailed first.
_LABEL_SUFFIXES = (".tsv", ".key", ".ann", ".lab", ".labels", ".tags", ".keywords")


class Tables(NamedTuple):
    """Tables of a folder, by name, and notes on what is read."""

    members: tuple[Member, ...]
    kind: str
    notes: list[str]


@dataclass(frozen=True)
class Texts:
    """Texts of a folder: the files, their names, and where their labels are."""

    members: tuple[Member, ...]
    ids: tuple[str, ...]
    # By text: its labels, and the part of the collection; empty for Markdown.
    labels: dict[PurePosixPath, list[str]]
    folders: dict[PurePosixPath, str]
    markdown: bool
    labels_in: str
    notes: list[str]

    def rows(self, encoding: str | None, skip: int = 0) -> Iterator[Row]:
        """Yield the texts, which are read one by one."""
        for number in range(skip, len(self.members)):
            member = self.members[number]
            text = text_of(member, encoding)
            row: dict[str, Any] = {"path": self.ids[number]}
            if self.markdown:
                fields, body, _ = split_front_matter(text, member.name)
                row |= {**flat(fields), "text": body}
            else:
                row |= {"text": text, "labels": self.labels.get(member.path)}
            if self.folders:
                row["folder"] = self.folders[member.path]
            yield number, row

    def where(self, number: int) -> str:
        """Return the place of a text, for messages."""
        return f"file {self.members[number].path.as_posix()!r}"


Folder = Tables | Texts


def open_folder(source: Source, format: str | None, encoding: str | None) -> Folder:
    """Find out what a folder or an archive holds."""
    name = source.name
    members = [one for one in source.members if not _is_about(one.path)]
    texts = [one for one in members if _is_text(one.path)]
    if format not in ("folder", "markdown"):
        found = _tables(name, source.members, members, texts, format)
        if found is not None:
            return found
    if not texts:
        _refuse(name, source.members)
    notes = texts and all(one.path.suffix.lower() in _MARKDOWN for one in texts)
    if format == "markdown" or (format is None and notes and _is_markdown(texts)):
        return _markdown(source, texts)
    return _texts(name, source, texts, members, encoding)


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
    name: str,
    every: Sequence[Member],
    members: Sequence[Member],
    texts: Sequence[Member],
    format: str | None,
) -> Tables | None:
    """Return the tables of a folder; None if it is to be read as texts."""
    kinds: dict[str, list[Member]] = {}
    for member in members:
        kind = _kind(member)
        if kind is not None:
            kinds.setdefault(kind, []).append(member)
    if format is None:
        # One text next to tables says what they are.
        paired = _paired(texts, members)
        if not kinds or len(texts) > 1 or (texts and paired):
            return None
        if len(kinds) > 1:
            some = " and ".join(str(found[0].path) for found in list(kinds.values())[:2])
            raise InvalidInput(
                f"{name} holds tables of several formats, as {some}; choose one with --format, or "
                "give a folder with files of one."
            )
        format = next(iter(kinds))
    if format not in kinds:
        raise InvalidInput(f"{name} is a folder, and cannot be read as {format}.")
    found = kinds[format]
    if format == "posts":
        found = [one for one in found if one.path.stem.lower() == "posts"] or found
    notes = []
    if len(found) > 1:
        notes.append(
            f"{len(found):,} files, one after the other, from {str(found[0].path)!r} to "
            f"{str(found[-1].path)!r}"
        )
    if len(every) > len(found):
        notes.append(f"{len(every) - len(found):,} other file(s) left out")
    return Tables(tuple(found), format, notes)


# --- texts with files of labels, or in folders ----------------------------------------------


def _texts(
    name: str,
    source: Source,
    texts: list[Member],
    members: Sequence[Member],
    encoding: str | None,
) -> Texts:
    label_files = _paired(texts, members)
    used = {member.path for member in label_files.values()}
    texts = [one for one in texts if one.path not in used]
    parts = frozenset(known_names("parts"))
    if label_files:
        lists = _read_labels(label_files, encoding)
        folders = {one.path: "/".join(one.path.parts[:-1]) for one in texts}
    else:
        _check_parallel(name, texts)
        lists = {
            one.path: [part for part in one.path.parts[:-1] if part.lower() not in parts]
            for one in texts
        }
        folders = {
            one.path: "/".join(part for part in one.path.parts[:-1] if part.lower() in parts)
            for one in texts
        }
    stems = [_stem(one.path) for one in texts]
    # Names are short where they are enough; a folder per text has its name.
    if label_files and len(set(stems)) < len(texts):
        stems = ["/".join(one.path.parts[:-1]) for one in texts]
    short = bool(label_files) and len(set(stems)) == len(texts)
    counts = {
        "text(s) have no file of labels": len(texts) - len(label_files) if label_files else 0,
        "other file(s) left out": len(source.members) - len(texts) - len(used),
    }
    others = [one for one in members if one.path not in used and _kind(one)]
    notes = [f"{count:,} {what}" for what, count in counts.items() if count]
    if others:
        notes.append(f"tables such as {str(others[0].path)!r} are not read; give them by name")
    return Texts(
        tuple(texts),
        tuple(stems if short else (one.path.as_posix() for one in texts)),
        lists,
        folders if len(set(folders.values())) > 1 and not (short and "/" in stems[0]) else {},
        False,
        "files" if label_files else "folders",
        notes,
    )


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


# --- Markdown -------------------------------------------------------------------------------


def _is_markdown(texts: Sequence[Member]) -> bool:
    """Tell whether half of some files begin with fields."""
    some = texts[:: max(1, len(texts) // 50)]
    return sum(has_front_matter(one.start(4)) for one in some) >= 0.5 * len(some)


def _markdown(source: Source, texts: Sequence[Member]) -> Texts:
    left_out = len(source.members) - len(texts)
    return Texts(
        tuple(texts),
        tuple(one.path.as_posix() for one in texts),
        {},
        {},
        True,
        "fields",
        [f"{left_out:,} other file(s) left out"] if left_out else [],
    )


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
