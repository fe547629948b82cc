"""Files that pages need: ours, and Bokeh's from its installed package, held in memory."""

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
    """A file as it is sent, with a name of its content."""

    body: bytes
    kind: str
    etag: str


def load_assets() -> dict[str, Asset]:
    """All files by their addresses. No other file can be asked for."""
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
