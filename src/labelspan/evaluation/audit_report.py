"""Report of an audit of labels, as rows of a table and as one HTML file."""

from __future__ import annotations

from html import escape

from ..curation.audit_results import KINDS, Finding, LabelAudit
from .html_report import ReportTable, html_page, html_table

__all__ = ["AUDIT_COLUMNS", "audit_page", "audit_rows", "named_items"]

AUDIT_COLUMNS = ("kind", "score", "items", "titles", "labels", "reason")


def audit_rows(found: LabelAudit) -> list[tuple[str, ...]]:
    """Return the findings as rows of text; several ids, titles or labels are separated by bars."""
    return [
        (
            one.kind,
            f"{one.score:.4f}",
            "|".join(one.items),
            "|".join(one.titles),
            "|".join(one.labels),
            one.reason,
        )
        for one in found.findings
    ]


def named_items(one: Finding) -> list[str]:
    """Return the items of a finding by id and title."""
    titles = one.titles or one.items
    return [
        name if title == name else f"{name}: {title}"
        for name, title in zip(one.items, titles, strict=True)
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
            (f"{one.score:.2f}", "; ".join(named_items(one)), ", ".join(one.labels), one.reason)
            for one in found.of(kind)
        ]
        if rows:
            table = ReportTable(name, ("score", "items", "labels", "reason"), rows)
            body.append(html_table(table))
    return html_page(title, body)
