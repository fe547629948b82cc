"""Files of an index: arrays with a checksum, manifest, generations, and lock of the writer.

    manifest.json           names the current generation and its files; replaced in one step
    generation-0a1b2c3d/    files of arrays, and items.sqlite
    lock                    held by the process that writes
    map.arrays              cache of the layout of the map
    unfinished/             what a fit has done so far

A save writes a new generation next to the old one, then replaces the manifest, then deletes the
old generation: a process killed at any moment leaves the old index or the new one. Later changes
are transactions in the generation's items.sqlite.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from .._arrays import ArrayFile, Rows, parse_json, write_arrays
from .._files import check_descriptors, file_size, missing_resource, sync_folder, write_whole
from .._typing import Array
from ..errors import InvalidFile, InvalidInput, LabelspanError, Locked, MissingData, Replaced

__all__ = [
    "ITEMS",
    "MAP_FILE",
    "UNFINISHED",
    "ArrayBlocks",
    "Files",
    "IndexFolder",
    "NotAnIndex",
    "field",
    "foreign_files",
    "generation_folder",
    "keep_file",
    "read_manifest",
    "source_file",
    "write_manifest",
]

T = TypeVar("T")


class NotAnIndex(InvalidFile):
    """A folder whose ``manifest.json`` is that of something else."""


_MANIFEST = "manifest.json"
ITEMS = "items.sqlite"
MAP_FILE = "map.arrays"
_LOCK = "lock"
UNFINISHED = "unfinished"
# The file that the items were read from, if it was given to the explorer.
_KEPT = "dropped-file"
_FORMAT = "labelspan-index"
_VERSION = 7
# Oldest format whose items can be fitted again.
_OLDEST = 5
_LARGEST_MANIFEST = 1 << 24
_GENERATION = re.compile(r"generation-[0-9a-f]{8}")
_FILE_NAME = re.compile(r"[a-z0-9_]{1,80}\.arrays")
_OWN = re.compile(
    rf"{_GENERATION.pattern}|{_LOCK}(-journal)?|{UNFINISHED}|{_KEPT}"
    rf"|\.?({re.escape(_MANIFEST)}|{re.escape(MAP_FILE)}).*"
)
# Up to this size a file is hashed whenever it is opened; larger ones when that is asked for.
_SMALL = 1 << 24
# Each retry follows a save between reading the manifest and reading its files.
_TRIES = 20


# --- blocks of an unfinished fit ---------------------------------------------------------


class ArrayBlocks:
    """Blocks of arrays in a new or existing folder: the finished part of a long fit.

    A block has its name only when it is whole, so that a process that is killed leaves whole
    blocks, and the next one goes on after them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0
        folder.mkdir(parents=True, exist_ok=True)
        while (path := self._path(self._count)).exists():
            try:
                ArrayFile(path).verify()
            except InvalidFile as error:
                raise InvalidFile(
                    f"A block of an unfinished fit is damaged; remove {folder.parent} and fit "
                    f"again ({error})."
                ) from error
            self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        paths = map(self._path, range(self._count))
        return (ArrayFile(path, verify=False).arrays() for path in paths)

    def append(self, arrays: Mapping[str, Array]) -> None:
        """Write a block."""
        write_arrays(self._path(self._count), arrays)
        self._count += 1

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:06d}.arrays"


# --- folder of an index --------------------------------------------------------------------


