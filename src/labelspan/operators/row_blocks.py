"""Rows in blocks: in memory, in files, or on the workers of a cluster.

A store has one method, :meth:`BlockStore.run`: it calls a function with each block of rows, where
the block is stored, and returns the results in order or their sum. One operator,
:class:`RowBlocks`, computes all products with it. ``X'(X V)`` is one pass over the blocks, so that
no array with n rows is stored; centring and the selection of rows are done block by block.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidInput, Mismatch
from .array_backend import cast, concatenate, host, is_tensor, on_host
from .dense import Dense
from .digits import above_rounding, added_offset, far_from_zero
from .machine import one_ahead
from .operator import Centered, Operator, checked_offset
from .sparse import Sparse, host_operator

__all__ = [
    "BlockStore",
    "LocalBlocks",
    "MemoryBlocks",
    "Pass",
    "RowBlocks",
    "call_block",
    "checked_rows",
]


@dataclass(frozen=True)
class Pass:
    """Calls of ``task(block, shared, own piece)`` for some blocks, or for all.

    With ``total``, results are added in the order of the blocks.
    """

    name: str
    task: Callable[[Any, Any, Any], Any]
    numbers: Sequence[int] | None = None
    shared: Any = None
    own: Sequence[Any] | None = None
    total: bool = False


class BlockStore(ABC):
    """Blocks of rows, and a way to call a function with each of them.

    Attributes
    ----------
    shapes : sequence of (int, int)
        Rows and columns of each block; all have the same columns.
    dtype : dtype
        Type of the entries, float32 or float64.
    dual : bool
        Whether rows of different blocks can be combined.
    threaded : bool
        Whether products run on Python threads.
    device : torch.device or None
        Where the products are; None is the host.
    sums : array of shape (2, d) or None
        Sums of the columns and of their squares; None until a pass has computed them.
    counts : array of shape (d,) or None
        Number of stored entries of each column, in the same way.
    """

    shapes: Sequence[tuple[int, int]]
    dtype: np.dtype[Any]
    dual: bool = True
    threaded: bool = False
    device: Any = None
    sums: Array | None = None
    counts: Array | None = None

    @abstractmethod
    def run(self, work: Pass) -> Any:
        """Return the result for each block, or their sum."""


class RowBlocks(Operator):
    """An operator over rows in blocks, which every linear method accepts.

    It needs memory for two blocks of rows, whatever their number. Columns whose mean is large
    compared with their deviations are centred before the products, to keep their digits; all others
    afterwards.

    Parameters
    ----------
    store : BlockStore
        The blocks: :class:`MemoryBlocks`, the files of :class:`RowFiles`, or the workers of
        :func:`labelspan.operators.cluster.row_blocks`.
    offset : array of shape (d,) or None, default=None
        Subtracted from every row.
    index : array of int or None, default=None
        Numbers of the selected rows; None selects all.

    See Also
    --------
    RowFiles : Blocks in files.
    MemoryBlocks : Blocks in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import MemoryBlocks, RowBlocks
    >>> X = RowBlocks(MemoryBlocks([np.eye(2), np.ones((1, 2))]))
    >>> X.gram()
    array([[2., 1.],
           [1., 2.]])
    """

    one_pass = True

    def __init__(
        self, store: BlockStore, offset: Array | None = None, index: Array | None = None
    ) -> None:
        lengths = [rows for rows, _ in store.shapes]
        if not sum(lengths):
            raise InvalidInput("No block has any rows; pass at least one block with rows.")
        rows = sum(lengths) if index is None else index.size
        super().__init__((rows, store.shapes[0][1]), store.dtype)
        self.store, self.offset, self._index = store, offset, index
        self.device, self.dual, self.threaded = store.device, store.dual, store.threaded
        self._summed: Array | None = None
        # Internally, rows are in the order of the blocks; ``_order`` maps to the caller's order.
        self._order: Array | None = None
        starts = np.cumsum([0, *lengths])
        counts = np.asarray(lengths)
        self._selected: list[Array | None] = [None] * len(lengths)
        if index is not None:
            self._order = np.argsort(index, kind="stable")
            ordered = index[self._order]
            cuts = np.searchsorted(ordered, starts)
            counts = np.diff(cuts)
            self._selected = [
                ordered[cuts[n] : cuts[n + 1]] - starts[n] for n in range(len(lengths))
            ]
        self._numbers = np.flatnonzero(counts).tolist()
        self._cuts = np.cumsum(counts[self._numbers])[:-1]

    # --- passes over the blocks -------------------------------------------------------

    def _run(
        self,
        method: str,
        *,
        wide: Array | None = None,
        tall: Array | None = None,
        total: bool = True,
    ) -> Any:
        """Call a method of every block, with all of ``wide`` or its own rows of ``tall``."""
        own = None
        if tall is not None or self._index is not None:
            pieces: Sequence[Any] = [None] * len(self._numbers)
            if tall is not None:
                pieces = _split(tall if self._order is None else tall[self._order], self._cuts)
            own = list(zip([self._selected[n] for n in self._numbers], pieces, strict=True))
        shared = None if wide is None and self.offset is None else (self.offset, wide)
        task = partial(call_block, method, self._far_from_zero())
        return self.store.run(Pass(method, task, self._numbers, shared, own, total))

    def _far_from_zero(self) -> bool:
        """Return whether some offset is so large that rows must be shifted before products.

        If no sums are known, each block decides for itself.
        """
        if self.offset is None:
            return False
        if self._index is not None or self.store.sums is None:
            return True
        sums, squares = self.store.sums
        return bool(far_from_zero(self.offset, sums, squares, self.shape[0], self.dtype).any())

    def _joined(self, pieces: Sequence[Any]) -> Array:
        joined = cast(concatenate(pieces), self.dtype)
        if self._order is None:
            return joined
        out: Array = 0 * joined
        out[self._order] = joined
        return out

    def _matmat(self, block: Array) -> Array:
        return self._joined(self._run("matmat", wide=block, total=False))

    def _rmatmat(self, block: Array) -> Array:
        return cast(self._run("rmatmat", tall=block), self.dtype)

    def normal(self, block: Array) -> Array:
        wide = self._block(block, self.shape[1], "normal")
        return cast(self._run("normal", wide=wide), self.dtype)

    def gram(self) -> Array:
        return host(self._run("gram"))

    def cross(self, block: Array) -> Array:
        self._check_block(block, self.shape[0], "cross")
        return host(self._run("cross", tall=block if is_tensor(block) else host(block)))

    def moments(self, block: Array) -> tuple[Array, Array]:
        both = host(self._run("joined_moments", tall=block))
        return both[:, : self.shape[1]], both[:, self.shape[1] :]

    # --- sums -------------------------------------------------------------------------

    def _sums(self) -> Array:
        """Return the sums of the columns and of their squares, which one pass computes."""
        if self._summed is None:
            store, rows = self.store, self.shape[0]
            if self._index is not None or (self.offset is not None and self._far_from_zero()):
                self._summed = host(self._run("column_sums"))
                return self._summed
            if store.sums is None:
                store.sums = host(RowBlocks(store)._run("column_sums"))
            sums, squares = store.sums
            if self.offset is not None:
                squares = squares + self.offset * (rows * self.offset - 2 * sums)
                sums = sums - rows * self.offset
            self._summed = np.stack([sums, squares])
        return self._summed

    def column_means(self) -> Array:
        return np.asarray(self._sums()[0] / self.shape[0])

    def column_squares(self) -> Array:
        return np.array(self._sums()[1])

    def column_counts(self) -> Array:
        if not self.threaded:
            return super().column_counts()
        if self._index is not None:
            return host(self._run("column_counts"))
        if self.store.counts is None:
            self.store.counts = host(RowBlocks(self.store)._run("column_counts"))
        return self.store.counts

    def sum_of_squares(self) -> float:
        return float(self._sums()[1].sum())

    # --- other operators --------------------------------------------------------------

    def shifted(self, offset: Array) -> RowBlocks:
        offset = checked_offset(offset, self.shape[1])
        return RowBlocks(self.store, added_offset(self.offset, offset), self._index)

    def centered(self) -> tuple[Operator, Array]:
        means = self.column_means()
        found = self.shifted(means)
        if not found._far_from_zero():
            return found, means
        # About the mean, sums round to the size of the deviations: one more pass makes the mean
        # of a constant column exact.
        sums, squares = found._sums()
        means = means + sums / self.shape[0]
        left = squares - np.square(sums) / self.shape[0]
        found = self.shifted(means)
        left = above_rounding(left, self.shape[0], means)
        found._summed = np.stack([np.zeros_like(sums), left])
        return found, means

    def rows(self, index: Array) -> RowBlocks:
        index = np.asarray(index)
        whole = index.ndim == 1 and index.dtype.kind in "iu"
        if not whole or (index.size and not 0 <= index.min() <= index.max() < self.shape[0]):
            raise InvalidInput(
                f"rows: index must be a vector of row numbers from 0 to {self.shape[0] - 1}, "
                f"but has shape {index.shape} and type {index.dtype}, or other numbers."
            )
        chosen = index if self._index is None else self._index[index]
        return RowBlocks(self.store, self.offset, chosen)

    # --- rows themselves --------------------------------------------------------------

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield each block as it is stored: its row numbers as a slice, an array or a CSR array."""
        if not isinstance(self.store, LocalBlocks):
            raise Mismatch("Rows stay on the workers; use products with thin blocks.")
        ends = np.cumsum([0, *(rows for rows, _ in self.store.shapes)]).tolist()
        for (start, stop), block in zip(pairwise(ends), self.store.blocks(), strict=True):
            yield slice(start, stop), block.matrix

    def take(self, index: Array) -> Any:
        """Return some rows as they are stored, not centred: an array or a CSR array."""
        pieces = RowBlocks(self.store, None, index)._run("stored_rows", total=False)
        if isinstance(pieces[0], np.ndarray):
            joined: Any = np.concatenate(pieces)
        else:
            joined = sparse.vstack(pieces, format="csr")
        return joined[np.argsort(np.argsort(index, kind="stable"))]

    def to_block(self) -> Array:
        self._refuse_apart(
            "X stays on the workers and has no dense form here; use products with thin blocks."
        )
        return self._joined([on_host(piece) for piece in self._run("toarray", total=False)])

    def cogram(self) -> Array:
        self._refuse_apart(
            "X X' would combine rows of different workers; use solver='auto', which needs "
            "only X'X or thin products, or fit on one machine."
        )
        return super().cogram()

    def _refuse_apart(self, message: str) -> None:
        if not self.dual:
            raise Mismatch(message)


