"""Curation of labels: audit, review, edits and decisions."""

from .audit_results import Finding, LabelAudit
from .decisions import DecisionGroup, LabelDecision, LabelEdit, plan_edit, plan_replace
from .label_audit import audit_labels
from .review_queue import Progress, Review

__all__ = [
    "DecisionGroup",
    "Finding",
    "LabelAudit",
    "LabelDecision",
    "LabelEdit",
    "Progress",
    "Review",
    "audit_labels",
    "plan_edit",
    "plan_replace",
]
