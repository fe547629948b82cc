"""Data in torch tensors, on any device; only :func:`to_device` moves data."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from scipy import sparse

from .._typing import Array
from ..errors import InvalidInput, LabelspanWarning, warn_caller
from .array_backend import cast, host, on_host, placed, sum_of_squares, width_of
from .dense import Dense
from .digits import above_rounding, added_offset, nearly_full
from .operator import Centered, Operator, checked_offset
from .row_blocks import Block, LocalBlocks, RowBlocks
from .sparse import Sparse, rows_of

__all__ = ["SparseTensor", "Tensor", "check_device", "tensor_operator", "to_device"]

_BLOCK_BYTES = 1 << 28
# Fraction of a device's free memory for data; the rest is for blocks of the solvers.
_SHARE_OF_MEMORY = 0.5
# Slightly less than the largest int32: a kernel may count a few entries beyond the last.
_MOST_INDICES = np.iinfo(np.int32).max - 1024
# From this many entries on, products by Triton pay for their compilation.
_MANY_ENTRIES = 1 << 21
# Rows of a block that fit into the cache of a device, the entries that a part of a row should
# have for that many rows, and the maximum for one program.
_CACHED_ROWS, _FEWEST_IN_PART, _MOST_IN_PART = 1 << 17, 32, 1024


class Tensor(Operator):
    """A dense tensor, minus an optional row of offsets that is subtracted block by block."""

    dense = True

    def __init__(self, values: Any, offset: Array | None = None) -> None:
        super().__init__(tuple(values.shape), width_of(values))
        self.device = values.device
        self._values, self._offset = values, offset
        self._row = self._low = None
        if offset is not None:
            self._row = self.to_device(offset[None, :])
            # What float32 lost of the offset matters if columns are far from zero.
            low = offset - host(self._row)[0]
            self._low = self.to_device(low[None, :]) if low.any() else None

    def _piece(self, part: slice) -> Any:
        piece = self._values[part] - self._row
        return piece if self._low is None else piece.sub_(self._low)

    def to_block(self) -> Any:
        return self._values if self._row is None else self._piece(slice(None))

    def in_type(self, dtype: Any) -> Operator:
        return self if self.dtype == dtype else Tensor(cast(self._values, dtype), self._offset)

    def _slices(self) -> Iterator[slice]:
        step = max(1, _BLOCK_BYTES // max(1, 8 * self.shape[1]))
        for start in range(0, self.shape[0], step):
            yield slice(start, min(start + step, self.shape[0]))

    def _matmat(self, block: Any) -> Any:
        if self._row is None:
            return self._values @ block
        return torch.cat([self._piece(part) @ block for part in self._slices()])

    def _rmatmat(self, block: Any) -> Any:
        if self._row is None:
            return self._values.T @ block
        return sum(self._piece(part).T @ block[part] for part in self._slices())

    def _wide(self, part: slice) -> Any:
        piece = self._values[part].double()
        return piece if self._offset is None else piece - placed(self._offset, self.device)

    def _summed(self, function: Callable[[Any, slice], Any]) -> Array:
        """Sum a function of blocks of rows in float64 and of their positions."""
        return host(sum(function(self._wide(part), part) for part in self._slices()))

    def gram(self) -> Array:
        return self._summed(lambda rows, _: rows.T @ rows)

    def cross(self, block: Any) -> Array:
        block = placed(block, self.device, np.float64)
        return self._summed(lambda rows, part: rows.T @ block[part])

    def cogram(self) -> Array:
        whole = self._wide(slice(None))
        return host(whole @ whole.T)

    def column_means(self) -> Array:
        return self._summed(lambda rows, _: rows.sum(dim=0)) / self.shape[0]

    def column_squares(self) -> Array:
        squares = self._summed(lambda rows, _: rows.square().sum(dim=0))
        return above_rounding(squares, self.shape[0], self._offset)

    def sum_of_squares(self) -> float:
        return float(self._summed(lambda rows, _: rows.square().sum()))

    def shifted(self, offset: Array) -> Operator:
        offset = checked_offset(offset, self.shape[1])
        return Tensor(self._values, added_offset(self._offset, offset))

    def rows(self, index: Array) -> Operator:
        return Tensor(self._values[torch.as_tensor(index, device=self.device)], self._offset)


class SparseTensor(Operator):
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
        # Used several times in one fit.
        self._sums: Array | None = None
        self._squares: Array | None = None

    def _matmat(self, block: Any) -> Any:
        return self._forward(block)

    def _rmatmat(self, block: Any) -> Any:
        return self._backward(block)

    def cross(self, block: Any) -> Array:
        return host(_to_float64(self._transpose) @ placed(block, self.device, np.float64))

    def gram(self) -> Array:
        if self.dtype == np.float64:
            return super().gram()
        return SparseTensor(_to_float64(self._csr), _to_float64(self._transpose)).gram()

    def in_type(self, dtype: Any) -> Operator | None:
        if self.dtype == dtype or dtype != np.float64:
            return super().in_type(dtype)
        return SparseTensor(_to_float64(self._csr), _to_float64(self._transpose))

    def rows(self, index: Array) -> Operator:
        wanted = torch.as_tensor(index, device=self.device)
        starts = self._csr.crow_indices().long()
        counts = torch.diff(starts)[wanted]
        ends = torch.cumsum(counts, 0)
        # The entries of each selected row, one after the other.
        at = torch.arange(int(counts.sum()), device=self.device)
        at += torch.repeat_interleave(starts[wanted] - (ends - counts), counts)
        new = torch.cat([ends.new_zeros(1), ends]).to(self._csr.crow_indices().dtype)
        parts = new, self._csr.col_indices()[at], self._csr.values()[at]
        return SparseTensor(csr_tensor(*parts, shape=(len(wanted), self.shape[1])))

    def column_means(self) -> Array:
        if self._sums is None:
            self._sums = self._sums_of(self._transpose.values().double())
        return self._sums / self.shape[0]

    def shifted(self, offset: Array) -> Operator:
        """Subtract a row of numbers; large ones before the products, as :class:`Sparse` does."""
        offset = checked_offset(offset, self.shape[1])
        if not self._nearly_full():
            return Centered(self, offset)
        return self._moved(self._on_host().shifted(offset))

    def centered(self) -> tuple[Operator, Array]:
        if not self._nearly_full():
            means = self.column_means()
            return Centered(self, means), means
        centered, means = self._on_host().centered()
        return self._moved(centered), means

    def _nearly_full(self) -> bool:
        """Return whether a column has so few zeros that a large mean can cancel digits.

        That is rare, so that entries are shifted on the host.
        """
        counts = torch.diff(self._transpose.crow_indices().long())
        return bool(nearly_full(counts, self.shape[0], self.dtype).any())

    def _on_host(self) -> Sparse:
        return Sparse(_host_csr(self._csr))

    def _moved(self, centered: Operator) -> Operator:
        assert isinstance(centered, Centered)
        assert isinstance(centered.base, Sparse)
        base = _move_rows(centered.base, slice(0, self.shape[0]), self.device, visiting=False)
        return Centered(base, centered.offset)

    def sum_of_squares(self) -> float:
        return sum_of_squares(self._csr.values())

    def column_squares(self) -> Array:
        if self._squares is None:
            self._squares = self._sums_of(self._transpose.values().double().square())
        return self._squares

    def column_counts(self) -> Array:
        return host(torch.diff(self._transpose.crow_indices().long()))

    def _sums_of(self, entries: Any) -> Array:
        """Return the sum of each column of entries of the transpose, where it is contiguous."""
        counts = torch.diff(self._transpose.crow_indices().long())
        return host(torch.segment_reduce(entries, "sum", lengths=counts, initial=0.0))


class _Product:
    """Multiply by a CSR tensor, with torch or with the kernels in ``compiled``."""

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
    """Return the products compiled by Triton; None if it is missing or does not work."""
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
        f"Triton cannot compile products for this device ({reason}); cuSPARSE is used instead, at "
        "about half the speed.",
        LabelspanWarning,
    )
    return None


def parts_of_rows(csr: Any) -> tuple[tuple[Any, Any, Any], Any | None]:
    """Cut the rows of a CSR tensor into parts for the programs of a device.

    If rows are long, the parts of all rows that need the same rows of a block are
    adjacent, so that these are read from memory once.

    Returns
    -------
    parts : tuple of three tensors
        The first entry of each part, the one after its last, and its position among all
        parts, in the order of execution.
    counts : tensor or None
        The number of parts of each row; None if each row is one part.
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
    # One block: an empty row is a part too, so that parts are rows if none is long.
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


