"""Index of items with texts and labels: search, tag, explain, add, save."""

from .audit_results import Finding, LabelAudit
from .decisions import LabelDecision
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
from .review_queue import Progress, Review
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
    "LabelDecision",
    "LabelReport",
    "LabelShare",
    "Progress",
    "Review",
    "SemanticIndex",
    "Tag",
    "TagExplanation",
    "Vote",
    "WordShare",
]
