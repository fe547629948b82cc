"""The explorer: search, items, map, axes, labels and tags of an index, as pages and as JSON.

It needs the packages of ``pip install 'labelspan[app]'``.
"""

from .app import make_app
from .server import serve
from .snapshot import Served

__all__ = ["Served", "make_app", "serve"]
