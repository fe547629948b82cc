"""Data of the host that is multiplied on a device: moved there, or visiting it in blocks."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
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

__all__ = ["HostRows", "check_device", "to_device"]

# The share of a device's free memory that data may take; the rest is for blocks of the solvers.
_SHARE_OF_MEMORY = 0.5


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
        self._locked = _LockedPages(base, device) if self.device.type == "cuda" else None
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


def _move_rows(
    base: Dense | Sparse, part: slice, device: Any, *, visiting: bool = True
) -> TensorOperator:
    """Return some rows of the host as an operator on a device.

    Rows that are ``visiting`` are multiplied once or twice: nothing is prepared for more.
    """
    if isinstance(base, Dense):
        values = _as_tensor(np.ascontiguousarray(base.array[part]))
        return Tensor(values.to(device), base.offset)
    csr = base.csr
    if part != slice(0, csr.shape[0]):
        csr = rows_of(csr, part.start, part.stop)
    parts = (_as_tensor(each).to(device) for each in (csr.indptr, csr.indices, csr.data))
    return SparseTensor(csr_tensor(*parts, shape=csr.shape), many_products=not visiting)


class _LockedPages:
    """Large arrays whose pages stay where they are for as long as this lives.

    A CUDA device then reads them by itself, at several times the speed. Arrays in files, and those
    that the system does not lock, stay as they are.
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
                # The next call would raise the error of this one.
                with suppress(RuntimeError):
                    torch.zeros(1, device=device)
        # It holds the arrays: memory must not go before it is unlocked.
        weakref.finalize(self, _unlock, locked).atexit = False


def _unlock(arrays: list[Array]) -> None:
    for array in arrays:
        torch.cuda.cudart().cudaHostUnregister(array.ctypes.data)


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
    return _move_rows(operator, slice(0, operator.shape[0]), device, visiting=False)
