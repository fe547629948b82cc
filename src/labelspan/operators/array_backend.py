"""Operations on blocks: products, sums and columns of long arrays, on threads.

A block is a numpy array or a torch tensor on any device. Solvers multiply, slice, add and transpose
blocks by the operations that both have, and use these functions for the rest. Small matrices, with
one row or column per component or label, are always on the host in float64. torch is imported only
if there are tensors.

Threads compute small products with ``np.dot``, because ``@`` holds the interpreter lock if its
result has fewer than 500 entries, however long the factors are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._typing import Array
from .machine import map_threads, row_parts

__all__ = [
    "add_all",
    "add_product",
    "as_block",
    "cast",
    "column_norms",
    "column_sums",
    "combine",
    "concatenate",
    "contiguous",
    "host",
    "inner",
    "inner_all",
    "is_tensor",
    "largest_entries",
    "like",
    "on_host",
    "placed",
    "plus",
    "put_rows",
    "random_block",
    "scale_columns",
    "scaled",
    "scaled_transpose",
    "subtract_outer",
    "subtract_products",
    "subtract_row",
    "sum_of_squares",
    "times",
    "torch_module",
    "unit_columns",
    "width_of",
]

# Total entries of all partial sums of a product, and minimum and maximum number of parts.
_SUMS, _FEWEST_SUMS, _MOST_SUMS = 1 << 21, 16, 256
# Minimum number of multiplications per task, if that leaves enough parts for the threads: a
# shorter product waits longer for the interpreter lock than it runs. Products of few columns
# are bound by memory: they have more parts, whose rows stay in the cache.
_LONG, _FEW_COLUMNS, _ENOUGH_PARTS = 1 << 26, 16, 16
# Number of rows that are transposed at a time.
_TURNED_ROWS = 512
# Up to this many entries, the code with the fewest calls is fastest.
_FEW_ENTRIES = 1 << 12
# Range of float32 sums of squares without underflow or overflow.
_PLAIN_SQUARES = (1e-25, 1e30)
# Above this many random numbers, each block of rows has its own stream; and entries per block.
_MANY_RANDOM, _RANDOM_PART = 1 << 20, 1 << 18

# Up to this many numbers, memory is pinned for the copy to a device.
_FEW_TO_MOVE = 1 << 20


def is_tensor(block: Any) -> bool:
    """Return whether a block is a torch tensor; never imports torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(block, torch.Tensor)


def torch_module() -> Any:
    """Return torch, for algebra on the device of existing tensors."""
    import torch

    return torch


def on_host(block: Any) -> Array:
    """Convert a block to a numpy array of the same precision."""
    return block.detach().cpu().numpy() if is_tensor(block) else np.asarray(block)


def host(block: Any) -> Array:
    """Convert a block to a numpy array in float64."""
    return np.asarray(on_host(block), dtype=np.float64)


def width_of(block: Any) -> np.dtype[Any]:
    """Return the dtype of a block as a numpy dtype."""
    return np.dtype(str(block.dtype).removeprefix("torch."))


def _tensor_dtype(dtype: Any) -> Any:
    return getattr(torch_module(), np.dtype(dtype).name)


def placed(block: Any, device: Any, dtype: Any = None) -> Array:
    """Return a block as contiguous rows on a device, in ``dtype`` if given."""
    if not is_tensor(block):
        # torch warns about read-only arrays.
        block = torch_module().as_tensor(np.require(block, requirements=["C", "W"]))
    kind = block.dtype if dtype is None else _tensor_dtype(dtype)
    moved: Array = block.to(device=device, dtype=kind).contiguous()
    return moved


def as_block(values: Any) -> Array:
    """Return a tensor unchanged, and anything else as a numpy array."""
    block: Array = values if is_tensor(values) else np.asarray(values)
    return block


