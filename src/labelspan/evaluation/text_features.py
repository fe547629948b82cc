"""Features of the texts of a comparison, learned as an index learns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InvalidInput
from ..text import SPACE, FeatureCounts, FeatureKind, TextFeatures, Vocabulary, detect_language

__all__ = ["learn_features"]


def learn_features(texts: Sequence[str], kind: FeatureKind = SPACE) -> tuple[TextFeatures, Any]:
    """Choose features of texts as an index does, and compute them: one row per text.

    These are the features of the embedding or, with ``TAGS``, of the tagger; ``features.of_texts``
    computes those of other texts.

    Examples
    --------
    >>> from labelspan.evaluation.text_features import learn_features
    >>> features, rows = learn_features(["a chess game", "chess online"])
    >>> rows.shape, features.of_texts(["chess"]).nnz
    ((2, 7), 1)
    """
    vocabulary = Vocabulary(detect_language(texts))
    block = vocabulary.number(texts)
    counts = FeatureCounts(vocabulary, kind)
    counts.add(block)
    features = counts.choose()
    if not features.size:
        raise InvalidInput("The texts have no words to learn from; pass texts with words.")
    return features, features.transform(block)
