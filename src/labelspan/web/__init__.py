"""The explorer: a web server with pages and JSON endpoints for search, items, map and labels.

It needs the packages of ``pip install 'labelspan[app]'``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import make_app
    from .server import serve
    from .snapshot import Served

__all__ = ["Served", "make_app", "serve"]

_MODULES = {"Served": "snapshot", "make_app": "app", "serve": "server"}


def __getattr__(name: str) -> Any:
    # Imported on first use: the handshake with an assistant needs none of them.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    return value
