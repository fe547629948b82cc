"""Write fitted estimators and vectorizers as plain data and arrays, and read them again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from .._typing import Array
from ..adapt import Adapter, AdapterReport
from ..errors import InvalidFile, LabelspanError, Mismatch
from ..estimators import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS, PLSDA, PLSSVD
from .hashed_words import HashedWords
from .learn import WordVectorizer, default_vectorizer
from .model_encoder import ModelEncoder

__all__ = [
    "default_words",
    "pack_estimator",
    "pack_vectorizer",
    "unpack_estimator",
    "unpack_vectorizer",
]

_ESTIMATORS = {
    kind.__name__: kind
    for kind in (CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS, PLSDA, PLSSVD, Adapter)
}
# Fitted attributes end with an underscore.
_LEARNED = re.compile(r"[A-Za-z][A-Za-z0-9_]*_")
_VECTORIZERS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (CountVectorizer, HashingVectorizer, TfidfVectorizer, WordVectorizer)
}
_REPORT = "report_"
HASHED = HashedWords.__name__
_TYPES = {np.dtype(kind).name: kind for kind in (np.float32, np.float64, np.int64)}


def pack_estimator(estimator: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Describe an estimator by class, parameters and plain attributes, and its arrays by name.

    :func:`unpack_estimator` makes an estimator of it that transforms rows in the same way. A
    graph over the rows of the fit is not kept.
    """
    kind = type(estimator).__name__
    params = estimator.get_params(deep=False)
    unusual = [name for name, value in params.items() if not _is_plain(value)]
    if type(estimator) is not _ESTIMATORS.get(kind) or unusual:
        what = ", ".join(unusual) or kind
        raise Mismatch(
            f"save: the estimator {kind} with {what} cannot be written without code that would "
            "run on load; use one of labelspan's with plain parameters."
        )
    learned = {name: value for name, value in vars(estimator).items() if _LEARNED.fullmatch(name)}
    values = {name: value for name, value in learned.items() if _is_plain(value)}
    arrays = {
        name: value
        for name, value in learned.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "fi"
    }
    described = {"class": kind, "params": params, "values": values}
    if isinstance(learned.get(_REPORT), AdapterReport):
        described["report"] = _finite(learned[_REPORT].to_dict())
    return described, arrays


