"""What every source of vectors of texts has: a name, vectors for texts, and probes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from .._typing import Array
from ..errors import InvalidInput

__all__ = ["FunctionModel", "TextModel", "same_answers"]

# Texts whose vectors tell models apart; no two of them are alike in any language model.
_PROBES = (
    "The cat sat on the mat.",
    "Interest rates rose by 0.25 percent in 2019.",
    "def add(a, b): return a + b",
)
# Cosine that vectors of the same text by the same model reach: other machines round differently,
# and half precision gives 0.999998.
_SAME = 0.999


class TextModel(ABC):
    """A source of vectors of texts.

    Subclasses implement ``_encode(texts, query)``, which returns one row per text.

    Attributes
    ----------
    name : str
        By which :func:`open_model` finds it again; empty if it cannot.
    size : int or None
        Number of dimensions, if it is known.
    stored : bool
        Whether it is so slow that its vectors are worth a place in a `VectorStore`.
    batch : int
        Number of texts that are encoded at a time, so that a stop loses little.
    """

    name: str = ""
    size: int | None = None
    stored: bool = True
    batch: int = 256

    def hurried(self) -> Self:
        """Return the same model for vectors that somebody waits for."""
        return self

    @abstractmethod
    def _encode(self, texts: list[str], *, query: bool) -> Any: ...

    def vectors(self, texts: Sequence[str], *, query: bool = False) -> Array:
        """Compute the vectors of texts, (n, size) in float32; ``query`` says what they are."""
        given = list(texts)
        if not given:
            return np.zeros((0, self.size or 0), dtype=np.float32)
        found = self._checked(self._encode(given, query=query), len(given))
        self.size = int(found.shape[1])
        return found

    def _checked(self, found: Any, count: int) -> Array:
        who = f"The model {self.name!r}" if self.name else "The encoder"
        try:
            with np.errstate(over="ignore"):
                rows = np.asarray(found, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{who} must give one row of numbers per text: {error}.") from None
        if rows.ndim != 2 or rows.shape[0] != count or not rows.shape[1]:
            raise InvalidInput(
                f"{who} must give one vector for each of {count} texts, but gave an array of shape "
                f"{rows.shape}."
            )
        if not np.isfinite(rows).all():
            bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise InvalidInput(
                f"{who} gave NaN or infinity for text {bad + 1} of {count}; use another model."
            )
        if self.size is not None and rows.shape[1] != self.size:
            raise InvalidInput(
                f"{who} gave vectors of {rows.shape[1]} dimensions, after {self.size} before; "
                "use one model for all texts."
            )
        return rows

    @cached_property
    def probes(self) -> Array:
        """Vectors of a few fixed texts."""
        return self.vectors(_PROBES)


class FunctionModel(TextModel):
    """A function of the caller's: it takes a list of texts and returns one vector for each.

    Examples
    --------
    >>> from labelspan.models import FunctionModel
    >>> FunctionModel(lambda texts: [[len(text), 1] for text in texts]).vectors(["a", "bcd"])
    array([[1., 1.],
           [3., 1.]], dtype=float32)
    """

    stored = False

    def __init__(self, encode: Callable[[list[str]], Any]) -> None:
        self._function = encode

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        return self._function(texts)


def same_answers(first: Array, second: Array) -> bool:
    """Return whether two arrays hold the vectors of the same texts by the same model."""
    if first.shape != second.shape:
        return False
    one, two = (rows.astype(np.float64) for rows in (first, second))
    along = np.einsum("ij,ij->i", one, two)
    lengths = np.linalg.norm(one, axis=1), np.linalg.norm(two, axis=1)
    return bool((along >= _SAME * lengths[0] * lengths[1]).all())
