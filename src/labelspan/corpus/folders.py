"""Folders and archives: a text per file with its labels, Markdown notes, or tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from ..errors import InvalidFile, InvalidInput
from .formats import CorpusFiles
from .label_values import best_separator, name_of, unique_names
from .names import known_names, normal
from .notes import inline_tags, split_note
from .readers import kind_of_suffix
from .sources import READABLE, Member, Source, text_of
from .xml_records import XML_KINDS

__all__ = ["open_files"]

# Suffixes of texts; files without a suffix are texts, too.
_TEXTS = {"", ".txt", ".text", ".md", ".markdown", ".rst"}
_MARKDOWN = {".md", ".markdown", ".rst"}
# Suffixes of files of labels, next to the text with the same name; the more detailed first.
_LABEL_SUFFIXES = (".tsv", ".key", ".ann", ".lab", ".labels", ".tags", ".keywords")

# A span of brat: T1, a tab, its label, where it is, and its text.
_SPAN = re.compile(r"T\d+\t(\S+) \d+ [\d; ]+\t")

Pairs = dict[PurePosixPath, Member]


def open_files(
    source: Source, format: str | None, encoding: str | None, table: str | None = None
) -> CorpusFiles:
    """Determine the content of a file, a folder or an archive."""
    if not source.is_folder:
        if format in ("folder", "markdown"):
            raise InvalidInput(f"{source.name} is a file, not a folder; leave --format out.")
        # The only file of an archive is named in messages.
        return CorpusFiles(source.members[0].name, source.members, format, encoding, table=table)
    members = _items_of(source)
    texts = _texts_of(members)
    label_files = _paired(texts, members)
    taken = {member.path for member in label_files.values()}
    tables: dict[str, list[Member]] = {}
    for member in members:
        kind = kind_of_suffix(member.suffix) or "lines"
        if kind not in ("lines", "markdown") and member.path not in taken:
            tables.setdefault(kind, []).append(member)
    # A few texts next to tables say what they are.
    count = sum(len(own) for kind, own in tables.items() if kind != "bookmarks")
    few = len(texts) < 2 or count > 5 * len(texts)
    if format is None and tables and few and not label_files:
        # Pages and pictures of a table are next to it, and not items.
        tables = {kind: own for kind, own in tables.items() if kind != "bookmarks"} or tables
        format, *others = tables
        if others:
            some = f"{tables[format][0].path} and {tables[others[0]][0].path}"
            raise InvalidInput(
                f"{source.name} holds tables of several formats, as {some}; choose one with "
                "--format, or give a folder with files of one."
            )
    if format not in (None, "folder", "markdown"):
        return _tables(source, tables, format, encoding, table)
    if not texts:
        other = f", but {source.members[0].path}" if source.members else ""
        hint = "leave --format out to read tables" if format else READABLE
        raise InvalidInput(
            f"{source.name} holds no items: it has no text files (.txt, .md){other}; {hint}."
        )
    if format == "markdown" or (format is None and _is_markdown(texts, encoding)):
        fields: list[dict[str, Any]] = [{"path": one.path.as_posix()} for one in texts]
        notes = _left_out(source, texts)
        return CorpusFiles(source.name, texts, "markdown", encoding, notes=notes, fields=fields)
    texts = [one for one in texts if one.path not in taken]
    if label_files:
        fields, notes = _with_files(texts, label_files, encoding)
    else:
        fields, notes = _with_folders(source.name, texts)
    if tables:
        first = str(next(iter(tables.values()))[0].path)
        notes.append(f"tables such as {first!r} are not read; give them by name")
    notes += _left_out(source, [*texts, *label_files.values()])
    return CorpusFiles(source.name, texts, "folder", encoding, notes=notes, fields=fields)


def _texts_of(members: Sequence[Member]) -> list[Member]:
    """Return the texts; files without a suffix are other things if most texts have one."""
    texts = [one for one in members if _is_text(one.path)]
    named = [one for one in texts if one.path.suffix.lower() in _TEXTS - {""}]
    return named if len(named) > 0.5 * len(texts) else texts


def _items_of(source: Source) -> list[Member]:
    """Return the files that are not about the others; a tree of READMEs is about itself."""
    found = [one for one in source.members if not _is_about(one.path)]
    texts = [one for one in found if _is_text(one.path)]
    readmes = [one for one in source.members if _is_readme(one.path)]
    if len(readmes) > max(1, len(texts)):
        known = {one.path for one in texts}
        deep = [one for one in readmes if len(one.path.parts) > 1 and one.path not in known]
        found = sorted([*found, *deep], key=lambda one: one.path)
    return found


def _left_out(source: Source, used: Sequence[Member]) -> list[str]:
    """Say how many files are not read, by their suffixes."""
    paths = {one.path for one in used}
    rest = [one.path for one in source.members if one.path not in paths]
    counts = Counter(path.suffix.lower() or path.name[:20] for path in rest)
    some = [f"{suffix} {count:,}" for suffix, count in counts.most_common(6)]
    some += ["..."] if len(counts) > len(some) else []
    notes = [f"{len(rest):,} other file(s) left out: {', '.join(some)}"] if rest else []
    links = f"{source.n_links:,} link(s) or pipe(s) left out"
    return [*notes, links] if source.n_links else notes


def _tables(
    source: Source,
    tables: dict[str, list[Member]],
    format: str,
    encoding: str | None,
    table: str | None,
) -> CorpusFiles:
    """Return the tables of a folder that are in one format."""
    kind = {"calibre": "sqlite", **dict.fromkeys(XML_KINDS, "xml")}.get(format, format)
    if kind not in tables:
        raise InvalidInput(f"{source.name} is a folder, and cannot be read as {format}.")
    found = tables[kind]
    if kind == "xml":
        # A dump of StackExchange has other tables next to the posts.
        found = [one for one in found if one.path.stem.lower() == "posts"] or found
    notes = []
    if len(found) > 1:
        ends = f"from {str(found[0].path)!r} to {str(found[-1].path)!r}"
        notes.append(f"{len(found):,} files, one after the other, {ends}")
    notes += _left_out(source, found)
    return CorpusFiles(source.name, found, format, encoding, table=table, notes=notes)


def _with_files(
    texts: Sequence[Member], label_files: Pairs, encoding: str | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the ids and labels of texts with files of labels; ids are short where possible."""
    labels = _read_labels(label_files, encoding)
    folders = ["/".join(one.path.parts[:-1]) for one in texts]
    ids = [_stem(one.path) for one in texts]
    if len(set(ids)) < len(ids):
        # A folder per text has its name.
        distinct = len(set(folders)) == len(folders)
        ids = folders if distinct else [one.path.as_posix() for one in texts]
    notes = ["labels from files with the name of the text; ids from the files' names"]
    without = len(texts) - len(label_files)
    if without:
        notes.append(f"{without:,} text(s) have no file of labels")
    return _fields(ids, [labels.get(one.path) for one in texts], folders), notes


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
    labels: list[list[str] | None] = []
    parts: list[str] = []
    # A folder around each text is its name.
    own = len({one.path.parent for one in texts}) == len(texts) > 1
    for one in texts:
        folders = one.path.parts[: -2 if own else -1]
        split = [part for part in folders if part.lower() in known_names("parts")]
        labels.append([part for part in folders if part not in split] or None)
        parts.append("/".join(split))
    where = "the names of folders" if any(labels) else "nowhere: files are in no folder"
    notes = [f"labels from {where}; ids from the files' names"]
    return _fields([one.path.as_posix() for one in texts], labels, parts), notes


