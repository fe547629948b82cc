"""What an index has learned, as searches use it: each part is set up when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .._axis_ends import Ends, ends
from .._typing import Array
from ..errors import InvalidInput, Mismatch
from .analysis import TOKENS, normalise
from .label_places import LabelDirections
from .vectors import unit_rows
from .word_hash import hashed_columns, words_by_column

if TYPE_CHECKING:
    from .tagger import Tagger

__all__ = [
    "Deferred",
    "HashedTextMap",
    "IndexModel",
    "TextMap",
    "read_vectors",
    "refuse_vectors",
    "space_vectors",
]


@dataclass(frozen=True)
class Deferred:
    """Part of a model that is made when it is first needed."""

    make: Callable[[], Any]


class IndexModel:
    """Fitted vectorizer (None if the index takes vectors), estimator and tagger (or None).

    Parameters
    ----------
    vectorizer, estimator, tagger
        The parts, or a :class:`Deferred` for each.
    text_map : TextMap or None
        Maps texts to the space as vectorizer and estimator do, without scikit-learn.
    directions : LabelDirections, Deferred or None
        What labels add to the places of items; None if nothing.
    eigenvalues : Deferred or None
        Those of the estimator; None takes them from it.
    """

    def __init__(
        self,
        vectorizer: Any,
        estimator: Any,
        tagger: Any,
        text_map: TextMap | None = None,
        *,
        directions: Any = None,
        eigenvalues: Any = None,
    ) -> None:
        self._parts = {"vectorizer": vectorizer, "estimator": estimator, "tagger": tagger}
        self.text_map = text_map
        self._directions = directions
        self._eigenvalues = eigenvalues
        self._axis_words: dict[tuple[int, int], Ends] = {}

    def _part(self, name: str) -> Any:
        part = self._parts[name]
        if isinstance(part, Deferred):
            part = self._parts[name] = part.make()
        return part

    @property
    def vectorizer(self) -> Any:
        """The fitted vectorizer."""
        return self._part("vectorizer")

    @property
    def estimator(self) -> Any:
        """The fitted estimator."""
        return self._part("estimator")

    @property
    def tagger(self) -> Tagger | None:
        """The fitted tagger."""
        found: Tagger | None = self._part("tagger")
        return found

    def with_tagger(self, tagger: Tagger) -> IndexModel:
        """Return the same model with another tagger."""
        parts = {**self._parts, "tagger": tagger}
        return IndexModel(
            **parts,
            text_map=self.text_map,
            directions=self._directions,
            eigenvalues=self._eigenvalues,
        )

    @property
    def directions(self) -> LabelDirections | None:
        """What known labels add to the place of an item; None if the space has no such thing."""
        if isinstance(self._directions, Deferred):
            self._directions = self._directions.make()
        found: LabelDirections | None = self._directions
        return found

    @property
    def eigenvalues(self) -> Array:
        """Eigenvalue of each axis."""
        if isinstance(self._eigenvalues, Deferred):
            self._eigenvalues = self._eigenvalues.make()
        found = self.estimator.eigenvalues_ if self._eigenvalues is None else self._eigenvalues
        return np.asarray(found)

    @property
    def components(self) -> Array | None:
        """Weights of the features on each axis; None for an estimator without them."""
        if self.text_map is not None:
            return self.text_map.components
        found: Array | None = getattr(self.estimator, "components_", None)
        return found

    @property
    def reads_texts(self) -> bool:
        """Whether features are computed from texts."""
        return self._parts["vectorizer"] is not None

    def use_encoder(self, encode: Any) -> None:
        """Take a function for the vectors of texts, if the index was fitted with one."""
        found = self._parts["vectorizer"]
        if hasattr(found, "encode"):
            found.encode = encode
        elif encode is not None:
            raise Mismatch("load: this index was fitted without an encoder; omit encoder=.")

    @property
    def can_tag(self) -> bool:
        """Whether there is a tagger."""
        return self._parts["tagger"] is not None

    @property
    def n_features(self) -> int:
        """Number of features of a text or vector."""
        return int(self.estimator.n_features_in_)

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions of the space."""
        if self.text_map is not None:
            return int(self.text_map.components.shape[0])
        return int(self.estimator.n_components_)

    def features(self, texts: Sequence[str], vectors: Any, owner: str) -> Any:
        """Compute the features of texts, or check given vectors."""
        if self.reads_texts:
            refuse_vectors(vectors, owner)
            return self.vectorizer.transform(texts)
        given = read_vectors(vectors, len(texts), owner)
        if given.shape[1] != self.n_features:
            raise InvalidInput(
                f"{owner}: vectors must have {self.n_features} columns as in fit, "
                f"but have {given.shape[1]}."
            )
        return given

    def vectors(self, features: Any) -> Array:
        """Map features to unit vectors in the space; rows without any feature to zeros."""
        return space_vectors(self.estimator, features)

    def text_vectors(self, texts: Sequence[str]) -> Array:
        """Map texts to unit vectors in the space."""
        if self.text_map is not None:
            return self.text_map.vectors(texts)
        return self.vectors(self.features(texts, None, "search"))

    def entries(self, text: str) -> tuple[Array, Array, float]:
        """Compute the features of a text: columns, values, and the length of its vector."""
        if self.text_map is not None:
            return self.text_map.entries(text)
        features = self.features([text], None, "explain")
        columns = np.unique(features.nonzero()[1])
        values = np.asarray(features[:, columns].sum(axis=0), dtype=np.float64).reshape(-1)
        return columns, values, float(np.linalg.norm(self.estimator.transform(features)))

    def words_in(self, text: str) -> dict[int, str] | None:
        """Return the words of a text by their columns; None if features are not words."""
        if self.text_map is not None:
            return self.text_map.words_in(text)
        if self.words is None:
            return None
        return {column: str(self.words[column]) for column in self.entries(text)[0].tolist()}

    @cached_property
    def words(self) -> Array | None:
        """Word of each feature; None if features are not words."""
        if self.text_map is not None:
            return np.asarray(self.text_map.words, dtype=object)
        names = getattr(self.vectorizer, "get_feature_names_out", None)
        return None if names is None else np.asarray(names(), dtype=object)

    def axis_words(self, number: int, n: int) -> Ends:
        """Return the words at both ends of an axis; they are kept, because all are looked at."""
        if (number, n) not in self._axis_words:
            found = Ends([], [])
            if self.words is not None and self.components is not None:
                named = np.flatnonzero(self.words != "")
                # Hashed columns may have no name.
                if named.size == self.words.size:
                    found = ends("axes", self.components, self.words, number, n)
                elif named.size:
                    row = self.components[number : number + 1, named]
                    found = ends("axes", row, self.words[named], 0, n)
            self._axis_words[number, n] = found
        return self._axis_words[number, n]