class Files:
    """Files of arrays in a folder, with the size and sha256 of each.

    ``entries`` has these by name, as in the manifest; without it, the folder is a new one. With
    ``verify``, large files are hashed, too, when they are opened. Arrays are ``mapped``, or else
    read into memory.
    """

    def __init__(
        self,
        folder: Path,
        entries: Mapping[str, Any] | None = None,
        *,
        verify: bool = False,
        mapped: bool = True,
    ) -> None:
        self.folder = folder
        self.entries: dict[str, Any] = dict(entries or {})
        self.verify, self._mapped = verify, mapped

    def __contains__(self, name: str) -> bool:
        return f"{name}.arrays" in self.entries

    def write(self, name: str, arrays: Mapping[str, Array | Rows], **about: Any) -> None:
        """Write a file."""
        path = self.folder / f"{name}.arrays"
        self.entries[path.name] = write_arrays(path, arrays, **about)

    def open(self, name: str) -> ArrayFile:
        """Open a file, if it is the one of its entry; it is hashed if it is small, or if asked.

        An open file can be read even after a save has deleted it.
        """
        path = self.folder / f"{name}.arrays"
        entry = self.entries.get(path.name)
        if not isinstance(entry, dict):
            raise InvalidFile(f"{_MANIFEST}: there is no file {path.name!r:.80}.")
        try:
            small = file_size(path) <= _SMALL
            found = ArrayFile(path, mapped=self._mapped, verify=small)
        except FileNotFoundError:
            raise InvalidFile(
                f"{path} is missing; if a writer has replaced the index, refresh it."
            ) from None
        if entry != found.entry:
            raise InvalidFile(f"{path} is damaged: it is not the file that was written.")
        if self.verify:
            found.verify()
        return found


class IndexFolder:
    """Folder that holds an index, open for reading or for writing.

    With ``write``, it has the lock of the writer. With ``new``, the folder may be new, empty, or
    left by a save that was killed.
    """

    def __init__(self, path: Path, *, write: bool = False, new: bool = False) -> None:
        self.path = path
        # The current generation, and the tagger in it.
        self.version: tuple[Any, ...] = ()
        self._opened: os.stat_result | None = None
        self._created = not path.exists()
        if new:
            _prepare(path)
        else:
            read_manifest(path)
        self._lock = _write_lock(path) if write else None

    @property
    def writable(self) -> bool:
        """Whether this object holds the lock of the writer."""
        return self._lock is not None

    def read(self, make: Callable[[Files, dict[str, Any]], T], *, verify: bool, mapped: bool) -> T:
        """Read the current generation; start again if a save replaces it meanwhile."""
        content = read_manifest(self.path)
        for _ in range(_TRIES):
            generation = generation_folder(self.path, content)
            try:
                files = Files(generation, content["files"], verify=verify, mapped=mapped)
                self.version, self._opened = _version(content), (generation / ITEMS).stat()
                return make(files, content)
            except (OSError, InvalidFile) as error:
                newer = read_manifest(self.path)
                if _version(newer) == _version(content):
                    if isinstance(error, LabelspanError):
                        raise
                    raise _failed(error, error.filename or generation, "read") from error
                content = newer
        raise InvalidFile(f"{self.path} is written too often to be read; try again later.")

    def write(self, fill: Callable[[Path, str], dict[str, Any]], key: str = "") -> None:
        """Make a new generation the current one; a failure changes nothing.

        ``fill`` creates its folder, given the path and a key, and returns the manifest.
        """
        key = key or secrets.token_hex(4)
        made = self.path / f"generation-{key}"
        try:
            content = fill(made, key)
            sync_folder(made)
            sync_folder(self.path)
            write_manifest(self.path, {**content, "generation": made.name, "key": key})
        except BaseException as error:
            # It is current if the manifest was written, and only its folder not synced.
            if made.name != self._current():
                shutil.rmtree(made, ignore_errors=True)
            missing = missing_resource(error.__cause__, self.path)
            if missing is not None:
                raise missing from error
            if isinstance(error, OSError) and not isinstance(error, LabelspanError):
                raise _failed(error, self.path, "written") from error
            raise
        for other in self.path.glob("generation-*"):
            if other != made:
                # Readers may have old files open; what remains is deleted by the next save.
                shutil.rmtree(other, ignore_errors=True)
        for partial in self.path.glob(f".{_MANIFEST}.*"):
            partial.unlink(missing_ok=True)
        shutil.rmtree(self.path / UNFINISHED, ignore_errors=True)

    def replace_tagger(self, write: Callable[[Files], str]) -> None:
        """Let ``write`` write another tagger, and return its name; a failure changes nothing."""
        self.check_current()
        content = read_manifest(self.path)
        del content["version"]
        files = Files(generation_folder(self.path, content), content["files"])
        old = f"{content['tagger']}.arrays"
        try:
            content |= {"tagger": write(files), "files": files.entries}
            del files.entries[old]
            sync_folder(files.folder)
            write_manifest(self.path, content)
        except OSError as error:
            if isinstance(error, LabelspanError):
                raise
            raise _failed(error, self.path, "written") from error
        self.version = _version(content)
        # Readers may have it open; what remains is deleted by the next save.
        with suppress(OSError):
            (files.folder / old).unlink()

    def replaced(self) -> bool:
        """Return whether another generation is current than the one that was read."""
        return _version(read_manifest(self.path)) != self.version

    def check_current(self) -> None:
        """Raise an error if the folder now contains another index than the one that was read."""
        try:
            current = generation_folder(self.path, read_manifest(self.path)) / ITEMS
            same = self._opened is not None and os.path.samestat(current.stat(), self._opened)
        except (LabelspanError, OSError):
            same = False
        if not same:
            raise Replaced(
                f"The index in {str(self.path)!r} was replaced since it was opened; nothing was "
                "changed. Load it again."
            )

    def _current(self) -> str:
        """Return the name of the current generation; empty if the manifest cannot be read."""
        try:
            return str(read_manifest(self.path).get("generation"))
        except (LabelspanError, OSError):
            return ""

    def close(self) -> None:
        """Release the lock, and remove the folder if it was created and is empty."""
        kept = (self.path / _MANIFEST).exists() or (self.path / UNFINISHED).exists()
        if self._created and not kept:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _version(content: Mapping[str, Any]) -> tuple[Any, ...]:
    return content.get("generation"), content.get("tagger")


