"""The review by which labels are changed in the explorer.

Only ``labelspan serve --edit`` makes one of these; without it the explorer has no address that
changes an index.
"""

from __future__ import annotations

from pathlib import Path

from ..curation import Review
from ..errors import Mismatch
from ..index import SemanticIndex
from .access import Access

__all__ = ["Editing"]


class Editing:
    """The review of an index that is served for editing, and who may use it."""

    def __init__(
        self,
        index: SemanticIndex,
        who: str = "",
        corpus: Path | None = None,
        access: Access | None = None,
    ) -> None:
        if not index.can_tag:
            raise Mismatch("edit: this index was fitted without labels.")
        self.review = Review(index)
        self.who = who
        self.corpus = corpus
        self.access = Access() if access is None else access
