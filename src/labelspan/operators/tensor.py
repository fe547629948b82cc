"""Data in torch tensors, on any device.

Nothing here chooses a device: tensors stay where they are, and only :func:`to_device`
moves data.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any

import numpy as np
import torch

from .._typing import Array
from ..errors import InvalidInput
from .array_backend import host, is_tensor, on_host, tensor_dtype, width_of
from .dense import Dense
from .operator import Centered, Operator, checked_offset, digits_to_lose
from .sparse import Sparse, rows_of

__all__ = [
    "HostRows",
    "SparseTensor",
    "Tensor",
    "TensorOperator",
    "check_device",
    "tensor_operator",
    "to_device",
]

_BLOCK_BYTES = 1 << 28
# The share of a device's free memory that data may take; the rest is for blocks of the solvers.
_SHARE_OF_MEMORY = 0.5
_MOST_INDICES = np.iinfo(np.int32).max


class TensorOperator(Operator):
    """An operator whose blocks are tensors on its device."""

    device: Any

    def place(self, block: Any) -> Any:
        return self._moved(block, tensor_dtype(self.dtype))

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

    def _slices(self) -> Iterator[slice]:
        step = max(1, _BLOCK_BYTES // max(1, 8 * self.shape[1]))
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
    """A CSR tensor and its transpose, both stored: torch has no fast ``A.T @ U``."""

    def __init__(self, values: Any, transpose: Any | None = None) -> None:
        super().__init__(tuple(values.shape), width_of(values.values()))
        self.device = values.device
        self._csr = _short_indices(values)
        self._transpose = _transposed(self._csr) if transpose is None else transpose
        # Asked for several times in one fit.
        self._sums: Array | None = None

    def _matmat(self, block: Any) -> Any:
        return self._csr @ block

    def _rmatmat(self, block: Any) -> Any:
        return self._transpose @ block

    def cross(self, block: Any) -> Array:
        return host(_to_float64(self._transpose) @ self._moved(block, torch.float64))

    def gram(self) -> Array:
        if self.dtype == np.float64:
            return super().gram()
        return SparseTensor(_to_float64(self._csr), _to_float64(self._transpose)).gram()

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
        return SparseTensor(_csr_tensor(*parts, shape=(len(wanted), self.shape[1])))

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
        return SparseTensor(_csr_tensor(*parts, shape=self.shape))

    def sum_of_squares(self) -> float:
        return float(self._csr.values().double().square().sum())

    def column_squares(self) -> Array:
        total = torch.zeros(self.shape[1], device=self.device, dtype=torch.float64)
        squares = self._csr.values().double().square()
        return host(total.index_add_(0, self._csr.col_indices().long(), squares))


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


class HostRows(TensorOperator):
    """Rows on the host that are multiplied on a device, for data larger than its memory.

    Each product moves the rows once, in blocks; the next block is moved while one is multiplied,
    so that the device holds two blocks.
    """

    one_pass = True

    def __init__(self, base: Dense | Sparse, device: Any, block_bytes: int = _BLOCK_BYTES) -> None:
        super().__init__(base.shape, base.dtype)
        self.device = torch.device(device)
        self._base = base
        rows = base.shape[0]
        count = min(max(1, -(-_bytes_of(base) // block_bytes)), max(1, rows))
        step = max(1, -(-rows // count))
        self._slices = [slice(at, min(at + step, rows)) for at in range(0, rows, step)]

    def _blocks(self) -> Iterator[tuple[slice, TensorOperator]]:
        with ThreadPoolExecutor(1) as mover:
            ahead = mover.submit(self._moved_rows, self._slices[0])
            for number, part in enumerate(self._slices):
                rows = ahead.result()
                if number + 1 < len(self._slices):
                    ahead = mover.submit(self._moved_rows, self._slices[number + 1])
                yield part, rows

    def _moved_rows(self, part: slice) -> TensorOperator:
        if self.device.type != "cuda":
            return _move_rows(self._base, part, self.device)
        # A stream of its own, or the copy would wait for the products.
        with torch.cuda.device(self.device):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                rows = _move_rows(self._base, part, self.device)
            stream.synchronize()
        return rows

    def _matmat(self, block: Any) -> Any:
        return torch.cat([rows.matmat(block) for _, rows in self._blocks()])

    def _rmatmat(self, block: Any) -> Any:
        out = torch.zeros((self.shape[1], block.shape[1]), device=self.device, dtype=block.dtype)
        for part, rows in self._blocks():
            out += rows.rmatmat(block[part])
        return out

    def normal(self, block: Any) -> Any:
        """Return ``X'X block`` in one pass over the rows."""
        block = self.place(block)
        out = torch.zeros_like(block)
        for _, rows in self._blocks():
            out += rows.rmatmat(rows.matmat(block))
        return out

    def gram(self) -> Array:
        return np.asarray(sum(rows.gram() for _, rows in self._blocks()))

    def cogram(self) -> Array:
        return self._base.cogram()

    def cross(self, block: Any) -> Array:
        return np.asarray(sum(rows.cross(block[part]) for part, rows in self._blocks()))

    def column_means(self) -> Array:
        return self._base.column_means()

    def sum_of_squares(self) -> float:
        return self._base.sum_of_squares()

    def column_squares(self) -> Array:
        return self._base.column_squares()

    def shifted(self, offset: Array) -> Operator:
        return self._like(self._base.shifted(offset))

    def centered(self) -> tuple[Operator, Array]:
        centered, means = self._base.centered()
        return self._like(centered), means

    def _like(self, shifted: Operator) -> Operator:
        if isinstance(shifted, Centered):
            assert isinstance(shifted.base, Dense | Sparse)
            return Centered(self._over(shifted.base), shifted.offset)
        assert isinstance(shifted, Dense)
        return self._over(shifted)

    def _over(self, base: Dense | Sparse) -> HostRows:
        other = copy(self)
        other._base = base
        return other

    def rows(self, index: Array) -> Operator:
        chosen = self._base.rows(index)
        assert isinstance(chosen, Dense | Sparse)
        return to_device(chosen, self.device)


