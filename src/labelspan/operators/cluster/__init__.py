"""Operators over rows held by the workers of a Dask cluster.

``X'X @ V`` sends V to every worker once and adds the d x m results on the workers; so do Gram
matrices, means and norms. ``X @ V`` returns one piece of the product per block, and ``X.T @ U``
sends each worker its rows of U, for example labels. Solvers use ``X'X @ V`` where possible, so that
few arrays with n rows are sent; X itself is never sent. In addition to a sparse block, a
worker stores its column numbers ordered by count, which makes products faster (4 bytes per
nonzero), and one more copy of the entries if columns without zeros have large means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..._install import install_command
from ...errors import InvalidInput, InvalidParameter
from ..row_blocks import RowBlocks
from .worker_blocks import WorkerBlocks, prepare_block

__all__ = ["row_blocks", "row_blocks_of"]


def row_blocks(
    client: Any, parts: Sequence[Any], *, on_pass: Callable[[str], Any] | None = None
) -> RowBlocks:
    """Create an operator over blocks of rows held by the workers of a Dask cluster.

    Every linear estimator accepts it as X in ``fit``, ``partial_fit`` and ``transform``; y is an
    array on the client, with its rows in the order of the parts.

    If a worker is lost during a fit, the fit only takes longer: blocks from functions, delayed
    values and futures of tasks are computed again by the scheduler, and arrays are sent again by
    the client, which keeps them. Futures of scattered data cannot be recreated; if their
    worker is lost, the fit ends with :class:`~labelspan.errors.LostWorkers`.

    Parameters
    ----------
    client : distributed.Client
        A client that is not asynchronous.
    parts : sequence
        One block of rows each, in order, of any of these types: a function without arguments or
        a ``dask.delayed`` value, run on a worker, for example ``partial(sparse.load_npz, path)``;
        a future; an array or a sparse matrix, sent to a worker.
    on_pass : callable or None, default=None
        Called with a name ("load", "matmat", "gram", ...) after every pass over the blocks, for
        example to show progress. The cluster's dashboard has tasks of the same names.

    Returns
    -------
    operator : RowBlocks
        The operator to pass to an estimator as X.

    See Also
    --------
    row_blocks_of : Split one matrix into blocks and send them to the workers.

    Examples
    --------
    >>> from functools import partial
    >>> from distributed import Client  # doctest: +SKIP
    >>> from scipy import sparse
    >>> from labelspan import MLSI  # doctest: +SKIP
    >>> from labelspan.operators.cluster import row_blocks  # doctest: +SKIP
    >>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
    >>> paths = ["/data/part-0.npz", "/data/part-1.npz"]
    >>> parts = [partial(sparse.load_npz, path) for path in paths]  # doctest: +SKIP
    >>> X = row_blocks(client, parts)  # doctest: +SKIP
    >>> model = MLSI(100).fit(X, Y)  # doctest: +SKIP
    """
    try:
        import distributed  # noqa: F401, PLC0415 - optional
    except ImportError:
        raise InvalidInput(
            f"row_blocks needs dask.distributed; {install_command('dask')}."
        ) from None
    if isinstance(parts, (str, bytes)) or not isinstance(parts, Sequence):
        raise InvalidInput(
            f"parts must be a list with one entry per block, but {type(parts).__name__} was given; "
            "row_blocks_of splits a whole matrix."
        )
    store = WorkerBlocks(client, parts, on_pass)
    widths = sorted({columns for _, columns in store.shapes})
    if len(widths) > 1:
        raise InvalidInput(
            f"All parts must have the same number of columns, but they have {widths}; create all "
            "of them with the same vocabulary."
        )
    return RowBlocks(store)


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
        The operator to pass to an estimator as X.

    See Also
    --------
    row_blocks : Create an operator over blocks that the workers load themselves.

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