def _write_lock(folder: Path) -> sqlite3.Connection:
    """Lock a folder for writing, until the connection is closed or the process ends.

    It is SQLite's lock on an empty file: the same on every system, and never left behind.
    """
    path, held = folder / _LOCK, None
    try:
        # SQLite would read a foreign file, or the target of a link.
        if os.path.lexists(path) and file_size(path):
            raise InvalidFile(f"{path} is damaged: it is not empty; remove it.")
        held = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        # Nothing is ever written, so a full disk does not matter and a kill leaves nothing.
        held.execute("PRAGMA journal_mode = MEMORY")
        held.execute("BEGIN EXCLUSIVE")
    except (OSError, sqlite3.Error) as error:
        if held is not None:
            held.close()
        if isinstance(error, LabelspanError):
            raise
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            raise Locked(
                f"Another writer has the index in {str(folder)!r} open; close that one first, "
                "or load this one for reading."
            ) from None
        check_descriptors(folder)
        raise _failed(error, folder, "written") from error
    return held


def foreign_files(folder: Path) -> list[str]:
    """List the names in a folder that are not files of an index or of a killed save."""
    return sorted(path.name for path in folder.iterdir() if not _OWN.fullmatch(path.name))


def keep_file(folder: Path, file: Path) -> Path:
    """Move the file that an index was made of into its folder, in place of an earlier one."""
    kept = folder / _KEPT
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    return Path(shutil.move(file, kept / file.name))


def source_file(folder: Path, told: object) -> Path | None:
    """Return the file that an index was made of, or its folder, if it is still there.

    It is kept in the folder of the index, or its path from there is ``told`` by the fit.
    """
    kept = folder / _KEPT
    inside = sorted(kept.iterdir()) if kept.is_dir() else []
    found = inside[0] if inside else folder / told if isinstance(told, str) and told else None
    return found if found is not None and found.exists() else None


