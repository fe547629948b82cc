"""What an index has learned, as searches use it: features of texts, a space, and a tagger.

In a folder these are files of arrays: ``features``, ``space``, ``tagger``, ``words``, and
``static`` if there are static word vectors; the manifest has the rest.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._arrays import ArrayFile, parse_json
from .._typing import Array
from ..errors import InvalidFile, InvalidInput, InvalidParameter, LabelspanError, Mismatch
from ..text import (
    NO_LANGUAGE,
    TAGS,
    TextFeatures,
    Vocabulary,
    WordSearch,
    WordSegment,
    check_language,
)
from ..text.static_vectors import PooledVectors
from .folder import Files, field
from .vectors import LabelDirections, unit_rows

if TYPE_CHECKING:
    from ..tagger import Tagger

__all__ = [
    "IndexModel",
    "ModelEncoder",
    "Space",
    "read_model",
    "read_vectors",
    "write_model",
    "write_tagger",
]

# Weights are stored with one row per feature, so that those of a text lie together.
_FILE, _WEIGHTS, _OFFSET, _PREFIX = "space", "weights", "offset", "estimator_"
_COMPONENTS, _EIGENVALUES = "components_", "eigenvalues_"
_DIRECTIONS, _MEANS = "label_directions_", "label_means_"
# Classes of estimators of which an index can have one.
_CLASSES = {"Adapter", "CCA", "DLE", "HSL", "LDA", "LPP", "LSI", "MLSI", "OPLS"}
# Fitted attributes end with an underscore.
_LEARNED = re.compile(r"[A-Za-z][A-Za-z0-9_]*_")
# Kinds of features: vectors of a model, or words.
_ENCODER, _WORDS = "encoder", "words"
# Word numbers of one segment of the word index, about.
_SEGMENT_TOKENS = 1 << 24
# Description of an estimator by plain data, and its arrays by attribute.
Packed = tuple[dict[str, Any], dict[str, Array]]


class Space:
    """Map of features x to ``weights.T @ x - offset``, scaled to length 1.

    ``directions`` are what labels add to the places of items. The estimator that the map comes
    from is given, or made of ``packed``, its plain data and arrays, when it is asked for.
    """

    def __init__(
        self,
        weights: Array,
        offset: Array,
        eigenvalues: Array,
        directions: LabelDirections | None,
        *,
        estimator: Any = None,
        packed: Packed | None = None,
    ) -> None:
        self.weights, self.offset, self.eigenvalues = weights, offset, eigenvalues
        self.directions = directions
        self._estimator, self._packed = estimator, packed

    @classmethod
    def of(cls, estimator: Any) -> Space:
        """Take the map from a fitted estimator."""
        components = getattr(estimator, "components_", None)
        if components is None:
            raise Mismatch(
                f"fit: {type(estimator).__name__} does not learn a linear map; use an estimator "
                "with components_, such as MLSI or LSI."
            )
        weights = np.ascontiguousarray(np.asarray(components).T)
        mean, offset = getattr(estimator, "mean_", None), np.zeros(weights.shape[1])
        if getattr(estimator, "center", True) and mean is not None:
            offset = np.asarray(mean, dtype=np.float64) @ weights
        directions = getattr(estimator, _DIRECTIONS, None)
        if directions is not None:
            directions = LabelDirections(np.asarray(directions), np.asarray(estimator.label_means_))
        eigenvalues = np.asarray(estimator.eigenvalues_)
        return cls(weights, offset, eigenvalues, directions, estimator=estimator)

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions."""
        return int(self.weights.shape[1])

    @property
    def estimator(self) -> Any:
        """The fitted estimator."""
        if self._estimator is None:
            assert self._packed is not None
            self._estimator = _unpack(*self._packed)
        return self._estimator

    def vectors(self, features: Any) -> Array:
        """Map features to unit vectors; rows without any feature to zeros."""
        out = unit_rows(np.asarray(features @ self.weights) - self.offset)
        known = np.diff(features.indptr) if sparse.issparse(features) else features.any(axis=1)
        out[known == 0] = 0.0
        return out

    # --- files ------------------------------------------------------------------------

    def write(self, files: Files) -> dict[str, Any]:
        """Write the map and the arrays of the estimator; return its description."""
        described, arrays = self._packed or _pack(self._estimator)
        named = {_PREFIX + name: one for name, one in arrays.items() if name != _COMPONENTS}
        files.write(_FILE, {_WEIGHTS: self.weights, _OFFSET: self.offset, **named})
        return described

    @classmethod
    def read(cls, files: Files, described: Mapping[str, Any]) -> Space:
        """Read the map; the estimator is created on first use."""
        file = files.open(_FILE)
        weights, offset = file.array(_WEIGHTS), file.array(_OFFSET)
        arrays = file.arrays(_PREFIX)
        eigenvalues = file.array(_PREFIX + _EIGENVALUES)
        fits = weights.ndim == 2 and weights.dtype.kind == "f"
        fits = fits and offset.shape == eigenvalues.shape == weights.shape[1:]
        directions = None
        if _DIRECTIONS in arrays and _MEANS in arrays:
            directions = LabelDirections(arrays[_DIRECTIONS], arrays[_MEANS])
            shape = (*directions.means.shape, *weights.shape[1:])
            fits = fits and directions.directions.shape == shape and len(shape) == 2
            fits = fits and all(one.dtype.kind == "f" for one in directions)
            fits = fits and all(np.isfinite(one).all() for one in directions)
        if not fits:
            raise InvalidFile("The parts of the space do not fit together; the index is damaged.")
        packed = dict(described), {**arrays, _COMPONENTS: weights.T}
        return cls(weights, offset, eigenvalues, directions, packed=packed)


