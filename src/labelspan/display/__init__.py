"""Displays: pictures of computed arrays, in scikit-learn's manner."""

from .loadings import LoadingsPathDisplay
from .tuning import TuningDisplay

__all__ = ["LoadingsPathDisplay", "TuningDisplay"]
