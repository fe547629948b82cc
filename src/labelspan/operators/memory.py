"""Available memory, an error for computations that need more, and the buffers of BLAS."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import numpy as np
from scipy.linalg import lapack

from ..errors import NotEnoughMemory

__all__ = ["available_memory", "refuse_too_large", "take_buffers"]

# Largest single allocation of OpenBLAS, with a margin.
_BUFFER = (1 << 27) + (1 << 20)
# numpy and scipy each have their own BLAS.
_LIBRARIES = 2
_taken = False
# Below this many bytes, memory is not checked: 256 MiB.
_SMALL = 1 << 28
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def available_memory() -> int | None:
    """Return the number of bytes that the process can still allocate; None if unknown.

    The minimum of the free memory of the machine and the limit of a container.
    """
    found = [_of_machine(), *(_of_group(*files) for files in _GROUPS)]
    known = [value for value in found if value is not None]
    return max(0, min(known)) if known else None


def refuse_too_large(owner: str, needed: float, what: str, instead: str) -> None:
    """Raise :class:`~labelspan.errors.NotEnoughMemory` if ``needed`` bytes are not available.

    The message names the owner, what needs the memory, and what the user can do instead.
    """
    if needed < _SMALL:
        return
    available = available_memory()
    if available is not None and needed > available:
        raise NotEnoughMemory(
            f"{owner}: {what} takes about {_size(needed)} of memory, and {_size(available)} are "
            f"available; {instead}."
        )


def _of_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_group(limit: str, used: str) -> int | None:
    try:
        return int(Path(limit).read_text(encoding="ascii")) - int(
            Path(used).read_text(encoding="ascii")
        )
    except (OSError, ValueError):
        # There is no such control group, or it has no limit.
        return None


def _size(count: float) -> str:
    return f"{count / 2**30:.1f} GiB"


def take_buffers() -> None:
    """Let BLAS allocate its buffers, once; raise MemoryError if there is no room for them.

    OpenBLAS allocates them at its first larger product, and retries forever if the system refuses:
    a process with little memory left would hang.
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
