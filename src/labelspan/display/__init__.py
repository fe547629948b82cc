"""Displays: plots of computed arrays, with the interface of scikit-learn's displays."""

from .alpha_curve import AlphaDisplay
from .corpus_html import corpus_html
from .corpus_map import CorpusMap, CorpusMapDisplay
from .embedding import EmbeddingDisplay
from .label_map import LabelMapDisplay
from .loadings import LoadingsDisplay
from .spectrum import SpectrumDisplay
from .tuning_scores import TuningDisplay

__all__ = [
    "AlphaDisplay",
    "CorpusMap",
    "CorpusMapDisplay",
    "EmbeddingDisplay",
    "LabelMapDisplay",
    "LoadingsDisplay",
    "SpectrumDisplay",
    "TuningDisplay",
    "corpus_html",
]
