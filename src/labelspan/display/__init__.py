"""The map of a collection: its coordinates and names, as a plot and as a web page."""

from .corpus_html import corpus_html
from .corpus_map import CorpusMap

__all__ = [
    "CorpusMap",
    "corpus_html",
]
