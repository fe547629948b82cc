"""What an index has learned, as searches use it: features of texts, a space, and a tagger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidInput, Mismatch
from ..tagger import Tagger
from ..text import TextFeatures
from .space import Space

__all__ = ["IndexModel", "ModelEncoder", "read_vectors", "refuse_vectors"]


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
        if self._tagger is not None and not isinstance(self._tagger, Tagger):
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
        """Word or pair of words of each feature; None if features are not words."""
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
