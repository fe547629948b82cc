"""Decisions about labels, in a file in the folder of an index.

    decisions.jsonl     one JSON object per line, only appended to

Each line is synced to disk before its call returns, has a number and ends with a hash of itself
and of the line before it. A process killed while it writes leaves a torn last line, which the next
writer removes; damage anywhere else is an error.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from .._files import sync_folder
from ..errors import InvalidFile, InvalidInput
from .items import file_size, missing_resource

__all__ = ["DECISIONS_FILE", "DecisionLog", "LabelDecision", "Verdict", "as_lines", "as_table"]

DECISIONS_FILE = "decisions.jsonl"
_LARGEST_FILE = 1 << 31
_BLANK = "0" * 32

Verdict = Literal["accept", "reject", "skip"]
_VERDICTS = get_args(Verdict)
_KINDS = ("wrong", "missing")


@dataclass(frozen=True)
class LabelDecision:
    """What was decided about a label of an item.

    Attributes
    ----------
    number : int
        Decisions with the same number were made, and are undone, together.
    time : str
        When, in UTC, for example "2026-05-01T12:00:00Z".
    item, label : str
        Id of the item, and the label.
    kind : {"wrong", "missing"}
        Whether the label was suspected to be wrong or to be missing.
    decision : {"accept", "reject", "skip"}
        "accept" follows the suspicion: a wrong label is removed, a missing one added.
    had : bool or None
        Whether the item had the label before; None if its labels were unknown.

    See Also
    --------
    Review : Makes decisions.

    Examples
    --------
    >>> from labelspan.index import LabelDecision
    >>> one = LabelDecision(1, "2026-05-01T12:00:00Z", "gimp", "game", "wrong", "accept", True)
    >>> one.changes, one.wanted
    (True, False)
    """

    number: int
    time: str
    item: str
    label: str
    kind: Literal["wrong", "missing"]
    decision: Verdict
    had: bool | None

    @property
    def wanted(self) -> bool:
        """Whether the item should have the label if the decision is "accept"."""
        return self.kind == "missing"

    @property
    def changes(self) -> bool:
        """Whether the decision changes the labels of the item."""
        return self.decision == "accept" and self.had is not self.wanted


class DecisionLog:
    """All decisions in a folder, and the right ones after undoing.

    Parameters
    ----------
    folder : Path or None
        Folder of an index; None keeps decisions in memory.
    write : bool, default=False
        Whether decisions will be added. Only the writer of the index may.

    Attributes
    ----------
    recovered : bool
        Whether a torn last line was found, and left out.
    """

    def __init__(self, folder: Path | None, *, write: bool = False) -> None:
        self._path = None if folder is None else folder / DECISIONS_FILE
        self._write = write
        self._count = 0
        self._last = _BLANK
        self._size = 0
        self._groups: dict[int, tuple[LabelDecision, ...]] = {}
        self._undone: set[int] = set()
        # The last change of labels that is not known to have reached the index.
        self._pending: int | None = None
        self.recovered = False
        if self._path is not None and os.path.lexists(self._path):
            self._read(self._path)
            if self.recovered and write:
                self._write_line(self._path, b"")

    # --- asking -----------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """Number of lines; it grows with every change."""
        return self._count

    def latest(self) -> dict[tuple[str, str], LabelDecision]:
        """Return the decision that holds for each pair of an item and a label."""
        return {
            (one.item, one.label): one
            for number, group in self._groups.items()
            if number not in self._undone
            for one in group
        }

    def decisions(self) -> list[LabelDecision]:
        """Return the decisions that hold, the oldest first."""
        return sorted(self.latest().values(), key=lambda one: one.number)

    def last(self) -> tuple[LabelDecision, ...]:
        """Return the decisions that would be undone next; empty if there are none."""
        active = [number for number in self._groups if number not in self._undone]
        return self._groups[active[-1]] if active else ()

    def changes(self) -> dict[str, dict[str, bool]]:
        """Return for each item which labels it should have (True), and which not (False)."""
        found: dict[str, dict[str, bool]] = {}
        for one in self.decisions():
            if one.decision == "accept":
                found.setdefault(one.item, {})[one.label] = one.wanted
        return found

    def pending(self) -> tuple[tuple[LabelDecision, ...], bool]:
        """Return decisions whose change may not have reached the index, and whether undone."""
        if self._pending is None:
            return (), False
        return self._groups[self._pending], self._pending in self._undone

    # --- writing ----------------------------------------------------------------------

    def add(
        self, decision: Verdict, pairs: Sequence[tuple[str, str, str, bool | None]]
    ) -> tuple[LabelDecision, ...]:
        """Append decisions about pairs (kind, item, label, had), all of them or none."""
        if decision not in _VERDICTS:
            raise InvalidInput(
                f"A decision is one of {', '.join(_VERDICTS)}, but {decision!r:.40} was given."
            )
        names = ("kind", "item", "label", "had")
        self._append(
            {
                "decision": decision,
                "pairs": [dict(zip(names, pair, strict=True)) for pair in pairs],
            }
        )
        return self._groups[self._count]

    def undo(self) -> tuple[LabelDecision, ...]:
        """Append that the last decisions are undone; return them."""
        last = self.last()
        if last:
            self._append({"decision": "undo", "of": last[0].number})
        return last

    def applied(self) -> None:
        """Append that the last change has reached the index."""
        if self._pending is not None:
            self._append({"decision": "applied", "of": self._pending})

    def _append(self, content: Mapping[str, Any]) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        record = {"number": self._count + 1, "time": now, **content}
        line, check = _format(record, self._last)
        if self._path is not None:
            if not self._write:
                raise InvalidInput(f"{self._path} was opened for reading; nothing is added.")
            self._write_line(self._path, line)
        self._take(record, check)
        self._size += len(line)

    def _write_line(self, path: Path, line: bytes) -> None:
        try:
            with path.open("r+b" if os.path.lexists(path) else "x+b", buffering=0) as file:
                try:
                    # Without a torn last line, and without one that could not be written.
                    file.truncate(self._size)
                    file.seek(self._size)
                    rest = line
                    while rest:
                        rest = rest[file.write(rest) :]
                    os.fsync(file.fileno())
                except OSError:
                    with suppress(OSError):
                        file.truncate(self._size)
                    raise
            if not self._size:
                sync_folder(path.parent)
        except OSError as error:
            raise missing_resource(error, path) or InvalidFile(
                f"{path} cannot be written: {error.strerror or error}; the decision was not kept."
            ) from error

    # --- reading ----------------------------------------------------------------------

    def _read(self, path: Path) -> None:
        try:
            if file_size(path) > _LARGEST_FILE:
                raise InvalidFile(f"{path} is too large to be read.")
            content = path.read_bytes()
        except OSError as error:
            raise missing_resource(error, path) or InvalidFile(
                f"{path} cannot be read: {error.strerror or error}."
            ) from error
        lines = [*io.BytesIO(content)]
        for number, line in enumerate(lines, 1):
            parsed = _parse(line, self._last, number)
            if parsed is None:
                if number == len(lines):
                    self.recovered = True
                    return
                raise InvalidFile(
                    f"{path} is damaged: line {number} is not what was written; restore it, or "
                    "move the file away to start again."
                )
            record, check = parsed
            try:
                self._take(record, check)
            except (KeyError, TypeError, ValueError) as error:
                raise InvalidFile(f"{path} is damaged: line {number} has other fields.") from error
            self._size += len(line)

    def _take(self, record: Mapping[str, Any], check: str) -> None:
        """Follow a line that is on disk."""
        number, what = record["number"], record["decision"]
        if what == "undo":
            group = self._groups[record["of"]]
            self._undone.add(record["of"])
            self._pending = record["of"] if any(one.changes for one in group) else None
        elif what == "applied":
            self._pending = None
        elif what in _VERDICTS:
            made = tuple(_decision(number, record["time"], what, one) for one in record["pairs"])
            self._groups[number] = made
            self._pending = number if any(one.changes for one in made) else None
        else:
            raise ValueError(what)
        self._count, self._last = number, check


def _decision(number: int, time: str, what: Verdict, pair: Mapping[str, Any]) -> LabelDecision:
    made = LabelDecision(number, time, pair["item"], pair["label"], pair["kind"], what, pair["had"])
    if made.kind not in _KINDS or not isinstance(made.item, str) or not isinstance(made.label, str):
        raise ValueError(made.kind)
    return made


def as_table(decisions: Sequence[LabelDecision]) -> str:
    """Return decisions as CSV."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow([field.name for field in fields(LabelDecision)])
    table.writerows(asdict(one).values() for one in decisions)
    return out.getvalue()


def as_lines(decisions: Sequence[LabelDecision]) -> str:
    """Return decisions as JSON lines."""
    return "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in decisions)


def _format(record: Mapping[str, Any], before: str) -> tuple[bytes, str]:
    """Return the line of a record, and its hash."""
    body = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    check = _check(body, before)
    return body[:-1] + f',"check":"{check}"}}\n'.encode(), check


def _parse(line: bytes, before: str, number: int) -> tuple[dict[str, Any], str] | None:
    """Return the record in a line, and its hash; None if it is not what was written."""
    start, mark, end = line.rpartition(b',"check":"')
    body = start + b"}"
    check = _check(body, before)
    if not mark or end != f'{check}"}}\n'.encode():
        return None
    try:
        record = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.get("number") != number:
        return None
    return record, check


def _check(body: bytes, before: str) -> str:
    return hashlib.blake2b(before.encode() + body, digest_size=16).hexdigest()
