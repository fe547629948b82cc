"""Data of the host that is multiplied on a device: moved there, or visiting it in blocks."""

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
from .dense import Dense
from .operator import Centered, Operator
from .sparse import Sparse, rows_of
from .tensor import BLOCK_BYTES, SparseTensor, Tensor, TensorOperator, csr_tensor
from .threads import map_threads

__all__ = ["HostRows", "check_device", "to_device"]

# The share of a device's free memory that data may take; the rest is for blocks of the solvers.
_SHARE_OF_MEMORY = 0.5
# Bytes that are staged at once in memory that the device reads by itself, and by one thread.
_STAGED, _COPIED = 1 << 25, 1 << 22


class HostRows(TensorOperator):
    """Rows on the host that are multiplied on a device, for data larger than its memory.

    Each product moves the rows once, in blocks; the next block is moved while one is multiplied,
    so that the device holds two blocks.
    """

    one_pass = True

    def __init__(self, base: Dense | Sparse, device: Any, block_bytes: int = BLOCK_BYTES) -> None:
        super().__init__(base.shape, base.dtype)
        self.device = torch.device(device)
        self._base = base
        rows = base.shape[0]
        count = min(max(1, -(-_bytes_of(base) // block_bytes)), max(1, rows))
        step = max(1, -(-rows // count))
        self._slices = [slice(at, min(at + step, rows)) for at in range(0, rows, step)]

    def _blocks(self) -> Iterator[tuple[slice, TensorOperator]]:
        mover = _Staged(self.device) if self.device.type == "cuda" else _Plain(self.device)
        with ThreadPoolExecutor(1) as ahead:
            coming = ahead.submit(mover.rows, self._base, self._slices[0])
            for number, part in enumerate(self._slices):
                rows = coming.result()
                if number + 1 < len(self._slices):
                    coming = ahead.submit(mover.rows, self._base, self._slices[number + 1])
                yield part, rows

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


class _Plain:
    """Moves arrays to a device as torch does."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def rows(self, base: Dense | Sparse, part: slice, *, visiting: bool = True) -> TensorOperator:
        """Return some rows of the host as an operator on the device.

        Rows that are ``visiting`` are multiplied once or twice: nothing is prepared for more.
        """
        if isinstance(base, Dense):
            return Tensor(self._moved(np.ascontiguousarray(base.array[part])), base.offset)
        csr = base.csr
        if part != slice(0, csr.shape[0]):
            csr = rows_of(csr, part.start, part.stop)
        parts = (self._moved(each) for each in (csr.indptr, csr.indices, csr.data))
        return SparseTensor(csr_tensor(*parts, shape=csr.shape), arranged=not visiting)

    def _moved(self, values: Array) -> Any:
        return _as_tensor(values).to(self._device)


class _Staged(_Plain):
    """Moves arrays to a CUDA device through memory that it reads by itself.

    Threads fill one half of that memory while the device reads the other: several times the speed
    of arrays in pages that the system may move.
    """

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        with torch.cuda.device(device):
            # A stream of its own, or copies would wait for the products.
            self._stream = torch.cuda.Stream()
            self._halves = [
                (torch.empty(_STAGED, dtype=torch.uint8, pin_memory=True), torch.cuda.Event())
                for _ in range(2)
            ]

    def rows(self, base: Dense | Sparse, part: slice, *, visiting: bool = True) -> TensorOperator:
        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            rows = super().rows(base, part, visiting=visiting)
            self._stream.synchronize()
        return rows

    def _moved(self, values: Array) -> Any:
        values = np.ascontiguousarray(values)
        if values.nbytes < _STAGED:
            return super()._moved(values)
        out = torch.empty(values.shape, dtype=_as_tensor(values[:0]).dtype, device=self._device)
        source, target = values.reshape(-1).view(np.uint8), out.view(-1).view(torch.uint8)
        for number, start in enumerate(range(0, source.size, _STAGED)):
            half, read = self._halves[number % 2]
            read.synchronize()
            piece = source[start : start + _STAGED]
            _copy(piece, half.numpy())
            target[start : start + piece.size].copy_(half[: piece.size], non_blocking=True)
            read.record()
        return out


def _copy(source: Array, target: Array) -> None:
    """Copy bytes into an array that is at least as long, on threads."""

    def copy_part(start: int) -> None:
        part = source[start : start + _COPIED]
        target[start : start + part.size] = part

    map_threads(copy_part, range(0, source.size, _COPIED))


def _as_tensor(values: Array) -> Any:
    with warnings.catch_warnings():
        # Arrays in files cannot be written to, and are not.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
        return torch.as_tensor(values)


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
        return HostRows(operator, device, min(BLOCK_BYTES, max(1, most // 4)))
    mover = _Staged(device) if device.type == "cuda" else _Plain(device)
    return mover.rows(operator, slice(0, operator.shape[0]), visiting=False)
