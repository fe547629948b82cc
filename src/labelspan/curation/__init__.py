"""Curation of labels: audit, review, edits and decisions."""

from .audit_results import Finding, LabelAudit
from .decisions import DecisionGroup, LabelDecision, LabelEdit
from .review_queue import Review

__all__ = [
    "DecisionGroup",
    "Finding",
    "LabelAudit",
    "LabelDecision",
    "LabelEdit",
    "Review",
]
