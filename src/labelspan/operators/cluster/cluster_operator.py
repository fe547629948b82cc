"""An operator over rows held by the workers of a Dask cluster.

The rows are split into blocks. ``X'X @ V`` sends V to every worker once and adds the d x m
results on the workers; so do Gram matrices, means and norms. ``X @ V`` returns one piece of the
product per block, and ``X.T @ U`` sends each worker its rows of U, which is what happens to labels.
Solvers use ``X'X @ V`` where they can, so that little with n rows is sent; X itself is never
sent.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..._typing import Array
from ...errors import InvalidInput, InvalidParameter, Mismatch
from ..array_backend import host
from ..convert import as_operator
from ..dense import Dense
from ..operator import Operator, checked_offset
from .partitions import prepare_block
from .worker_blocks import WorkerBlocks

__all__ = ["RowBlocks", "row_blocks", "row_blocks_of"]


class RowBlocks(Operator):
    """An operator over blocks of rows held by workers; made by :func:`row_blocks`.

    Centring and row selection are applied by the workers, block by block. Besides a sparse block, a
    worker keeps its column numbers in the order of their counts, which makes products faster (4
    bytes per nonzero), and one more copy of the entries where columns without zeros have large
    means; nothing else of the size of the data.

    Parameters
    ----------
    held : WorkerBlocks
        The blocks, and the workers that have them.
    offset : array of shape (d,) or None, default=None
        Subtracted from every row.
    index : array of int or None, default=None
        Numbers of the selected rows; None selects all.

    See Also
    --------
    row_blocks : Make one from the rows of a cluster.

    Examples
    --------
    >>> from labelspan.operators.cluster import row_blocks  # doctest: +SKIP
    >>> row_blocks(client, ["part-0.npz", "part-1.npz"]).shape  # doctest: +SKIP
    (2000, 300)
    """

    dual = False
    one_pass = True

    def __init__(
        self, held: WorkerBlocks, offset: Array | None = None, index: Array | None = None
    ) -> None:
        lengths = [rows for rows, _ in held.shapes]
        starts = np.cumsum([0, *lengths])
        rows = int(starts[-1]) if index is None else index.size
        super().__init__((rows, held.shapes[0][1]), np.result_type(*held.dtypes))
        self._held, self._offset, self._index = held, offset, index
        # Sums of the columns and of their squares, once they were asked for.
        self._summed: tuple[Array, Array] | None = None
        # Internally, rows are in the order of the blocks; ``_order`` maps it to the caller's.
        self._order: Array | None = None
        if index is None:
            self._taken: list[Array | None] = [None] * len(lengths)
            counts = np.asarray(lengths)
        else:
            self._order = np.argsort(index, kind="stable")
            cuts = np.searchsorted(index[self._order], starts)
            counts = np.diff(cuts)
            sorted_index = index[self._order]
            self._taken = [
                sorted_index[cuts[n] : cuts[n + 1]] - starts[n] for n in range(len(lengths))
            ]
        self._numbers = np.flatnonzero(counts).tolist()
        self._cuts = np.cumsum(counts)[:-1]

    # --- passes over the blocks -------------------------------------------------------

    def _run(
        self, method: str, *, wide: Array | None = None, tall: Array | None = None, total: bool
    ) -> Any:
        """Call a method of every block's operator, with all of ``wide`` or its rows of ``tall``."""
        pieces: Sequence[Any] = [None] * len(self._taken)
        if tall is not None:
            pieces = np.split(tall if self._order is None else tall[self._order], self._cuts)
        own = None
        if tall is not None or self._index is not None:
            own = [(self._taken[n], pieces[n]) for n in self._numbers]
        shared = None if wide is None and self._offset is None else (self._offset, wide)
        return self._held.run(
            method, partial(_call, method), self._numbers, shared=shared, own=own, total=total
        )

    def _matmat(self, block: Array) -> Array:
        pieces = self._run("matmat", wide=block, total=False)
        joined = np.concatenate(pieces).astype(self.dtype, copy=False)
        if self._order is None:
            return joined
        out = np.empty_like(joined)
        out[self._order] = joined
        return out

    def _rmatmat(self, block: Array) -> Array:
        return np.asarray(self._run("rmatmat", tall=block, total=True), dtype=self.dtype)

    def normal(self, block: Array) -> Array:
        wide = self._block(block, self.shape[1], "normal")
        return np.asarray(self._run("normal", wide=wide, total=True), dtype=self.dtype)

    def gram(self) -> Array:
        return np.asarray(self._run("gram", total=True))

    def cross(self, block: Array) -> Array:
        block = host(block)
        if block.ndim != 2 or block.shape[0] != self.shape[0]:
            raise InvalidInput(
                f"cross of an operator of shape {self.shape} takes a block with {self.shape[0]} "
                f"rows, but one of shape {block.shape} was given."
            )
        return np.asarray(self._run("cross", tall=block, total=True))

    def _sums(self) -> tuple[Array, Array]:
        """Return the sums of the columns and of their squares, from one pass that is kept."""
        if self._summed is None:
            sums, squares = self._run("column_sums", total=True)
            self._summed = sums, squares
        return self._summed

    def column_means(self) -> Array:
        return np.asarray(self._sums()[0] / self.shape[0])

    def column_squares(self) -> Array:
        return np.array(self._sums()[1])

    def sum_of_squares(self) -> float:
        return float(self._sums()[1].sum())

    # --- other operators --------------------------------------------------------------

    def shifted(self, offset: Array) -> RowBlocks:
        offset = checked_offset(offset, self.shape[1])
        both = offset if self._offset is None else offset + self._offset
        return RowBlocks(self._held, both, self._index)

    def centered(self) -> tuple[Operator, Array]:
        means = self.column_means()
        # About the mean, sums round to the size of the deviations: one more pass makes the mean
        # of a constant column exact.
        about = self.shifted(means)
        sums, squares = about._sums()
        means = means + sums / self.shape[0]
        found = self.shifted(means)
        left = squares - np.square(sums) / self.shape[0]
        # What is left of a constant column is rounding.
        nothing = self.shape[0] * np.square(8 * np.finfo(np.float64).eps * means)
        found._summed = np.zeros_like(sums), np.where(left > nothing, left, 0.0)
        return found, means

    def rows(self, index: Array) -> Operator:
        index = np.asarray(index)
        whole = index.ndim == 1 and index.dtype.kind in "iu"
        if not whole or (index.size and not 0 <= index.min() <= index.max() < self.shape[0]):
            raise InvalidInput(
                f"rows: index must be a vector of row numbers from 0 to {self.shape[0] - 1}, "
                f"but has shape {index.shape} and type {index.dtype}, or other numbers."
            )
        chosen = index if self._index is None else self._index[index]
        return RowBlocks(self._held, self._offset, chosen)

    # --- what would bring X together --------------------------------------------------

    def cogram(self) -> Array:
        raise Mismatch(
            "X X' would bring rows of different workers together; use solver='auto', which needs "
            "only X'X or thin products, or fit on one machine."
        )

    def columns(self) -> tuple[Any, Array | None]:
        raise Mismatch(
            "penalty='l1' and loadings_path need whole columns of X, and its rows are on "
            "different workers; use penalty='l2', or fit on one machine."
        )

    def toarray(self) -> Array:
        raise Mismatch(
            "X stays on the workers and has no dense form here; use products with thin blocks."
        )