class LocalBlocks(BlockStore):
    """Blocks in this process: one is loaded on a thread while another is multiplied.

    Subclasses implement :meth:`load`.
    """

    def __init__(self, shapes: Sequence[tuple[int, int]], dtype: Any) -> None:
        self.shapes, self.dtype = shapes, np.dtype(dtype)

    @abstractmethod
    def load(self, number: int) -> Block:
        """Return a block, ready for products."""

    def blocks(self, numbers: Iterable[int] | None = None) -> Iterator[Block]:
        """Yield the blocks in order."""
        return one_ahead(self.load, range(len(self.shapes)) if numbers is None else numbers)

    def run(self, work: Pass) -> Any:
        numbers = range(len(self.shapes)) if work.numbers is None else work.numbers
        pieces = [None] * len(numbers) if work.own is None else work.own
        pairs = zip(self.blocks(numbers), pieces, strict=True)
        results = (work.task(block, work.shared, piece) for block, piece in pairs)
        return _total(results) if work.total else list(results)


class MemoryBlocks(LocalBlocks):
    """Blocks of rows in memory, for :class:`RowBlocks`.

    Parameters
    ----------
    parts : sequence of arrays or sparse matrices, default=()
        The first blocks; all with the same columns and of the same type.

    See Also
    --------
    RowWriter : The same in files.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import MemoryBlocks, RowBlocks
    >>> store = MemoryBlocks()
    >>> for start in (0, 2):
    ...     store.append(np.arange(start, start + 2.0)[:, None])
    >>> RowBlocks(store).toarray().ravel()
    array([0., 1., 2., 3.])
    """

    def __init__(self, parts: Iterable[Any] = ()) -> None:
        super().__init__([], np.float64)
        self._parts: list[Block] = []
        for part in parts:
            self.append(part)

    def append(self, rows: Any) -> None:
        """Add a block of rows, of the same form as the earlier ones.

        Parameters
        ----------
        rows : array or sparse matrix of shape (m, d)
            Not copied if its layout can be used.
        """
        before = self._parts[0].plain if self._parts else None
        operator = checked_rows("MemoryBlocks", rows, before)
        if operator.shape[0]:
            self._parts.append(Block(operator, kept=True))
            self.shapes, self.dtype = [*self.shapes, operator.shape], operator.dtype
            self.sums = self.counts = None
            self.threaded = isinstance(operator, Sparse)

    def load(self, number: int) -> Block:
        return self._parts[number]


