"""What an index has learned, as searches use it: features of texts, a space, and a tagger.

In a folder these are files of arrays: ``features``, ``space``, ``tagger``, ``words``, and
``model_block`` and ``link_block`` if there are blocks next to the words; the manifest has the rest.
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
from ..operators.joined import JoinedRows
from ..text import (
    NO_LANGUAGE,
    TAGS,
    TextFeatures,
    Vocabulary,
    WordSearch,
    WordSegment,
    check_language,
)
from .blocks import SPACE_LENGTH, TAG_LENGTH, Blocks, read_blocks
from .folder import Files, field
from .inputs import read_vectors
from .links import LinkGraph
from .model_block import ModelBlock
from .vectors import LabelDirections, unit_rows

if TYPE_CHECKING:
    from ..tagger import Tagger

__all__ = [
    "BALANCE",
    "IndexModel",
    "Space",
    "read_model",
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
# Kind of features.
_WORDS = "words"
# Word numbers of one segment of the word index, about.
_SEGMENT_TOKENS = 1 << 24
# Weight of the space in a search by words only, and with a model.
BALANCE, MODEL_BALANCE = 0.4, 0.5
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
        out[~_known(features)] = 0.0
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
            raise InvalidFile(
                "The parts of the embedding do not fit together; the index is damaged."
            )
        packed = dict(described), {**arrays, _COMPONENTS: weights.T}
        return cls(weights, offset, eigenvalues, directions, packed=packed)


def _known(features: Any) -> Array:
    """Return which rows have any feature."""
    if isinstance(features, JoinedRows):
        return _known(features.words) | features.block.any(axis=1)
    found = np.diff(features.indptr) if sparse.issparse(features) else features.any(axis=1)
    return np.asarray(found != 0)


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


class IndexModel:
    """Features of texts (None if the index takes vectors), the space, the tagger, and blocks.

    The tagger may be a function that reads it. ``blocks`` are those next to the words.
    """

    def __init__(
        self,
        features: TextFeatures | None,
        space: Space,
        tagger: Tagger | Callable[[], Tagger] | None,
        blocks: Blocks | None = None,
    ) -> None:
        self.features, self.space, self.blocks = features, space, blocks or Blocks()
        self._tagger = tagger

    @property
    def block(self) -> ModelBlock | None:
        """The block of a language model or of given vectors, if there is one."""
        return self.blocks.model

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

    def with_tagger(self, tagger: Tagger) -> IndexModel:
        """Return the same with another tagger."""
        return IndexModel(self.features, self.space, tagger, self.blocks)

    @property
    def link_use(self) -> dict[str, bool]:
        """Whether the space and the tagger use links."""
        space, tags = (self.blocks.lengths(use)[1] > 0 for use in (SPACE_LENGTH, TAG_LENGTH))
        return {"in_space": space, "in_tags": tags and self.can_tag}

    @property
    def balance(self) -> float:
        """Weight of the space in a search, from 0 (only words) to 1 (only the space)."""
        return BALANCE if self.block is None or not self.block.answers else MODEL_BALANCE

    def query_features(self, texts: Sequence[str]) -> Any:
        """Compute the features of queries; the model's are zeros if it is missing."""
        words, stored = self.of_queries(texts)
        return self.blocks.of_new(words, stored, SPACE_LENGTH, query=True)

    def of_queries(self, texts: Sequence[str]) -> tuple[Any, Array | None]:
        """Return the words of queries, and what blocks would store of them."""
        assert self.features is not None
        words = self.features.of_texts(texts)
        units = None if self.block is None else self.block.of_queries(texts)
        return words, self.blocks.store(words, units)

    def linked_vectors(
        self,
        texts: Sequence[str],
        stored: Callable[[Array], Array],
        rows: Array,
        graph: LinkGraph | None,
    ) -> Array:
        """Return the unit vectors of items in some rows, with their texts and links."""
        assert self.features is not None
        columns = self.blocks.columns(stored, rows, graph, SPACE_LENGTH)
        return self.space.vectors(self.blocks.joined(self.features.of_texts(texts), columns))

    def given(self, vectors: Any, count: int, owner: str) -> Any:
        """Check the vectors passed to the index."""
        found = read_vectors(vectors, count, owner)
        if found.shape[1] != self.space.weights.shape[0]:
            raise InvalidInput(
                f"{owner}: vectors must have {self.space.weights.shape[0]} columns as in fit, "
                f"but have {found.shape[1]}."
            )
        return found

    def items(self, texts: Sequence[str], vectors: Any, owner: str) -> tuple[Array, Array | None]:
        """Map new items to unit vectors, without links; return also what blocks store of them."""
        if self.features is None:
            return self.space.vectors(self.given(vectors, len(texts), owner)), None
        if self.block is None and vectors is not None:
            raise Mismatch(f"{owner}: this index computes vectors from texts; omit vectors=.")
        units = None if self.block is None else self.block.of_items(texts, vectors, owner)
        words = self.features.of_texts(texts)
        stored = self.blocks.store(words, units)
        return self.space.vectors(self.blocks.of_new(words, stored, SPACE_LENGTH)), stored

    def given_queries(self, vectors: Array) -> Array:
        """Map vectors given as queries to unit vectors in the space."""
        if self.features is None:
            return self.space.vectors(self.given(vectors, len(vectors), "search"))
        if self.block is None:
            raise Mismatch("search: this index takes texts; give a text, items or labels.")
        units = self.block.rows(read_vectors(vectors, len(vectors), "search"))
        nothing = sparse.csr_matrix((len(vectors), self.features.size), dtype=np.float32)
        stored = self.blocks.store(nothing, units)
        return self.space.vectors(self.blocks.of_new(nothing, stored, SPACE_LENGTH, query=True))

    @cached_property
    def names(self) -> Array | None:
        """Word or pair of words of the first features; None if features are not words.

        Only the dimensions of a block, which come last, do not have a name.
        """
        if self.features is None:
            return None
        return np.array(self.features.names, dtype=object)


# --- files ----------------------------------------------------------------------------------


def write_model(
    files: Files, model: IndexModel, words: WordSearch | None, settings: dict[str, Any]
) -> dict[str, Any]:
    """Write the fitted model next to the vectors; return the content of the manifest."""
    kind, text, features = None, None, model.features
    if features is not None:
        kind = _WORDS
        files.write("features", features.arrays())
    model.blocks.write(files)
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
    features: TextFeatures | None = None
    blocks = read_blocks(files)
    described = content.get("features")
    if described == _WORDS and words is not None:
        arrays = files.open("features").arrays()
        features = TextFeatures.from_arrays(language, arrays, stems=False)
        if features.size + blocks.width != len(space.weights):
            raise InvalidFile("The features do not fit the embedding; the index is damaged.")
    elif described is not None:
        raise InvalidFile("manifest.json: the kind of the features is unknown.")
    # Opened now, because a later save deletes the file; read only if it is asked for.
    tagger = None
    if content.get("tagger") is not None:
        tagger = partial(_read_tagger, files.open(field(content, "tagger", str)), language)
    return IndexModel(features, space, tagger, blocks), words, settings


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


def _read_tagger(file: ArrayFile, language: str) -> Tagger:
    from ..tagger import Tagger  # noqa: PLC0415 - searches do without it

    labels = parse_json(bytes(file.array("labels")), file.path)
    if not isinstance(labels, list) or not all(isinstance(one, str) for one in labels):
        raise InvalidFile(f"{file.path} is damaged: it has no list of labels.")
    arrays, texts = file.arrays("texts_"), None
    if arrays:
        texts = TextFeatures.from_arrays(language, arrays, stems=TAGS.stems)
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
