"""An index of items with texts and labels: search, tag, explain, add, save."""

from .ann import CacheState
from .catalogue import Filter
from .items import Item
from .results import Axis, AxisShare, Explanation, Hit, LabelShare, Tag, WordShare
from .semantic import SemanticIndex

__all__ = [
    "Axis",
    "AxisShare",
    "CacheState",
    "Explanation",
    "Filter",
    "Hit",
    "Item",
    "LabelShare",
    "SemanticIndex",
    "Tag",
    "WordShare",
]
