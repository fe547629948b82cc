"""Folders and archives of tables of one format, which are read one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from ..errors import InvalidInput
from .corpus_members import Member, is_text, table_kind

__all__ = ["Tables", "find_tables"]

# Texts about the tables next to them.
_ABOUT = {"readme", "license", "licence", "copying", "citation", "changelog"}


class Tables(NamedTuple):
    """Tables of a folder, by name, and notes on what is read."""

    members: list[Member]
    notes: list[str]


def find_tables(name: str, members: Sequence[Member], format: str | None) -> Tables | None:
    """Return the tables of a folder; None if it is to be read as texts.

    With a format, only the files of that format are taken.
    """
    if format == "folder":
        return None
    kinds: dict[str, list[Member]] = {}
    for member in members:
        kind = table_kind(member.path)
        if kind is not None:
            kinds.setdefault(kind, []).append(member)
    if format is None:
        if not kinds or any(is_text(one.path) and not _is_about(one.path) for one in members):
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
    notes = []
    if len(found) > 1:
        notes.append(
            f"{len(found):,} files, one after the other, from {str(found[0].path)!r} to "
            f"{str(found[-1].path)!r}"
        )
    if len(members) > len(found):
        notes.append(f"{len(members) - len(found):,} other file(s) left out")
    return Tables(found, notes)


def _is_about(path: PurePosixPath) -> bool:
    # Programs that write tables in parts mark their end by an empty file "_SUCCESS".
    return path.name.startswith("_") or path.stem.lower() in _ABOUT
