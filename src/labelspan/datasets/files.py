"""Where data lies, and how it is read and written: whole, or not at all."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ..errors import InvalidFile, MissingData

__all__ = ["data_home", "read_bytes", "sync_folder", "write_whole"]

VARIABLE = "LABELSPAN_DATA"


def data_home(given: str | os.PathLike[str] | None = None) -> Path:
    """The folder of the data sets.

    Parameters
    ----------
    given : path or None, default=None
        The folder; None takes the environment variable ``LABELSPAN_DATA``, or else the
        user's cache.

    Returns
    -------
    Path
        It need not exist.

    Examples
    --------
    >>> from labelspan.datasets import data_home
    >>> data_home("here").name
    'here'
    """
    named = given if given is not None else os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    if sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "labelspan"


def read_bytes(path: Path, sha256: str | None = None) -> bytes:
    """A file's content; with ``sha256``, only what has that hash."""
    try:
        if stat.S_ISCHR(path.stat().st_mode) or stat.S_ISBLK(path.stat().st_mode):
            raise InvalidFile(f"{path} is a device, which may have no end; give a file.")
        content = path.read_bytes()
    except FileNotFoundError:
        raise MissingData(f"There is no file {str(path)!r}; correct the path.") from None
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or error}.") from error
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise InvalidFile(
            f"{path} is damaged or another version: its sha256 is not the pinned {sha256}; "
            "remove it and get it anew."
        )
    return content


def write_whole(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Let ``write`` fill a file under a temporary name, then move it into place.

    The folder is made where it is missing. When anything fails, what was at ``path``
    before is still there, and nothing else.
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
    """See that the new name survives a loss of power, where folders can be synced."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
