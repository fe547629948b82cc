"""The review by which labels are changed in the explorer.

``labelspan serve --read-only`` makes none of these: then the explorer has no address that changes
an index.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NotRequired

from pydantic import Field

from ..curation import Review
from ..curation.corrected_file import corpus_file
from ..index import SemanticIndex
from ..index.history import LONGEST_WHO
from .access import Access
from .endpoint import Given
from .requests import LONGEST_NAME
from .schema import Body, MaxLen

__all__ = ["EditBody", "Editing", "Name", "Text", "Who"]

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Text = Annotated[str, MaxLen(LONGEST_NAME)]
Who = Annotated[str, MaxLen(LONGEST_WHO), "who decides, for the history"]


class EditBody(Body):
    """What changes something: who decides is in the history."""

    who: NotRequired[Who]


class Editing:
    """The review of an index that is served for editing, and who may use it."""

    def __init__(
        self,
        index: SemanticIndex,
        who: str = "",
        corpus: Path | None = None,
        access: Access | None = None,
    ) -> None:
        self.review = Review(index)
        self.who = who
        self.corpus = corpus_file(index) if corpus is None else corpus
        self.access = Access() if access is None else access

    @property
    def index(self) -> SemanticIndex:
        """The index that is changed."""
        return self.review.index

    def name(self, given: Given) -> str:
        """Return who decides."""
        return str(given.get("who") or self.who)
