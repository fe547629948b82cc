"""What an index answers with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..estimators.reading import Ends, Entry

__all__ = ["Axis", "AxisShare", "Explanation", "Hit", "LabelShare", "Tag", "WordShare"]

_SNIPPET = 200


@dataclass(frozen=True)
class Hit:
    """An item that a search found; ``score`` is a cosine, from 0 to 1."""

    id: str
    score: float
    labels: tuple[str, ...] | None
    text: str
    metadata: dict[str, Any]

    @property
    def snippet(self) -> str:
        """The beginning of the text, in one line."""
        line = " ".join(self.text[: 4 * _SNIPPET].split())
        if len(line) <= _SNIPPET:
            return line
        return line[:_SNIPPET].rsplit(" ", 1)[0] + " ..."


@dataclass(frozen=True)
class Tag:
    """A label for a text, with its probability and the threshold of that label."""

    label: str
    probability: float
    threshold: float

    @property
    def chosen(self) -> bool:
        """Whether the probability reaches the threshold."""
        return self.probability >= self.threshold


@dataclass(frozen=True)
class Axis:
    """A dimension of the space, by what lies at its two ends.

    ``words`` and ``labels`` have fields ``high`` and ``low``, lists of (name, weight).
    """

    number: int
    eigenvalue: float
    words: Ends
    labels: Ends


@dataclass(frozen=True)
class AxisShare:
    """What a dimension adds to a score, and at which end query and item lie."""

    axis: Axis
    share: float
    end: Literal["high", "low"]

    @property
    def words(self) -> list[Entry]:
        """The words at that end."""
        return self.axis.words.high if self.end == "high" else self.axis.words.low

    @property
    def labels(self) -> list[Entry]:
        """The labels at that end."""
        return self.axis.labels.high if self.end == "high" else self.axis.labels.low


@dataclass(frozen=True)
class WordShare:
    """What a word of the query adds to a score, and whether the item has it too."""

    word: str
    share: float
    shared: bool


@dataclass(frozen=True)
class LabelShare:
    """A label of the item, and how probable it is for the query."""

    label: str
    probability: float


@dataclass(frozen=True)
class Explanation:
    """Why an item was found.

    The shares of all axes add up to the cosine; ``axes`` and ``words`` hold the largest, the
    largest first. ``labels`` are those of the item that were learned.
    """

    id: str
    score: float
    axes: tuple[AxisShare, ...]
    words: tuple[WordShare, ...]
    labels: tuple[LabelShare, ...]
