"""Texts as numbers, once: words, features and word search from one array of word numbers.

1. ``vocabulary.number(texts)`` splits and folds each text once, and returns a :class:`TextBlock` of
   word numbers. A collection in memory is one block; a stream is several of one vocabulary.
2. ``FeatureCounts(vocabulary, SPACE)`` (or ``TAGS``) counts blocks and chooses
   :class:`TextFeatures`, which turn blocks and other texts into a float32 CSR matrix. They have
   their own words, and stay valid when the vocabulary grows.
3. ``WordSearch(vocabulary, segments)`` searches in a :class:`WordSegment` per block. Rows are
   permanent; changes may be made while other threads search, which read one consistent state.
4. ``arrays()`` are named arrays without object types, for files; ``from_arrays`` raises InvalidFile
   if they do not fit together. A segment is never changed, so that only new ones are written.

The package needs numpy, scipy and PyStemmer only.
"""

from .analysis import (
    AUTO,
    NO_LANGUAGE,
    TOKENS,
    Analyzer,
    ParsedQuery,
    check_language,
    detect_language,
    language_name,
    normalise,
    parse_query,
    split_words,
)
from .features import SPACE, TAGS, FeatureCounts, FeatureKind, TextFeatures
from .vocabulary import TextBlock, Vocabulary
from .word_search import WordScores, WordSearch, WordSegment

__all__ = [
    "AUTO",
    "NO_LANGUAGE",
    "SPACE",
    "TAGS",
    "TOKENS",
    "Analyzer",
    "FeatureCounts",
    "FeatureKind",
    "ParsedQuery",
    "TextBlock",
    "TextFeatures",
    "Vocabulary",
    "WordScores",
    "WordSearch",
    "WordSegment",
    "check_language",
    "detect_language",
    "language_name",
    "normalise",
    "parse_query",
    "split_words",
]
