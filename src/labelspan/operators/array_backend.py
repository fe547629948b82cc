"""Blocks of numbers, on the host or on a device: the few things numpy and torch say differently.

A block is a numpy array or a torch tensor. Solvers multiply, slice, add and transpose
blocks in the words that both know, and come here for the rest. Small matrices, whose
sides are numbers of components and labels, always live on the host in float64.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import Array

__all__ = [
    "cast",
    "column_norms",
    "concatenate",
    "host",
    "inner",
    "is_tensor",
    "largest_entries",
    "like",
    "on_host",
    "sum_of_squares",
    "tensor_dtype",
    "width_of",
]


def is_tensor(block: Any) -> bool:
    """Whether a block is torch's; never imports torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(block, torch.Tensor)


def on_host(block: Any) -> Array:
    """The block as a numpy array, in the width it has."""
    return block.detach().cpu().numpy() if is_tensor(block) else np.asarray(block)


def host(block: Any) -> Array:
    """The block as a numpy array in float64."""
    return np.asarray(on_host(block), dtype=np.float64)


def like(values: Any, block: Any) -> Array:
    """Numbers moved to where a block is, in its width."""
    if is_tensor(block):
        import torch

        if not is_tensor(values):
            values = np.ascontiguousarray(values)
        moved: Array = torch.as_tensor(values).to(device=block.device, dtype=block.dtype)
        return moved
    return on_host(values).astype(block.dtype, copy=False)


def cast(block: Any, dtype: Any) -> Array:
    """The block in another width, where it is."""
    changed: Array = (
        block.to(tensor_dtype(dtype)) if is_tensor(block) else block.astype(dtype, copy=False)
    )
    return changed


def concatenate(blocks: Sequence[Any], axis: int = 0) -> Array:
    """Blocks of one kind, joined."""
    if is_tensor(blocks[0]):
        import torch

        joined: Array = torch.cat(list(blocks), dim=axis)
        return joined
    return np.concatenate(blocks, axis=axis)


def inner(left: Any, right: Any) -> Array:
    """``left.T @ right`` on the host, summed in the wider of the two widths."""
    if is_tensor(left) != is_tensor(right):
        left, right = on_host(left), on_host(right)
    elif is_tensor(left) and left.dtype != right.dtype:
        left, right = left.double(), right.double()
    return host(left.T @ right)


def largest_entries(block: Any) -> Array:
    """The entry of each column that is farthest from zero, on the host."""
    if is_tensor(block):
        return host(block.gather(0, block.abs().argmax(dim=0, keepdim=True))[0])
    return host(np.take_along_axis(block, np.abs(block).argmax(axis=0)[None], axis=0)[0])


def column_norms(block: Any) -> Array:
    """The length of each column, on the host."""
    if is_tensor(block):
        return host(block.norm(dim=0))
    return np.asarray(np.linalg.norm(block, axis=0), dtype=np.float64)


def sum_of_squares(block: Any) -> float:
    """The squared Frobenius norm, summed in float64."""
    if is_tensor(block):
        return float(block.double().square().sum())
    return float(np.square(block, dtype=np.float64).sum())


def width_of(block: Any) -> np.dtype[Any]:
    """The block's dtype, in numpy's words."""
    return np.dtype(str(block.dtype).removeprefix("torch."))


def tensor_dtype(dtype: Any) -> Any:
    """A numpy dtype in torch's words."""
    import torch

    return getattr(torch, np.dtype(dtype).name)