def like(values: Any, block: Any) -> Array:
    """Move numbers to the device of a block and convert them to its type."""
    if not is_tensor(block):
        return on_host(values).astype(block.dtype, copy=False)
    values = values if is_tensor(values) else np.ascontiguousarray(values)
    tensor = torch_module().as_tensor(values)
    ahead = block.is_cuda and not tensor.is_cuda and tensor.numel() < _FEW_TO_MOVE
    if ahead:
        # From pinned memory, because the copy would otherwise wait for all earlier work of the
        # device.
        tensor = tensor.to(block.dtype).pin_memory()
    moved: Array = tensor.to(device=block.device, dtype=block.dtype, non_blocking=ahead)
    return moved


def cast(block: Any, dtype: Any) -> Array:
    """Convert a block to another dtype, on its device."""
    if is_tensor(block):
        converted: Array = block.to(_tensor_dtype(dtype))
        return converted
    return np.asarray(block.astype(dtype, copy=False))


def _filled(shape: tuple[int, int], dtype: Any, fill: Callable[[slice, Array], object]) -> Array:
    """Return an array whose rows are written by ``fill(rows, out[rows])``, on threads."""
    out = np.empty(shape, dtype=dtype)
    map_threads(lambda rows: fill(rows, out[rows]), row_parts(shape[0], 2 * shape[1]))
    return out


def _by_rows(ufunc: Any, block: Any, other: Any) -> Array:
    """Return a function of a block and a number, a row, a column or a block, on threads."""
    if not isinstance(block, np.ndarray):
        of_tensors: Array = getattr(torch_module(), ufunc.__name__)(block, other)
        return of_tensors
    long = np.ndim(other) == 2 and len(other) == len(block)
    return _filled(
        block.shape,
        np.result_type(block, other),
        lambda rows, out: ufunc(block[rows], other[rows] if long else other, out=out),
    )


def contiguous(block: Any, dtype: Any) -> Array:
    """Return an array as contiguous rows of a type, without a copy if it is one already."""
    block = on_host(block)
    if block.ndim != 2 or (block.dtype == dtype and block.flags.c_contiguous):
        return np.ascontiguousarray(block, dtype=dtype)
    return _filled(block.shape, dtype, lambda rows, out: np.copyto(out, block[rows], "same_kind"))


def scaled(block: Any, factor: Any) -> Array:
    """Return ``factor * block`` for a number or an n x 1 column."""
    return _by_rows(np.multiply, block, factor)


def plus(block: Any, other: Any, factor: float = 1.0) -> Array:
    """Return ``block + factor * other``, in blocks of rows on threads."""
    if is_tensor(block):
        added: Array = torch_module().add(block, other, alpha=factor)
        return added

    def add(rows: slice, out: Array) -> None:
        np.multiply(other[rows], factor, out=out)
        out += block[rows]

    return _filled(block.shape, np.result_type(block, other), add)


def unit_columns(block: Any) -> Array:
    """Scale columns to length 1; drop zero columns."""
    lengths = column_norms(block)
    alive = np.flatnonzero(lengths > 0)
    if alive.size < lengths.size:
        block, lengths = block[:, alive], lengths[alive]
    return _by_rows(np.divide, block, like(lengths, block))