class TextMap:
    """Map of texts to the space by the default vectorizer and a linear estimator.

    The same as their ``transform``, apart from rounding, but with numpy only.

    Parameters
    ----------
    words : list of str
        Words and pairs of words, one for each feature.
    weights : array of shape (d,)
        Inverse document frequencies.
    components : array of shape (m, d)
    mean : array of shape (d,) or None
        Mean of the features if the estimator centres them.
    """

    def __init__(
        self, words: Sequence[str], weights: Array, components: Array, mean: Array | None
    ) -> None:
        self._columns = {word: column for column, word in enumerate(words)}
        self._weights = weights
        self.components = components
        self._mean = mean

    def vectors(self, texts: Sequence[str]) -> Array:
        """Map texts to unit vectors; texts without any known word to zeros."""
        out = np.zeros((len(texts), self.components.shape[0]))
        for row, text in enumerate(texts):
            columns, values = self._features(text)
            if columns.size:
                out[row] = self._place(columns, values)
        return unit_rows(out)

    def entries(self, text: str) -> tuple[Array, Array, float]:
        """Compute the features of a text: columns, values, and the length of its vector."""
        columns, values = self._features(text)
        return columns, values, float(np.linalg.norm(self._place(columns, values)))

    @property
    def words(self) -> list[str]:
        """Words and pairs of words, one for each feature."""
        return list(self._columns)

    def _place(self, columns: Array, values: Array) -> Array:
        place = self.components[:, columns].astype(np.float64) @ values
        return place if self._mean is None else place - self._offset

    @cached_property
    def _offset(self) -> Array:
        assert self._mean is not None
        return np.asarray(self.components @ np.asarray(self._mean, dtype=np.float64))

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._columns)

    def is_sound(self, dimensions: int) -> bool:
        """Tell whether the arrays fit together and have a number of dimensions."""
        shape = (dimensions, self.n_features)
        return (
            np.shape(self.components) == shape
            and np.shape(self._weights) == shape[1:]
            and (self._mean is None or np.shape(self._mean) == shape[1:])
        )

    def _features(self, text: str) -> tuple[Array, Array]:
        """Compute the nonzero features of a text: their columns and values."""
        columns, times = self._counts(_tokens(text))
        values = (1.0 + np.log(times)) * self._weights[columns]
        length = float(np.linalg.norm(values))
        return columns, values / length if length else values

    def _counts(self, tokens: list[str]) -> tuple[Array, Array]:
        """Return the columns of words and pairs, in order, and how often each occurs."""
        counts: dict[int, int] = {}
        pairs = (f"{one} {two}" for one, two in pairwise(tokens))
        for word in (*tokens, *pairs):
            column = self._columns.get(word)
            if column is not None:
                counts[column] = counts.get(column, 0) + 1
        columns = np.array(sorted(counts), dtype=np.intp)
        times = np.array([counts[column] for column in columns.tolist()], dtype=np.float64)
        return columns, times

    def words_in(self, text: str) -> dict[int, str]:
        """Return the words and pairs of a text by their columns."""
        tokens = _tokens(text)
        every = (*tokens, *(f"{one} {two}" for one, two in pairwise(tokens)))
        return {self._columns[word]: word for word in every if word in self._columns}