def row_blocks(
    client: Any, parts: Sequence[Any], *, on_pass: Callable[[str], Any] | None = None
) -> RowBlocks:
    """Make an operator over blocks of rows held by the workers of a Dask cluster.

    Every linear estimator takes it as X, in ``fit``, ``partial_fit`` and ``transform``; y is an
    array on the client, with its rows in the order of the parts.

    If a worker is lost during a fit, the fit only takes longer: blocks from functions, paths,
    delayed values and futures of tasks are made again by the scheduler, and arrays are sent again
    by the client, which keeps them. Futures of scattered data cannot be made again; if their
    worker is lost, the fit ends with :class:`~labelspan.errors.LostWorkers`.

    Parameters
    ----------
    client : distributed.Client
        A client that is not asynchronous.
    parts : sequence
        One block of rows each, in order, of any of these types: a function without arguments or
        a ``dask.delayed`` value, run on a worker; the path of a partition, read by a worker
        (``.npz`` as written by ``scipy.sparse.save_npz`` or
        :func:`labelspan.datasets.write_npz`, or ``.parquet`` with numeric columns only); a
        future; an array or a sparse matrix, sent to a worker.
    on_pass : callable or None, default=None
        Called with a name ("load", "matmat", "gram", ...) after every pass over the blocks, for
        example to show progress. The cluster's dashboard has tasks of the same names.

    Returns
    -------
    operator : RowBlocks
        The operator to give to an estimator as X.

    See Also
    --------
    row_blocks_of : Split one matrix into blocks and send them to the workers.

    Examples
    --------
    >>> from distributed import Client  # doctest: +SKIP
    >>> from labelspan import MLSI  # doctest: +SKIP
    >>> from labelspan.operators.cluster import row_blocks  # doctest: +SKIP
    >>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
    >>> X = row_blocks(client, ["/data/part-0.npz", "/data/part-1.npz"])  # doctest: +SKIP
    >>> model = MLSI(100).fit(X, Y)  # doctest: +SKIP
    """
    try:
        import distributed  # noqa: F401, PLC0415 - optional
    except ImportError:
        raise InvalidInput(
            "row_blocks needs dask.distributed; pip install 'labelspan[dask]'."
        ) from None
    if isinstance(parts, (str, bytes)) or not isinstance(parts, Sequence):
        raise InvalidInput(
            f"parts must be a list with one entry per block, but {type(parts).__name__} was given; "
            "row_blocks_of splits a whole matrix."
        )
    held = WorkerBlocks(client, parts, on_pass)
    widths = sorted({columns for _, columns in held.shapes})
    if len(widths) > 1:
        raise InvalidInput(
            f"All parts must have the same number of columns, but they have {widths}; make all of "
            "them with the same vocabulary."
        )
    if not any(rows for rows, _ in held.shapes):
        raise InvalidInput("No part has any rows; give at least one part with rows.")
    return RowBlocks(held)


