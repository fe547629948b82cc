"""Curation of labels: audit, review, edits, decisions and lessons."""

from .audit_results import Finding, LabelAudit
from .decisions import DecisionGroup, LabelDecision, LabelEdit
from .label_audit import audit_labels
from .review_queue import Review
from .teach import Teacher, TeachProgress

__all__ = [
    "DecisionGroup",
    "Finding",
    "LabelAudit",
    "LabelDecision",
    "LabelEdit",
    "Review",
    "TeachProgress",
    "Teacher",
    "audit_labels",
]
