"""An audit that several processes share, so that one of them computes it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any

from ..index import Finding, LabelAudit

__all__ = ["SharedAudit"]


class SharedAudit:
    """The last audit that one of several processes has computed, in a file that all have open.

    While one computes, the others wait; if it ends meanwhile, the next one computes. The file has
    no name, and is gone with the last process.

    Parameters
    ----------
    descriptor : int
        Of the file, which is opened by the process that starts the others.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def get(self, state: str, make: Callable[[], LabelAudit]) -> LabelAudit:
        """Return the audit of a state of the index, or make it."""
        with self._alone():
            found = self._read(state)
            if found is None:
                found = make()
                self._write(state, found)
            return found

    @contextmanager
    def _alone(self) -> Iterator[None]:
        import fcntl  # noqa: PLC0415 - not on Windows, where one process serves

        # The system excludes other processes, not other threads of this one.
        with self._lock:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN)

    def _read(self, state: str) -> LabelAudit | None:
        content = b""
        while part := os.pread(self._descriptor, 1 << 20, len(content)):
            content += part
        # Nothing yet, or a process was killed while it wrote.
        with suppress(ValueError):
            kept = json.loads(content)
            if kept["state"] == state:
                findings = tuple(map(_finding, kept["findings"]))
                return LabelAudit(findings, kept["n_items"], kept["n_labels"])
        return None

    def _write(self, state: str, found: LabelAudit) -> None:
        content = json.dumps({"state": state, **asdict(found)}).encode()
        os.ftruncate(self._descriptor, 0)
        written = 0
        while written < len(content):
            written += os.pwrite(self._descriptor, content[written:], written)


def _finding(kept: dict[str, Any]) -> Finding:
    lists = {name: tuple(kept[name]) for name in ("items", "labels", "titles")}
    return Finding(**{**kept, **lists})
