"""Blocks of numbers on the host or on a device: what numpy and torch do differently.

A block is a numpy array or a torch tensor. Solvers multiply, slice, add and transpose
blocks by the operations that both have, and use these functions for the rest. Small
matrices, with one row or column per component or label, are always on the host in float64.

Also threads over row blocks of such numbers. Their number follows ``OMP_NUM_THREADS`` and
``threadpoolctl.threadpool_limits``: a program that limits the threads of its BLAS limits these
threads too, and workers of joblib do not oversubscribe the machine.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from .._typing import Array

__all__ = [
    "add_all",
    "add_product",
    "as_block",
    "cast",
    "column_norms",
    "column_sums",
    "concatenate",
    "host",
    "inner",
    "is_tensor",
    "largest_entries",
    "like",
    "map_threads",
    "n_threads",
    "on_host",
    "own_threads",
    "row_parts",
    "single_thread",
    "subtract_row",
    "sum_of_squares",
    "tensor_dtype",
    "tensor_or_none",
    "times",
    "torch_module",
    "width_of",
]

# Entries of a block that one task takes: few enough to stay in the cache of a core.
_PART = 1 << 19
# Entries of all partial sums of a product together, and the fewest and most parts.
_SUMS, _FEWEST_SUMS, _MOST_SUMS = 1 << 23, 16, 256

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def is_tensor(block: Any) -> bool:
    """Return whether a block is a torch tensor; never imports torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(block, torch.Tensor)


def torch_module() -> Any:
    """Return torch, for algebra on the device of tensors that are there."""
    import torch

    return torch


def as_block(values: Any) -> Array:
    """Return a tensor as it is, and anything else as a numpy array."""
    block: Array = values if is_tensor(values) else np.asarray(values)
    return block


def tensor_or_none(values: Any) -> Any:
    """Return the values where they are a tensor, and None otherwise."""
    return values if is_tensor(values) else None


def on_host(block: Any) -> Array:
    """Convert a block to a numpy array of the same precision."""
    return block.detach().cpu().numpy() if is_tensor(block) else np.asarray(block)


def host(block: Any) -> Array:
    """Convert a block to a numpy array in float64."""
    return np.asarray(on_host(block), dtype=np.float64)


def like(values: Any, block: Any) -> Array:
    """Move numbers to the device of a block and convert them to its type."""
    if is_tensor(block):
        import torch

        if not is_tensor(values):
            values = np.ascontiguousarray(values)
        moved: Array = torch.as_tensor(values).to(device=block.device, dtype=block.dtype)
        return moved
    return on_host(values).astype(block.dtype, copy=False)


def cast(block: Any, dtype: Any) -> Array:
    """Convert a block to another dtype, on its device."""
    changed: Array = (
        block.to(tensor_dtype(dtype)) if is_tensor(block) else block.astype(dtype, copy=False)
    )
    return changed


def concatenate(blocks: Sequence[Any], axis: int = 0) -> Array:
    """Join numpy arrays or tensors along an axis."""
    if is_tensor(blocks[0]):
        import torch

        joined: Array = torch.cat(list(blocks), dim=axis)
        return joined
    return np.concatenate(blocks, axis=axis)