def _estimator_class(name: Any) -> Any:
    """Return the class of which an index may have a fitted estimator; None for another name."""
    from .. import adapt, estimators  # noqa: PLC0415 - searches do without scikit-learn

    return getattr(adapt if name == "Adapter" else estimators, name) if name in _CLASSES else None


def _pack(estimator: Any) -> Packed:
    """Describe an estimator by class, parameters and plain attributes, and its arrays by name.

    :func:`_unpack` makes an estimator of it that transforms rows in the same way. A graph over the
    rows of the fit, and the report of an adapter, are not kept.
    """
    kind = type(estimator).__name__
    params = estimator.get_params(deep=False)
    unusual = [name for name, value in params.items() if not _is_plain(value)]
    if type(estimator) is not _estimator_class(kind) or unusual:
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
    return {"class": kind, "params": params, "values": values}, arrays


def _unpack(described: Mapping[str, Any], arrays: Mapping[str, Array]) -> Any:
    """Make the estimator that :func:`_pack` described."""
    kind = _estimator_class(str(described.get("class")))
    params, values = described.get("params"), described.get("values")
    if kind is None or not isinstance(params, dict) or not isinstance(values, dict):
        raise InvalidFile("manifest.json: the class of the estimator is unknown.")
    numbers = [values.get(name) for name in ("n_components_", "n_features_in_")]
    if numbers != [*arrays[_COMPONENTS].shape] or any(type(one) is not int for one in numbers):
        raise InvalidFile("The estimator does not fit its space; the index is damaged.")
    learned = {**values, **arrays}
    # Attributes that the class defines itself, for example properties, are not results of a fit.
    if any(not _LEARNED.fullmatch(name) or hasattr(kind, name) for name in learned):
        raise InvalidFile("manifest.json: the estimator has attributes with unexpected names.")
    try:
        estimator = kind(**params)
        estimator._check_params()
    except (TypeError, LabelspanError) as error:
        raise InvalidFile(
            f"manifest.json: the parameters of the estimator are damaged ({error!s:.200})."
        ) from error
    vars(estimator).update(learned)
    return estimator


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