def row_blocks_of(
    client: Any,
    X: Any,
    n_blocks: int | None = None,
    *,
    on_pass: Callable[[str], Any] | None = None,
) -> RowBlocks:
    """Split an array or a sparse matrix into blocks of rows and send them to the workers.

    Parameters
    ----------
    client : distributed.Client
        A client that is not asynchronous.
    X : array or sparse matrix of shape (n, d)
        The client keeps it, and sends a block again if its worker is lost.
    n_blocks : int or None, default=None
        Number of blocks; None is one block per thread of the workers.
    on_pass : callable or None, default=None
        Called after every pass, as in :func:`row_blocks`.

    Returns
    -------
    operator : RowBlocks
        The operator to give to an estimator as X.

    See Also
    --------
    row_blocks : Make an operator over blocks that workers load themselves.

    Examples
    --------
    >>> from distributed import Client  # doctest: +SKIP
    >>> from labelspan.operators.cluster import row_blocks_of  # doctest: +SKIP
    >>> X = row_blocks_of(Client("tcp://scheduler:8786"), X)  # doctest: +SKIP
    """
    matrix = prepare_block(X)
    rows = matrix.shape[0]
    if n_blocks is None:
        n_blocks = max(1, min(rows, sum(client.nthreads().values())))
    if not 1 <= n_blocks <= max(1, rows):
        raise InvalidParameter(f"n_blocks must be from 1 to {rows}, but {n_blocks!r} was given.")
    cuts = np.linspace(0, rows, n_blocks + 1).astype(int)
    parts = [matrix[start:stop] for start, stop in pairwise(cuts)]
    return row_blocks(client, parts, on_pass=on_pass)


class _Ready:
    """A block of a worker as an operator, and with its columns in the order of their counts."""

    def __init__(self, block: Any, gone: Callable[[Any], Any]) -> None:
        self.block = weakref.ref(block, gone)
        self.plain = as_operator(block)
        self.arranged, self.order = self.plain.arranged()
        self._centred: tuple[Array, Operator] | None = None

    def centred(self, offset: Array) -> Operator:
        """Return the arranged operator minus an offset; the newest is kept."""
        if self._centred is None or not np.array_equal(self._centred[0], offset):
            order = slice(None) if self.order is None else self.order
            self._centred = offset, self.arranged.shifted(offset[order])
        return self._centred[1]


# What a worker keeps besides its blocks; the blocks themselves are in the care of Dask.
_READY: dict[int, _Ready] = {}
_ARRANGED = {"matmat", "rmatmat", "normal"}


def _ready(block: Any) -> _Ready:
    """Return the operators of a block, which are made once for as long as it lives."""
    found = _READY.get(id(block))
    if found is None or found.block() is not block:
        key = id(block)
        found = _READY[key] = _Ready(block, lambda _: _READY.pop(key, None))
    return found


def _column_sums(operator: Operator) -> Array:
    if isinstance(operator, Dense):
        # Of rows from which the offset was subtracted, which keeps the digits.
        return np.asarray(operator.cross(np.ones((operator.shape[0], 1)))[:, 0])
    return operator.shape[0] * operator.column_means()


def _call(method: str, block: Any, shared: Any, own: Any) -> Any:
    """Call a method of a block's operator, on the worker that holds the block."""
    offset, wide = (None, None) if shared is None else shared
    rows, tall = (None, None) if own is None else own
    ready = _ready(block)
    arranged = rows is None and method in _ARRANGED
    order = ready.order if arranged else None
    operator = ready.arranged if arranged else ready.plain
    if rows is not None:
        operator = operator.rows(rows)
    if offset is not None:
        operator = ready.centred(offset) if arranged else operator.shifted(offset)
    if method == "column_sums":
        return np.stack([_column_sums(operator), operator.column_squares()])
    if wide is not None and order is not None:
        wide = wide[order]
    found = getattr(operator, method)(*(given for given in (wide, tall) if given is not None))
    if order is None or method == "matmat":
        return found
    # Back in the order of the columns of X.
    out = np.empty_like(found)
    out[order] = found
    return out
