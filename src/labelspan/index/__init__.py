"""Index of items with texts and labels: search, tag, explain, add, save."""

from .filters import Filter
from .results import Axis, AxisShare, Explanation, Hit, Item, LabelShare, Tag, WordShare
from .semantic import SemanticIndex

__all__ = [
    "Axis",
    "AxisShare",
    "Explanation",
    "Filter",
    "Hit",
    "Item",
    "LabelShare",
    "SemanticIndex",
    "Tag",
    "WordShare",
]
