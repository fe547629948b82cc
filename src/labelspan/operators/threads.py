"""Threads over blocks of rows.

Their number follows ``OMP_NUM_THREADS`` and ``threadpoolctl.threadpool_limits``: a program that
limits the threads of its BLAS limits these threads too, and workers of joblib do not
oversubscribe the machine.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = ["map_threads", "n_threads", "own_threads", "row_parts", "single_thread"]

# Read once, as BLAS does: dask sets it to 1 in the process that starts workers, for these.
_OMP_NUM_THREADS = os.environ.get("OMP_NUM_THREADS", "")
# Entries of a block that one task takes: few enough to stay in the cache of a core.
_PART = 1 << 19

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds; asking them their limit, microseconds.
    return ThreadpoolController()


class _OneBlasThread:
    """BLAS with one thread, until the last of the threads of Python that asked for it leaves.

    The limit is that of the whole process: were it set and restored by each of them, the one that
    leaves last could restore the limit of another.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limiter: Any = None
        # What the libraries were allowed before; None outside.
        self.before: int | None = None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                now = [library.num_threads for library in _controller().lib_controllers]
                self.before = _fewest(now)
                # Setting what is set already would take as long as a small product.
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
# ``threads``: what products of this thread of Python may use; the limits of BLAS where not set.
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

    An eigenproblem of a few hundred rows is a long sequence of tiny products: a second thread
    gains nothing on an idle machine, and on a busy one each product waits for it.
    """
    return _limited(1)


def own_threads() -> AbstractContextManager[object]:
    """Limit BLAS to one thread in a ``with`` block, where `map_threads` still uses all.

    Threads of OpenBLAS keep their cores busy for some milliseconds after each call, waiting for
    the next: a product on threads of Python that comes after it takes up to three times as long.
    """
    return _limited(n_threads())


@lru_cache(maxsize=1)
def _executor(process: int, workers: int) -> ThreadPoolExecutor:
    # Keyed by process: threads do not survive a fork, so a child process starts new ones.
    return ThreadPoolExecutor(workers, thread_name_prefix="labelspan", initializer=_stay_single)


def _stay_single() -> None:
    _here.threads = 1


def map_threads(
    task: Callable[[_Item], _Result], items: Iterable[_Item], *, blas: bool = False
) -> list[_Result]:
    """Run ``task`` on every item, on threads where there is more than one, in order.

    With ``blas`` the tasks call BLAS, which is then limited to one thread per task.
    """
    items = list(items)
    if len(items) <= 1:
        return [task(item) for item in items]
    threads = n_threads()
    if threads <= 1:
        return [task(item) for item in items]
    with single_thread() if blas else nullcontext():
        return _shared(task, items, _executor(os.getpid(), threads), min(threads, len(items)))


def _shared(
    task: Callable[[_Item], _Result],
    items: Sequence[_Item],
    executor: ThreadPoolExecutor,
    workers: int,
) -> list[_Result]:
    """Let workers take one item after the other; a future for each costs more than a short task.

    The first error ends the others after their present item.
    """
    found: dict[int, _Result] = {}
    waiting = deque(range(len(items)))
    # What numpy does about an overflow is a setting of each thread.
    state = np.geterr()

    def work() -> None:
        with np.errstate(**state):
            while True:
                try:
                    number = waiting.popleft()
                except IndexError:
                    return
                try:
                    found[number] = task(items[number])
                except BaseException:
                    waiting.clear()
                    raise

    futures = [executor.submit(work) for _ in range(workers)]
    try:
        wait(futures)
    except BaseException:
        # Ctrl-C: nothing may still be writing into a block when the caller goes on.
        waiting.clear()
        wait(futures)
        raise
    for future in futures:
        future.result()
    return [found[number] for number in range(len(items))]


def row_parts(rows: int, width: int, most: int | None = None) -> list[slice]:
    """Split rows into blocks of equal size that depend only on the shape."""
    count = rows * width // _PART
    count = max(1, count if most is None else min(count, most))
    step = max(1, -(-rows // count))
    return [slice(start, min(start + step, rows)) for start in range(0, max(rows, 1), step)]