def random_block(rows: int, width: int, rng: np.random.Generator, dtype: Any, device: Any) -> Array:
    """Return standard normal random numbers, the same for any number of threads.

    Large arrays are generated in blocks of rows, each from its own stream, in ``dtype``; small ones
    by ``rng`` itself, in float64. Those for a device are generated there.
    """
    if device is not None:
        torch = torch_module()
        generator = torch.Generator(device=device).manual_seed(int(rng.integers(2**31)))
        kind = {"device": device, "dtype": _tensor_dtype(dtype)}
        made: Array = torch.randn((rows, width), generator=generator, **kind)
        return made
    if rows * width < _MANY_RANDOM:
        return contiguous(rng.standard_normal((rows, width)), dtype)
    seed = int(rng.integers(1 << 63))
    out = np.empty((rows, width), dtype=dtype)
    step = max(1, _RANDOM_PART // width)

    def draw(start: int) -> None:
        stream = np.random.Generator(np.random.SFC64([seed, start]))
        stream.standard_normal(out=out[start : start + step], dtype=out.dtype)

    map_threads(draw, range(0, rows, step))
    return out


def concatenate(blocks: Sequence[Any], axis: int = 0) -> Array:
    """Join blocks along an axis."""
    if is_tensor(blocks[0]):
        joined: Array = torch_module().cat(list(blocks), dim=axis)
        return joined
    if axis == 0:
        return np.concatenate(blocks)
    return _filled(
        (blocks[0].shape[0], sum(block.shape[1] for block in blocks)),
        np.result_type(*blocks),
        lambda rows, out: np.concatenate([block[rows] for block in blocks], axis=1, out=out),
    )


def inner(left: Any, right: Any, dtype: Any = None) -> Array:
    """Return ``left.T @ right`` on the host, in float64.

    Products are computed in the wider of the two types, or in ``dtype``. Long arrays
    are multiplied in blocks of rows on threads, and the products are added in float64.
    The blocks, and so the sum, do not depend on the number of threads.
    """
    if is_tensor(left) and is_tensor(right):
        if dtype is None and left.dtype != right.dtype:
            dtype = np.float64
        if dtype is not None:
            left, right = cast(left, dtype), cast(right, dtype)
        return host(left.T @ right)
    left, right = on_host(left), on_host(right)
    dtype = np.result_type(left, right) if dtype is None else np.dtype(dtype)
    same = left is right

    def multiply(rows: slice) -> Array:
        first = left[rows].astype(dtype, copy=False)
        # The same array twice: BLAS computes one triangle.
        second = first if same else right[rows].astype(dtype, copy=False)
        if first.shape[1] == second.shape[1] == 1:  # several times faster than a matrix product
            return np.full((1, 1), float(np.vdot(first, second)))
        return host(np.dot(first.T, second))

    width = left.shape[1] + (0 if same else right.shape[1])
    parts = row_parts(left.shape[0], width, _most_sums(left.shape[1] * right.shape[1]))
    return _total(map_threads(multiply, parts, blas=True))


def inner_all(lefts: Sequence[Any], right: Any) -> list[Array]:
    """Return ``left.T @ right`` for several blocks, on the host, in float64.

    Like `inner`, in one pass over the rows: ``right`` is read only once.
    """
    ends = np.cumsum([0, *(left.shape[1] for left in lefts)])
    if any(is_tensor(block) for block in (right, *lefts)):
        if not all(is_tensor(left) and left.dtype == right.dtype for left in lefts):
            return [inner(left, right) for left in lefts]
        # One matrix is copied: the device is idle whenever the host waits for it.
        found = host(torch_module().cat([left.T @ right for left in lefts]))
        return [found[start:stop] for start, stop in pairwise(ends)]

    def multiply(rows: slice) -> Array:
        out = np.empty((ends[-1], right.shape[1]))
        second = right[rows]
        for left, (start, stop) in zip(lefts, pairwise(ends), strict=True):
            dtype = np.result_type(left, right)
            first = second if left is right else left[rows]
            wide = first.astype(dtype, copy=False), second.astype(dtype, copy=False)
            out[start:stop] = np.dot(wide[0].T, wide[1])
        return out

    most = _most_sums(int(ends[-1]) * right.shape[1])
    parts = _long_parts(right.shape[0], int(ends[-1]), len(lefts), right.shape[1], most)
    found = _total(map_threads(multiply, parts, blas=True))
    return [found[start:stop] for start, stop in pairwise(ends)]


def _long_parts(
    rows: int, width: int, blocks: int, columns: int, most: int | None = None
) -> list[slice]:
    """Split rows into parts for products of several blocks, ``width`` columns wide together.

    Each block has its own product in each part, which must not be too short.
    """
    fine = len(row_parts(rows, width + columns, most))
    coarse = rows * (width // blocks) * columns // _LONG
    enough = _ENOUGH_PARTS if columns > _FEW_COLUMNS else 2 * _ENOUGH_PARTS
    return row_parts(rows, width + columns, min(fine, max(coarse, enough)))


def _most_sums(size: int) -> int:
    """Return how many partial sums of a given size may exist at once."""
    return min(max(_SUMS // max(1, size), _FEWEST_SUMS), _MOST_SUMS)


def _total(sums: list[Array]) -> Array:
    """Add small matrices into the first, in order, on threads if there are many."""
    return add_all(sums) if len(sums) > 1 else sums[0]


def times(block: Any, small: Any) -> Array:
    """Return ``block @ small`` in the type of the block, in blocks of rows on threads."""
    return combine([block], small)


def add_product(block: Any, basis: Any, small: Any) -> None:
    """Compute ``block += basis @ small`` in place, in blocks of rows on threads."""
    small = like(small, block)
    if is_tensor(block):
        block.addmm_(basis, small)
        return

    def add(rows: slice) -> None:
        block[rows] += basis[rows] @ small

    map_threads(add, row_parts(block.shape[0], sum(small.shape)), blas=True)


def combine(blocks: Sequence[Any], small: Any) -> Array:
    """Return ``[blocks side by side] @ small`` in the type of the blocks, in one pass."""
    ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
    small = like(small, blocks[0])
    parts = [
        (block, small[start:stop])
        for block, (start, stop) in zip(blocks, pairwise(ends), strict=True)
    ]
    if is_tensor(blocks[0]):
        total: Array = parts[0][0] @ parts[0][1]
        for block, part in parts[1:]:
            add_product(total, block, part)
        return total
    out = np.empty((blocks[0].shape[0], small.shape[1]), dtype=blocks[0].dtype)

    first, weights = parts[0]
    product_of = np.multiply if weights.shape == (1, 1) else np.matmul

    def multiply(rows: slice) -> None:
        total = product_of(first[rows], weights, out=out[rows])
        product = np.empty_like(total) if parts[1:] else None
        for block, part in parts[1:]:
            total += np.matmul(block[rows], part, out=product)

    taken = _long_parts(out.shape[0], small.shape[0], len(parts), small.shape[1])
    map_threads(multiply, taken, blas=True)
    return out


def subtract_products(
    block: Any, bases: Sequence[Any], smalls: Sequence[Any]
) -> tuple[Array, Array]:
    """Compute ``block -= basis @ small`` in place for several bases, in one pass.

    Returns the approximate norms of the columns before and after, on the host.
    """
    if is_tensor(block):
        first, start = block.norm(dim=0), 0
        both = like(np.concatenate(smalls), block)
        for basis in bases:
            block.addmm_(basis, both[start : start + basis.shape[1]], alpha=-1)
            start += basis.shape[1]
        norms = host(torch_module().cat([first, block.norm(dim=0)]))
        return norms[: block.shape[1]], norms[block.shape[1] :]
    smalls = [like(small, block) for small in smalls]

    def subtract(rows: slice) -> Array:
        part = block[rows]
        norms, product = np.empty((2, part.shape[1])), np.empty_like(part)
        norms[0] = _rough_squares(part)
        for basis, small in zip(bases, smalls, strict=True):
            part -= np.matmul(basis[rows], small, out=product)
        norms[1] = _rough_squares(part)
        return norms

    width = sum(small.shape[0] for small in smalls)
    parts = _long_parts(block.shape[0], width, len(bases), block.shape[1], _MOST_SUMS)
    before, after = np.sqrt(_total(map_threads(subtract, parts, blas=True)))
    return before, after


def _squares(part: Array) -> Array:
    """Return the squared norm of each column, in float64."""
    part = part.astype(np.float64, copy=False)
    return np.asarray(np.einsum("ij,ij->j", part, part))


def _rough_squares(part: Array) -> Array:
    """Return the squared norm of each column; of float32 to about five digits."""
    if part.dtype == np.float32 and part.size:
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->j", part, part)
        low, high = _PLAIN_SQUARES
        if low < squares.min() and squares.max() < high:
            return np.asarray(squares, dtype=np.float64)
    return _squares(part)


def add_all(
    blocks: Sequence[Array], finish: Callable[[slice, Array], object] | None = None
) -> Array:
    """Add numpy arrays of one shape into the first of them, in blocks of rows on threads.

    ``finish(rows, out[rows])`` may then change each block of rows in place.
    """
    out, *others = blocks

    def add(rows: slice) -> None:
        for other in others:
            out[rows] += other[rows]
        if finish is not None:
            finish(rows, out[rows])

    map_threads(add, row_parts(out.shape[0], out.shape[1] * len(blocks)))
    return out


def largest_entries(block: Any) -> Array:
    """Return the entry of each column that is farthest from zero, on the host."""
    if is_tensor(block):
        return host(block.gather(0, block.abs().argmax(dim=0, keepdim=True))[0])
    columns = np.arange(block.shape[1])

    def farthest(part: Array) -> Array:
        if part.size <= _FEW_ENTRIES:
            return np.asarray(part[np.abs(part).argmax(axis=0), columns])
        high, low = part.max(axis=0), part.min(axis=0)
        found = np.where(-low > high, low, high)
        # Finding the index takes four times as long, and only matters for ties.
        if (-low == high).any():
            found = part[np.abs(part).argmax(axis=0), columns]
        return np.asarray(found)

    # In a tie, the first entry.
    parts = row_parts(block.shape[0], block.shape[1])
    each = map_threads(lambda rows: farthest(block[rows]), parts)
    return host(farthest(np.stack(each)) if len(each) > 1 else each[0])


def column_norms(block: Any) -> Array:
    """Return the Euclidean norm of each column, on the host."""
    if is_tensor(block):
        return host(block.norm(dim=0))
    parts = row_parts(block.shape[0], block.shape[1], _MOST_SUMS)
    first, *others = map_threads(lambda rows: _squares(block[rows]), parts)
    return np.asarray(np.sqrt(sum(others, first)))


def column_sums(block: Any) -> Array:
    """Return the sum of each column, in the type of the block, in blocks of rows on threads."""
    if is_tensor(block):
        total: Array = block.sum(dim=0)
        return total

    def add(rows: slice) -> Array:
        part = block[rows]
        # BLAS sums narrow rows in a fifth of the time.
        return np.asarray(part.sum(axis=0) if ones is None else np.dot(ones[: part.shape[0]], part))

    parts = row_parts(block.shape[0], block.shape[1], _MOST_SUMS)
    ones = np.ones(parts[0].stop, dtype=block.dtype) if block.dtype.kind == "f" else None
    first, *others = map_threads(add, parts, blas=ones is not None)
    return sum(others, first)


def subtract_row(block: Any, row: Any) -> Array:
    """Return ``block - row`` for one row of numbers."""
    return _by_rows(np.subtract, block, row)


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


def scale_columns(block: Any, factors: Any) -> Array:
    """Return ``block * factors``, a factor for each column."""
    return _by_rows(np.multiply, block, like(factors, block))


def scaled_transpose(block: Any, factors: Any) -> Array:
    """Return ``(block * factors).T`` in contiguous rows, a factor for each column of the block.

    Computed in blocks of rows that fit into the cache, on threads, which is faster than a copy of
    the whole array.
    """
    factors = like(factors, block)
    if is_tensor(block):
        turned: Array = (block * factors).T
        return turned
    out = np.empty(block.shape[::-1], dtype=block.dtype)

    def turn(rows: slice) -> None:
        for start in range(rows.start, rows.stop, _TURNED_ROWS):
            part = slice(start, min(start + _TURNED_ROWS, rows.stop))
            out[:, part] = (block[part] * factors).T

    map_threads(turn, row_parts(block.shape[0], 2 * block.shape[1]))
    return out


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
        return float(np.dot(piece, piece))

    return sum(map_threads(squares, row_parts(flat.size, 1, _MOST_SUMS), blas=True))