def _bytes_of(base: Dense | Sparse) -> int:
    """Return what the rows take on a device, a transpose included."""
    if isinstance(base, Dense):
        return base.shape[0] * base.shape[1] * base.dtype.itemsize
    return int(2 * base.csr.nnz * (base.dtype.itemsize + 4))


def _move_rows(base: Dense | Sparse, part: slice, device: Any) -> TensorOperator:
    if isinstance(base, Dense):
        return Tensor(_tensor(np.ascontiguousarray(base.array[part]), device), base.offset)
    csr = base.csr
    if part != slice(0, csr.shape[0]):
        csr = rows_of(csr, part.start, part.stop)
    parts = (_tensor(each, device) for each in (csr.indptr, csr.indices, csr.data))
    return SparseTensor(_csr_tensor(*parts, shape=csr.shape))


def _tensor(values: Array, device: Any) -> Any:
    with warnings.catch_warnings():
        # Arrays in files cannot be written to, and are not.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
        return torch.as_tensor(values).to(device)


def check_device(device: Any) -> Any:
    """Return a device that torch can use, or raise an error that says which there are."""
    try:
        found = torch.device(device)
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        there = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
        reason = str(error).splitlines()[0].rstrip(".")
        raise InvalidInput(
            f"device={device!r} cannot be used here ({reason}); torch finds {', '.join(there)}."
        ) from None
    return found


def to_device(operator: Operator, device: Any, most: int | None = None) -> TensorOperator:
    """Move a dense or sparse operator from the host to a device.

    Data of more than ``most`` bytes stays on the host and visits the device in blocks; None is half
    of the free memory of a CUDA device, and no limit elsewhere.
    """
    if not isinstance(operator, Dense | Sparse):
        raise InvalidInput(
            f"device={device!r} takes an array or a sparse matrix, but {type(operator).__name__} "
            "was given; move the data before it is composed."
        )
    device = check_device(device)
    if most is None and device.type == "cuda":
        most = int(_SHARE_OF_MEMORY * torch.cuda.mem_get_info(device)[0])
    if most is not None and _bytes_of(operator) > most:
        return HostRows(operator, device, min(_BLOCK_BYTES, max(1, most // 4)))
    return _move_rows(operator, slice(0, operator.shape[0]), device)


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
    return _csr_tensor(starts, places % columns, sums, shape=values.shape)


def _short_indices(values: Any) -> Any:
    if values.crow_indices().dtype == torch.int32 or max(values._nnz(), *values.shape) >= (
        _MOST_INDICES
    ):
        return values
    indices = values.crow_indices().int(), values.col_indices().int()
    return _csr_tensor(*indices, values.values(), shape=values.shape)


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
    return _csr_tensor(*indices, values.values()[order], shape=(columns, rows))


def _to_float64(values: Any) -> Any:
    indices = values.crow_indices(), values.col_indices()
    return _csr_tensor(*indices, values.values().double(), shape=values.shape)


def _csr_tensor(starts: Any, columns: Any, values: Any, *, shape: Any) -> Any:
    with warnings.catch_warnings():
        # torch warns once per process that CSR is in beta.
        warnings.filterwarnings("ignore", "Sparse CSR tensor support", UserWarning)
        # and, from 2.11, that it does not check what was told not to be checked.
        warnings.filterwarnings("ignore", "Sparse invariant checks", UserWarning)
        return torch.sparse_csr_tensor(
            starts, columns, values, size=tuple(shape), check_invariants=False
        )
