"""Curation of labels: audit, review, edits, decisions and lessons."""

from .audit_results import Finding, LabelAudit
from .decisions import DecisionGroup, LabelDecision, LabelEdit
from .label_audit import audit_labels
from .metadata_edits import MetadataEdit, MetadataEdits, value_groups
from .review_queue import Review
from .saved_searches import SavedSearches
from .teach import Teacher, TeachProgress

__all__ = [
    "DecisionGroup",
    "Finding",
    "LabelAudit",
    "LabelDecision",
    "LabelEdit",
    "MetadataEdit",
    "MetadataEdits",
    "Review",
    "SavedSearches",
    "TeachProgress",
    "Teacher",
    "audit_labels",
    "value_groups",
]
