"""Displays: pictures of computed arrays, in scikit-learn's manner."""

from .embedding import EmbeddingDisplay
from .ends import LoadingsDisplay
from .label_map import LabelMapDisplay
from .loadings import LoadingsPathDisplay
from .spectrum import SpectrumDisplay
from .tuning import TuningDisplay

__all__ = [
    "EmbeddingDisplay",
    "LabelMapDisplay",
    "LoadingsDisplay",
    "LoadingsPathDisplay",
    "SpectrumDisplay",
    "TuningDisplay",
]
