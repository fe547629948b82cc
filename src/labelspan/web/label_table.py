"""The answer of the report on labels: how well each is predicted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from ..index import LabelReport
from .answer_parts import Asked, AskedText, page_of, rounded
from .http_errors import Refused
from .schema import Count, Unit
from .snapshot import Snapshot

__all__ = ["SORTS", "ReportRowData", "report", "report_of", "report_rows"]

_ROWS_PER_PAGE = 100


class ReportRowData(TypedDict):
    """How well a label is predicted for items that were left out."""

    label: str
    support: Annotated[Count, "number of items with the label"]
    chosen: Annotated[Count, "number of left-out items for which it was chosen"]
    precision: Annotated[Unit | None, "share of these that have it; null if there are none"]
    recall: Annotated[Unit, "share of its items that were found"]
    f1: Annotated[Unit, "harmonic mean of precision and recall"]
    threshold: Annotated[Unit | None, "probability from which it is chosen; null if never"]


class ReportData(TypedDict):
    """The answer of ``/report``."""

    q: AskedText
    sort: AskedText
    count: Annotated[Count, "number of labels that match"]
    never: Annotated[Count, "number of these that are never chosen"]
    page: Annotated[Count, "number of this page"]
    pages: Annotated[Count, "number of pages"]
    rows: Annotated[list[ReportRowData], "labels of this page"]


SORTS: dict[str, Callable[[ReportRowData], Any]] = {
    "label": lambda row: row["label"].casefold(),
    "support": lambda row: -row["support"],
    "chosen": lambda row: -row["chosen"],
    "precision": lambda row: -1.0 if row["precision"] is None else row["precision"],
    "recall": lambda row: row["recall"],
    "f1": lambda row: row["f1"],
    "threshold": lambda row: 2.0 if row["threshold"] is None else row["threshold"],
}


def report(snapshot: Snapshot, asked: Asked) -> ReportData:
    """Return a page of the report on labels."""
    found = report_rows(snapshot, asked)
    page, pages = page_of(asked["page"], len(found), _ROWS_PER_PAGE)
    start = (page - 1) * _ROWS_PER_PAGE
    return {
        "q": asked["q"],
        "sort": asked["sort"],
        "count": len(found),
        "never": sum(row["threshold"] is None for row in found),
        "page": page,
        "pages": pages,
        "rows": found[start : start + _ROWS_PER_PAGE],
    }


def report_rows(snapshot: Snapshot, asked: Asked) -> list[ReportRowData]:
    """Return all labels that match, in order; numbers of items are sorted largest first."""
    sort = asked["sort"] or "support"
    name, back = sort.removeprefix("-"), sort.startswith("-")
    if name not in SORTS:
        raise Refused(404, f"sort: choose one of {', '.join(SORTS)}.")
    part = asked["q"].strip().casefold()
    rows = [row for row in report_of(snapshot).values() if part in row["label"].casefold()]
    return sorted(rows, key=SORTS[name], reverse=back)


def report_of(snapshot: Snapshot) -> dict[str, ReportRowData]:
    """Return the report on every label that the tagger has learned."""
    made: dict[str, ReportRowData] = snapshot.cached(("report",), lambda: _made(snapshot))
    return made


def _made(snapshot: Snapshot) -> dict[str, ReportRowData]:
    if not snapshot.tags:
        return {}
    return {one.label: _row(one) for one in snapshot.index.label_report()}


def _row(one: LabelReport) -> ReportRowData:
    return {
        "label": one.label,
        "support": one.support,
        "chosen": one.chosen,
        "precision": rounded(one.precision) if one.chosen else None,
        "recall": rounded(one.recall),
        "f1": rounded(one.f1),
        "threshold": None if one.never else rounded(one.threshold),
    }