class ModelEncoder:
    """Vectors of texts from a function, for example a language model, which is never written.

    ``encode`` takes a list of texts, and returns an array with one row per text; ``size`` is the
    number of dimensions, if it is known.
    """

    def __init__(self, encode: Callable[[list[str]], Any] | None, size: int | None = None) -> None:
        self.encode, self.size = encode, size

    def of_texts(self, texts: Sequence[str]) -> Array:
        """Return the vectors of texts."""
        if self.encode is None:
            raise Mismatch(
                "This index maps texts by a model that is not part of it; give the model as "
                "SemanticIndex.load(path, encoder=...), or search by items= or labels=."
            )
        found = np.asarray(read_vectors(self.encode(list(texts)), len(texts), "encoder"))
        if self.size is None:
            self.size = int(found.shape[1])
        if found.shape[1] != self.size:
            raise InvalidInput(
                f"The encoder gives vectors of {found.shape[1]} dimensions, but the index was "
                f"fitted with {self.size}; give the model of the fit."
            )
        return found


class IndexModel:
    """Features of texts (None if the index takes vectors), the space, and the tagger.

    The tagger may be a function that reads it.
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

    def features_of(self, texts: Sequence[str]) -> Any:
        """Compute the features of texts."""
        assert self.features is not None
        return self.features.of_texts(texts)

    def given(self, vectors: Any, count: int, owner: str) -> Any:
        """Check the vectors passed to the index."""
        found = read_vectors(vectors, count, owner)
        if found.shape[1] != self.space.weights.shape[0]:
            raise InvalidInput(
                f"{owner}: vectors must have {self.space.weights.shape[0]} columns as in fit, "
                f"but have {found.shape[1]}."
            )
        return found

    def vectors(self, texts: Sequence[str], vectors: Any, owner: str) -> Array:
        """Map texts, or given vectors, to unit vectors in the space."""
        if self.features is None:
            return self.space.vectors(self.given(vectors, len(texts), owner))
        if vectors is not None:
            raise Mismatch(f"{owner}: this index computes vectors from texts; omit vectors=.")
        return self.space.vectors(self.features_of(texts))

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
        found: Any = sparse.csr_matrix(vectors) if sparse.issparse(vectors) else np.asarray(vectors)
        if found.dtype not in (np.float32, np.float64):
            found = found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{owner}: vectors cannot be used: {error}") from error
    if found.ndim != 2 or not found.shape[1]:
        raise InvalidInput(
            f"{owner}: vectors must be an array of two dimensions, but its shape is {found.shape}."
        )
    if not np.isfinite(found.data if sparse.issparse(found) else found).all():
        raise InvalidInput(f"{owner}: vectors must be finite, but some are NaN or infinite.")
    if sparse.issparse(found) and not found.data.all():
        found = found.copy()
        found.eliminate_zeros()
    if found.shape[0] != count:
        raise InvalidInput(
            f"{owner}: vectors must have one row for each item; there are {count} items and "
            f"{found.shape[0]} rows."
        )
    return found


# --- files ----------------------------------------------------------------------------------


def write_model(
    files: Files, model: IndexModel, words: WordSearch | None, settings: dict[str, Any]
) -> dict[str, Any]:
    """Write the fitted model next to the vectors; return the content of the manifest."""
    kind, text, features = None, None, model.features
    if isinstance(features, ModelEncoder):
        kind = _ENCODER
    elif features is not None:
        kind = _WORDS
        files.write("features", features.arrays())
        if features.static is not None:
            files.write("static", features.static.arrays())
    if words is not None:
        segments = _merged(words.segments)
        text = {"language": words.vocabulary.language, "segments": len(segments)}
        parts = {"vocabulary": words.vocabulary.arrays()}
        parts |= {f"segment{n}": segment.arrays() for n, segment in enumerate(segments)}
        files.write(
            "words",
            {f"{part}_{name}": one for part, own in parts.items() for name, one in own.items()},
        )
    return {
        "tagger": None if model.tagger is None else write_tagger(files, model.tagger),
        "settings": settings,
        "features": kind,
        "text": text,
        "estimator": model.space.write(files),
        "files": files.entries,
    }


def write_tagger(files: Files, tagger: Tagger) -> str:
    """Write a tagger, next to one that is there; return the name of its file."""
    labels = json.dumps(list(tagger.labels)).encode()
    name = next(one for n in itertools.count() if (one := f"tagger{n or ''}") not in files)
    arrays = {**tagger.arrays(), "labels": np.frombuffer(labels, dtype=np.uint8)}
    files.write(name, arrays)
    return name


def read_model(
    files: Files, content: Mapping[str, Any]
) -> tuple[IndexModel, WordSearch | None, dict[str, Any]]:
    """Read the model, the words of the texts and the settings that a manifest lists."""
    settings: dict[str, Any] = field(content, "settings", dict)
    for name, kind in (("language", str), ("fields", dict)):
        field(settings, name, kind)
    space = Space.read(files, field(content, "estimator", dict))
    words = _read_words(files, field(content, "text", dict)) if "words" in files else None
    language = NO_LANGUAGE if words is None else words.vocabulary.language
    features: TextFeatures | ModelEncoder | None = None
    static = PooledVectors.from_arrays(files.open("static").arrays()) if "static" in files else None
    described = content.get("features")
    if described == _ENCODER:
        features = ModelEncoder(None, len(space.weights))
    elif described == _WORDS and words is not None:
        arrays = files.open("features").arrays()
        features = TextFeatures.from_arrays(language, arrays, stems=False, static=static)
        if features.size != len(space.weights):
            raise InvalidFile("The features do not fit the space; the index is damaged.")
    elif described is not None:
        raise InvalidFile("manifest.json: the kind of the features is unknown.")
    # Opened now, because a later save deletes the file; read only if it is asked for.
    tagger = None
    if content.get("tagger") is not None:
        tagger = partial(_read_tagger, files.open(field(content, "tagger", str)), language, static)
    return IndexModel(features, space, tagger), words, settings


def _merged(segments: Iterable[WordSegment]) -> list[WordSegment]:
    """Join small neighbouring segments of words."""
    groups: list[list[WordSegment]] = []
    tokens = 0
    for segment in segments:
        tokens += segment.block.tokens.size
        if not groups or tokens > _SEGMENT_TOKENS:
            groups.append([])
            tokens = segment.block.tokens.size
        groups[-1].append(segment)
    return [own[0] if len(own) == 1 else WordSegment.join(own) for own in groups]


def _read_tagger(file: ArrayFile, language: str, static: PooledVectors | None) -> Tagger:
    from ..tagger import Tagger  # noqa: PLC0415 - searches do without it

    labels = parse_json(bytes(file.array("labels")), file.path)
    if not isinstance(labels, list) or not all(isinstance(one, str) for one in labels):
        raise InvalidFile(f"{file.path} is damaged: it has no list of labels.")
    arrays, texts = file.arrays("texts_"), None
    if arrays:
        texts = TextFeatures.from_arrays(language, arrays, stems=TAGS.stems, static=static)
    return Tagger.from_arrays(labels, file.arrays(), texts)


def _read_words(files: Files, described: Mapping[str, Any]) -> WordSearch:
    language, count = field(described, "language", str), field(described, "segments", int)
    file = files.open("words")
    try:
        check_language("load", language)
    except InvalidParameter as error:
        raise InvalidFile(f"manifest.json: the language {language!r:.40} is unknown.") from error
    vocabulary = Vocabulary.from_arrays(language, file.arrays("vocabulary_"))
    parts = (file.arrays(f"segment{number}_") for number in range(count))
    return WordSearch(vocabulary, [WordSegment.from_arrays(vocabulary, own) for own in parts])
