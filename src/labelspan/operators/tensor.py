"""Data in torch tensors, on any device.

Nothing here chooses a device: tensors stay where they are, and only
:mod:`labelspan.operators.host_rows` moves data.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from .._typing import Array
from ..errors import InvalidInput, LabelspanWarning, warn_caller
from .array_backend import host, is_tensor, on_host, tensor_dtype, width_of
from .operator import Centered, Operator, checked_offset, digits_to_lose

__all__ = [
    "BLOCK_BYTES",
    "SparseTensor",
    "Tensor",
    "TensorOperator",
    "csr_tensor",
    "tensor_operator",
]

BLOCK_BYTES = 1 << 28
# Some less than the largest: a kernel may count a few entries beyond the last.
_MOST_INDICES = np.iinfo(np.int32).max - 1024
# Entries from which products compiled by Triton are worth their compilation.
_MANY_ENTRIES = 1 << 21
# Rows of a block that stay in the cache of a device, the entries that a part of a row should have
# for as many rows, and the most that one program takes.
_CACHED_ROWS, _FEWEST_IN_PART, _MOST_IN_PART = 1 << 17, 32, 1024


class TensorOperator(Operator):
    """An operator whose blocks are tensors on its device."""

    device: Any

    def place(self, block: Any) -> Any:
        return self._moved(block, tensor_dtype(self.dtype))

    def on_device(self, block: Any) -> Any:
        if is_tensor(block):
            return block.to(self.device)
        # torch warns of arrays that it could write to but should not.
        block = np.require(block, requirements=["C", "W"])
        return torch.as_tensor(block).to(self.device)

    def random_block(self, rows: int, width: int, rng: np.random.Generator) -> Any:
        generator = torch.Generator(device=self.device).manual_seed(int(rng.integers(2**31)))
        return torch.randn(
            (rows, width), generator=generator, device=self.device, dtype=tensor_dtype(self.dtype)
        )

    def _moved(self, block: Any, dtype: Any) -> Any:
        tensor = block if is_tensor(block) else torch.as_tensor(np.ascontiguousarray(block))
        return tensor.to(device=self.device, dtype=dtype).contiguous()


class Tensor(TensorOperator):
    """A dense tensor, minus an optional row of offsets that is subtracted block by block."""

    def __init__(self, values: Any, offset: Array | None = None) -> None:
        super().__init__(tuple(values.shape), width_of(values))
        self.device = values.device
        self._values = values
        self._offset = offset
        self._row = None if offset is None else self.place(offset[None, :])

    def in_float64(self) -> Operator | None:
        return self if self.dtype == np.float64 else Tensor(self._values.double(), self._offset)

    def _slices(self) -> Iterator[slice]:
        step = max(1, BLOCK_BYTES // max(1, 8 * self.shape[1]))
        for start in range(0, self.shape[0], step):
            yield slice(start, min(start + step, self.shape[0]))

    def _piece(self, part: slice) -> Any:
        return self._values[part] if self._row is None else self._values[part] - self._row

    def _matmat(self, block: Any) -> Any:
        if self._row is None:
            return self._values @ block
        return torch.cat([self._piece(part) @ block for part in self._slices()])

    def _rmatmat(self, block: Any) -> Any:
        if self._row is None:
            return self._values.T @ block
        out = torch.zeros((self.shape[1], block.shape[1]), device=self.device, dtype=block.dtype)
        for part in self._slices():
            out += self._piece(part).T @ block[part]
        return out

    def _wide_piece(self, part: slice) -> Any:
        piece = self._values[part].double()
        if self._offset is None:
            return piece
        return piece - torch.as_tensor(self._offset, device=self.device)

    def gram(self) -> Array:
        out = torch.zeros((self.shape[1],) * 2, device=self.device, dtype=torch.float64)
        for part in self._slices():
            piece = self._wide_piece(part)
            out += piece.T @ piece
        return host(out)

    def cross(self, block: Any) -> Array:
        block = self._moved(block, torch.float64)
        out = torch.zeros((self.shape[1], block.shape[1]), device=self.device, dtype=torch.float64)
        for part in self._slices():
            out += self._wide_piece(part).T @ block[part]
        return host(out)

    def cogram(self) -> Array:
        whole = self._wide_piece(slice(None))
        return host(whole @ whole.T)

    def column_means(self) -> Array:
        total = torch.zeros(self.shape[1], device=self.device, dtype=torch.float64)
        for part in self._slices():
            total += self._wide_piece(part).sum(dim=0)
        return host(total) / self.shape[0]

    def sum_of_squares(self) -> float:
        return sum(float(self._wide_piece(part).square().sum()) for part in self._slices())

    def column_squares(self) -> Array:
        total = torch.zeros(self.shape[1], device=self.device, dtype=torch.float64)
        for part in self._slices():
            total += self._wide_piece(part).square().sum(dim=0)
        return host(total)

    def shifted(self, offset: Array) -> Operator:
        offset = checked_offset(offset, self.shape[1])
        return Tensor(self._values, offset if self._offset is None else offset + self._offset)

    def rows(self, index: Array) -> Operator:
        return Tensor(self._values[torch.as_tensor(index, device=self.device)], self._offset)


class SparseTensor(TensorOperator):
    """A CSR tensor and its transpose, both stored: torch has no fast ``A.T @ U``.

    With ``many_products``, large data is prepared for them once.
    """

    def __init__(
        self, values: Any, transpose: Any | None = None, *, many_products: bool = True
    ) -> None:
        super().__init__(tuple(values.shape), width_of(values.values()))
        self.fill = values._nnz() / max(1, values.shape[0] * values.shape[1])
        self.device = values.device
        self._csr = _short_indices(values)
        self._transpose = _transposed(self._csr) if transpose is None else transpose
        compiled = None
        if many_products and self._csr._nnz() >= _MANY_ENTRIES and self.device.type == "cuda":
            compiled = _compiled_products()
        self._forward = _Product(self._csr, compiled)
        self._backward = _Product(self._transpose, compiled)
        # Asked for several times in one fit.
        self._sums: Array | None = None

    def _matmat(self, block: Any) -> Any:
        return self._forward(block)

    def _rmatmat(self, block: Any) -> Any:
        return self._backward(block)

    def cross(self, block: Any) -> Array:
        return host(_to_float64(self._transpose) @ self._moved(block, torch.float64))

    def gram(self) -> Array:
        if self.dtype == np.float64:
            return super().gram()
        return self.in_float64().gram()

    def in_float64(self) -> Operator:
        if self.dtype == np.float64:
            return self
        return SparseTensor(_to_float64(self._csr), _to_float64(self._transpose))

    def rows(self, index: Array) -> Operator:
        wanted = torch.as_tensor(index, device=self.device)
        starts = self._csr.crow_indices().long()
        counts = torch.diff(starts)[wanted]
        ends = torch.cumsum(counts, 0)
        # The entries of each wanted row, one after the other.
        at = torch.arange(int(counts.sum()), device=self.device)
        at += torch.repeat_interleave(starts[wanted] - (ends - counts), counts)
        new = torch.cat([ends.new_zeros(1), ends]).to(self._csr.crow_indices().dtype)
        parts = new, self._csr.col_indices()[at], self._csr.values()[at]
        return SparseTensor(csr_tensor(*parts, shape=(len(wanted), self.shape[1])))

    def column_means(self) -> Array:
        if self._sums is None:
            # In the transpose, the entries of a column follow each other.
            counts = torch.diff(self._transpose.crow_indices().long())
            values = self._transpose.values().double()
            self._sums = host(torch.segment_reduce(values, "sum", lengths=counts, initial=0.0))
        return self._sums / self.shape[0]

    def shifted(self, offset: Array) -> Operator:
        """Subtract a row of numbers; large ones before the products, as :class:`Sparse` does."""
        offset = checked_offset(offset, self.shape[1])
        candidates = self._nearly_full()
        if not bool(candidates.any()):
            return Centered(self, offset)
        row = torch.as_tensor(offset, device=self.device)
        _, squares = self._about(row, candidates)
        far = candidates & (self.shape[0] * row.square() > digits_to_lose(self.dtype) * squares)
        if not bool(far.any()):
            return Centered(self, offset)
        return Centered(self._shift_entries(row, far), np.where(on_host(far), 0.0, offset))

    def centered(self) -> tuple[Operator, Array]:
        means = self.column_means()
        candidates = self._nearly_full()
        if not bool(candidates.any()):
            return Centered(self, means), means
        # About the mean, sums round to the size of the deviations: the mean of a constant column
        # becomes exact.
        sums, _ = self._about(torch.as_tensor(means, device=self.device), candidates)
        means += np.where(on_host(candidates), host(sums), 0.0) / self.shape[0]
        return self.shifted(means), means

    def _nearly_full(self) -> Any:
        """Return which columns have so few zeros that a large mean can cancel digits."""
        zeros = self.shape[0] - torch.diff(self._transpose.crow_indices().long())
        return zeros * digits_to_lose(self.dtype) < self.shape[0]

    def _about(self, row: Any, columns: Any) -> tuple[Any, Any]:
        """Return sums and sums of squares about a row of numbers, for some of the columns."""
        index = self._csr.col_indices().long()
        here = columns[index]
        index = index[here]
        deviations = self._csr.values()[here].double() - row[index]
        sums, squares = torch.zeros_like(row), torch.zeros_like(row)
        sums.index_add_(0, index, deviations)
        squares.index_add_(0, index, deviations.square())
        zeros = self.shape[0] - torch.bincount(index, minlength=self.shape[1])
        zeros = torch.where(columns, zeros, 0)
        return sums - zeros * row, squares + zeros * row.square()

    def _shift_entries(self, row: Any, far: Any) -> SparseTensor:
        """Subtract a row of numbers from some nearly full columns, entry by entry."""
        rows, columns = self.shape
        kind = self._csr.col_indices().dtype
        counts = torch.diff(self._csr.crow_indices().long())
        at = torch.repeat_interleave(torch.arange(rows, device=self.device), counts)
        index = self._csr.col_indices().long()
        moved = (self._csr.values().double() - torch.where(far, row, 0.0)[index]).to(
            self._csr.values().dtype
        )
        ends = self._transpose.crow_indices().long()
        for column in torch.nonzero(far & (torch.diff(ends) < rows)).flatten().tolist():
            zero = torch.ones(rows, dtype=torch.bool, device=self.device)
            zero[self._transpose.col_indices()[ends[column] : ends[column + 1]].long()] = False
            gaps = torch.nonzero(zero).flatten()
            at, index = torch.cat([at, gaps]), torch.cat([index, torch.full_like(gaps, column)])
            moved = torch.cat([moved, (-row[column]).to(moved.dtype).expand(gaps.numel())])
        order = torch.argsort(at * columns + index)
        starts = torch.zeros(rows + 1, dtype=torch.int64, device=self.device)
        torch.cumsum(torch.bincount(at, minlength=rows), 0, out=starts[1:])
        parts = starts.to(kind), index[order].to(kind), moved[order]
        return SparseTensor(csr_tensor(*parts, shape=self.shape))

    def sum_of_squares(self) -> float:
        return float(self._csr.values().double().square().sum())

    def column_squares(self) -> Array:
        total = torch.zeros(self.shape[1], device=self.device, dtype=torch.float64)
        squares = self._csr.values().double().square()
        return host(total.index_add_(0, self._csr.col_indices().long(), squares))


class _Product:
    """Multiplies by a CSR tensor: as torch does, or by the sums that ``compiled`` has."""

    def __init__(self, csr: Any, compiled: Any | None) -> None:
        self._csr, self._compiled = csr, compiled
        self._parts: Any = None
        self._counts: Any = None
        if compiled is not None:
            self._parts, self._counts = parts_of_rows(csr)

    def __call__(self, block: Any) -> Any:
        if self._compiled is None:
            return self._csr @ block
        entries = self._csr.col_indices(), self._csr.values()
        sums = self._compiled.part_sums(self._parts, *entries, block.contiguous())
        if self._counts is None:
            return sums
        return torch.segment_reduce(
            sums, "sum", lengths=self._counts, axis=0, initial=0.0, unsafe=True
        )


@lru_cache(maxsize=1)
def _compiled_products() -> Any:
    """Return the products compiled by Triton; None where it is missing or does not work."""
    try:
        from . import triton_backend  # noqa: PLC0415
    except ImportError:
        return None
    try:
        eye = torch.eye(2, device="cuda").to_sparse_csr()
        parts, _ = parts_of_rows(eye)
        found = triton_backend.part_sums(
            parts, eye.col_indices(), eye.values(), torch.ones((2, 1), device="cuda")
        )
        if bool((found == 1).all()):
            return triton_backend
        reason = "its sums are wrong"
    except Exception as error:  # a compiler that is missing, a device that is too old
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
    warn_caller(
        f"Triton cannot compile products for this device ({reason}); cuSPARSE does them, at about "
        "half the speed.",
        LabelspanWarning,
    )
    return None


def parts_of_rows(csr: Any) -> tuple[tuple[Any, Any, Any], Any | None]:
    """Cut the rows of a CSR tensor into parts for the programs of a device.

    Where rows are long, the parts of all rows that meet the same rows of a block come one after
    the other, so that these are read from memory once.

    Returns
    -------
    parts : tuple of three tensors
        The first entry of each part, the one after its last, and its place among all parts, in
        the order in which they are taken.
    counts : tensor or None
        The number of parts of each row; None where each row is one.
    """
    rows, columns = csr.shape
    kind, device = csr.crow_indices().dtype, csr.device
    lengths = torch.diff(csr.crow_indices().long())
    blocks = -(-columns // _CACHED_ROWS)
    if blocks > 1 and csr._nnz() >= _FEWEST_IN_PART * rows * blocks:
        at = torch.repeat_interleave(torch.arange(rows, device=device), lengths)
        at = at * blocks + csr.col_indices() // _CACHED_ROWS
        in_order = bool((torch.diff(at) >= 0).all())
        blocks = blocks if in_order else 1
        lengths = torch.bincount(at, minlength=rows * blocks) if in_order else lengths
    else:
        blocks = 1
    ends = torch.cumsum(lengths, 0)
    # One block: an empty row is a part too, so that parts are rows where none is long.
    pieces = torch.clamp(-(-lengths // _MOST_IN_PART), min=1 if blocks == 1 else 0)
    whose = torch.repeat_interleave(torch.arange(rows * blocks, device=device), pieces)
    places = torch.arange(whose.numel(), device=device)
    number = places - (torch.cumsum(pieces, 0) - pieces)[whose]
    first = (ends - lengths)[whose] + number * _MOST_IN_PART
    last = torch.minimum(first + _MOST_IN_PART, ends[whose])
    if blocks > 1:
        order = torch.argsort(whose % blocks, stable=True)
        first, last, places = first[order], last[order], places[order]
    counts = None if whose.numel() == rows and blocks == 1 else pieces.view(rows, -1).sum(dim=1)
    return (first.to(kind), last.to(kind), places.to(kind)), counts


def tensor_operator(values: Any) -> TensorOperator:
    """Wrap a tensor: dense, CSR, or another sparse layout, which becomes CSR."""
    if values.ndim != 2:
        raise InvalidInput(
            f"X must be two-dimensional, but a tensor of shape {tuple(values.shape)} was given."
        )
    if values.dtype not in (torch.float32, torch.float64):
        values = values.to(torch.float64)
    if values.layout == torch.strided:
        return Tensor(values)
    if values.layout != torch.sparse_csr:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            values = values.to_sparse_csr()
    return SparseTensor(_canonical(values))


def _canonical(values: Any) -> Any:
    """Sum duplicate entries of a CSR tensor and sort its columns; a copy where it has to."""
    rows, columns = values.shape
    counts = torch.diff(values.crow_indices().long())
    at = torch.repeat_interleave(torch.arange(rows, device=values.device), counts)
    place = at * columns + values.col_indices().long()
    if bool((torch.diff(place) > 0).all()):
        return values
    places, which = torch.unique(place, return_inverse=True)
    sums = torch.zeros(places.numel(), dtype=values.dtype, device=values.device)
    sums.index_add_(0, which, values.values())
    starts = torch.zeros(rows + 1, dtype=torch.int64, device=values.device)
    torch.cumsum(torch.bincount(places // columns, minlength=rows), 0, out=starts[1:])
    return csr_tensor(starts, places % columns, sums, shape=values.shape)


def _short_indices(values: Any) -> Any:
    if values.crow_indices().dtype == torch.int32 or max(values._nnz(), *values.shape) >= (
        _MOST_INDICES
    ):
        return values
    indices = values.crow_indices().int(), values.col_indices().int()
    return csr_tensor(*indices, values.values(), shape=values.shape)


def _transposed(values: Any) -> Any:
    """Transpose a CSR tensor by one stable sort of its columns."""
    rows, columns = values.shape
    counts = torch.diff(values.crow_indices().long())
    row_of = torch.repeat_interleave(torch.arange(rows, device=values.device), counts)
    order = torch.argsort(values.col_indices(), stable=True)
    sizes = torch.bincount(values.col_indices().long(), minlength=columns)
    starts = torch.zeros(columns + 1, dtype=torch.int64, device=values.device)
    torch.cumsum(sizes, 0, out=starts[1:])
    kind = values.col_indices().dtype
    indices = starts.to(kind), row_of[order].to(kind)
    return csr_tensor(*indices, values.values()[order], shape=(columns, rows))


def _to_float64(values: Any) -> Any:
    indices = values.crow_indices(), values.col_indices()
    return csr_tensor(*indices, values.values().double(), shape=values.shape)


def csr_tensor(starts: Any, columns: Any, values: Any, *, shape: Any) -> Any:
    """Return a CSR tensor of these parts, unchecked."""
    with warnings.catch_warnings():
        # torch warns once per process that CSR is in beta.
        warnings.filterwarnings("ignore", "Sparse CSR tensor support", UserWarning)
        # and, from 2.11, that it does not check what was told not to be checked.
        warnings.filterwarnings("ignore", "Sparse invariant checks", UserWarning)
        return torch.sparse_csr_tensor(
            starts, columns, values, size=tuple(shape), check_invariants=False
        )
