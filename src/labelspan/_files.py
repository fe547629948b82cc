"""Reading files, and writing them atomically."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from .errors import InvalidFile, MissingData, TooManyFiles

__all__ = [
    "cache_folder",
    "check_descriptors",
    "check_there",
    "file_size",
    "missing_resource",
    "read_bytes",
    "sync_folder",
    "write_whole",
]

# A database, its log, its shared memory and their folder.
_OPENED_BY_SQLITE = 4

_MISSING = "There is no file {!r}; correct the path."


def cache_folder() -> Path:
    """Return the folder for what can be made again, of this user and this package."""
    if sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "labelspan"


def check_there(path: Path) -> None:
    """Raise an error if there is neither a file nor a folder."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingData(_MISSING.format(str(path))) from None
    except OSError:
        # Something is there that cannot be read; reading it says what.
        return


def read_bytes(path: Path, sha256: str | None = None) -> bytes:
    """Return the content of a file, checked against ``sha256`` if that is given."""
    try:
        if stat.S_ISCHR(path.stat().st_mode) or stat.S_ISBLK(path.stat().st_mode):
            raise InvalidFile(f"{path} is a device, which may never end; give a file.")
        content = path.read_bytes()
    except FileNotFoundError:
        raise MissingData(_MISSING.format(str(path))) from None
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or error}.") from error
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise InvalidFile(
            f"{path} is damaged or another version: its sha256 is not the pinned {sha256}; "
            "remove it and get it again."
        )
    return content


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under a temporary name, then move it into place.

    ``write`` gets the open file. Missing folders are made. When anything fails, ``path`` is
    unchanged and nothing else is left behind.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("xb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise InvalidFile(
            f"{path} cannot be written: {error.strerror or error}; choose another folder."
        ) from error


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk, where the system can, so that new names survive a power failure."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_size(path: Path) -> int:
    """Return the size of a regular file; links, pipes and devices are not opened."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise InvalidFile(f"{path} is not a regular file; it is not opened.")
    return found.st_size


def missing_resource(error: BaseException | None, path: Any) -> Exception | None:
    """Return the error for a lack of file descriptors or memory; None for any other cause."""
    code = error.errno if isinstance(error, OSError) else None
    if code in (errno.EMFILE, errno.ENFILE):
        return TooManyFiles(
            f"{path} cannot be opened: too many files are open; close some, or raise the limit "
            "(ulimit -n)."
        )
    if code == errno.ENOMEM:
        return MemoryError(f"{path} cannot be opened: there is not enough memory.")
    return None


def check_descriptors(path: Any) -> None:
    """Raise an error if a few files cannot be opened: SQLite does not give this as the cause."""
    handles = []
    try:
        for _ in range(_OPENED_BY_SQLITE):
            handles.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        missing = missing_resource(error, path)
        if missing is not None:
            raise missing from error
    finally:
        for handle in handles:
            os.close(handle)
