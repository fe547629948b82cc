"""The explorer: a web server with pages and JSON endpoints for search, items, map and labels.

It needs the packages of ``pip install 'labelspan[app]'``.
"""

from .app import make_app
from .server import serve
from .snapshot import Served

__all__ = ["Served", "make_app", "serve"]