def _prepare(path: Path) -> None:
    """Create a folder if it is missing; raise an error if it contains other files."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        foreign = foreign_files(path)
    except OSError as error:
        raise _failed(error, path, "written") from error
    if foreign:
        raise InvalidInput(
            f"save: {str(path)!r} holds other files, for example {foreign[0]!r}; give a new folder."
        )


# --- manifest -------------------------------------------------------------------------------


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Write the manifest, in place of the old one."""
    head = {"format": _FORMAT, "version": _VERSION, "sha256": _digest(content)}
    data = json.dumps({**head, "content": content}, ensure_ascii=False, indent=1).encode()
    write_whole(folder / _MANIFEST, lambda file: file.write(data))


def read_manifest(folder: Path, *, older: bool = False) -> dict[str, Any]:
    """Read the content of the manifest, if it is valid and of the current format.

    With ``older``, older formats whose items can be fitted again are accepted too.
    """
    path = folder / _MANIFEST
    try:
        if file_size(path) > _LARGEST_MANIFEST:
            raise NotAnIndex(f"{path} is not the manifest of an index: it is too large.")
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingData(f"There is no index in {str(folder)!r}; correct the path.") from None
    except OSError as error:
        raise _failed(error, path, "read") from error
    head = parse_json(data, path)
    if not isinstance(head, dict) or head.get("format") != _FORMAT:
        raise NotAnIndex(f"{path} is not the manifest of a labelspan index.")
    version = head.get("version")
    if type(version) is not int or version < 1:
        raise InvalidFile(f"{path} is damaged: it has no format version.")
    if version > _VERSION:
        raise InvalidFile(
            f"{folder} is an index of format {version!s:.20}, and this labelspan reads format "
            f"{_VERSION}; install a newer labelspan."
        )
    if version < _OLDEST:
        raise InvalidFile(
            f"{folder} is an index of the older format {version}, which this labelspan cannot "
            "read; fit it again from the corpus: labelspan fit CORPUS"
        )
    if version < _VERSION and not older:
        raise InvalidFile(
            f"{folder} is an index of the older format {version}, and this labelspan reads format "
            f"{_VERSION}; fit it again from its own items: labelspan fit {folder}"
        )
    content = head.get("content")
    try:
        if isinstance(content, dict) and _digest(content) == head.get("sha256"):
            return {**content, "version": version}
    except RecursionError:
        # It is nested more deeply than any manifest.
        pass
    raise InvalidFile(f"{path} is damaged: its content is not what was written.")


def field(content: Mapping[str, Any], name: str, kind: type) -> Any:
    """Return a field of the manifest, checked for its type."""
    value = content.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidFile(
            f"{_MANIFEST}: the field {name!r} is missing or of another type: the index is damaged, "
            "or was written by an unreleased version; fit it again."
        )
    return value


def generation_folder(folder: Path, content: Mapping[str, Any]) -> Path:
    """Return the folder of the files that a manifest names; it lies inside that of the index."""
    name: str = field(content, "generation", str)
    inside = folder / name
    if not _GENERATION.fullmatch(name) or inside.is_symlink():
        raise InvalidFile(
            f"{_MANIFEST}: {name!r:.80} is not a folder of this index; it is not opened."
        )
    # Of an older index only the items are read.
    for file in field(content, "files", dict) if content.get("version") == _VERSION else ():
        if not _FILE_NAME.fullmatch(file) or (inside / file).is_symlink():
            raise InvalidFile(
                f"{_MANIFEST}: {file!r:.80} is not a file of this index; it is not opened."
            )
    return inside


def _digest(content: Any) -> str:
    data = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()


def _failed(error: Exception, path: Any, what: str) -> Exception:
    """Return the error for a file or folder that cannot be read or written."""
    reason = error.strerror if isinstance(error, OSError) else None
    end = "; what was there before is unchanged" if what == "written" else ""
    return missing_resource(error, path) or InvalidFile(
        f"{path} cannot be {what}: {reason or error}{end}."
    )
