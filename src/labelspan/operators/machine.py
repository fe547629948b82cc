"""The machine: threads over blocks of rows, available memory, and the buffers of BLAS.

The number of threads follows ``OMP_NUM_THREADS`` and ``threadpoolctl.threadpool_limits``: a
program that limits the threads of its BLAS limits these threads too, and workers of joblib do not
oversubscribe the machine.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from ..errors import NotEnoughMemory

__all__ = [
    "available_memory",
    "map_threads",
    "n_threads",
    "one_ahead",
    "own_threads",
    "refuse_too_large",
    "row_parts",
    "single_thread",
    "take_buffers",
]

# Read once, as BLAS does: dask sets it to 1 for its workers in the process that starts them.
_OMP_NUM_THREADS = os.environ.get("OMP_NUM_THREADS", "")
# Number of entries per task: few enough to fit into the cache of a core.
_PART = 1 << 19

# Largest single allocation of OpenBLAS, with a margin.
_BUFFER = (1 << 27) + (1 << 20)
# numpy and scipy each have their own BLAS.
_LIBRARIES = 2
_taken = False
# Below this many bytes, memory is not checked: 256 MiB.
_FEW_BYTES = 1 << 28
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds; reading their limits takes microseconds.
    return ThreadpoolController()


class _OneBlasThread:
    """A limit of BLAS to one thread, until the last Python thread that requested it ends.

    The limit applies to the whole process: if each thread set and restored it, the last
    one could restore the limit of another.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limiter: Any = None
        # The earlier limits of the libraries; None if no limit is set.
        self.before: int | None = None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                now = [library.num_threads for library in _controller().lib_controllers]
                self.before = _fewest(now)
                # Setting the same limit again would take as long as a small product.
                if any(threads != 1 for threads in now):
                    self._limiter = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                if self._limiter is not None:
                    self._limiter.restore_original_limits()
                self._limiter = self.before = None


_one_blas_thread = _OneBlasThread()
# ``threads``: number of threads for products of this Python thread; the BLAS limit if not set.
_here = threading.local()


def _allowed() -> int:
    return _fewest(library.num_threads for library in _controller().lib_controllers)


def _fewest(limits_of_libraries: Iterable[int | None]) -> int:
    """Return the number of threads that libraries, the machine and its settings allow."""
    limits = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()]
    if _OMP_NUM_THREADS.isdigit():
        limits.append(int(_OMP_NUM_THREADS))
    limits += limits_of_libraries
    return max(1, min(limit for limit in limits if limit))


def n_threads() -> int:
    """Return the number of threads that a product may use now."""
    return getattr(_here, "threads", None) or _one_blas_thread.before or _allowed()


@contextmanager
def _limited(threads: int) -> Iterator[None]:
    before = getattr(_here, "threads", None)
    _one_blas_thread.enter()
    _here.threads = threads
    try:
        yield
    finally:
        _here.threads = before
        _one_blas_thread.leave()


def single_thread() -> AbstractContextManager[object]:
    """Limit all work to one thread in a ``with`` block, for small matrices.

    An eigenproblem of a few hundred rows is a long sequence of tiny products: a second
    thread gains nothing on an idle machine and delays each product on a busy one.
    """
    return _limited(1)


def own_threads() -> AbstractContextManager[object]:
    """Limit BLAS to one thread in a ``with`` block, in which `map_threads` still uses all.

    OpenBLAS threads keep their cores busy for some milliseconds after each
    call: a product on Python threads right after it takes up to three times as long.
    """
    return _limited(n_threads())


class _Pool:
    """A pool of threads that grows as needed and lives as long as the process.

    An executor of :mod:`concurrent.futures` takes six times as long per call: as long as many
    products of thin blocks.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock, self._threads = threading.Lock(), 0

    def run(self, work: Callable[[], None], threads: int) -> None:
        """Submit work to free threads."""
        with self._lock:
            while self._threads < threads:
                self._threads += 1
                name = f"labelspan_{self._threads}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
        for _ in range(threads):
            self._work.put(work)

    def _serve(self) -> None:
        _here.threads = 1
        while True:
            self._work.get()()


@lru_cache(maxsize=1)
def _pool(process: int) -> _Pool:
    # Threads do not survive a fork: a child process has its own pool.
    return _Pool()


def map_threads(
    task: Callable[[_Item], _Result], items: Iterable[_Item], *, blas: bool = False
) -> list[_Result]:
    """Run ``task`` on every item, on threads if there is more than one; return results in order.

    With ``blas`` the tasks call BLAS, which is then limited to one thread per task. The calling
    thread processes items too, and never waits for threads that have not started. After the first
    error, the others stop after their current item.
    """
    items = list(items)
    threads = min(n_threads(), len(items)) if len(items) > 1 else 1
    if threads <= 1:
        return [task(item) for item in items]
    found: list[Any] = [None] * len(items)
    waiting = deque(range(len(items)))
    # numpy's overflow handling is a setting of each thread.
    settings = np.geterr()

    def take() -> None:
        while waiting:
            try:
                number = waiting.popleft()
            except IndexError:
                return
            found[number] = task(items[number])

    lock, closed = threading.Lock(), False
    started: list[None] = []
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def help_out() -> None:
        with lock:
            if closed:
                return
            started.append(None)
        failure = None
        try:
            with np.errstate(**settings):
                take()
        except BaseException as error:
            waiting.clear()
            failure = error
        ended.put(failure)

    with single_thread() if blas else nullcontext():
        _pool(os.getpid()).run(help_out, threads - 1)
        before, _here.threads = getattr(_here, "threads", None), 1
        try:
            take()
        finally:
            _here.threads = before
            # Also after Ctrl-C: no thread may still be writing into a block when the caller
            # continues.
            waiting.clear()
            with lock:
                closed = True
            failures = [ended.get() for _ in started]
    for failure in failures:
        if failure is not None:
            raise failure
    return found


def one_ahead(load: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """Yield ``load(item)`` for each item, while the next is loaded on a thread."""
    waiting = deque(items)
    with ThreadPoolExecutor(1) as reader:
        ahead = reader.submit(load, waiting.popleft()) if waiting else None
        while ahead is not None:
            found = ahead.result()
            ahead = reader.submit(load, waiting.popleft()) if waiting else None
            yield found
            # The caller has finished with it: at most two are in memory.
            del found


def row_parts(rows: int, width: int, most: int | None = None) -> list[slice]:
    """Split rows into blocks of equal size that depend only on the shape."""
    count = rows * width // _PART
    count = max(1, count if most is None else min(count, most))
    step = max(1, -(-rows // count))
    return [slice(start, min(start + step, rows)) for start in range(0, max(rows, 1), step)]


# --- memory -------------------------------------------------------------------------------


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
    if needed < _FEW_BYTES:
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
    from scipy.linalg import lapack  # noqa: PLC0415 - searches do without it

    try:
        mmap.mmap(-1, _LIBRARIES * _BUFFER).close()
    except OSError:
        raise MemoryError("BLAS needs 260 MiB of address space for its buffers.") from None
    square = np.eye(64)
    np.linalg.cholesky(square @ square)
    lapack.dpotrf(square)
    _taken = True
