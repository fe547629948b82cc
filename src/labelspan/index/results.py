"""What an index answers with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..estimators._ends import Ends, Entry

__all__ = ["Axis", "AxisShare", "Explanation", "Hit", "LabelShare", "Tag", "WordShare"]

_SNIPPET = 200


@dataclass(frozen=True)
class Hit:
    """An item that a search found; ``score`` is a cosine, from 0 to 1.

    Attributes
    ----------
    id, text : str
    score : float
    labels : tuple of str or None
        None where they are not known.
    metadata : dict

    Examples
    --------
    >>> from labelspan.index import Hit
    >>> Hit("gimp", 0.9, ("graphics",), "An editor  for images", {}).snippet
    'An editor for images'
    """

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
    """A label for a text, with its probability and the threshold of that label.

    Attributes
    ----------
    label : str
    probability, threshold : float

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
        """Whether the probability reaches the threshold."""
        return self.probability >= self.threshold


@dataclass(frozen=True)
class Axis:
    """A dimension of the space, by what lies at its two ends.

    ``words`` and ``labels`` have fields ``high`` and ``low``, lists of (name, weight).

    Attributes
    ----------
    number : int
        From 0.
    eigenvalue : float
    words, labels : Ends

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> texts = ["a chess game", "play chess online", "edit photos", "crop and edit pictures"]
    >>> index = SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image"]])
    >>> index.axes()[0].number
    0
    """

    number: int
    eigenvalue: float
    words: Ends
    labels: Ends


@dataclass(frozen=True)
class AxisShare:
    """What a dimension adds to a score, and at which end query and item lie.

    Attributes
    ----------
    axis : Axis
    share : float
    end : {"high", "low"}

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> texts = ["a chess game", "play chess online", "edit photos", "crop and edit pictures"]
    >>> index = SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image"]])
    >>> why = index.explain("chess", index.search("chess", 1)[0].id)
    >>> why.axes[0].end in ("high", "low")
    True
    """

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
    """What a word of the query adds to a score, and whether the item has it too.

    Attributes
    ----------
    word : str
    share : float
    shared : bool

    Examples
    --------
    >>> from labelspan.index import WordShare
    >>> WordShare("chess", share=0.8, shared=True).word
    'chess'
    """

    word: str
    share: float
    shared: bool


@dataclass(frozen=True)
class LabelShare:
    """A label of the item, and how probable it is for the query.

    Attributes
    ----------
    label : str
    probability : float

    Examples
    --------
    >>> from labelspan.index import LabelShare
    >>> LabelShare("game", probability=0.9).label
    'game'
    """

    label: str
    probability: float


@dataclass(frozen=True)
class Explanation:
    """Why an item was found.

    The shares of all axes add up to the cosine; ``axes`` and ``words`` hold the largest, the
    largest first. ``labels`` are those of the item that were learned.

    Attributes
    ----------
    id : str
    score : float
    axes : tuple of AxisShare
    words : tuple of WordShare
    labels : tuple of LabelShare

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> texts = ["a chess game", "play chess online", "edit photos", "crop and edit pictures"]
    >>> index = SemanticIndex().fit(texts, [["game"], ["game"], ["image"], ["image"]])
    >>> why = index.explain("chess", index.search("chess", 1)[0].id)
    >>> why.words[0].word
    'chess'
    """

    id: str
    score: float
    axes: tuple[AxisShare, ...]
    words: tuple[WordShare, ...]
    labels: tuple[LabelShare, ...]
