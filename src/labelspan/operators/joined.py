"""Blocks of columns next to each other, sparse and dense, without making one of them of the other.

:class:`Joined` is the operator, and :class:`JoinedRows` its rows: sparse words with a dense block.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidInput
from .array_backend import host, plus
from .convert import as_operator
from .operator import Composite, Operator

__all__ = ["Joined", "JoinedRows", "words_of"]


def words_of(rows: Any) -> Any:
    """Return the sparse part of rows with a dense block; other rows unchanged."""
    return rows.words if isinstance(rows, JoinedRows) else rows


class Joined(Composite):
    """Operators with the same rows next to each other, ``[X, Z, ...]``.

    Parameters
    ----------
    parts : sequence of Operator
        X, Z and so on.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import as_operator
    >>> from labelspan.operators.joined import Joined
    >>> Joined([as_operator(np.eye(2)), as_operator(np.ones((2, 1)))]).toarray()
    array([[1., 0., 1.],
           [0., 1., 1.]])
    """

    def __init__(self, parts: Sequence[Operator]) -> None:
        if len({part.shape[0] for part in parts}) != 1:
            shapes = ", ".join(str(part.shape) for part in parts)
            raise InvalidInput(f"Joined: parts of shapes {shapes} do not have the same rows.")
        widths = [part.shape[1] for part in parts]
        super().__init__((parts[0].shape[0], sum(widths)), parts)
        self.parts = list(parts)
        self.fill = sum(part.fill * part.shape[1] for part in parts) / max(1, sum(widths))
        ends = np.cumsum([0, *widths]).tolist()
        self._own = [slice(*pair) for pair in pairwise(ends)]

    def _each(self, values: Array) -> Any:
        """Yield the parts with their own of some values."""
        return ((part, values[own]) for part, own in zip(self.parts, self._own, strict=True))

    def _matmat(self, block: Array) -> Array:
        first, *others = (self.to_device(part.matmat(own)) for part, own in self._each(block))
        for other in others:
            first = plus(first, other, 1.0)
        return first

    def _rmatmat(self, block: Array) -> Array:
        return self._stacked([part.rmatmat(block) for part in self.parts])

    def _stacked(self, blocks: Sequence[Array]) -> Array:
        if self.device is None:
            return np.concatenate([np.asarray(one, dtype=self.dtype) for one in blocks])
        import torch  # noqa: PLC0415 - only where blocks are tensors

        stacked: Array = torch.cat([self.to_device(one) for one in blocks])
        return stacked

    def in_type(self, dtype: Any) -> Operator | None:
        parts = [part.in_type(dtype) for part in self.parts]
        known = [part for part in parts if part is not None]
        return Joined(known) if len(known) == len(parts) else None

    def arranged(self) -> tuple[Operator, Array | None]:
        found = [part.arranged() for part in self.parts]
        if all(order is None for _, order in found):
            return self, None
        orders = [
            own.start + (np.arange(own.stop - own.start) if order is None else order)
            for own, (_, order) in zip(self._own, found, strict=True)
        ]
        return Joined([part for part, _ in found]), np.concatenate(orders)

    def gram(self) -> Array:
        out = np.empty((self.shape[1],) * 2)
        for number, (part, own) in enumerate(zip(self.parts, self._own, strict=True)):
            out[own, own] = part.gram()
            for other, columns in zip(self.parts[:number], self._own[:number], strict=True):
                for some, values in part.column_blocks():
                    place = slice(own.start + some.start, own.start + some.stop)
                    out[columns, place] = other.cross(host(values).astype(other.dtype))
                    out[place, columns] = out[columns, place].T
        return out

    def cross(self, block: Array) -> Array:
        return np.concatenate([part.cross(block) for part in self.parts])

    def cogram(self) -> Array:
        total: Array = sum(part.cogram() for part in self.parts)  # type: ignore[assignment]
        return total

    def column_means(self) -> Array:
        return np.concatenate([part.column_means() for part in self.parts])

    def sum_of_squares(self) -> float:
        return sum(part.sum_of_squares() for part in self.parts)

    def column_squares(self) -> Array:
        return np.concatenate([part.column_squares() for part in self.parts])

    def column_counts(self) -> Array:
        return np.concatenate([part.column_counts() for part in self.parts])

    def shifted(self, offset: Array) -> Operator:
        return Joined([part.shifted(own) for part, own in self._each(offset)])

    def centered(self) -> tuple[Operator, Array]:
        # Each part knows what the means of its constant columns are.
        found = [part.centered() for part in self.parts]
        return Joined([part for part, _ in found]), np.concatenate([means for _, means in found])

    def rows(self, index: Array) -> Operator:
        return Joined([part.rows(index) for part in self.parts])

    def wide_rows(self, part: slice) -> Array:
        return np.hstack([one.wide_rows(part) for one in self.parts])


class JoinedRows:
    """Rows of sparse features followed by a dense block, with the products that rows need.

    ``words`` is a CSR matrix (n, d), ``block`` an array (n, m) in float32.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from labelspan.operators.joined import JoinedRows
    >>> rows = JoinedRows(sparse.csr_matrix(np.eye(2)), np.ones((2, 1)))
    >>> rows @ np.array([1.0, 2.0, 3.0])
    array([4., 5.])
    >>> rows.T @ np.array([1.0, 2.0])
    array([1., 2., 3.])
    """

    def __init__(self, words: Any, block: Array) -> None:
        if words.shape[0] != block.shape[0]:
            raise InvalidInput(f"{words.shape[0]} rows of words, but {block.shape[0]} of a block.")
        self.words, self.block = words, block

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.words.shape[0], self.words.shape[1] + self.block.shape[1]

    @property
    def operator(self) -> Operator:
        """The rows as an operator."""
        return Joined([as_operator(self.words), as_operator(self.block)])

    def toarray(self) -> Array:
        """Return the rows as one array, for a few of them."""
        return np.hstack([self.words.toarray(), self.block])

    @property
    def T(self) -> _Turned:
        """The transpose, which can be multiplied."""
        return _Turned(self)

    def __getitem__(self, index: Any) -> JoinedRows:
        return JoinedRows(self.words[index], self.block[index])

    def __matmul__(self, values: Array) -> Array:
        d = self.words.shape[1]
        return np.asarray(self.words @ values[:d] + self.block @ values[d:])

    def mean(self, axis: int) -> Array:
        """Return the mean of each column."""
        assert axis == 0
        means = np.asarray(self.words.mean(axis=0)).ravel(), self.block.mean(axis=0)
        return np.concatenate(means)

    @classmethod
    def stacked(cls, first: JoinedRows, second: JoinedRows) -> JoinedRows:
        """Append rows to others."""
        words = sparse.csr_matrix(sparse.vstack([first.words, second.words], format="csr"))
        words.sort_indices()
        return cls(words, np.vstack([first.block, second.block]))


class _Turned:
    """The transpose of rows."""

    def __init__(self, rows: JoinedRows) -> None:
        self.words, self.block = rows.words.T.tocsr(), rows.block.T

    def __matmul__(self, values: Any) -> Array:
        parts = self.words @ values, self.block @ values
        return np.concatenate([one.toarray() if sparse.issparse(one) else one for one in parts])
