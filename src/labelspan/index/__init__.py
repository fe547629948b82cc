"""Index of items with texts and labels: search, tag, explain, add, save."""

from .browsing import ItemList
from .results import Hit, Item, Tag
from .searching import Filter
from .semantic import SemanticIndex

__all__ = ["Filter", "Hit", "Item", "ItemList", "SemanticIndex", "Tag"]