class HashedTextMap(TextMap):
    """Map of texts whose words are hashed to columns.

    Parameters
    ----------
    names : Deferred
        Makes the list of the names of the columns, which only explanations need.
    weights, components, mean
        As for :class:`TextMap`.
    """

    def __init__(
        self, names: Deferred, weights: Array, components: Array, mean: Array | None
    ) -> None:
        super().__init__((), weights, components, mean)
        self._names = names

    @cached_property
    def words(self) -> list[str]:
        """Most frequent word of each column; empty where none is known."""
        found: list[str] = self._names.make()
        return found

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(np.size(self._weights))

    def _counts(self, tokens: list[str]) -> tuple[Array, Array]:
        columns, times = np.unique(hashed_columns(tokens, self.n_features), return_counts=True)
        known = self._weights[columns] > 0
        return columns[known].astype(np.intp), times[known].astype(np.float64)

    def words_in(self, text: str) -> dict[int, str]:
        """Return the words and pairs of a text by their columns; several may share one."""
        return words_by_column(_tokens(text), self.n_features)


def _tokens(text: str) -> list[str]:
    return TOKENS.findall(normalise(text).lower())


def space_vectors(estimator: Any, features: Any) -> Array:
    """Map features to unit vectors in an estimator's space; rows of zeros to zeros."""
    from sklearn.utils.extmath import row_norms  # noqa: PLC0415 - searches do without it

    out = unit_rows(estimator.transform(features))
    out[row_norms(features, squared=True) == 0] = 0.0
    return out


def read_vectors(vectors: Any, count: int, owner: str) -> Any:
    """Check vectors given with items: finite numbers, one row per item."""
    from sklearn.utils import check_array  # noqa: PLC0415 - searches for texts do without it

    if vectors is None:
        raise Mismatch(f"{owner}: this index has no vectorizer; give vectors=, one row per item.")
    try:
        found = check_array(vectors, accept_sparse="csr", dtype=[np.float32, np.float64])
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{owner}: vectors cannot be used: {error}") from error
    if found.shape[0] != count:
        raise InvalidInput(
            f"{owner}: vectors must have one row for each item; there are {count} items and "
            f"{found.shape[0]} rows."
        )
    return found


def refuse_vectors(vectors: Any, owner: str) -> None:
    """Raise an error if vectors are given to an index that reads texts."""
    if vectors is not None:
        raise Mismatch(
            f"{owner}: this index computes vectors from texts; omit vectors=, or use "
            "SemanticIndex(vectorizer=None)."
        )
