"""Labels that are predicted for texts, and why; vectors of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from .._typing import TypedDict
from ..errors import InvalidInput
from ..index import SemanticIndex, Tag
from ..index.results import TagExplanation, Vote, WordShare
from .common import Count, Given, rounded, titles_of

__all__ = [
    "NearItemData",
    "TagData",
    "TagReasonData",
    "embed",
    "near_items",
    "suggestions",
    "tag",
    "tag_data",
    "tag_reason",
]

# On a page; for programs each of these many texts.
_EXPLAINED = 3
MOST_EXPLAINED_TEXTS = 10


_Problem = Annotated[str, "why the language model of the index is not used; else empty"]


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
    linked: Annotated[list[int], "linked items with the label, and linked items with known labels"]


class TaggedData(TypedDict):
    """The answer of ``/tag``."""

    tags: Annotated[list[Tag], "labels, the most probable first"]
    reasons: Annotated[list[TagReasonData], "of the chosen labels, or of the first; at most three"]
    problem: _Problem


class SuggestedData(TagData):
    """A suggested label."""

    why: TagReasonData | None


class SuggestionsData(TypedDict):
    """Labels of each text, the most probable first; of one text a list of one entry."""

    results: list[list[SuggestedData]]
    problem: _Problem


class EmbeddedData(TypedDict):
    """Vectors of length one, or of zeros for a text of which no word is known."""

    dimensions: Count
    vectors: list[list[float]]
    problem: _Problem


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
        "linked": list(why.linked),
    }


def near_items(index: SemanticIndex, votes: Sequence[Vote]) -> list[NearItemData]:
    """Return the items whose labels speak for or against a label, with their titles."""
    titles = titles_of(index, [vote.id for vote in votes])
    return [
        {
            "id": vote.id,
            "title": title,
            "similarity": rounded(vote.similarity),
            "has_label": vote.has_label,
        }
        for vote, title in zip(votes, titles, strict=True)
    ]


def tag(index: SemanticIndex, given: Given) -> TaggedData:
    """Predict labels for a text, the most probable first, and explain those that are chosen."""
    text = given["text"]
    tags = index.tag(text, given["k"]) if text.strip() else []
    explained = [tag for tag in tags if tag.chosen][:_EXPLAINED] or tags[:1]
    return {
        "tags": tags,
        "reasons": [tag_reason(index, index.explain_tag(tag.label, text)) for tag in explained],
        "problem": index.problem,
    }


def suggestions(index: SemanticIndex, given: Given) -> SuggestionsData:
    """Suggest labels for texts."""
    if ("text" in given) == ("texts" in given):
        raise InvalidInput("Give either 'text' or 'texts'.")
    texts = [given["text"]] if "text" in given else given["texts"]
    explain = given.get("why", False)
    if explain and len(texts) > MOST_EXPLAINED_TEXTS:
        raise InvalidInput(
            f"why: at most {MOST_EXPLAINED_TEXTS} texts can be explained at once, but "
            f"{len(texts)} were given."
        )
    tags = index.tag(texts, given.get("k", 10)) if texts else []

    def suggested(tag: Tag, text: str) -> SuggestedData:
        why = tag_reason(index, index.explain_tag(tag.label, text)) if explain else None
        return {**tag_data(index, tag), "why": why}

    pairs = zip(texts, tags, strict=True)
    return {
        "results": [[suggested(tag, text) for tag in best] for text, best in pairs],
        "problem": index.problem,
    }


def embed(index: SemanticIndex, given: Given) -> EmbeddedData:
    """Compute vectors of texts."""
    vectors: Any = index.embed(given["texts"]) if given["texts"] else []
    return {
        "dimensions": index.n_dimensions,
        "vectors": [[round(float(value), 7) for value in row] for row in vectors],
        "problem": index.problem,
    }
