"""A label that is predicted for a text or an item, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from .._typing import TypedDict
from ..index import SemanticIndex, Tag
from ..index.results import TagExplanation, Vote, WordShare
from .items import rounded

__all__ = ["NearItemData", "TagData", "TagReasonData", "near_items", "tag_data", "tag_reason"]


class TagData(TypedDict):
    """A label that is predicted."""

    label: str
    uri: Annotated[str | None, "of the label in the vocabulary of the index"]
    probability: Annotated[float, "from 0 to 1"]
    threshold: Annotated[float, "probability from which the label is chosen"]
    chosen: bool


class NearItemData(TypedDict):
    """A labelled item near an item or a text."""

    id: str
    title: str
    similarity: float
    has_label: bool


class TagReasonData(TypedDict):
    """What speaks for and against a label: words of the text, and labelled items near it."""

    label: str
    words: Annotated[list[WordShare], "words of the text, and what they add to the score"]
    neighbours: Annotated[list[NearItemData], "the nearest labelled items"]
    base_rate: Annotated[float, "share of the labelled items that have the label"]
    implied_by: Annotated[str | None, "narrower label that gives it its probability, if one does"]


def tag_data(index: SemanticIndex, tag: Tag) -> TagData:
    """Return what every answer tells about a label that is predicted."""
    vocabulary = index.vocabulary
    return {
        "label": tag.label,
        "uri": None if vocabulary is None else vocabulary.code(tag.label),
        "probability": rounded(tag.probability),
        "threshold": rounded(tag.threshold),
        "chosen": tag.chosen,
    }


def tag_reason(index: SemanticIndex, why: TagExplanation) -> TagReasonData:
    """Return why a label is predicted."""
    return {
        "label": why.label,
        "words": list(why.words),
        "neighbours": near_items(index, why.votes),
        "base_rate": rounded(why.base_rate),
        "implied_by": why.implied_by,
    }


def near_items(index: SemanticIndex, votes: Sequence[Vote]) -> list[NearItemData]:
    """Return the items whose labels speak for or against a label, with their titles."""
    there = index.items([vote.id for vote in votes if vote.id in index])
    titles = {item.id: item.title for item in there}
    return [
        {
            "id": vote.id,
            "title": titles.get(vote.id, vote.id),
            "similarity": rounded(vote.similarity),
            "has_label": vote.has_label,
        }
        for vote in votes
    ]
