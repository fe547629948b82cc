"""Folders and archives: a text per file with its labels, Markdown notes, or tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ..errors import InvalidInput
from .fields import known_names, normal
from .formats import SUFFIXES, CorpusFiles
from .front_matter import has_front_matter
from .label_values import best_separator, name_of, unique_names
from .sources import READABLE, Member, Source, text_of

__all__ = ["open_files"]

# Suffixes of texts; files without a suffix are texts, too.
_TEXTS = {"", ".txt", ".text", ".md", ".markdown", ".rst"}
_MARKDOWN = {".md", ".markdown"}
# Suffixes of files of labels, next to the text with the same name; the more detailed first.
_LABEL_SUFFIXES = (".tsv", ".key", ".ann", ".lab", ".labels", ".tags", ".keywords")


def open_files(source: Source, format: str | None, encoding: str | None) -> CorpusFiles:
    """Find out what a file, a folder or an archive holds."""
    if not source.is_folder:
        if format in ("folder", "markdown"):
            raise InvalidInput(f"{source.name} is a file, not a folder; leave --format out.")
        # The only file of an archive is named in messages.
        return CorpusFiles(source.members[0].name, source.members, format, encoding)
    members = [one for one in source.members if not _is_about(one.path)]
    texts = [one for one in members if _is_text(one.path)]
    if format not in ("folder", "markdown"):
        found = _tables(source, members, texts, format, encoding)
        if found is not None:
            return found
    if not texts:
        other = f", but {source.members[0].path}" if source.members else ""
        hint = "leave --format out to read tables" if format else READABLE
        raise InvalidInput(
            f"{source.name} holds no items: it has no text files (.txt, .md){other}; {hint}."
        )
    fields: list[dict[str, Any]] = [{"path": one.path.as_posix()} for one in texts]
    notes: list[str] = []
    used = len(texts)
    if format is None and all(one.path.suffix.lower() in _MARKDOWN for one in texts):
        # Half of some files begin with fields.
        some = texts[:: max(1, len(texts) // 50)]
        heads = sum(has_front_matter(one.read(4)) for one in some)
        format = "markdown" if heads >= 0.5 * len(some) else None
    if format != "markdown":
        format, label_files = "folder", _paired(texts, members)
        taken = {member.path for member in label_files.values()}
        texts = [one for one in texts if one.path not in taken]
        used = len(texts) + len(taken)
        if label_files:
            fields, notes = _with_files(texts, label_files, encoding)
        else:
            fields, notes = _with_folders(source.name, texts)
        tables = [one for one in members if one.path not in taken and _kind(one)]
        if tables:
            notes.append(f"tables such as {str(tables[0].path)!r} are not read; give them by name")
    notes += _left_out(source, used)
    return CorpusFiles(source.name, texts, format, encoding, notes=notes, fields=fields)


def _left_out(source: Source, used: int) -> list[str]:
    rest = len(source.members) - used
    return [f"{rest:,} other file(s) left out"] if rest else []


def _with_files(
    texts: Sequence[Member], label_files: dict[PurePosixPath, Member], encoding: str | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the ids and labels of texts with files of labels; ids are short where possible."""
    labels = _read_labels(label_files, encoding)
    ids = [_stem(one.path) for one in texts]
    if len(set(ids)) < len(ids):
        # A folder per text has its name.
        ids = ["/".join(one.path.parts[:-1]) for one in texts]
    short = len(set(ids)) == len(ids)
    ids = ids if short else [one.path.as_posix() for one in texts]
    folders = {} if short and "/" in ids[0] else {one.path: one.path.parts[:-1] for one in texts}
    notes = ["labels from files with the name of the text; ids from the files' names"]
    without = len(texts) - len(label_files)
    if without:
        notes.append(f"{without:,} text(s) have no file of labels")
    return _fields(texts, ids, labels, folders), notes


def _with_folders(name: str, texts: Sequence[Member]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the ids and labels of texts that are in folders, except parts as "train"."""
    tops = {one.path.parts[0] for one in texts if len(one.path.parts) > 1}
    strange = sorted(top for top in tops if _is_label_name(top))
    if strange and len(tops) > 1:
        raise InvalidInput(
            f"{name}: the folder {strange[0]!r} seems to hold labels, but none of its files has "
            "the name of a text; give a text and its labels the same name, as text/7.txt and "
            f"{strange[0]}/7.txt."
        )
    labels: dict[PurePosixPath, list[str]] = {}
    parts: dict[PurePosixPath, list[str]] = {}
    for one in texts:
        for part in one.path.parts[:-1]:
            kind = parts if part.lower() in known_names("parts") else labels
            kind.setdefault(one.path, []).append(part)
    where = "the names of folders" if labels else "nowhere: files are in no folder"
    ids = [one.path.as_posix() for one in texts]
    return _fields(texts, ids, labels, parts), [f"labels from {where}; ids from the files' names"]


def _fields(
    texts: Sequence[Member],
    ids: Sequence[str],
    labels: Mapping[PurePosixPath, list[str]],
    folders: Mapping[PurePosixPath, Sequence[str]],
) -> list[dict[str, Any]]:
    """Return the fields of texts; the folder only where it differs."""
    found: list[dict[str, Any]] = [
        {"path": name, "labels": labels.get(one.path)} for one, name in zip(texts, ids, strict=True)
    ]
    names = ["/".join(folders.get(one.path, ())) for one in texts]
    if len(set(names)) > 1:
        for own, name in zip(found, names, strict=True):
            own["folder"] = name
    return found


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
) -> CorpusFiles | None:
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
    notes += _left_out(source, len(found))
    return CorpusFiles(source.name, found, format, encoding, notes=notes)


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
