"""Curation of labels: audit, review, edits, decisions and lessons."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .audit_results import Finding, LabelAudit
    from .decisions import LabelDecision, LabelEdit
    from .label_audit import audit_labels
    from .label_edits import LabelEdits
    from .metadata_edits import MetadataEdits, value_groups
    from .review_queue import Review
    from .saved_searches import SavedSearches
    from .teach import Teacher, TeachProgress

__all__ = [
    "Finding",
    "LabelAudit",
    "LabelDecision",
    "LabelEdit",
    "LabelEdits",
    "MetadataEdits",
    "Review",
    "SavedSearches",
    "TeachProgress",
    "Teacher",
    "audit_labels",
    "value_groups",
]

_MODULES = {
    "audit_results": ("Finding", "LabelAudit"),
    "decisions": ("LabelDecision", "LabelEdit"),
    "label_audit": ("audit_labels",),
    "label_edits": ("LabelEdits",),
    "metadata_edits": ("MetadataEdits", "value_groups"),
    "review_queue": ("Review",),
    "saved_searches": ("SavedSearches",),
    "teach": ("TeachProgress", "Teacher"),
}


def __getattr__(name: str) -> Any:
    # Imported on first use: an edit of labels needs neither the audit nor lessons.
    for module, names in _MODULES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f".{module}", __name__), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
