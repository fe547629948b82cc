"""Index of items with texts and labels: search, tag, explain, add, save."""

from .browsing import Facet, ItemList
from .filters import Filter
from .results import (
    Axis,
    AxisShare,
    Explanation,
    Hit,
    Item,
    LabelReport,
    Tag,
    TagExplanation,
    Vote,
    WordShare,
)
from .semantic import SemanticIndex

__all__ = [
    "Axis",
    "AxisShare",
    "Explanation",
    "Facet",
    "Filter",
    "Hit",
    "Item",
    "ItemList",
    "LabelReport",
    "SemanticIndex",
    "Tag",
    "TagExplanation",
    "Vote",
    "WordShare",
]
