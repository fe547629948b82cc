"""The answer of the report on labels: how well each is predicted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from ..index import LabelReport
from .answer_parts import Asked, page_of
from .http_errors import Refused
from .schema import Count
from .snapshot import Snapshot

__all__ = ["SORTS", "report", "report_of", "report_rows"]

_ROWS_PER_PAGE = 100


class ReportData(TypedDict):
    """The answer of ``/report``."""

    count: Annotated[Count, "number of labels that match"]
    never: Annotated[Count, "number of these that are never chosen"]
    page: Annotated[Count, "number of this page"]
    pages: Annotated[Count, "number of pages"]
    rows: Annotated[list[LabelReport], "labels of this page"]


SORTS: dict[str, Callable[[LabelReport], Any]] = {
    "label": lambda row: row.label.casefold(),
    "support": lambda row: -row.support,
    "chosen": lambda row: -row.chosen,
    "precision": lambda row: row.precision if row.chosen else -1.0,
    "recall": lambda row: row.recall,
    "f1": lambda row: row.f1,
    "threshold": lambda row: row.threshold,
}


def report(snapshot: Snapshot, asked: Asked) -> ReportData:
    """Return a page of the report on labels."""
    found = report_rows(snapshot, asked)
    page, pages = page_of(asked["page"], len(found), _ROWS_PER_PAGE)
    start = (page - 1) * _ROWS_PER_PAGE
    return {
        "count": len(found),
        "never": sum(row.never for row in found),
        "page": page,
        "pages": pages,
        "rows": found[start : start + _ROWS_PER_PAGE],
    }


def report_rows(snapshot: Snapshot, asked: Asked) -> list[LabelReport]:
    """Return all labels that match, in order; numbers of items are sorted largest first."""
    sort = asked["sort"] or "support"
    name, back = sort.removeprefix("-"), sort.startswith("-")
    if name not in SORTS:
        raise Refused(404, f"sort: choose one of {', '.join(SORTS)}.")
    part = asked["q"].strip().casefold()
    rows = [row for row in report_of(snapshot).values() if part in row.label.casefold()]
    return sorted(rows, key=SORTS[name], reverse=back)


def report_of(snapshot: Snapshot) -> dict[str, LabelReport]:
    """Return the report on every label that the tagger has learned."""
    made: dict[str, LabelReport] = snapshot.cached("report", lambda: _made(snapshot))
    return made


def _made(snapshot: Snapshot) -> dict[str, LabelReport]:
    return {one.label: one for one in snapshot.index.label_report()} if snapshot.tags else {}
