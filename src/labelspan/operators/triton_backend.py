"""Products with sparse rows on a GPU, compiled by Triton, which comes with torch.

cuSPARSE takes as long for two columns as for fifty, and reads a long block from memory even if
parts of it could stay in the cache: on an H200 these products took a fifth to two thirds of its
time.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

__all__ = ["part_sums"]

# Maximum number of columns per program.
_WIDEST = 128
# Entries of a row that are read at once, and warps, for blocks of up to this number of columns.
_SHAPES = {8: (16, 2), 16: (8, 1), 32: (8, 1), 64: (4, 1), _WIDEST: (4, 1)}


def part_sums(parts: Any, columns: Any, values: Any, block: Any) -> Any:
    """Return, for each part of a row, the sum of its entries times the rows of a block.

    ``parts`` are the first entry of each part, the one after its last, and the row of the result
    that it is written to, in the order of execution.
    """
    count, width = parts[0].numel(), block.shape[1]
    out = torch.empty((count, width), dtype=block.dtype, device=block.device)
    tile = next((each for each in _SHAPES if each >= width), _WIDEST)
    at_once, warps = _SHAPES[tile]
    grid = count, triton.cdiv(width, tile)
    shape = {"tile": tile, "at_once": at_once, "num_warps": warps}
    _part_sums[grid](*parts, columns, values, block, out, width, **shape)
    return out


# Without annotations, which Triton would look up as variables of the kernel.
@triton.jit(do_not_specialize=["width"])  # type: ignore[untyped-decorator]
def _part_sums(  # type: ignore[no-untyped-def]  # noqa: PLR0917
    starts,
    ends,
    places,
    columns,
    values,
    block,
    out,
    width,
    tile: tl.constexpr,
    at_once: tl.constexpr,
):
    part = tl.program_id(0)
    first, last = tl.load(starts + part), tl.load(ends + part)
    across = tl.program_id(1) * tile + tl.arange(0, tile)
    along = tl.arange(0, at_once)
    inside = across < width
    total = tl.zeros((at_once, tile), dtype=out.dtype.element_ty)
    for start in range(first, last, at_once):
        there = start + along < last
        row = tl.load(columns + start + along, mask=there, other=0).to(tl.int64)
        value = tl.load(values + start + along, mask=there, other=0.0)
        at = block + row[:, None] * width + across[None, :]
        total += value[:, None] * tl.load(at, mask=there[:, None] & inside[None, :], other=0.0)
    place = tl.load(places + part).to(tl.int64) * width
    tl.store(out + place + across, tl.sum(total, axis=0), mask=inside)
