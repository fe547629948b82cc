"""Results of an index: items, hits, tags, axes and explanations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Literal, TypeVar

from ..corpus.tagged_texts import Item

if TYPE_CHECKING:
    from .._axis_ends import Ends, Entry

__all__ = [
    "Axis",
    "AxisShare",
    "Explanation",
    "Hit",
    "Item",
    "LabelReport",
    "ResultTable",
    "Tag",
    "TagExplanation",
    "Vote",
    "WordShare",
]

_SNIPPET = 200
# Width of a printed hit.
_WIDTH = 80


@dataclass(frozen=True)
class Hit(Item):
    """Item found by a search: an item with its score.

    Attributes
    ----------
    score : float
        From 0 to 1: the fraction of the largest possible score. For a search by items, labels or
        vectors, and with ``balance=1``, the cosine similarity with the query. 1 if the query is the
        id or the title of the item.
    from_words, from_space : float
        Contributions of the query's words and of the embedding to the score.
    exact : {"id", "title"} or None
        Whether the id or the title of the item is the query.
    weak : bool
        Whether the item has less than a third of the query's words, each weighted by its rarity.

    See Also
    --------
    labelspan.SemanticIndex.search : Returns them.

    Examples
    --------
    >>> from labelspan.index import Hit
    >>> Hit("gimp", "An editor  for images", ("graphics",), {}, score=0.9).snippet
    'An editor for images'
    >>> print(Hit("gimp", "An editor for images", ("graphics", "editing"), {}, score=0.9))
    0.90  gimp  An editor for images
          graphics, editing
    """

    score: float = 0.0
    from_words: float = 0.0
    from_space: float = 0.0
    exact: Literal["id", "title"] | None = None
    weak: bool = False

    def __str__(self) -> str:
        labels = "labels unknown" if self.labels is None else ", ".join(self.labels) or "no labels"
        return f"{self.score:.2f}  {self.id}  {self.snippet[:_WIDTH]}\n      {labels:.{_WIDTH}}"

    @property
    def snippet(self) -> str:
        """Beginning of the text, in one line."""
        line = " ".join(self.text[: 4 * _SNIPPET].split())
        if len(line) <= _SNIPPET:
            return line
        return line[:_SNIPPET].rsplit(" ", 1)[0] + " ..."


@dataclass(frozen=True)
class Tag:
    """Predicted label with its probability and decision threshold.

    Attributes
    ----------
    label : str
    probability, threshold : float
        Frequent labels have a common threshold; it is 1 if fewer than two items have the label,
        which is then never chosen.

    See Also
    --------
    labelspan.SemanticIndex.tag : Returns them.

    Examples
    --------
    >>> from labelspan.index import Tag
    >>> Tag("game", probability=0.7, threshold=0.5).chosen
    True
    """

    label: str
    probability: float
    threshold: float

    @property
    def chosen(self) -> bool:
        """Whether the probability reaches the threshold of the label."""
        return self.probability >= self.threshold


T = TypeVar("T", Hit, Tag)


class ResultTable(list[T]):
    """List of hits or tags, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        rows = []
        for one in self:
            if isinstance(one, Hit):
                cells = [f"{one.score:.2f}", one.id, one.title, ", ".join(one.labels or ())]
            else:
                cells = [f"{one.probability:.0%}", one.label, "chosen" if one.chosen else ""]
            rows.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


@dataclass(frozen=True)
class Axis:
    """Dimension of the embedding, described by the words and labels at its two ends."""

    number: int
    eigenvalue: float
    words: Ends
    labels: Ends


@dataclass(frozen=True)
class AxisShare:
    """Contribution of a dimension to a cosine, and the end at which both query and item are."""

    axis: Axis
    share: float
    end: Literal["high", "low"]

    @property
    def words(self) -> list[Entry]:
        """Words at that end."""
        return self.axis.words.high if self.end == "high" else self.axis.words.low

    @property
    def labels(self) -> list[Entry]:
        """Labels at that end."""
        return self.axis.labels.high if self.end == "high" else self.axis.labels.low


@dataclass(frozen=True)
class WordShare:
    """Contribution of a word to a score, and whether the item's text contains the word."""

    word: str
    share: float
    shared: bool

    @classmethod
    def largest(cls, shares: Mapping[str, float], n: int) -> tuple[WordShare, ...]:
        """Return the words with the largest contributions, positive or negative.

        Those below a hundredth of the largest are left out.
        """
        ranked = sorted(shares.items(), key=lambda entry: (-abs(entry[1]), entry[0]))[:n]
        least = 0.01 * abs(ranked[0][1]) if ranked else 0.0
        return tuple(cls(word, share, shared=True) for word, share in ranked if abs(share) > least)


@dataclass(frozen=True)
class Explanation:
    """Explanation of why an item was found; :meth:`SemanticIndex.explain` describes it."""

    id: str
    score: float
    axes: tuple[AxisShare, ...]
    words: tuple[WordShare, ...]
    labels: tuple[Tag, ...]
    cosine: float = 0.0
    matches: tuple[WordShare, ...] = ()
    from_words: float = 0.0
    from_space: float = 0.0
    exact: Literal["id", "title"] | None = None


@dataclass(frozen=True)
class Vote:
    """Labelled item near a text by the cosine of their features, and whether it has a label."""

    id: str
    similarity: float
    has_label: bool


@dataclass(frozen=True)
class TagExplanation(Tag):
    """Explanation of the probability of a label: words of the text, and nearby labelled items.

    For an item, everything is computed without that item. ``base_rate`` is the fraction of the
    other labelled items that have the label. ``implied_by`` is the narrower label that gives it
    its probability, because items with that label also have this one; None if words and items do.
    ``linked`` says how many items that it is linked with have the label, of how many labelled ones.
    """

    words: tuple[WordShare, ...]
    votes: tuple[Vote, ...]
    base_rate: float
    implied_by: str | None = None
    linked: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class LabelReport:
    """How well a label is predicted for held-out items."""

    label: str
    support: int
    chosen: int
    precision: float
    recall: float
    threshold: float

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @property
    def never(self) -> bool:
        """Whether the label is never chosen."""
        return self.threshold >= 1
