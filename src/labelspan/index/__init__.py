"""Index of items with texts and labels: search, tag, explain, add, save."""

from .browsing import Facet, ItemList
from .label_tree import FoundLabel, LabelNode
from .results import Axis, Explanation, Hit, Item, LabelReport, Tag, TagExplanation
from .searching import Filter
from .semantic import SemanticIndex

__all__ = [
    "Axis",
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
]