class Block:
    """A block of rows as operators: as stored, and reordered for many products if it is kept."""

    def __init__(self, operator: Operator, *, kept: bool = False) -> None:
        self.plain = operator
        self._arranged, self._order = operator.arranged() if kept else (operator, None)
        self._shifted: tuple[Array, bool, Operator] | None = None

    @property
    def matrix(self) -> Any:
        """The rows as they are stored."""
        if isinstance(self.plain, Dense):
            return self.plain.array
        return self.plain.csr if isinstance(self.plain, Sparse) else self.plain.toarray()

    def product(self, method: str, offset: Array | None, far: bool, given: Any) -> Any:
        """Call a product of the reordered rows minus an offset; the latest of these is cached."""
        order, operator = self._order, self._arranged
        if offset is not None:
            before = self._shifted
            if before is None or before[1] != far or not np.array_equal(before[0], offset):
                row = offset if order is None else offset[order]
                self._shifted = before = offset, far, _shift(operator, row, far)
            operator = before[2]
        if order is not None and method != "rmatmat":
            given = given[order]
        found = getattr(operator, method)(given)
        if order is None or method == "matmat":
            return found
        # Restore the order of the columns of X.
        out = np.empty_like(found)
        out[order] = found
        return out


def call_block(method: str, far: bool, block: Any, shared: Any, own: Any) -> Any:
    """Call a method of a block of rows, where the block is stored."""
    held = block if isinstance(block, Block) else _kept(block)
    offset, wide = shared or (None, None)
    rows, tall = own or (None, None)
    given = tall if wide is None else wide
    if rows is None and method in _PRODUCTS:
        return held.product(method, offset, far, given)
    if method == "stored_rows":
        return held.matrix[rows]
    operator = held.plain if rows is None else held.plain.rows(rows)
    operator = _shift(operator, offset, far)
    if method == "column_sums":
        return np.stack([_column_sums(operator), operator.column_squares()])
    if method == "joined_moments":
        return np.concatenate(operator.moments(np.asarray(given)), axis=1)
    return getattr(operator, method)(*([] if given is None else [given]))


