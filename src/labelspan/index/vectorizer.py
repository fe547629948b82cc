"""From texts to features: the default TF-IDF, and writing a vectoriser as plain data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from .._typing import Array
from ..errors import InvalidFile, Mismatch

__all__ = ["default_vectorizer", "feature_words", "pack_vectorizer", "unpack_vectorizer"]

# Scripts written without spaces, of which each character is a word (and two in a row a
# pair): Thai, Lao, Myanmar, Khmer, kana and Han.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
# Vowel signs and other marks inside words, which \w leaves out.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
TOKEN_PATTERN = rf"[{_UNSPACED}]|(?:[^\W{_UNSPACED}]|[{_MARKS}])+"

# From so many texts on, words that are in one text alone, or in every second, are left out.
MANY_TEXTS = 1000
MAX_FEATURES = 30_000

_KINDS: dict[str, Callable[..., Any]] = {
    "CountVectorizer": CountVectorizer,
    "HashingVectorizer": HashingVectorizer,
    "TfidfVectorizer": TfidfVectorizer,
}
_TYPES = {np.dtype(kind).name: kind for kind in (np.float32, np.float64, np.int64)}


def default_vectorizer(count: int) -> TfidfVectorizer:
    """TF-IDF of words and pairs of words, for a number of texts.

    ``1 + log(tf)``, rows of length 1, float32, at most 30,000 features. From 1,000 texts on
    a feature must be in two texts, and in no more than half of them.
    """
    many = count >= MANY_TEXTS
    return TfidfVectorizer(
        token_pattern=TOKEN_PATTERN,
        ngram_range=(1, 2),
        min_df=2 if many else 1,
        max_df=0.5 if many else 1.0,
        max_features=MAX_FEATURES,
        sublinear_tf=True,
        dtype=np.float32,
    )


def feature_words(vectorizer: Any) -> Array | None:
    """The word of each feature; None where the vectoriser does not know."""
    names = getattr(vectorizer, "get_feature_names_out", None)
    return None if names is None else np.asarray(names(), dtype=object)


def pack_vectorizer(vectorizer: Any) -> tuple[dict[str, Any], list[str] | None, Array | None]:
    """Plain data, the words in order, and their weights: all that makes a vectoriser.

    Raises
    ------
    Mismatch
        For a vectoriser that could be read again only by running code.
    """
    kind = type(vectorizer).__name__
    params = vectorizer.get_params(deep=False) if hasattr(vectorizer, "get_params") else {}
    plain = {name: _plain(value) for name, value in params.items()}
    files = plain.get("input", "content") != "content"
    if type(vectorizer) is not _KINDS.get(kind) or Ellipsis in plain.values() or files:
        raise Mismatch(
            f"save: the vectorizer {vectorizer!r} cannot be written without code that would run "
            "on load; use scikit-learn's TfidfVectorizer, CountVectorizer or HashingVectorizer "
            "with plain parameters and input='content', or bring vectors (vectorizer=None)."
        )
    described = {"class": kind, "params": plain}
    if kind == "HashingVectorizer":
        return described, None, None
    words = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
    weighted = kind == "TfidfVectorizer" and vectorizer.use_idf
    return described, words, np.asarray(vectorizer.idf_) if weighted else None


def unpack_vectorizer(described: Mapping[str, Any], words: Any, weights: Array | None) -> Any:
    """The vectoriser that :func:`pack_vectorizer` took apart."""
    kind = _KINDS.get(str(described.get("class")))
    params = described.get("params")
    if kind is None or not isinstance(params, dict):
        raise InvalidFile("manifest.json: the vectorizer is of no kind that is known.")
    given = dict(params)
    if given.get("input") != "content":
        # It would open the files that texts and queries name.
        raise InvalidFile("manifest.json: the vectorizer reads files, and is not made.")
    try:
        given["dtype"] = _TYPES[given["dtype"]]
        given["ngram_range"] = _whole_numbers(given["ngram_range"])
        if kind is HashingVectorizer:
            return HashingVectorizer(**given).fit([""])
        _check_words(words)
        if (weights is None) is (kind is TfidfVectorizer and bool(given["use_idf"])):
            raise ValueError("idf")
        # A vocabulary that is given is not learned: fitting on nothing sets all the rest up.
        vectorizer = kind(**{**given, "vocabulary": words, "lowercase": False}).fit([""])
        vectorizer.set_params(vocabulary=given["vocabulary"], lowercase=given["lowercase"])
        if weights is not None:
            vectorizer.idf_ = np.array(weights)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, re.error) as error:
        said = str(error).partition("\n")[0]
        raise InvalidFile(
            f"manifest.json: the parameters of the vectorizer are damaged ({said:.200})."
        ) from error
    return vectorizer


def _whole_numbers(pair: Any) -> tuple[int, int]:
    low, high = pair
    if type(low) is not int or type(high) is not int:
        raise TypeError("ngram_range")
    return low, high


def _check_words(words: Any) -> None:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise TypeError("words")


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it; an ellipsis where it cannot."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, type) and np.dtype(value).name in _TYPES:
        return np.dtype(value).name
    if isinstance(value, Mapping):
        entries = {key: _plain(entry) for key, entry in value.items()}
        strings = all(isinstance(key, str) for key in entries)
        return entries if strings and Ellipsis not in entries.values() else ...
    if isinstance(value, list | tuple | set | frozenset):
        ordered = sorted(value) if isinstance(value, set | frozenset) else value
        parts = [_plain(entry) for entry in ordered]
        return ... if Ellipsis in parts else parts
    return ...