def tensor_operator(values: Any) -> Operator:
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
    """Sum duplicate entries of a CSR tensor and sort its columns, on the host, if necessary."""
    counts = torch.diff(values.crow_indices().long())
    at = torch.repeat_interleave(torch.arange(values.shape[0], device=values.device), counts)
    if bool((torch.diff(at * values.shape[1] + values.col_indices().long()) > 0).all()):
        return values
    return _csr_on(Sparse(_host_csr(values)).csr, values.device)


def _host_csr(values: Any) -> Any:
    parts = values.values(), values.col_indices(), values.crow_indices()
    return sparse.csr_array(tuple(map(on_host, parts)), shape=tuple(values.shape))


def _csr_on(csr: Any, device: Any) -> Any:
    parts = (_as_tensor(each).to(device) for each in (csr.indptr, csr.indices, csr.data))
    return csr_tensor(*parts, shape=csr.shape)


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
        # and, from 2.11, that it skips checks that were disabled.
        warnings.filterwarnings("ignore", "Sparse invariant checks", UserWarning)
        return torch.sparse_csr_tensor(
            starts, columns, values, size=tuple(shape), check_invariants=False
        )


# --- data of the host -----------------------------------------------------------------


class _DeviceBlocks(LocalBlocks):
    """Rows on the host that are moved to a device in blocks, for data larger than its memory.

    The next block is moved while one is multiplied, so the device holds two blocks.
    """

    def __init__(self, base: Dense | Sparse, device: Any, block_bytes: int) -> None:
        rows, columns = base.shape
        count = min(max(1, -(-_bytes_of(base) // block_bytes)), max(1, rows))
        step = max(1, -(-rows // count))
        self._slices = [slice(at, min(at + step, rows)) for at in range(0, rows, step)]
        super().__init__([(each.stop - each.start, columns) for each in self._slices], base.dtype)
        self._base, self.device = base, device
        self._locked = _LockedPages(base, device) if device.type == "cuda" else None

    def load(self, number: int) -> Block:
        part = self._slices[number]
        if self._locked is None:
            return Block(_move_rows(self._base, part, self.device))
        # A separate stream, because the copy would otherwise wait for the products.
        with torch.cuda.device(self.device):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                rows = _move_rows(self._base, part, self.device)
            stream.synchronize()
        return Block(rows)


def _bytes_of(base: Dense | Sparse) -> int:
    """Return the bytes that the rows need on a device, including a transpose."""
    if isinstance(base, Dense):
        return base.shape[0] * base.shape[1] * base.dtype.itemsize
    return int(2 * base.csr.nnz * (base.dtype.itemsize + 4))


def _move_rows(
    base: Dense | Sparse, part: slice, device: Any, *, visiting: bool = True
) -> Operator:
    """Return some rows of host data as an operator on a device.

    With ``visiting``, the rows are multiplied only once or twice: nothing is precomputed.
    """
    if isinstance(base, Dense):
        values = _as_tensor(np.ascontiguousarray(base.array[part]))
        return Tensor(values.to(device), base.offset)
    csr = base.csr
    if part != slice(0, csr.shape[0]):
        csr = rows_of(csr, part.start, part.stop)
    return SparseTensor(_csr_on(csr, device), many_products=not visiting)


class _LockedPages:
    """Large arrays whose pages are pinned as long as this object exists.

    A CUDA device then reads them directly, several times faster. Arrays in files, and those
    that the system cannot pin, are not changed.
    """

    def __init__(self, base: Dense | Sparse, device: Any) -> None:
        arrays = [base.array] if isinstance(base, Dense) else [base.csr.indices, base.csr.data]
        runtime, locked = torch.cuda.cudart(), []
        for array in arrays:
            if not (array.flags.c_contiguous and array.flags.writeable and array.size):
                continue
            if int(runtime.cudaHostRegister(array.ctypes.data, array.nbytes, 0)) == 0:
                locked.append(array)
            else:
                # Otherwise the next call would raise this error.
                with suppress(RuntimeError):
                    torch.zeros(1, device=device)
        # Keep the arrays alive: memory must be unpinned before it is freed.
        weakref.finalize(self, _unlock, locked).atexit = False


def _unlock(arrays: list[Array]) -> None:
    for array in arrays:
        torch.cuda.cudart().cudaHostUnregister(array.ctypes.data)


def _as_tensor(values: Array) -> Any:
    with warnings.catch_warnings():
        # Arrays in files are read-only.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
        return torch.as_tensor(values)


def check_device(device: Any) -> Any:
    """Return a device that torch can use, or raise an error that lists the available ones."""
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


def to_device(operator: Operator, device: Any, most: int | None = None) -> Operator:
    """Move a dense or sparse operator from the host to a device.

    Data of more than ``most`` bytes stays on the host and is moved to the device in blocks; None is
    half of the free memory of a CUDA device, and no limit elsewhere.
    """
    if not isinstance(operator, Dense | Sparse):
        raise InvalidInput(
            f"device={device!r} takes an array or a sparse matrix, but {type(operator).__name__} "
            "was given; move the data before you compose operators."
        )
    device = check_device(device)
    if most is None and device.type == "cuda":
        most = int(_SHARE_OF_MEMORY * torch.cuda.mem_get_info(device)[0])
    if most is not None and _bytes_of(operator) > most:
        return RowBlocks(_DeviceBlocks(operator, device, min(_BLOCK_BYTES, max(1, most // 4))))
    return _move_rows(operator, slice(0, operator.shape[0]), device, visiting=False)
