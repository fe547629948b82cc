"""Static files, held in memory.

Starlette's ``StaticFiles`` is not used, because it takes the media type from the tables of the
machine (``/etc/mime.types``, the registry of Windows); with the header ``nosniff``, scripts of a
wrong type do not run. It reads from disk during requests, so a client that reads slowly holds an
open file, and an upgrade of a package changes files under a running server.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ..display.corpus_html import map_files

__all__ = ["Asset", "load_assets"]

_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    """A file with its media type and ETag."""

    body: bytes
    kind: str
    etag: str


def load_assets() -> dict[str, Asset]:
    """Return all files by their addresses; no other file is served."""
    own = Path(__file__).with_name("static")
    files = [path for path in own.iterdir() if path.suffix in _KINDS]
    return {f"/static/{path.name}": _read(path) for path in [*files, *map_files()]}


def _read(path: Path) -> Asset:
    body = path.read_bytes()
    return Asset(body, _KINDS[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')
