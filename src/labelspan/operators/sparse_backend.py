"""The innermost loops of sparse products: scipy's, or compiled by numba."""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

from .._typing import Array
from ..errors import InvalidInput, InvalidParameter

__all__ = ["KERNELS", "Kernels", "load_kernels"]

KERNELS = ("scipy", "numba")


class Kernels(Protocol):
    """The two products of a CSR matrix with a block whose rows are contiguous.

    Both let other threads run, and no sum depends on how many there are.
    """

    def gather(self, csr: Any, block: Array, out: Array) -> None:
        """Write ``csr @ block`` into ``out``."""
        ...

    def scatter(self, csr: Any, block: Array) -> Array:
        """``csr.T @ block``."""
        ...


class _Scipy:
    def gather(self, csr: Any, block: Array, out: Array) -> None:
        out[:] = csr @ block

    def scatter(self, csr: Any, block: Array) -> Array:
        product: Array = csr.T @ block
        return product


@cache
def load_kernels(name: str) -> Kernels:
    """The loops of that name; numba's are compiled at their first use."""
    if name == "scipy":
        return _Scipy()
    if name != "numba":
        raise InvalidParameter(
            f"kernels={name!r} is unknown; choose one of {', '.join(map(repr, KERNELS))}."
        )
    try:
        from .numba_backend import NumbaLoops  # noqa: PLC0415
    except ImportError:
        raise InvalidInput("kernels='numba' needs numba; pip install 'labelspan[fast]'.") from None
    return NumbaLoops()
