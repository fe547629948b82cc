"""The folder of an index: a manifest, the generation it names, and a lock for its writer.

    manifest.json           what counts, replaced in one step
    generation-0a1b2c3d/    arrays, JSON and items.sqlite
    lock                    held by the one who writes

A save writes a new generation beside the old one, then the manifest, then takes the old
one away: a kill at any moment leaves one or the other. Items added later are transactions
in the generation's items.sqlite.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from .._files import sync_folder
from ..errors import InvalidFile, InvalidInput, LabelspanError, Locked
from .manifest import MANIFEST, generation_folder, read_manifest, write_manifest
from .parts import file_size

__all__ = ["ITEMS", "Lock", "commit", "opened", "prepared", "strangers"]

T = TypeVar("T")

ITEMS = "items.sqlite"
_LOCK = "lock"
_OURS = re.compile(rf"generation-[0-9a-f]{{8}}|{_LOCK}(-journal)?|\.?{re.escape(MANIFEST)}.*")
# Each try follows a save that came between reading the manifest and its files.
_TRIES = 20


class Lock:
    """The right to write to a folder, held until it is released or the process ends.

    It is SQLite's lock on an empty file: the same on every system, and never left behind.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / _LOCK
        try:
            # Not ours, or a link to elsewhere: SQLite would read it, and more beside it.
            if os.path.lexists(path) and file_size(path):
                raise InvalidFile(f"{path} is damaged: it is not empty; remove it.")
            self._connection = sqlite3.connect(
                path, timeout=0, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            raise InvalidFile(f"{folder} cannot be written: {error}.") from error
        try:
            # Nothing is ever written, so a full disk is no hindrance, and a kill leaves nothing.
            self._connection.execute("PRAGMA journal_mode = MEMORY")
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            self._connection.close()
            if "locked" not in str(error):
                raise InvalidFile(f"{folder} cannot be written: {error}.") from error
            raise Locked(
                f"Another writer has the index in {str(folder)!r} open; close that one first, "
                "or load this one for reading."
            ) from None
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise InvalidFile(f"{path} is damaged ({error}); remove it.") from error

    def release(self) -> None:
        """Let others write."""
        self._connection.close()


def commit(folder: Path, write: Callable[[Path, str], dict[str, Any]]) -> None:
    """Write a generation and make it the one that counts; the caller holds the lock.

    ``write`` fills an empty folder and gives the content of the manifest. Where it fails,
    what it left is taken away, and the index is what it was.
    """
    key = secrets.token_hex(4)
    made = folder / f"generation-{key}"
    try:
        made.mkdir()
        content = write(made, key)
        sync_folder(folder)
        write_manifest(folder, {**content, "generation": made.name, "key": key})
    except BaseException as error:
        if made.name != _named(folder):
            shutil.rmtree(made, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, LabelspanError):
            reason = error.strerror or error
            raise InvalidFile(
                f"{folder} cannot be written: {reason}; what was there before is still there."
            ) from error
        raise
    for other in folder.glob("generation-*"):
        if other != made:
            # Readers may hold old files open; what cannot go now goes with the next save.
            shutil.rmtree(other, ignore_errors=True)
    for partial in folder.glob(f".{MANIFEST}.*"):
        partial.unlink(missing_ok=True)


def opened(folder: Path, read: Callable[[Path, dict[str, Any]], T]) -> T:
    """What ``read`` makes of the generation that counts; tried again when a save came between."""
    content = read_manifest(folder)
    for _ in range(_TRIES):
        generation = generation_folder(folder, content)
        try:
            return read(generation, content)
        except (OSError, InvalidFile) as error:
            newer = read_manifest(folder)
            if newer.get("generation") == content.get("generation"):
                if isinstance(error, InvalidFile):
                    raise
                where = error.filename or generation
                raise InvalidFile(f"{where} cannot be read: {error.strerror or error}.") from error
            content = newer
    raise InvalidFile(f"{folder} is written too often to be read; try again later.")


def prepared(path: Path) -> Path:
    """A folder that may hold an index: new, empty, or with nothing but an index in it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        strange = strangers(path)
    except OSError as error:
        raise InvalidFile(f"{path} cannot be written: {error.strerror or error}.") from error
    if strange:
        raise InvalidInput(
            f"save: {str(path)!r} holds other files, say {strange[0]!r}; give a new folder."
        )
    return path


def strangers(folder: Path) -> list[str]:
    """Names in a folder that no index, and no save that was killed, puts there."""
    return sorted(path.name for path in folder.iterdir() if not _OURS.fullmatch(path.name))


def _named(folder: Path) -> str:
    """The generation that counts, or nothing where that cannot be known."""
    try:
        return str(read_manifest(folder).get("generation"))
    except (LabelspanError, OSError):
        return ""
