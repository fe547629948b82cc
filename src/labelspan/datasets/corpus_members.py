"""Files of a folder or of an archive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

__all__ = ["Member", "is_hidden"]


@dataclass(frozen=True)
class Member:
    """A file of a folder or of an archive; ``open`` is for those that may be large."""

    path: PurePosixPath
    read: Callable[[], bytes]
    open: Callable[[], Any] | None = None


def is_hidden(path: PurePosixPath) -> bool:
    """Tell whether a file, or a folder around it, has a name that begins with a dot."""
    return any(part.startswith(".") for part in path.parts)
