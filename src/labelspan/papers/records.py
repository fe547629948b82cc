"""Records on disk: one line per job, appended when a job ends."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidInput
from ..evaluation.measurements import Record
from .paper import Key

__all__ = ["Done", "RecordFile", "job_name"]


def job_name(paper: str, part: str, key: Key) -> str:
    """Return a name that identifies a job."""
    return json.dumps([paper, part, dict(key)], sort_keys=True)


@dataclass(frozen=True)
class Done:
    """A finished job: its records, its time in seconds, and its warnings."""

    records: tuple[Record, ...]
    seconds: float
    warnings: tuple[str, ...] = ()


class RecordFile:
    """Lines of JSON, one per job; an incomplete last line is ignored.

    Each line is on disk before the next job counts, so a run that is killed at any moment
    loses only the jobs in progress.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Done]:
        """Read all finished jobs, by name."""
        if not self.path.exists():
            return {}
        found: dict[str, Done] = {}
        for number, line in enumerate(self._whole_lines(), start=1):
            try:
                entry = json.loads(line)
                name = job_name(entry["paper"], entry["part"], entry["key"])
                done = Done(tuple(entry["records"]), entry["seconds"], tuple(entry["warnings"]))
            except (ValueError, KeyError, TypeError):
                raise InvalidInput(
                    f"{self.path.name}: line {number} is not the record of a job; "
                    "remove the line, or choose another folder for the results."
                ) from None
            found[name] = done
        return found

    def append(self, paper: str, part: str, key: Key, done: Done) -> None:
        """Write one job, and wait until it is on disk."""
        entry: Mapping[str, Any] = {
            "paper": paper,
            "part": part,
            "key": dict(key),
            "seconds": round(done.seconds, 3),
            "warnings": list(done.warnings),
            "records": list(done.records),
        }
        line = json.dumps(entry, allow_nan=False) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._cut_torn_line()
        with self.path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def _whole_lines(self) -> Iterable[bytes]:
        content = self.path.read_bytes()
        return content[: content.rfind(b"\n") + 1].splitlines()

    def _cut_torn_line(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb+") as file:
            size = file.seek(0, os.SEEK_END)
            if size == 0:
                return
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                content = self.path.read_bytes()
                file.truncate(content.rfind(b"\n") + 1)
