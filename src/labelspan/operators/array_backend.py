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
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
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
    "contiguous",
    "divide_columns",
    "host",
    "inner",
    "is_tensor",
    "largest_entries",
    "like",
    "map_threads",
    "n_threads",
    "normal_block",
    "on_host",
    "own_threads",
    "plus",
    "put_rows",
    "row_parts",
    "scale_rows",
    "scaled",
    "single_thread",
    "subtract_outer",
    "subtract_row",
    "sum_of_squares",
    "tensor_dtype",
    "tensor_or_none",
    "times",
    "torch_module",
    "width_of",
]

# Read once, as BLAS does: dask sets it to 1 in the process that starts workers, for these.
_OMP_NUM_THREADS = os.environ.get("OMP_NUM_THREADS", "")
# Entries of a block that one task takes: few enough to stay in the cache of a core.
_PART = 1 << 19
# Entries of all partial sums of a product together, and the fewest and most parts.
_SUMS, _FEWEST_SUMS, _MOST_SUMS = 1 << 23, 16, 256
# Random numbers from which each block of rows has a stream of its own, and entries of a block.
_MANY_RANDOM, _RANDOM_PART = 1 << 20, 1 << 18

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


def _filled(shape: tuple[int, int], dtype: Any, fill: Callable[[slice, Array], object]) -> Array:
    """Return an array whose rows are written by ``fill(rows, out[rows])``, on threads."""
    out = np.empty(shape, dtype=dtype)
    map_threads(lambda rows: fill(rows, out[rows]), row_parts(shape[0], 2 * shape[1]))
    return out


def contiguous(block: Any, dtype: Any) -> Array:
    """Return numbers of the host as contiguous rows of a type; as they are where they are so."""
    block = on_host(block)
    if block.ndim != 2 or (block.dtype == dtype and block.flags.c_contiguous):
        return np.ascontiguousarray(block, dtype=dtype)
    return _filled(block.shape, dtype, lambda rows, out: np.copyto(out, block[rows], "same_kind"))


def scaled(block: Any, factor: float) -> Array:
    """Return ``factor * block``, in blocks of rows on threads."""
    if not isinstance(block, np.ndarray):
        product: Array = factor * block
        return product
    return _filled(
        block.shape,
        np.result_type(block, factor),
        lambda rows, out: np.multiply(block[rows], factor, out=out),
    )


def plus(block: Any, other: Any, factor: float = 1.0) -> Array:
    """Return ``block + factor * other``, in blocks of rows on threads."""
    if is_tensor(block):
        total: Array = block + factor * other
        return total

    def add(rows: slice, out: Array) -> None:
        np.multiply(other[rows], factor, out=out)
        out += block[rows]

    return _filled(block.shape, np.result_type(block, other), add)


def divide_columns(block: Any, lengths: Array) -> Array:
    """Return the columns divided by their lengths, without those of length zero."""
    alive = np.flatnonzero(lengths > 0)
    divisors = like(lengths[alive], block)
    if is_tensor(block):
        quotient: Array = block[:, alive] / divisors
        return quotient
    every = alive.size == lengths.size

    def divide(rows: slice, out: Array) -> None:
        np.divide(block[rows] if every else block[rows][:, alive], divisors, out=out)

    return _filled((block.shape[0], alive.size), block.dtype, divide)


