"""Displays: plots of computed arrays, with the interface of scikit-learn's displays."""

from .corpus_html import corpus_html
from .corpus_map import CorpusMap, CorpusMapDisplay
from .embedding import EmbeddingDisplay

__all__ = [
    "CorpusMap",
    "CorpusMapDisplay",
    "EmbeddingDisplay",
    "corpus_html",
]
