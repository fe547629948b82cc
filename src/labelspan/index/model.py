"""What an index has learned, as searches use it: features of texts, a space, and a tagger.

In a folder these are files of arrays: ``features``, ``space``, ``tagger``, ``words``, and
``static`` if there are static word vectors; the manifest has the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidFile, InvalidInput, InvalidParameter, Mismatch
from ..text import TextFeatures, Vocabulary, WordSearch, WordSegment, check_language
from ..text.static_vectors import PooledVectors
from .array_file import ArrayFile, parse_json
from .folder import Files, field
from .space import Space

if TYPE_CHECKING:
    from ..tagger import Tagger

__all__ = [
    "IndexModel",
    "ModelEncoder",
    "merged_segments",
    "read_model",
    "read_vectors",
    "refuse_vectors",
    "write_model",
]

_FEATURES = ("words", "singles", "pairs", "parts", "idf")
_MOST_SEGMENTS = 10_000
# Word numbers of one segment of the word index, about.
_SEGMENT_TOKENS = 1 << 24


class ModelEncoder:
    """Vectors of texts from a function of yours, for example a language model.

    Parameters
    ----------
    encode : callable or None
        Takes a list of texts, and returns an array with one row per text. It is never copied or
        written to a file.
    size : int or None
        Number of dimensions, if it is known.
    """

    def __init__(self, encode: Callable[[list[str]], Any] | None, size: int | None = None) -> None:
        self.encode, self.size = encode, size

    def of_texts(self, texts: Sequence[str], owner: str = "search") -> Array:
        """Return the vectors of texts."""
        if self.encode is None:
            raise Mismatch(
                f"{owner}: this index maps texts by a model that is not part of it; give the model "
                "as SemanticIndex.load(path, encoder=...), or search by items= or labels=."
            )
        found = np.asarray(read_vectors(self.encode(list(texts)), len(texts), owner))
        if self.size is None:
            self.size = int(found.shape[1])
        if found.shape[1] != self.size:
            raise InvalidInput(
                f"The encoder gives vectors of {found.shape[1]} dimensions, but the index was "
                f"fitted with {self.size}; give the model of the fit."
            )
        return found


class IndexModel:
    """Features of texts, the space, and the tagger.

    Parameters
    ----------
    features : TextFeatures, ModelEncoder or None
        None if the index takes vectors.
    space : Space
    tagger : Tagger, function that reads it, or None
    """

    def __init__(
        self,
        features: TextFeatures | ModelEncoder | None,
        space: Space,
        tagger: Tagger | Callable[[], Tagger] | None,
    ) -> None:
        self.features, self.space = features, space
        self._tagger = tagger

    @property
    def can_tag(self) -> bool:
        """Whether there is a tagger."""
        return self._tagger is not None

    @property
    def tagger(self) -> Tagger | None:
        """The tagger of the fit or of the last save."""
        if callable(self._tagger):
            self._tagger = self._tagger()
        return self._tagger

    @property
    def reads_texts(self) -> bool:
        """Whether features are computed from texts."""
        return self.features is not None

    def use_encoder(self, encode: Any) -> None:
        """Take a function for the vectors of texts, if the index was fitted with one."""
        if isinstance(self.features, ModelEncoder):
            self.features.encode = encode
        elif encode is not None:
            raise Mismatch("load: this index was fitted without an encoder; omit encoder=.")

    def features_of(self, texts: Sequence[str], owner: str) -> Any:
        """Compute the features of texts."""
        assert self.features is not None
        if isinstance(self.features, ModelEncoder):
            return self.features.of_texts(texts, owner)
        return self.features.of_texts(texts)

    def given(self, vectors: Any, count: int, owner: str) -> Any:
        """Check vectors that are given to the index."""
        found = read_vectors(vectors, count, owner)
        if found.shape[1] != self.space.n_features:
            raise InvalidInput(
                f"{owner}: vectors must have {self.space.n_features} columns as in fit, "
                f"but have {found.shape[1]}."
            )
        return found

    def vectors(self, texts: Sequence[str], vectors: Any, owner: str) -> Array:
        """Map texts, or given vectors, to unit vectors in the space."""
        if self.features is None:
            return self.space.vectors(self.given(vectors, len(texts), owner))
        refuse_vectors(vectors, owner)
        return self.space.vectors(self.features_of(texts, owner))

    @cached_property
    def names(self) -> Array | None:
        """Word or pair of words of the first features; None if features are not words.

        Only static vectors, which come last, do not have a name.
        """
        if not isinstance(self.features, TextFeatures):
            return None
        return np.array(self.features.names, dtype=object)


def read_vectors(vectors: Any, count: int, owner: str) -> Any:
    """Check vectors given with items: finite numbers, one row per item."""
    if vectors is None:
        raise Mismatch(f"{owner}: this index takes vectors; give vectors=, one row per item.")
    try:
        if sparse.issparse(vectors):
            found = sparse.csr_matrix(vectors)
            numbers = found.data
        else:
            found = numbers = np.asarray(vectors)
        if numbers.dtype not in (np.float32, np.float64):
            found = found.astype(np.float64)
            numbers = found.data if sparse.issparse(found) else found
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{owner}: vectors cannot be used: {error}") from error
    if found.ndim != 2 or not found.shape[1]:
        raise InvalidInput(
            f"{owner}: vectors must be an array of two dimensions, but its shape is {found.shape}."
        )
    if not np.isfinite(numbers).all():
        raise InvalidInput(f"{owner}: vectors must be finite, but some are NaN or infinite.")
    if found.shape[0] != count:
        raise InvalidInput(
            f"{owner}: vectors must have one row for each item; there are {count} items and "
            f"{found.shape[0]} rows."
        )
    return found


def refuse_vectors(vectors: Any, owner: str) -> None:
    """Raise an error if vectors are given to an index that reads texts."""
    if vectors is not None:
        raise Mismatch(f"{owner}: this index computes vectors from texts; omit vectors=.")


# --- files ----------------------------------------------------------------------------------


def write_model(
    files: Files, model: IndexModel, words: WordSearch | None, settings: dict[str, Any]
) -> dict[str, Any]:
    """Write what was learned; return the content of the manifest."""
    features: dict[str, Any] | None = None
    if isinstance(model.features, ModelEncoder):
        features = {"kind": "encoder", "size": model.features.size}
    elif model.features is not None:
        static = model.features.static
        features = {"kind": "words", "stems": model.features.stems, "static": static is not None}
        files.write("features", model.features.arrays())
        if static is not None:
            files.write("static", static.arrays())
    text = None
    if words is not None:
        segments = merged_segments(words.segments)
        text = {"language": words.vocabulary.language, "segments": len(segments)}
        parts = {"vocabulary": words.vocabulary.arrays()}
        parts |= {f"segment{n}": segment.arrays() for n, segment in enumerate(segments)}
        files.write(
            "words",
            {f"{part}_{name}": one for part, own in parts.items() for name, one in own.items()},
        )
    if model.tagger is not None:
        labels = json.dumps(list(model.tagger.labels)).encode()
        arrays = {**model.tagger.arrays(), "labels": np.frombuffer(labels, dtype=np.uint8)}
        files.write("tagger", arrays)
    return {
        "class": "SemanticIndex",
        "settings": settings,
        "features": features,
        "text": text,
        "estimator": model.space.write(files),
        "tagger": model.tagger is not None,
    }


def read_model(
    files: Files, content: Mapping[str, Any]
) -> tuple[IndexModel, WordSearch | None, dict[str, Any]]:
    """Read what was learned, the words of the texts, and the settings, as a manifest says."""
    if field(content, "class", str) != "SemanticIndex":
        raise InvalidFile(f"manifest.json: the class {content['class']!r:.80} is unknown.")
    settings: dict[str, Any] = field(content, "settings", dict)
    for name, kind in (("language", str), ("fields", dict)):
        field(settings, name, kind)
    space = Space.read(files, field(content, "estimator", dict))
    words = (
        None if content.get("text") is None else _read_words(files, field(content, "text", dict))
    )
    features = _read_features(files, content, space, words)
    tagger = None
    if field(content, "tagger", bool):
        # Opened now, because a later save deletes the file; read only if it is asked for.
        static = features.static if isinstance(features, TextFeatures) else None
        tagger = partial(_read_tagger, files, files.open("tagger", later=True), static)
    return IndexModel(features, space, tagger), words, settings


def merged_segments(segments: Iterable[WordSegment]) -> list[WordSegment]:
    """Join neighbouring segments of words that are small."""
    found: list[WordSegment] = []
    waiting: list[WordSegment] = []
    tokens = 0
    for segment in segments:
        if waiting and tokens + segment.block.tokens.size > _SEGMENT_TOKENS:
            found.append(_joined(waiting))
            waiting, tokens = [], 0
        waiting.append(segment)
        tokens += segment.block.tokens.size
    return [*found, _joined(waiting)] if waiting else found


def _joined(segments: list[WordSegment]) -> WordSegment:
    return segments[0] if len(segments) == 1 else WordSegment.join(segments)


def _read_tagger(files: Files, file: ArrayFile, static: PooledVectors | None) -> Tagger:
    from ..tagger import Tagger  # noqa: PLC0415 - searches do without it

    files.check(file)
    labels = parse_json(bytes(file.array("labels")), file.path)
    if not isinstance(labels, list) or not all(isinstance(one, str) for one in labels):
        raise InvalidFile(f"{file.path} is damaged: it has no list of labels.")
    return Tagger.from_arrays(labels, file.arrays(), static)


def _read_features(
    files: Files, content: Mapping[str, Any], space: Space, words: WordSearch | None
) -> TextFeatures | ModelEncoder | None:
    if content.get("features") is None:
        return None
    described = field(content, "features", dict)
    if described.get("kind") == "encoder":
        if described.get("size") != space.n_features:
            raise InvalidFile("manifest.json: the size of the encoder's vectors is damaged.")
        return ModelEncoder(None, space.n_features)
    if described.get("kind") != "words" or words is None:
        raise InvalidFile("manifest.json: the kind of the features is unknown.")
    static = None
    if described.get("static") is True:
        static = PooledVectors.from_arrays(files.open("static").arrays())
    file = files.open("features")
    found = TextFeatures.from_arrays(
        words.vocabulary.language,
        {name: file.array(name) for name in _FEATURES},
        stems=described.get("stems") is True,
        static=static,
    )
    if found.size != space.n_features:
        raise InvalidFile("The features do not fit the space; the index is damaged.")
    return found


def _read_words(files: Files, described: Mapping[str, Any]) -> WordSearch:
    language, count = field(described, "language", str), field(described, "segments", int)
    if not 0 <= count <= _MOST_SEGMENTS:
        raise InvalidFile("manifest.json: the number of segments of the words is damaged.")
    file = files.open("words")
    try:
        language = check_language("load", language)
        vocabulary = Vocabulary.from_arrays(language, file.arrays("vocabulary_"))
        segments = [
            WordSegment.from_arrays(vocabulary, file.arrays(f"segment{number}_"))
            for number in range(count)
        ]
    except InvalidParameter as error:
        raise InvalidFile(f"manifest.json: the language {language!r:.40} is unknown.") from error
    except KeyError as error:
        raise InvalidFile(f"{file.path} is damaged: it has no array {error}.") from error
    return WordSearch(vocabulary, segments)