def normal_block(rows: int, width: int, rng: np.random.Generator, dtype: Any) -> Array:
    """Return standard normal random numbers, the same for any number of threads.

    Many of them are drawn in blocks of rows, each from a stream of its own, in ``dtype``; few of
    them by ``rng`` itself, in float64.
    """
    if rows * width < _MANY_RANDOM:
        return rng.standard_normal((rows, width))
    seed = int(rng.integers(1 << 63))
    out = np.empty((rows, width), dtype=dtype)
    step = max(1, _RANDOM_PART // width)

    def draw(start: int) -> None:
        stream = np.random.Generator(np.random.SFC64([seed, start]))
        stream.standard_normal(out=out[start : start + step], dtype=out.dtype)

    map_threads(draw, range(0, rows, step))
    return out


def concatenate(blocks: Sequence[Any], axis: int = 0) -> Array:
    """Join numpy arrays or tensors along an axis."""
    if is_tensor(blocks[0]):
        import torch

        joined: Array = torch.cat(list(blocks), dim=axis)
        return joined
    if axis == 0:
        return np.concatenate(blocks, axis=axis)
    shape = (blocks[0].shape[0], sum(block.shape[1] for block in blocks))
    return _filled(
        shape,
        np.result_type(*blocks),
        lambda rows, out: np.concatenate([block[rows] for block in blocks], axis=1, out=out),
    )


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

    def farthest(rows: slice) -> Array:
        part = block[rows]
        return np.asarray(np.take_along_axis(part, np.abs(part).argmax(axis=0)[None], axis=0)[0])

    # Of entries that are equally far, the first.
    each = np.stack(map_threads(farthest, row_parts(block.shape[0], block.shape[1])))
    return host(np.take_along_axis(each, np.abs(each).argmax(axis=0)[None], axis=0)[0])


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
    return _filled(
        block.shape,
        np.result_type(block, row),
        lambda rows, out: np.subtract(block[rows], row, out=out),
    )


def subtract_outer(block: Any, column: Any, row: Any) -> Array:
    """Return ``block - column * row`` for an n x 1 column, in blocks of rows on threads."""
    if is_tensor(block):
        difference: Array = block - column * row
        return difference
    return _filled(
        block.shape,
        np.result_type(block, column, row),
        lambda rows, out: np.subtract(block[rows], column[rows] * row, out=out),
    )


def scale_rows(column: Any, block: Any) -> Array:
    """Return ``column * block`` for an n x 1 column, in blocks of rows on threads."""
    if is_tensor(block):
        product: Array = column * block
        return product
    return _filled(
        block.shape,
        np.result_type(column, block),
        lambda rows, out: np.multiply(column[rows], block[rows], out=out),
    )


def put_rows(order: Array, block: Array) -> Array:
    """Return an array whose row ``order[i]`` is row i of a block, written on threads."""
    out = np.empty_like(block)

    def put(rows: slice) -> None:
        out[order[rows]] = block[rows]

    map_threads(put, row_parts(block.shape[0], 2 * block.shape[1]))
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
    if _OMP_NUM_THREADS.isdigit():
        limits.append(int(_OMP_NUM_THREADS))
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
        return _shared(task, items, _executor(os.getpid(), threads), min(threads, len(items)))


def _shared(
    task: Callable[[_Item], _Result],
    items: Sequence[_Item],
    executor: ThreadPoolExecutor,
    workers: int,
) -> list[_Result]:
    """Let workers take one item after the other; a future for each costs more than a short task.

    The first error ends the others after their present item.
    """
    found: dict[int, _Result] = {}
    waiting = deque(range(len(items)))
    # What numpy does about an overflow is a setting of each thread.
    state = np.geterr()

    def work() -> None:
        with np.errstate(**state):
            while True:
                try:
                    number = waiting.popleft()
                except IndexError:
                    return
                try:
                    found[number] = task(items[number])
                except BaseException:
                    waiting.clear()
                    raise

    futures = [executor.submit(work) for _ in range(workers)]
    try:
        wait(futures)
    except BaseException:
        # Ctrl-C: nothing may still be writing into a block when the caller goes on.
        waiting.clear()
        wait(futures)
        raise
    for future in futures:
        future.result()
    return [found[number] for number in range(len(items))]


def row_parts(rows: int, width: int, most: int | None = None) -> list[slice]:
    """Split rows into blocks of equal size that depend only on the shape."""
    count = rows * width // _PART
    count = max(1, count if most is None else min(count, most))
    step = max(1, -(-rows // count))
    return [slice(start, min(start + step, rows)) for start in range(0, max(rows, 1), step)]
