"""A random sample of the rows of a stream, the same however the stream is cut into batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array

__all__ = ["RowSample"]


@dataclass(frozen=True)
class RowSample:
    """The rows with the smallest random numbers, sorted by them.

    Each labelled row of a stream gets one random number, by its place in the stream.

    Attributes
    ----------
    numbers : array of shape (s,)
        Rising.
    rows : array of shape (s, d)
    labels : array of shape (s, k)
        Of int8, or of float64 where some labels were fitted.
    seen : int
        How many rows got a number.
    seed : int
    """

    numbers: Array
    rows: Array
    labels: Array
    seen: int
    seed: int

    @classmethod
    def empty(
        cls,
        columns: int,
        labels: int,
        dtype: np.dtype[np.generic],
        seed: int,
        *,
        whole: bool = True,
    ) -> RowSample:
        """Start a sample; ``whole`` if all labels are 0 or 1."""
        nothing = np.zeros((0, labels), np.int8 if whole else np.float64)
        return cls(np.zeros(0), np.zeros((0, columns), dtype), nothing, 0, seed)

    def draw(self, count: int) -> Array:
        """Return the random numbers of the next rows."""
        generator = np.random.PCG64(self.seed)
        return np.random.Generator(generator.advance(self.seen)).random(count)

    def within(self, numbers: Array, size: int) -> Array:
        """Return which rows with these numbers would be among the ``size`` smallest."""
        together = np.concatenate([self.numbers, numbers])
        if together.size <= size:
            return np.ones(numbers.size, dtype=bool)
        return np.asarray(numbers <= np.partition(together, size - 1)[size - 1])

    def extended(
        self, numbers: Array, rows: Array, labels: Array, *, seen: int, size: int
    ) -> RowSample:
        """Return the sample with candidates added and all but the ``size`` smallest dropped."""
        joined = np.concatenate([self.numbers, numbers])
        order = np.argsort(joined)[:size]
        return RowSample(
            joined[order],
            np.concatenate([self.rows, rows.astype(self.rows.dtype, copy=False)])[order],
            np.concatenate([self.labels, labels.astype(self.labels.dtype)])[order],
            self.seen + seen,
            self.seed,
        )
