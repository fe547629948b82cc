"""Write a map of a corpus as one HTML file that can be zoomed and searched."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from pathlib import Path
from string import Template

from ..errors import InvalidInput
from .corpus_map import CorpusMap
from .map_data import encode_map

__all__ = ["corpus_html"]

_FOLDER = Path(__file__).with_name("static")
_STYLES = ("colours.css", "facets.css", "corpus-map.css", "page.css")
_SCRIPTS = (
    "dom.js",
    "facets.js",
    "scatter.js",
    "map-data.js",
    "map-choice.js",
    "map-legend.js",
    "map-names.js",
    "map-facets.js",
    "icons.js",
    "map-results.js",
    "map-picture.js",
    "corpus-map.js",
    "page.js",
)


def corpus_html(corpus_map: CorpusMap, title: str) -> str:
    """Return a self-contained page with the map, which works offline.

    Points can be zoomed and panned, coloured by any label or metadata, filtered, and searched by
    their ids and titles; hovering over a point shows its item. The page's content security policy
    allows only its own script and styles.

    Parameters
    ----------
    corpus_map : CorpusMap
        The items with their coordinates.
    title : str
        The heading of the page.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.display import CorpusMap, corpus_html
    >>> points = np.array([[0.0, 0.0], [0.1, 0.0]])
    >>> found = CorpusMap(points, ["a", "b"], ["A game", "A tool"], [["play"], []])
    >>> corpus_html(found, "Two items").startswith("<!doctype html>")
    True
    """
    if not len(corpus_map.points):
        raise InvalidInput("corpus_html: there are no items to draw.")
    style, script = _joined(_STYLES), _joined(_SCRIPTS)
    page = Template((_FOLDER / "corpus-map.html").read_text(encoding="utf-8"))
    return page.substitute(
        title=escape(title),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        points=base64.b64encode(encode_map(corpus_map)).decode(),
    )


def _joined(names: tuple[str, ...]) -> str:
    return "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    """Return the hash of a script or style sheet for a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
