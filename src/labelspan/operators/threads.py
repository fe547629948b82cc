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
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = ["map_threads", "n_threads", "one_ahead", "own_threads", "row_parts", "single_thread"]

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


class _Pool:
    """Threads that wait for work, as many as were ever asked for, until the process ends.

    An executor of :mod:`concurrent.futures` has a future for each thread and call: with sixteen
    threads that takes half a millisecond, as long as many products of thin blocks.
    """

    def __init__(self) -> None:
        # Threads do not survive a fork: a child process has a pool of its own.
        self.process = os.getpid()
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock, self._threads = threading.Lock(), 0

    def run(self, work: Callable[[], None], threads: int) -> None:
        """Let threads start with some work as soon as they are free."""
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


_pool = _Pool()


def _own_pool() -> _Pool:
    global _pool  # noqa: PLW0603 - one for each process
    if _pool.process != os.getpid():
        _pool = _Pool()
    return _pool


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
        tasks = _Tasks(task, items)
        tasks.run(min(threads, len(items)))
    return tasks.found


class _Tasks:
    """The items of one call, which threads take one after the other.

    The thread that calls is one of them, and never waits for others that have not started.
    The first error ends the others after their present item.
    """

    def __init__(self, task: Callable[[Any], Any], items: Sequence[Any]) -> None:
        self._task, self._items = task, items
        self.found: list[Any] = [None] * len(items)
        self._waiting = deque(range(len(items)))
        self._error: BaseException | None = None
        # What numpy does about an overflow is a setting of each thread.
        self._state = np.geterr()
        self._lock, self._idle = threading.Lock(), threading.Lock()
        self._helpers, self._closed = 0, False

    def run(self, threads: int) -> None:
        before = getattr(_here, "threads", None)
        _own_pool().run(self._help, threads - 1)
        _here.threads = 1
        try:
            self._take()
        finally:
            _here.threads = before
            # After Ctrl-C too: nothing may still be writing into a block when the caller goes on.
            self._waiting.clear()
            self._close()
        if self._error is not None:
            # Not kept here: it knows its frames, and these know the items.
            error, self._error = self._error, None
            raise error

    def _take(self) -> None:
        while True:
            try:
                number = self._waiting.popleft()
            except IndexError:
                return
            self.found[number] = self._task(self._items[number])

    def _help(self) -> None:
        with self._lock:
            if self._closed:
                return
            if self._helpers == 0:
                self._idle.acquire()
            self._helpers += 1
        try:
            with np.errstate(**self._state):
                self._take()
        except BaseException as error:
            self._waiting.clear()
            self._error = error
        finally:
            with self._lock:
                self._helpers -= 1
                if self._helpers == 0:
                    self._idle.release()

    def _close(self) -> None:
        """Wait for the threads that have started."""
        with self._lock:
            self._closed = True
        with self._idle:
            pass


def one_ahead(load: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """Yield ``load(item)`` for each item; the next is loaded on a thread meanwhile."""
    waiting = deque(items)
    with ThreadPoolExecutor(1) as reader:
        ahead = reader.submit(load, waiting.popleft()) if waiting else None
        while ahead is not None:
            found = ahead.result()
            ahead = reader.submit(load, waiting.popleft()) if waiting else None
            yield found
            # The caller is done with it: at most two are held.
            del found


def row_parts(rows: int, width: int, most: int | None = None) -> list[slice]:
    """Split rows into blocks of equal size that depend only on the shape."""
    count = rows * width // _PART
    count = max(1, count if most is None else min(count, most))
    step = max(1, -(-rows // count))
    return [slice(start, min(start + step, rows)) for start in range(0, max(rows, 1), step)]
