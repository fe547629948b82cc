"""Index of items with texts and labels: search, tag, explain, add, save."""

from .audit_results import Finding, LabelAudit
from .filters import Filter
from .results import (
    Axis,
    AxisShare,
    Explanation,
    Hit,
    Item,
    LabelReport,
    LabelShare,
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
    "Filter",
    "Finding",
    "Hit",
    "Item",
    "LabelAudit",
    "LabelReport",
    "LabelShare",
    "SemanticIndex",
    "Tag",
    "TagExplanation",
    "Vote",
    "WordShare",
]
