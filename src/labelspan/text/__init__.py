"""Texts as numbers, once: words, features and word search from one array of word numbers.

The contract of the package, which needs numpy, scipy and PyStemmer only:

1. **Numbers.** ``vocabulary = Vocabulary(language)`` numbers the surface words of all texts, and
   grows. ``block = vocabulary.number(texts)`` splits and folds each text once (NFKC, case) and
   returns a :class:`TextBlock`: one int32 array of word numbers, with row starts. A collection in
   memory is one block; a stream is several blocks of the same vocabulary. ``language`` comes from
   :func:`detect_language` (of a sample of the texts) or :func:`check_language`.
2. **Features.** ``counts = FeatureCounts(vocabulary, SPACE)`` (or ``TAGS``); ``counts.add(block)``
   for every block; ``features = counts.choose()``; ``features.transform(block)`` is a float32 CSR
   matrix with one row per text. Texts outside the collection (queries): ``features.of_texts``,
   which does not grow the vocabulary. ``features.names`` are the columns. Static vectors of words,
   ``counts.choose(PooledVectors.learn(path, vocabulary, blocks))``, are columns after them.
3. **Search.** ``segment = WordSegment.build(block, ids, texts)`` has the postings of a block;
   ``search = WordSearch(vocabulary, segments)``. Rows are permanent, and numbered one
   segment after the other: ``search.append(segment)`` adds rows at the end (small segments are
   joined), ``search.remove(rows)`` masks rows, ``search.set_labels(names, csr)`` sets the labels of
   all items after a fit or a relabel. ``search.score(parse_query(text))`` gives the
   :class:`WordScores` of all rows, which the caller masks and ranks; ``search.named`` the rows
   whose id or title is the query; ``search.explain`` what each word adds to one row;
   ``search.near`` near spellings of a word in ``WordScores.unknown``.
4. **Storage.** ``arrays()`` of a vocabulary, a segment, and features is a dictionary of named
   arrays without object types (strings as UTF-8 bytes), for files of arrays; ``from_arrays``
   checks that they fit together, and raises InvalidFile otherwise. What is appended later only
   adds words to the vocabulary and rows to new segments; a segment object is never changed, so
   that only new ones need writing. Features have their own words, and stay valid when the
   vocabulary grows.

Changes may be made while other threads search: a search reads one consistent state.
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
