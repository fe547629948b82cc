"""Vectors of a model in place of word counts: a vectorizer around a function of yours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import Array
from ..errors import InvalidInput, Mismatch
from .model import read_vectors

__all__ = ["ModelEncoder"]


class ModelEncoder(BaseEstimator):
    """Call a function for the vectors of texts; it is never copied or written to a file.

    Parameters
    ----------
    encode : callable or None
        Takes a list of texts, and returns an array with one row per text.
    vectors : array of shape (n, d) or None
        Vectors of the texts to learn from, if they are known already.
    n_features : int or None
        Number of dimensions, if it is known.
    """

    def __init__(
        self,
        encode: Callable[[list[str]], Any] | None = None,
        vectors: Any = None,
        n_features: int | None = None,
    ) -> None:
        self.encode = encode
        self.vectors = vectors
        self.n_features = n_features

    def __sklearn_clone__(self) -> ModelEncoder:
        # A copy of a language model would be made otherwise.
        return ModelEncoder(self.encode, self.vectors, self.n_features)

    @property
    def ready(self) -> bool:
        """Whether texts can be encoded."""
        return self.encode is not None

    def fit_transform(self, texts: Sequence[str], y: Any = None) -> Array:
        """Return the vectors of the texts to learn from; they are not kept."""
        if self.vectors is None:
            found = self._encoded(texts, "fit")
        else:
            found = np.asarray(read_vectors(self.vectors, len(texts), "fit"))
        self.vectors = None
        self.n_features = int(found.shape[1])
        return found

    def transform(self, texts: Sequence[str]) -> Array:
        """Return the vectors of texts."""
        found = self._encoded(texts, "search")
        if found.shape[1] != self.n_features:
            raise InvalidInput(
                f"The encoder gives vectors of {found.shape[1]} dimensions, but the index was "
                f"fitted with {self.n_features}; give the model of the fit."
            )
        return found

    def _encoded(self, texts: Sequence[str], owner: str) -> Array:
        if self.encode is None:
            raise Mismatch(
                f"{owner}: this index maps texts by a model that is not part of it; give the model "
                "as SemanticIndex.load(path, encoder=...), or search by items= or labels=."
            )
        return np.asarray(read_vectors(self.encode(list(texts)), len(texts), owner))