def unpack_estimator(described: Mapping[str, Any], arrays: Mapping[str, Array]) -> Any:
    """Make the estimator that :func:`pack_estimator` described."""
    kind = _ESTIMATORS.get(str(described.get("class")))
    params, values = described.get("params"), described.get("values")
    if kind is None or not isinstance(params, dict) or not isinstance(values, dict):
        raise InvalidFile("manifest.json: the class of the estimator is unknown.")
    learned = {**values, **arrays}
    # Attributes that the class defines itself, for example properties, are not results of a fit.
    unusual = [name for name in learned if not _LEARNED.fullmatch(name) or hasattr(kind, name)]
    if unusual:
        raise InvalidFile("manifest.json: the estimator has attributes with unexpected names.")
    try:
        estimator = kind(**params)
        estimator._check_params()
    except (TypeError, LabelspanError) as error:
        raise InvalidFile(
            f"manifest.json: the parameters of the estimator are damaged ({error!s:.200})."
        ) from error
    for name, value in learned.items():
        setattr(estimator, name, value)
    if kind is Adapter and "report" in described:
        try:
            estimator.report_ = AdapterReport.from_dict(described["report"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InvalidFile("manifest.json: the report of the adapter is damaged.") from error
    return estimator


def pack_vectorizer(vectorizer: Any) -> tuple[dict[str, Any], list[str] | None, Array | None]:
    """Describe a vectorizer by plain data, its words in order, and their weights.

    Raises
    ------
    Mismatch
        For a vectorizer that could be restored only by running code from the file.
    """
    kind = type(vectorizer).__name__
    if type(vectorizer) is ModelEncoder:
        return {"class": kind, "params": {"n_features": vectorizer.n_features}}, None, None
    if type(vectorizer) is HashedWords:
        described = {"class": kind, "params": {"n_features": vectorizer.n_features}}
        return described, vectorizer.names_, vectorizer.idf_
    params = vectorizer.get_params(deep=False) if hasattr(vectorizer, "get_params") else {}
    plain = {name: _plain(value) for name, value in params.items()}
    files = plain.get("input", "content") != "content"
    if type(vectorizer) is not _VECTORIZERS.get(kind) or Ellipsis in plain.values() or files:
        raise Mismatch(
            f"save: the vectorizer {vectorizer!r} cannot be written without code that would run "
            "on load; use scikit-learn's TfidfVectorizer, CountVectorizer or HashingVectorizer "
            "with plain parameters and input='content', or give vectors (vectorizer=None)."
        )
    described = {"class": kind, "params": plain}
    if kind == "HashingVectorizer":
        return described, None, None
    words = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
    weighted = isinstance(vectorizer, TfidfVectorizer) and vectorizer.use_idf
    return described, words, np.asarray(vectorizer.idf_) if weighted else None


def default_words(count: int, words: list[str], weights: Array) -> WordVectorizer:
    """Make the default vectorizer for a number of texts, with features that were chosen before."""
    made = default_vectorizer(count)
    params = {name: _plain(value) for name, value in made.get_params(deep=False).items()}
    fitted: WordVectorizer = unpack_vectorizer(
        {"class": "WordVectorizer", "params": params}, words, weights
    )
    return fitted


def unpack_vectorizer(described: Mapping[str, Any], words: Any, weights: Array | None) -> Any:
    """Make the vectorizer that :func:`pack_vectorizer` described."""
    params = described.get("params")
    if described.get("class") == "ModelEncoder":
        if not isinstance(params, dict) or type(params.get("n_features")) is not int:
            raise InvalidFile("manifest.json: the parameters of the vectorizer are damaged.")
        return ModelEncoder(n_features=params["n_features"])
    if described.get("class") == HASHED:
        return _hashed(params, words, weights)
    kind = _VECTORIZERS.get(str(described.get("class")))
    if kind is None or not isinstance(params, dict):
        raise InvalidFile("manifest.json: the class of the vectorizer is unknown.")
    given = dict(params)
    if given.get("input") != "content":
        # It would open files that texts and queries name.
        raise InvalidFile("manifest.json: the vectorizer would read files; it is not loaded.")
    try:
        given["dtype"] = _TYPES[given["dtype"]]
        given["ngram_range"] = _whole_numbers(given["ngram_range"])
        if kind is HashingVectorizer:
            return HashingVectorizer(**given).fit([""])
        _check_words(words)
        weighted = kind in (TfidfVectorizer, WordVectorizer) and bool(given["use_idf"])
        if (weights is None) is weighted:
            raise ValueError("idf")
        # A given vocabulary is not learned: fitting on an empty text sets up everything else.
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


def _hashed(params: Any, words: Any, weights: Array | None) -> HashedWords:
    try:
        _check_words(words)
        if weights is None or params != {"n_features": len(words)} or len(weights) != len(words):
            raise ValueError("n_features")
        return HashedWords.with_weights(np.array(weights), words)
    except (TypeError, ValueError, LabelspanError) as error:
        raise InvalidFile(
            f"manifest.json: the parameters of the vectorizer are damaged ({error!s:.200})."
        ) from error


def _whole_numbers(pair: Any) -> tuple[int, int]:
    low, high = pair
    if type(low) is not int or type(high) is not int:
        raise TypeError("ngram_range")
    return low, high


def _check_words(words: Any) -> None:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise TypeError("words")


def _plain(value: Any) -> Any:
    """Convert a parameter to what JSON can hold; an ellipsis if that is impossible."""
    if _is_plain(value):
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


def _finite(value: Any) -> Any:
    """Write tuples as lists and numbers that JSON does not have as None."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else None
    return value


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)
