"""Static files: ours, and three of Bokeh's from its installed package, held in memory.

Starlette's ``StaticFiles`` is not used, because three things would be lost. It serves every file of
a folder, and Bokeh's has many more than the three that pages need. It takes the media type from
the tables of the machine (``/etc/mime.types``, the registry of Windows); with the header
``nosniff``, scripts of a wrong type do not run. It reads from disk during requests, so a client
that reads slowly holds an open file, and an upgrade of a package changes files under a running
server.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..errors import MissingData

__all__ = ["BOKEH", "Asset", "load_assets"]

BOKEH = ("bokeh.min.js", "bokeh-gl.min.js", "bokeh-api.min.js")
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
    files = {f"/static/{path.name}": path for path in own.iterdir() if path.suffix in _KINDS}
    files |= {f"/static/bokeh/{name}": _bokeh() / name for name in BOKEH}
    return {address: _read(path) for address, path in files.items()}


def _bokeh() -> Path:
    # Importing Bokeh takes a second, and only its files are needed.
    found = find_spec("bokeh")
    if found is None or not found.submodule_search_locations:
        raise MissingData("Bokeh is not installed; run pip install 'labelspan[app]'.")
    return Path(found.submodule_search_locations[0]) / "server" / "static" / "js"


def _read(path: Path) -> Asset:
    body = path.read_bytes()
    return Asset(body, _KINDS[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')
