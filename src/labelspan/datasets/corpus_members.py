"""Files of a folder or of an archive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath
from typing import Any

__all__ = [
    "PACKED_SUFFIXES",
    "TABLE_SUFFIXES",
    "Member",
    "inner_suffix",
    "is_hidden",
    "is_text",
    "table_kind",
]

PACKED_SUFFIXES = {".gz", ".bz2", ".xz"}
# Suffixes of texts; files without a suffix are texts, too.
_TEXTS = {"", ".txt", ".text", ".md", ".rst"}
TABLE_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


@dataclass(frozen=True)
class Member:
    """A file of a folder or of an archive; ``open`` is for those that may be large."""

    path: PurePosixPath
    read: Callable[[], bytes]
    open: Callable[[], Any] | None = None


def is_hidden(path: PurePosixPath) -> bool:
    """Tell whether a file, or a folder around it, has a name that begins with a dot."""
    return any(part.startswith(".") for part in path.parts)


def is_text(path: PurePath) -> bool:
    """Tell by its name whether a file is a text."""
    # A number after a dot, as in "mail.12", is not a suffix.
    suffix = path.suffix.lower()
    return suffix in _TEXTS or suffix[1:].isdigit()


def inner_suffix(path: PurePath) -> str:
    """Return the suffix of a file, or of what is packed in it."""
    inner = path.with_suffix("") if path.suffix.lower() in PACKED_SUFFIXES else path
    return inner.suffix.lower()


def table_kind(path: PurePath) -> str | None:
    """Return the format of a table by the name of its file; None if it is none."""
    return TABLE_SUFFIXES.get(inner_suffix(path))
