"""Index of items with texts and labels: search, tag, explain, add, save."""

from .browsing import Facet, ItemList
from .label_tree import FoundLabel, LabelNode
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
from .searching import Filter
from .semantic import SemanticIndex

__all__ = [
    "Axis",
    "AxisShare",
    "Explanation",
    "Facet",
    "Filter",
    "FoundLabel",
    "Hit",
    "Item",
    "ItemList",
    "LabelNode",
    "LabelReport",
    "SemanticIndex",
    "Tag",
    "TagExplanation",
    "Vote",
    "WordShare",
]
