"""Memory that BLAS takes for itself, taken where a lack of it can be reported."""

from __future__ import annotations

import mmap

import numpy as np
from scipy.linalg import lapack

__all__ = ["take_buffers"]

# What OpenBLAS asks for at a time, at most, and a little more.
_BUFFER = (1 << 27) + (1 << 20)
# numpy and scipy have a BLAS each.
_LIBRARIES = 2
_taken = False


def take_buffers() -> None:
    """Let BLAS take its buffers, once; raise MemoryError where there is no room for them.

    OpenBLAS asks for them at its first larger product, again and again for as long as the system
    refuses: a process with little memory left would wait forever.
    """
    global _taken  # noqa: PLW0603 - a process that is forked has the buffers, too
    if _taken:
        return
    try:
        mmap.mmap(-1, _LIBRARIES * _BUFFER).close()
    except OSError:
        raise MemoryError("BLAS needs 260 MiB of address space for its buffers.") from None
    square = np.eye(64)
    np.linalg.cholesky(square @ square)
    lapack.dpotrf(square)
    _taken = True
