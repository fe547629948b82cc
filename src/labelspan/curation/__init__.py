"""Curation of labels: audit, review and decisions."""

from .audit_results import Finding, LabelAudit
from .decisions import LabelDecision
from .label_audit import audit_labels
from .review_queue import Progress, Review

__all__ = ["Finding", "LabelAudit", "LabelDecision", "Progress", "Review", "audit_labels"]
