"""Blocks of numbers in torch tensors, on any device; torch is imported only where there are some.

The functions have the names of those in :mod:`labelspan.operators.array_backend`, which calls them
for tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._typing import Array

__all__ = [
    "add_product",
    "cast",
    "column_norms",
    "column_sums",
    "combine",
    "concatenate",
    "host",
    "inner",
    "inner_all",
    "is_tensor",
    "largest_entries",
    "like",
    "on_host",
    "placed",
    "plus",
    "random_block",
    "scaled_transpose",
    "subtract_outer",
    "subtract_products",
    "sum_of_squares",
    "tensor_dtype",
    "times",
    "torch_module",
    "width_of",
]

# Numbers up to which memory is locked for their way to a device.
_FEW_TO_MOVE = 1 << 20


def is_tensor(block: Any) -> bool:
    """Return whether a block is a torch tensor; never imports torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(block, torch.Tensor)


def torch_module() -> Any:
    """Return torch, for algebra on the device of tensors that are there."""
    import torch  # noqa: PLC0415 - optional

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


def tensor_dtype(dtype: Any) -> Any:
    """Return the torch dtype for a numpy dtype."""
    return getattr(torch_module(), np.dtype(dtype).name)


def placed(block: Any, device: Any, dtype: Any = None) -> Array:
    """Return a block as contiguous rows on a device, in a type where one is given."""
    torch = torch_module()
    if not is_tensor(block):
        # torch warns of arrays that it could write to but should not.
        block = torch.as_tensor(np.require(block, requirements=["C", "W"]))
    kind = block.dtype if dtype is None else tensor_dtype(dtype)
    moved: Array = block.to(device=device, dtype=kind).contiguous()
    return moved


def random_block(
    shape: tuple[int, int], rng: np.random.Generator, device: Any, dtype: Any
) -> Array:
    """Return standard normal random numbers that are made on the device."""
    torch = torch_module()
    generator = torch.Generator(device=device).manual_seed(int(rng.integers(2**31)))
    kind = tensor_dtype(dtype)
    made: Array = torch.randn(shape, generator=generator, device=device, dtype=kind)
    return made


def like(values: Any, block: Any) -> Any:
    """Move numbers to the device of a block and convert them to its type."""
    torch = torch_module()
    tensor = torch.as_tensor(values if is_tensor(values) else np.ascontiguousarray(values))
    ahead = block.is_cuda and not tensor.is_cuda and tensor.numel() < _FEW_TO_MOVE
    if ahead:
        # From locked memory, or the copy would wait for all work of the device before it.
        tensor = tensor.to(block.dtype).pin_memory()
    return tensor.to(device=block.device, dtype=block.dtype, non_blocking=ahead)


def cast(block: Any, dtype: Any) -> Any:
    """Convert a block to a numpy dtype."""
    return block.to(tensor_dtype(dtype))


def concatenate(blocks: Sequence[Any], axis: int = 0) -> Any:
    """Join blocks along an axis."""
    torch = torch_module()
    return torch.cat(list(blocks), dim=axis)


def plus(block: Any, other: Any, factor: float = 1.0) -> Any:
    """Return ``block + factor * other``."""
    torch = torch_module()
    return torch.add(block, other, alpha=factor)


def subtract_outer(block: Any, column: Any, row: Any) -> Any:
    """Return ``block - column * row``."""
    return block - column * row


def inner(left: Any, right: Any, dtype: Any = None) -> Array:
    """Return ``left.T @ right`` on the host, in float64."""
    if dtype is None and left.dtype != right.dtype:
        dtype = np.float64
    if dtype is not None:
        left, right = cast(left, dtype), cast(right, dtype)
    return host(left.T @ right)


def inner_all(lefts: Sequence[Any], right: Any) -> list[Array]:
    """Return ``left.T @ right`` for several blocks, on the host, in float64."""
    torch = torch_module()
    # One matrix travels: the device is idle whenever it is waited for.
    products = host(torch.cat([left.T @ right for left in lefts]))
    ends = np.cumsum([0, *(left.shape[1] for left in lefts)])
    return [products[start:stop] for start, stop in pairwise(ends)]


def times(block: Any, small: Any) -> Any:
    """Return ``block @ small``."""
    return block @ like(small, block)


def add_product(block: Any, basis: Any, small: Any) -> None:
    """Compute ``block += basis @ small`` in place."""
    block.addmm_(basis, like(small, block))


def _add_products(total: Any, blocks: Sequence[Any], small: Any) -> None:
    start = 0
    for block in blocks:
        add_product(total, block, small[start : start + block.shape[1]])
        start += block.shape[1]


def combine(blocks: Sequence[Any], small: Any) -> Any:
    """Return ``[blocks side by side] @ small``."""
    small = like(small, blocks[0])
    first = blocks[0].shape[1]
    total = blocks[0] @ small[:first]
    _add_products(total, blocks[1:], small[first:])
    return total


def subtract_products(
    block: Any, bases: Sequence[Any], smalls: Sequence[Any]
) -> tuple[Array, Array]:
    """Compute ``block -= basis @ small`` for several; return column norms before and after."""
    torch = torch_module()
    before = block.norm(dim=0)
    _add_products(block, bases, like(np.concatenate([-small for small in smalls]), block))
    norms = host(torch.cat([before, block.norm(dim=0)]))
    return norms[: before.numel()], norms[before.numel() :]


def largest_entries(block: Any) -> Array:
    """Return the entry of each column that is farthest from zero, on the host."""
    return host(block.gather(0, block.abs().argmax(dim=0, keepdim=True))[0])


def column_norms(block: Any) -> Array:
    """Return the Euclidean norm of each column, on the host."""
    return host(block.norm(dim=0))


def column_sums(block: Any) -> Any:
    """Return the sum of each column."""
    return block.sum(dim=0)


def scaled_transpose(block: Any, factors: Any) -> Any:
    """Return ``(block * factors).T``."""
    return (block * like(factors, block)).T


def sum_of_squares(block: Any) -> float:
    """Return the squared Frobenius norm, summed in float64."""
    return float(block.double().square().sum())