def inner(left: Any, right: Any, dtype: Any = None) -> Array:
    """Return ``left.T @ right`` on the host, in float64.

    Products are taken in the wider of the two types, or in ``dtype``. Long arrays are
    multiplied in blocks of rows on threads, and the products are added in float64. The blocks
    do not depend on the number of threads, so that the sum does not either.
    """
    if is_tensor(left) != is_tensor(right):
        left, right = on_host(left), on_host(right)
    if is_tensor(left):
        if dtype is not None:
            left, right = cast(left, dtype), cast(right, dtype)
        elif left.dtype != right.dtype:
            left, right = left.double(), right.double()
        return host(left.T @ right)
    dtype = np.result_type(left, right) if dtype is None else np.dtype(dtype)
    same = left is right

    def multiply(rows: slice) -> Array:
        first = left[rows].astype(dtype, copy=False)
        # The same array twice: BLAS computes one triangle.
        second = first if same else right[rows].astype(dtype, copy=False)
        return host(first.T @ second)

    size = max(1, left.shape[1] * right.shape[1])
    most = min(max(_SUMS // size, _FEWEST_SUMS), _MOST_SUMS)
    parts = row_parts(left.shape[0], left.shape[1] + (0 if same else right.shape[1]), most)
    first, *others = map_threads(multiply, parts, blas=True)
    for other in others:
        first += other
    return first


def times(block: Any, small: Any) -> Array:
    """Return ``block @ small`` in the type of the block, in blocks of rows on threads."""
    small = like(small, block)
    if is_tensor(block):
        product: Array = block @ small
        return product
    out = np.empty((block.shape[0], small.shape[1]), dtype=block.dtype)

    def multiply(rows: slice) -> None:
        np.matmul(block[rows], small, out=out[rows])

    map_threads(multiply, row_parts(block.shape[0], sum(small.shape)), blas=True)
    return out


def add_product(block: Any, basis: Any, small: Any) -> None:
    """Compute ``block += basis @ small`` in place, in blocks of rows on threads."""
    small = like(small, block)
    if is_tensor(block):
        block += basis @ small
        return

    def add(rows: slice) -> None:
        block[rows] += basis[rows] @ small

    map_threads(add, row_parts(block.shape[0], sum(small.shape)), blas=True)


def add_all(blocks: Sequence[Array]) -> Array:
    """Add numpy arrays of one shape into the first of them, in blocks of rows on threads."""
    out, *others = blocks

    def add(rows: slice) -> None:
        for other in others:
            out[rows] += other[rows]

    map_threads(add, row_parts(out.shape[0], out.shape[1] * len(blocks)))
    return out


def largest_entries(block: Any) -> Array:
    """Return the entry of each column that is farthest from zero, on the host."""
    if is_tensor(block):
        return host(block.gather(0, block.abs().argmax(dim=0, keepdim=True))[0])
    return host(np.take_along_axis(block, np.abs(block).argmax(axis=0)[None], axis=0)[0])


def column_norms(block: Any) -> Array:
    """Return the Euclidean norm of each column, on the host."""
    if is_tensor(block):
        return host(block.norm(dim=0))

    def squares(rows: slice) -> Array:
        part = block[rows].astype(np.float64, copy=False)
        return np.asarray(np.einsum("ij,ij->j", part, part))

    first, *others = map_threads(squares, row_parts(block.shape[0], block.shape[1], _MOST_SUMS))
    return np.asarray(np.sqrt(sum(others, first)))


def column_sums(block: Any) -> Array:
    """Return the sum of each column, in the type of the block, in blocks of rows on threads."""
    if is_tensor(block):
        total: Array = block.sum(dim=0)
        return total
    parts = row_parts(block.shape[0], block.shape[1], _MOST_SUMS)
    first, *others = map_threads(lambda rows: np.asarray(block[rows].sum(axis=0)), parts)
    return sum(others, first)


def subtract_row(block: Any, row: Any) -> Array:
    """Return ``block - row`` for one row of numbers, in blocks of rows on threads."""
    if is_tensor(block):
        difference: Array = block - row
        return difference
    out = np.empty(block.shape, dtype=np.result_type(block, row))

    def subtract(rows: slice) -> None:
        np.subtract(block[rows], row, out=out[rows])

    map_threads(subtract, row_parts(block.shape[0], 2 * block.shape[1]))
    return out


def sum_of_squares(block: Any) -> float:
    """Return the squared Frobenius norm, summed in float64."""
    if is_tensor(block):
        return float(block.double().square().sum())
    flat = block.reshape(-1)

    def squares(part: slice) -> float:
        piece = flat[part].astype(np.float64, copy=False)
        return float(piece @ piece)

    return sum(map_threads(squares, row_parts(flat.size, 1, _MOST_SUMS), blas=True))


def width_of(block: Any) -> np.dtype[Any]:
    """Return the dtype of a block as a numpy dtype."""
    return np.dtype(str(block.dtype).removeprefix("torch."))


def tensor_dtype(dtype: Any) -> Any:
    """Return the torch dtype for a numpy dtype."""
    import torch

    return getattr(torch, np.dtype(dtype).name)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds; asking them their limit, microseconds.
    return ThreadpoolController()


class _OneBlasThread:
    """BLAS with one thread, until the last of the threads of Python that asked for it leaves.

    The limit is that of the whole process: were it set and restored by each of them, the one that
    leaves last could restore the limit of another.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._limiter = threading.Lock(), 0, None
        # What the libraries were allowed before; None outside.
        self.before: int | None = None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self.before = _allowed()
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limiter.restore_original_limits()  # type: ignore[attr-defined]
                self._limiter = self.before = None


_one_blas_thread = _OneBlasThread()
# ``threads``: what products of this thread of Python may use; the limits of BLAS where not set.
_here = threading.local()


def _allowed() -> int:
    limits = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()]
    if os.environ.get("OMP_NUM_THREADS", "").isdigit():
        limits.append(int(os.environ["OMP_NUM_THREADS"]))
    limits += [library.num_threads for library in _controller().lib_controllers]
    return max(1, min(limit for limit in limits if limit))


def n_threads() -> int:
    """Return the number of threads that a product may use now."""
    return getattr(_here, "threads", None) or _one_blas_thread.before or _allowed()


@contextmanager
def _limited(threads: int) -> Iterator[None]:
    before = getattr(_here, "threads", None)
    _one_blas_thread.enter()
    _here.threads = threads
    try:
        yield
    finally:
        _here.threads = before
        _one_blas_thread.leave()


def single_thread() -> AbstractContextManager[object]:
    """Limit all work to one thread in a ``with`` block, for small matrices.

    An eigenproblem of a few hundred rows is a long sequence of tiny products: a second thread
    gains nothing on an idle machine, and on a busy one each product waits for it.
    """
    return _limited(1)


def own_threads() -> AbstractContextManager[object]:
    """Limit BLAS to one thread in a ``with`` block, where `map_threads` still uses all.

    Threads of OpenBLAS keep their cores busy for some milliseconds after each call, waiting for
    the next: a product on threads of Python that comes after it takes up to three times as long.
    """
    return _limited(n_threads())


@lru_cache(maxsize=1)
def _executor(process: int, workers: int) -> ThreadPoolExecutor:
    # Keyed by process: threads do not survive a fork, so a child process starts new ones.
    return ThreadPoolExecutor(workers, thread_name_prefix="labelspan", initializer=_stay_single)


def _stay_single() -> None:
    _here.threads = 1


def map_threads(
    task: Callable[[_Item], _Result], items: Iterable[_Item], *, blas: bool = False
) -> list[_Result]:
    """Run ``task`` on every item, on threads where there is more than one, in order.

    With ``blas`` the tasks call BLAS, which is then limited to one thread per task.
    """
    items = list(items)
    if len(items) <= 1:
        return [task(item) for item in items]
    threads = n_threads()
    if threads <= 1:
        return [task(item) for item in items]
    with single_thread() if blas else nullcontext():
        return list(_executor(os.getpid(), threads).map(task, items))


def row_parts(rows: int, width: int, most: int | None = None) -> list[slice]:
    """Split rows into blocks of equal size that depend only on the shape."""
    count = rows * width // _PART
    count = max(1, count if most is None else min(count, most))
    step = max(1, -(-rows // count))
    return [slice(start, min(start + step, rows)) for start in range(0, max(rows, 1), step)]