_PRODUCTS = {"matmat", "rmatmat", "normal"}
# What a worker caches in addition to its blocks, which Dask holds.
_KEPT: dict[int, tuple[Any, Block]] = {}


def _kept(matrix: Any) -> Block:
    """Return the operators of a matrix, which are cached as long as it exists."""
    key = id(matrix)
    found = _KEPT.get(key)
    if found is None or found[0]() is not matrix:
        alive = weakref.ref(matrix, lambda _: _KEPT.pop(key, None))
        found = _KEPT[key] = alive, Block(host_operator(matrix), kept=True)
    return found[1]


def _shift(operator: Operator, offset: Array | None, far: bool) -> Operator:
    if offset is None:
        return operator
    return operator.shifted(offset) if far else Centered(operator, offset)


def _column_sums(operator: Operator) -> Array:
    if isinstance(operator, Dense):
        # For rows from which the offset was subtracted, which keeps the digits.
        return np.asarray(operator.cross(np.ones((operator.shape[0], 1)))[:, 0])
    return operator.shape[0] * operator.column_means()


def _total(results: Iterable[Any]) -> Any:
    """Add results, in float64 on the host."""
    out: Any = None
    for result in results:
        if out is None:
            out = 1 * result if is_tensor(result) else np.array(result, dtype=np.float64)
        else:
            out += result
    return out


def _split(block: Any, cuts: Array) -> list[Any]:
    return [block[start:stop] for start, stop in pairwise([0, *cuts.tolist(), block.shape[0]])]


def checked_rows(owner: str, rows: Any, before: Operator | None) -> Dense | Sparse:
    """Return a block as an operator; raise an error if its form differs from the one before it."""
    operator = rows if isinstance(rows, Operator) else host_operator(rows)
    if not isinstance(operator, Sparse | Dense):
        raise InvalidInput(
            f"{owner} needs arrays or sparse matrices of numbers, but got {type(rows).__name__}."
        )
    if not np.isfinite(operator.sum_of_squares()):
        raise InvalidInput(f"{owner}: rows contain NaN or infinity, or numbers too large.")
    if before is not None:
        one, two = (
            (each.shape[1], "sparse" if isinstance(each, Sparse) else "dense", each.dtype)
            for each in (operator, before)
        )
        if one != two:
            raise Mismatch(
                f"{owner}: this block has {one[0]} columns ({one[1]}, {one[2]}), but the blocks "
                f"before it have {two[0]} ({two[1]}, {two[2]}); all blocks must have the same form."
            )
    return operator
