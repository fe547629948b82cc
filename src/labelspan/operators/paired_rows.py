"""Rows of features and of labels in files with the same blocks: products of both in one pass.

Nothing here has as many entries as there are rows: a solver that uses only these products needs
memory for two blocks of rows, and for blocks with a row per feature or per label.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import Mismatch
from .array_backend import host
from .operator import Centered, Operator
from .row_files import RowFiles

__all__ = ["PairedRows", "paired"]


class PairedRows:
    """X and L with the same rows, each in files and centred or not.

    Parameters
    ----------
    X, labels : Operator
        :class:`RowFiles`, or these after ``shifted``, written in blocks of the same sizes.
    scale : float or array of shape (k,), default=1.0
        What the labels are multiplied by.
    mix : array of shape (k, r) or None, default=None
        Combinations of the labels that take their place: ``L mix``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from labelspan.operators import RowFiles, RowWriter
    >>> from labelspan.operators.paired_rows import PairedRows
    >>> def written(rows):
    ...     folder = tempfile.mkdtemp()
    ...     with RowWriter(folder) as writer:
    ...         writer.append(rows[:2])
    ...         writer.append(rows[2:])
    ...     return RowFiles(folder)
    >>> X, L = np.arange(6.0).reshape(3, 2), np.eye(3)
    >>> normal, seen = PairedRows(written(X), written(L)).both(np.ones((2, 1)))
    >>> normal.ravel(), seen.ravel()  # X'X 1 and L'X 1
    (array([46., 61.]), array([1., 5., 9.]))
    """

    def __init__(
        self,
        X: Operator,
        labels: Operator,
        scale: float | Array = 1.0,
        mix: Array | None = None,
    ) -> None:
        self.X, self.labels, self.mix = X, labels, mix
        self._scale = np.broadcast_to(np.asarray(scale, dtype=np.float64), labels.shape[1:])
        self._X, self._x_offset = _unwrapped(X)
        self._L, self._l_offset = _unwrapped(labels)
        if self._X.block_rows != self._L.block_rows:
            raise Mismatch(
                "X and y in files must be written in blocks of the same numbers of rows; X has "
                f"{_brief(self._X.block_rows)} and y has {_brief(self._L.block_rows)}."
            )
        rows = X.shape[0]
        self._x_sums = rows * self._X.column_means()
        self._l_sums = rows * self._L.column_means()

    def _blocks(self) -> Iterator[tuple[slice, Operator, Operator]]:
        for (part, rows), (_, labels) in zip(self._X._blocks(), self._L._blocks(), strict=True):
            yield part, rows, labels

    def both(self, block: Array) -> tuple[Array, Array]:
        """Return ``X'(X block)`` and ``L'(X block)``."""
        block = self.X.place(block)
        normal = np.zeros((self.X.shape[1], block.shape[1]))
        seen = np.zeros((self.labels.shape[1], block.shape[1]))
        for _, rows, labels in self._blocks():
            image = rows.matmat(block)
            normal += rows.rmatmat(image)
            seen += labels.rmatmat(labels.place(image))
        along, sums = self._x_offset @ block, self._x_sums @ block
        # (X - 1 o')'(X - 1 o') and (L - 1 p')'(X - 1 o'), with the sums s and t of the columns.
        normal -= np.outer(self._x_sums, along) + np.outer(self._x_offset, sums)
        normal += self.X.shape[0] * np.outer(self._x_offset, along)
        seen -= np.outer(self._l_sums, along) + np.outer(self._l_offset, sums)
        seen += self.X.shape[0] * np.outer(self._l_offset, along)
        seen = self._scale[:, None] * seen
        return self.X.place(normal), self.X.place(seen if self.mix is None else self.mix.T @ seen)

    @property
    def width(self) -> int:
        """Number of labels, or of their combinations."""
        return self.labels.shape[1] if self.mix is None else self.mix.shape[1]

    @property
    def changed(self) -> bool:
        """Whether the labels are not those in their files."""
        return self._L.is_changed

    def back(self, block: Array) -> Array:
        """Return ``X'(L block)`` for a block with a row per label."""
        own = host(block) if self.mix is None else self.mix @ host(block)
        block = self.labels.place(self._scale[:, None] * own)
        out = np.zeros((self.X.shape[1], block.shape[1]))
        for _, rows, labels in self._blocks():
            out += rows.rmatmat(rows.place(labels.matmat(block)))
        along, sums = self._l_offset @ block, self._l_sums @ block
        out -= np.outer(self._x_sums, along) + np.outer(self._x_offset, sums)
        out += self.X.shape[0] * np.outer(self._x_offset, along)
        return self.X.place(out)

    def take(self, index: Array) -> tuple[Array | Any, Array | Any]:
        """Return some rows of X and of L, given by rising numbers, not centred."""
        parts: list[tuple[Any, Any]] = []
        for part, rows, labels in self._blocks():
            own = index[(index >= part.start) & (index < part.stop)] - part.start
            if own.size:
                parts.append((_matrix(rows)[own], _matrix(labels)[own]))
        features, targets = ([pair[side] for pair in parts] for side in (0, 1))
        return _stacked(features), _stacked(targets)


def paired(X: Operator, labels: Any, scale: float | Array = 1.0) -> PairedRows | None:
    """Pair features and labels that are both in files; None where the labels are not.

    Labels in files need features in files.
    """
    if not isinstance(labels, Operator) or not labels.one_pass:
        return None
    if not X.one_pass or not isinstance(_base(X), RowFiles):
        raise Mismatch("Labels in files need X in files too; write X by RowWriter in the same way.")
    return PairedRows(X, labels, scale)


def _base(operator: Operator) -> Operator:
    return operator.base if isinstance(operator, Centered) else operator


def _unwrapped(operator: Operator) -> tuple[RowFiles, Array]:
    """Return the rows in files, and what is subtracted from each of them."""
    base = _base(operator)
    if not isinstance(base, RowFiles):
        raise Mismatch(f"Rows in files are needed, but {type(base).__name__} was given.")
    if isinstance(operator, Centered):
        return base, operator.offset
    return base, np.zeros(base.shape[1])


def _matrix(block: Operator) -> Any:
    found = getattr(block, "csr", None)
    return block.toarray() if found is None else found


def _stacked(parts: list[Any]) -> Any:
    if not parts or isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy import sparse  # noqa: PLC0415

    return sparse.vstack(parts, format="csr")


def _brief(sizes: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, sizes[:3]))
    return shown + (", ..." if len(sizes) > 3 else "")
