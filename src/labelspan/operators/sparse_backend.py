"""Implementations of sparse products: scipy's, or loops compiled by numba."""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

from .._typing import Array
from ..errors import InvalidInput, InvalidParameter

__all__ = ["SPARSE_BACKENDS", "SparseProducts", "load_sparse_products"]

SPARSE_BACKENDS = ("scipy", "numba")


class SparseProducts(Protocol):
    """The two products of a CSR matrix with a block whose rows are contiguous.

    Both release the interpreter lock, and no sum depends on the number of threads.
    """

    def gather(self, csr: Any, block: Array, out: Array) -> None:
        """Write ``csr @ block`` into ``out``."""
        ...

    def scatter(self, csr: Any, block: Array) -> Array:
        """Return ``csr.T @ block``."""
        ...


class _Scipy:
    def gather(self, csr: Any, block: Array, out: Array) -> None:
        out[:] = csr @ block

    def scatter(self, csr: Any, block: Array) -> Array:
        product: Array = csr.T @ block
        return product


@cache
def load_sparse_products(name: str) -> SparseProducts:
    """Return an implementation by name; numba's loops are compiled at their first use."""
    if name == "scipy":
        return _Scipy()
    if name != "numba":
        raise InvalidParameter(
            f"backend={name!r} is unknown; choose one of {', '.join(map(repr, SPARSE_BACKENDS))}."
        )
    try:
        from .numba_backend import NumbaProducts  # noqa: PLC0415
    except ImportError:
        raise InvalidInput("backend='numba' needs numba; pip install 'labelspan[fast]'.") from None
    return NumbaProducts()
