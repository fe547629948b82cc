"""Report of an audit of labels, as rows of a table and as one HTML file."""

from __future__ import annotations

from html import escape

from ..index.audit_results import KINDS, LabelAudit
from .html_report import ReportTable, html_page, html_table

__all__ = ["AUDIT_COLUMNS", "audit_page", "audit_rows"]

AUDIT_COLUMNS = ("kind", "score", "items", "labels", "reason")


def audit_rows(found: LabelAudit) -> list[tuple[str, str, str, str, str]]:
    """Return the findings as rows of text; several ids or labels are separated by bars."""
    return [
        (one.kind, f"{one.score:.4f}", "|".join(one.items), "|".join(one.labels), one.reason)
        for one in found.findings
    ]


def audit_page(found: LabelAudit, title: str) -> str:
    """Write the report as a self-contained HTML page."""
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{found.n_items:,} items, {found.n_labels:,} labels, {len(found.findings):,} findings. "
        "Probabilities come from models without the item.</p>",
    ]
    for kind, name in KINDS.items():
        rows = [
            (f"{one.score:.2f}", ", ".join(one.items), ", ".join(one.labels), one.reason)
            for one in found.of(kind)
        ]
        if rows:
            table = ReportTable(name, ("score", "items", "labels", "reason"), rows)
            body.append(html_table(table))
    return html_page(title, body)
