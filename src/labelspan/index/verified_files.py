"""Large files of indexes that this user's commands have verified before.

To verify gigabytes takes longer than a search in them. What was verified is kept in a small file in
the user's cache folder, and a file is verified again where its size, its times of change or its
place on the disk are different. A file that changed within the last seconds is not remembered: a
later change could have the same time. Without a folder to write to, everything is verified each
time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .._files import cache_folder

__all__ = ["VerifiedFiles"]

# Bytes from which a file is remembered.
_LARGE = 1 << 26
# Nanoseconds since its last change after which a file is remembered.
_SETTLED = 2_000_000_000
# Folders that are remembered at most, the latest ones.
_MOST_FOLDERS = 100


class VerifiedFiles:
    """What is known of the files of one folder.

    Parameters
    ----------
    folder : path
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._file = _cache_file()
        self._known = _read(self._file).get(str(self._folder), {})

    def knows(self, name: str, sha256: str) -> bool:
        """Tell whether a file was verified, and has not changed since."""
        return name in self._known and self._known[name] == self._stamp(name, sha256)

    def note(self, name: str, sha256: str, started: int) -> None:
        """Remember a large file that was verified, from ``started`` (nanoseconds) on."""
        stamp = self._stamp(name, sha256)
        if stamp is not None and stamp[1] >= _LARGE and started - stamp[2] > _SETTLED:
            self._keep(name, stamp)

    def knows_together(self, task: str, sums: Iterable[str]) -> bool:
        """Tell whether a check of several files, of these checksums, was done before."""
        return bool(self._known.get(task) == list(sums))

    def note_together(self, task: str, sums: Iterable[str]) -> None:
        """Remember a check of several files, where any of the folder's is large."""
        if self._known:
            self._keep(task, list(sums))

    def _stamp(self, name: str, sha256: str) -> list[Any] | None:
        try:
            found = (self._folder / name).stat()
        except OSError:
            return None
        # A program can set the time of a change back (st_mtime), but not when it did so (st_ctime).
        times = found.st_mtime_ns, found.st_ctime_ns
        return [sha256, found.st_size, *times, found.st_ino, found.st_dev]

    def _keep(self, name: str, value: list[Any]) -> None:
        self._known = {**self._known, name: value}
        if self._file is None:
            return
        found = _read(self._file)
        found.pop(str(self._folder), None)
        found[str(self._folder)] = self._known
        latest = dict(list(found.items())[-_MOST_FOLDERS:])
        partial = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps(latest), encoding="utf-8")
            partial.replace(self._file)
        except OSError:
            # Verified again the next time.
            partial.unlink(missing_ok=True)


def _cache_file() -> Path | None:
    try:
        return cache_folder() / "verified.json"
    except RuntimeError:
        # The user has no home folder.
        return None


def _read(file: Path | None) -> dict[str, dict[str, list[Any]]]:
    try:
        found = {} if file is None else json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    whole = isinstance(found, dict) and all(isinstance(one, dict) for one in found.values())
    return found if whole else {}
