"""Texts as they are shown: the beginning of a long one, and rows as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["csv_text", "shortened"]


def shortened(text: str, most: int) -> str:
    """Return the beginning of a long text, with an ellipsis.

    Examples
    --------
    >>> from labelspan._texts import shortened
    >>> shortened("a long name", 8), shortened("a name", 8)
    ('a long…', 'a name')
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def csv_text(rows: Iterable[Sequence[Any]], *, end: str = "\n") -> str:
    """Return rows as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator=end).writerows(rows)
    return out.getvalue()
