"""Index of items with texts and labels: search, tag, explain, add, save, undo."""

from .browsing import ItemList
from .history import CellChange, HistoryEntry, Undone
from .links import ItemLinks
from .results import Hit, Item, Tag
from .searching import Filter
from .semantic import SemanticIndex

__all__ = [
    "CellChange",
    "Filter",
    "HistoryEntry",
    "Hit",
    "Item",
    "ItemLinks",
    "ItemList",
    "SemanticIndex",
    "Tag",
    "Undone",
]