def _fields(
    ids: Sequence[str], labels: Sequence[list[str] | None], folders: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the fields of texts; the folder only if it differs and is not the id."""
    found = [{"path": name, "labels": own} for name, own in zip(ids, labels, strict=True)]
    if len(set(folders)) < 2 or folders == ids:
        return found
    return [{**own, "folder": folder} for own, folder in zip(found, folders, strict=True)]


def _is_text(path: PurePosixPath) -> bool:
    # A number after a dot, as in "mail.12", is not a suffix.
    suffix = path.suffix.lower()
    return suffix in _TEXTS or suffix[1:].isdigit()


def _is_markdown(texts: Sequence[Member], encoding: str | None) -> bool:
    """Return whether texts are notes: a tenth of some have fields, or tags in their text."""
    notes = [one for one in texts if one.path.suffix.lower() in _MARKDOWN]
    if len(notes) < 0.9 * len(texts):
        return False
    some = notes[:: max(1, len(notes) // 100)]
    found = 0
    for one in some:
        try:
            text = text_of(one, encoding)
        except InvalidFile:
            # An error names it later.
            continue
        found += bool(split_note(text)[0] or inline_tags(text))
    return found >= 0.1 * len(some)


def _is_about(path: PurePosixPath) -> bool:
    # Programs that write tables in parts mark their end by an empty file "_SUCCESS".
    stem = re.sub(r"[_-]", " ", path.name.split(".")[0].lower())
    return path.name.startswith("_") or stem in known_names("about")


def _is_readme(path: PurePosixPath) -> bool:
    stem = path.name.split(".")[0].lower()
    return stem.startswith("readme") and _is_text(path)


def _stem(path: PurePosixPath) -> str:
    return path.stem if path.suffix.lower() in {*_TEXTS, *_LABEL_SUFFIXES} else path.name


def _is_label_name(part: str) -> bool:
    return normal(part) in (*known_names("labels"), *known_names("label_folders"))


# --- files of labels ------------------------------------------------------------------------


def _paired(texts: Sequence[Member], members: Sequence[Member]) -> Pairs:
    """Return the file of labels of each text that has one.

    It is next to the text with the same name, in a folder of labels that is arranged as the one
    of texts, called "labels" or the like next to the only text of a folder, or it has the same
    name elsewhere.
    """
    suffixed = [one for one in members if one.path.suffix.lower() in _LABEL_SUFFIXES]
    suffixed.sort(key=lambda one: -_LABEL_SUFFIXES.index(one.path.suffix.lower()))
    found = _matched(texts, suffixed, lambda path, _: [path.with_name(_stem(path))])
    if found:
        return found
    inside = [one for one in members if any(map(_is_label_name, one.path.parts[:-1]))]
    called = [one for one in members if _is_label_name(one.path.stem) and len(one.path.parts) > 1]
    others = {one.path for one in (*inside, *called)}
    own = [one for one in texts if one.path not in others]
    found = _matched(own, inside, _without_a_folder)
    one_each = max(Counter(one.path.parent for one in own).values(), default=0) == 1
    if not found and one_each:
        found = _matched(own, called, lambda path, _: [path.parent])
    if found:
        return found
    # The same name elsewhere, as docs/7.txt and keys7/7.key.
    stems = Counter(_stem(one.path) for one in suffixed)
    single = [one for one in suffixed if stems[_stem(one.path)] == 1]
    found = _matched(own, single, lambda path, _: [_stem(path)])
    return found if len(found) > 0.5 * len(own) else {}


def _matched(
    texts: Sequence[Member],
    files: Sequence[Member],
    keys: Callable[[PurePosixPath, bool], Iterator[Any] | list[Any]],
) -> Pairs:
    """Return the file of each text that has a key in common with one; True is for a file."""
    by_key = {key: one for one in files for key in keys(one.path, True)}
    return {
        one.path: by_key[key] for one in texts for key in keys(one.path, False) if key in by_key
    }


def _without_a_folder(path: PurePosixPath, of_labels: bool) -> Iterator[Any]:
    """Yield a path without one of its folders, for a file of labels without that of labels."""
    *parts, _ = path.parts
    for place, part in enumerate(parts):
        if not of_labels or _is_label_name(part):
            yield tuple(parts[:place]), tuple(parts[place + 1 :]), path.stem


def _read_labels(files: Pairs, encoding: str | None) -> dict[PurePosixPath, list[str]]:
    """Return the labels of each text: one per line, or in one line with a separator."""
    lines = {
        path: [line for line in text_of(file, encoding).split("\n") if line.strip()]
        for path, file in files.items()
    }
    if any(map(_SPAN.match, (line for own in lines.values() for line in own))):
        # Relations and notes, which begin with another letter, have no label of the text.
        spans = {path: filter(None, map(_SPAN.match, own)) for path, own in lines.items()}
        return {path: list(dict.fromkeys(one[1] for one in own)) for path, own in spans.items()}
    single = [own[0] for own in lines.values() if len(own) == 1 and "\t" not in own[0]]
    several = sum(len(own) > 1 for own in lines.values())
    mark = best_separator(single) if several < 0.5 * len(lines) else ""
    pairs: dict[PurePosixPath, dict[str, str]] = {}
    for path, own in lines.items():
        in_one = len(own) == 1 and mark and "\t" not in own[0]
        pairs[path] = {}
        for line in own[0].split(mark) if in_one else own:
            # A URI, a tab and a name, or only one of them.
            uri, _, label = line.partition("\t")
            uri = name_of(uri)
            if uri:
                pairs[path].setdefault(uri, label.strip() or uri)
    names = unique_names(pair for found in pairs.values() for pair in found.items())
    return {path: [names[uri] for uri in found] for path, found in pairs.items()}
